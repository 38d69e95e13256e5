"""Run every case through the real peer libraries and write what they answer to tests/golden/peers.

    python tests/agreement/record.py [library ...]

Each library gets a virtual environment in .peers/<library>, made from tests/agreement/peers/requirements/<library>.txt.
It is made by python3.11, or by the version that the file asks for in its first line ("# python 3.13"): found on the
path, or in an environment variable (RECASSAY_PYTHON_3_13).
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
REQUIREMENTS = HERE / "peers" / "requirements"
ENVIRONMENTS = HERE.parents[1] / ".peers"
GOLDEN = HERE.parent / "golden" / "peers"
LIBRARIES = (
    "pytrec_eval",
    "ir_measures",
    "ranx",
    "torchmetrics",
    "cornac",
    "rectools",
    "recpack",
    "microsoft",
    "replay",
    "recbole",
    "lenskit",
    "daisyrec",
    "elliot",
)


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--answer"]:
        print(json.dumps(answer_every_case(arguments[1]), allow_nan=False))
        return 0
    unknown = sorted(set(arguments) - set(LIBRARIES))
    if unknown:
        print(f"unknown: {', '.join(unknown)}; there are {', '.join(LIBRARIES)}", file=sys.stderr)
        return 2
    for library in arguments or LIBRARIES:
        recorded = ask(library, environment(library))
        GOLDEN.mkdir(parents=True, exist_ok=True)
        text = json.dumps(recorded, indent=1, ensure_ascii=False, allow_nan=False)
        (GOLDEN / f"{library}.json").write_text(text + "\n", encoding="utf-8")
        print(f"{library} {recorded['version']}: {len(recorded['cases'])} cases")
    return 0


def ask(library: str, python: Path) -> dict[str, Any]:
    """What one library answers when this Python runs it; uncompiled, which a few small cases are not worth."""
    command = [str(python), str(Path(__file__).resolve()), "--answer", library]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=True, env=os.environ | {"NUMBA_DISABLE_JIT": "1"}
    )
    # A library may greet on standard output before the answer, which is the last line.
    answered: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answered


def environment(library: str) -> Path:
    """The interpreter of the library's environment, made on first use; a restated library needs none."""
    requirements = REQUIREMENTS / f"{library}.txt"
    if not requirements.exists():
        return Path(sys.executable)
    pins = requirements.read_text(encoding="utf-8")
    folder = ENVIRONMENTS / library
    python = folder / "bin" / "python"
    ready = folder / "ready.txt"  # holds the pins of a finished installation
    if not ready.exists() or ready.read_text(encoding="utf-8") != pins:
        subprocess.run([interpreter(pins), "-m", "venv", "--clear", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", "-r", str(requirements)], check=True)
        ready.write_text(pins, encoding="utf-8")
    return python


def interpreter(pins: str) -> str:
    """The Python that the pins were made for, from its environment variable or the path."""
    first = pins.partition("\n")[0]
    wanted = first.removeprefix("# python ") if first.startswith("# python ") else "3.11"
    variable = f"RECASSAY_PYTHON_{wanted.replace('.', '_')}"
    found = os.environ.get(variable) or shutil.which(f"python{wanted}")
    if found is None and sys.version_info[:2] == tuple(int(part) for part in wanted.split(".")):
        return sys.executable
    if found is None:
        raise SystemExit(f"python{wanted} is not on the path, and the pins were made for it: set {variable}")
    return found


def answer_every_case(library: str) -> dict[str, Any]:
    """Runs inside the library's environment."""
    sys.path[0] = str(HERE)
    peer = importlib.import_module(f"peers.{library}")
    all_cases = importlib.import_module("cases").cases()
    return {
        "library": library,
        "version": peer.version(),
        "transcribed": peer.TRANSCRIBED,
        "cases": {case["name"]: peer.answers(case) for case in all_cases},
    }


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
