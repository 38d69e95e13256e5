"""PyTorch, imported on first use, and where it computes: on a GPU, or with one of its threads per chunk of work.

The rounding of sums over several threads depends on timing. So chunks do not depend on the number of threads, each
chunk has one thread, and results have the same bits for any number of threads.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from recassay.errors import UsageError
from recassay.optional import need
from recassay.threads import blocks, each_block

if TYPE_CHECKING:
    from recassay.models.neural.base import Neural

Tensor = Any  # a PyTorch tensor; importing PyTorch for its types would be slow
Network = Any  # a torch.nn.ModuleDict
GPU_FACTOR = 32  # a chunk on a GPU is this many times larger

Result = TypeVar("Result")


@functools.cache
def torch_module() -> Any:
    """Return the module torch; raise an error that says how to install it if it is missing."""
    return need("torch", for_="a neural model")


def device_of(model: Neural) -> str:
    """Return the device for a model, "cuda" or "cpu"; raise U102 if it needs a GPU that is missing."""
    cuda = torch_module().cuda.is_available()
    if model.device == "cuda" and not cuda:
        raise model.refuse("device", "PyTorch finds no GPU", "device='auto', or a build of PyTorch for your GPU")
    return "cuda" if cuda and model.device != "cpu" else "cpu"


def map_chunks(
    work: Callable[[int, int], Result], n: int, *, size: int, device: str, pool: ThreadPoolExecutor | None = None
) -> list[Result]:
    """Return the results of ``work(begin, end)`` for chunks of the numbers 0..n-1, in order.

    Chunks of ``size`` numbers run over threads; on a GPU chunks are larger and run one after another. ``device`` is
    "cpu" or "cuda" (a GPU). A ``pool`` has the threads; without one they are started for this call.
    """
    if device == "cuda":
        return [work(begin, end) for begin, end in blocks(n, GPU_FACTOR * size)]

    def on_one_thread(begin: int, end: int) -> Result:
        torch_module().set_num_threads(1)  # PyTorch has a number for each thread that calls it
        return work(begin, end)

    with one_thread():
        return each_block(on_one_thread, n, size=size, pool=pool)


@contextmanager
def one_thread() -> Iterator[None]:
    """Let PyTorch use one thread within this context."""
    before = torch_module().get_num_threads()
    torch_module().set_num_threads(1)
    try:
        yield
    finally:
        torch_module().set_num_threads(before)


@contextmanager
def enough_memory(model: Neural) -> Iterator[None]:
    """Turn an error about missing memory within this context into U143, which says which parameter to make smaller."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:  # PyTorch has no class for missing CPU memory
        message = str(error).partition("\n")[0]
        if isinstance(error, RuntimeError) and not ("out of memory" in message or "allocate memory" in message):
            raise
        raise UsageError(
            "U143",
            f"{model.name} needs more memory than is available: {message}",
            where=str(model),
            hint=f"use a batch below {model.batch}, a length below {model.length or 'whole histories'} or a dim below "
            f"{model.dim}",
        ) from error
