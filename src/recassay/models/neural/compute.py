"""Where networks compute: on a GPU, or on one thread of PyTorch for each block of work.

Sums over many threads round as the threads come. So each block of work, cut without regard to threads, has one thread,
and a result has the same bits on one thread or many.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from recassay.errors import UsageError
from recassay.models.neural.layers import library
from recassay.threads import blocks, each_block

if TYPE_CHECKING:
    from recassay.models.neural.base import Neural

LARGER = 32  # times as much is a block on a GPU

Result = TypeVar("Result")


def device_of(model: Neural) -> str:
    """The device that a description asks for."""
    cuda = library().cuda.is_available()
    if model.device == "cuda" and not cuda:
        raise model.refuse("device", "PyTorch finds no GPU", "device='auto', or a build of PyTorch for your GPU")
    return "cuda" if cuda and model.device != "cpu" else "cpu"


def each_part(work: Callable[[int, int], Result], n: int, *, size: int, device: str) -> list[Result]:
    """``work(begin, end)`` for blocks of ``size`` over threads, or for larger ones on a GPU; results in order."""
    if device == "cuda":
        return [work(begin, end) for begin, end in blocks(n, LARGER * size)]

    def alone(begin: int, end: int) -> Result:
        with one_thread():
            return work(begin, end)

    return each_block(alone, n, size=size)


class _OneThread:
    """PyTorch's number of threads belongs to the process and to each thread of it: who enters sets it to 1 and who
    leaves sets it back, to what the first found.
    """

    def __init__(self) -> None:
        self.lock, self.inside, self.before, self.own = threading.Lock(), 0, 1, threading.local()

    @contextmanager
    def __call__(self) -> Iterator[None]:
        if getattr(self.own, "inside", False):
            yield
            return
        torch = library()
        with self.lock:
            found = torch.get_num_threads()  # asked in each thread: unasked, it would take the process' number later
            self.before = self.before if self.inside else found
            self.inside += 1
            torch.set_num_threads(1)
        self.own.inside = True
        try:
            yield
        finally:
            self.own.inside = False
            with self.lock:
                self.inside -= 1
                torch.set_num_threads(self.before)


one_thread = _OneThread()


@contextmanager
def enough_memory(model: Neural) -> Iterator[None]:
    """Says what to make smaller where memory does not suffice."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:  # PyTorch has no class of its own for the memory of the machine
        told = str(error).partition("\n")[0]
        if isinstance(error, RuntimeError) and not ("out of memory" in told or "allocate memory" in told):
            raise
        raise UsageError(
            "U143",
            f"{model.name} needs more memory than there is: {told}",
            where=str(model),
            hint=f"a smaller batch than {model.batch}, length than {model.length} or dim than {model.dim}",
        ) from error
