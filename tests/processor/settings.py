"""Settings under which results are compared: they turn instructions of the processor off, for one library each.

    python tests/processor/settings.py                     run the sensitive tests under every setting, print a table
    python tests/processor/settings.py gate                under two of them
    python tests/processor/settings.py all -- tests        run other tests, or the whole suite

A setting without effect on a processor (AVX-512 turned off where there is none) is one more run of the same.
"""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
# NumPy names its copies by version otherwise, and warns of names that it does not have.
DISPATCHED = list(importlib.import_module("numpy._core._multiarray_umath").__cpu_dispatch__)
NO_AVX512 = " ".join(one for one in DISPATCHED if one.startswith(("AVX512", "X86_V4")))
NO_AVX2 = " ".join(one for one in DISPATCHED if one.startswith(("AVX", "FMA", "X86_V")))
TORCH = {"MKL_ENABLE_INSTRUCTIONS": "AVX2", "DNNL_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2"}
SETTINGS: dict[str, dict[str, str]] = {
    "plain": {},
    "NumPy without AVX-512": {"NPY_DISABLE_CPU_FEATURES": NO_AVX512},
    "NumPy without AVX2": {"NPY_DISABLE_CPU_FEATURES": NO_AVX2},
    **{f"OpenBLAS for {core}": {"OPENBLAS_CORETYPE": core} for core in ("Prescott", "Haswell", "Zen", "SkylakeX")},
    "PyTorch with AVX2": TORCH,
    "numba for any processor": {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},
    **{f"{n} threads": {"OMP_NUM_THREADS": n, "OPENBLAS_NUM_THREADS": n, "DIGEST_THREADS": n} for n in "124"},
    "an old processor": {"NPY_DISABLE_CPU_FEATURES": NO_AVX2, "OPENBLAS_CORETYPE": "Prescott", **TORCH},
}
GATE = ("NumPy without AVX-512", "an old processor")

# Tests whose outcome could depend on how a processor rounds: digests, models and training, pages with printed digits.
SENSITIVE = (
    "tests/processor/test_digests.py::test_results_are_the_stored_ones[plain]",
    "tests/unit/models/neural/test_training.py",
    "tests/unit/engine/sequences/test_score.py",
    "tests/contract/test_models.py",
    "tests/golden",
)


def environment(setting: str) -> dict[str, str]:
    """Return the variables of this process with those of a setting."""
    return {**os.environ, **SETTINGS[setting]}


def run(setting: str, tests: list[str]) -> tuple[str, int, float]:
    """Run tests under a setting; return pytest's last line, its status and the seconds."""
    begin = time.perf_counter()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, cwd=ROOT, env=environment(setting), capture_output=True, text=True, check=False)
    lines = done.stdout.strip().splitlines() or [done.stderr[-200:]]
    if done.returncode:
        print(*(line for line in lines if line.startswith(("FAILED", "ERROR", "E  "))), sep="\n")
    return re.sub(r" in [\d.]+s.*$", "", lines[-1].strip("= ")), done.returncode, time.perf_counter() - begin


def main() -> int:
    """Print a row for each setting; return 1 if a test failed under any."""
    which, *tests = [one for one in sys.argv[1:] if one != "--"] or ["all"]
    worst = 0
    print("| setting | outcome | seconds |\n| --- | --- | ---: |", flush=True)
    for setting in GATE if which == "gate" else SETTINGS:
        outcome, status, seconds = run(setting, tests or list(SENSITIVE))
        worst = max(worst, status)
        print(f"| {setting} | {outcome} | {seconds:.0f} |", flush=True)
    return min(worst, 1)


if __name__ == "__main__":
    sys.exit(main())
