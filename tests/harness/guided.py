"""``make guided``: inputs that coverage guides towards lines of the parsers that no input has reached yet (atheris).

One class of inputs is attacked (``KIND=names``, ``study``, ``manifest``, or a file such as ``file:.csv:run``), and the
first fault ends the attack; it is stored in ``regressions``. atheris is installed only for this target.
"""

from __future__ import annotations

import argparse
import inspect
import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .cases import EXPRESSIONS, make, prepare, run
from .corpus import STREAM, STUDY, files
from .fuzz import store

# Functions are watched once they are imported: atheris would watch whole packages, and spoil kernels to be compiled.
WATCHED = ("recassay.naming.", "recassay.data.io.", "recassay.study.config.")
LONGEST_INPUT = 4096
MANIFESTS = 300


def sound(kind: str) -> list[bytes]:
    """Return the inputs that an attack on a class begins with."""
    if kind.startswith("file:"):
        return files()[kind.split(":")[1]]
    if kind == "manifest":
        return [data for found, data in (make(number, 0) for number in range(MANIFESTS)) if found == kind]
    return {"names": EXPRESSIONS, "study": [STUDY, STREAM]}[kind]


def watch(instrument: Callable[[Any], Any]) -> None:
    """Have atheris count the branches of the functions and methods that read text."""
    modules = [module for name, module in sys.modules.items() if name.startswith(WATCHED)]
    for module in modules:
        own = [thing for thing in vars(module).values() if getattr(thing, "__module__", None) == module.__name__]
        parts = [part for thing in own if inspect.isclass(thing) for part in vars(thing).values()]
        for function in filter(inspect.isfunction, [*own, *parts]):
            instrument(function)


def main() -> None:
    """Attack for a while; end with an exception at the first fault."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=int, default=60)
    options.add_argument("--seed", type=int, default=None)
    options.add_argument("--kind", default="names")
    given = options.parse_args()
    import atheris  # after the help: it is installed for this target only

    seed = random.SystemRandom().randrange(1, 1 << 31) if given.seed is None else given.seed
    print(f"guided: {given.kind}, seed {seed}; again: make guided KIND={given.kind} SEED={seed}", flush=True)
    folder = Path(tempfile.mkdtemp(prefix="recassay-guided-"))
    prepare(folder)
    corpus = folder / "corpus"
    corpus.mkdir()
    for number, data in enumerate(sound(given.kind)):
        (corpus / str(number)).write_bytes(data)

    watch(atheris.instrument_func)

    def one(data: bytes) -> None:
        outcome = run((given.kind, data), folder)
        if outcome.startswith("FAULT"):
            raise RuntimeError(f"{outcome}: stored as {store((given.kind, data))}")

    limits = [f"-max_total_time={given.seconds}", f"-max_len={LONGEST_INPUT}", "-timeout=60", f"-seed={seed}"]
    atheris.Setup([sys.argv[0], *limits, f"-artifact_prefix={folder}/", str(corpus)], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
