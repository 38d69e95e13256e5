"""Write the files of exact versions in `requirements`: what `make test` installs on each Python.

    python .ci/lock.py [3.11 3.12 ...]

pip chooses the newest versions that `pyproject.toml` allows on the oldest Python, the same on the others, and for
`oldest-3.11.txt` the oldest that are allowed. Nothing is installed. A Python that is not there keeps its file;
python3.12 is looked for on the path, or its location is taken from an environment variable (RECASSAY_PYTHON_3_12).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from oldest import oldest

ROOT = Path(__file__).resolve().parents[1]
REQUIREMENTS = ROOT / "requirements"
PYTHONS = ("3.11", "3.12", "3.13")
OLDEST = PYTHONS[0]
GROUPS = ("test", "oracles", "torch", "lint", "site")
# pip itself, and what builds recassay and the packages that come as source
TOOLS = ("pip", "hatchling", "editables", "setuptools", "wheel")
TOP = """\
# Exact versions for Python {python}: {what}.
# Constraints for pip: they say which version, and only of what is installed anyway. Written by `make update`.
"""


def main(pythons: list[str]) -> int:
    """Write the files of these Pythons, or of all; the exit code says whether all were found."""
    if unknown := sorted(set(pythons) - set(PYTHONS)):
        print(f"no Python of recassay: {', '.join(unknown)}; there are {', '.join(PYTHONS)}", file=sys.stderr)
        return 2
    missing = []
    for python in pythons or PYTHONS:
        found = interpreter(python)
        if found is None:
            missing.append(python)
            continue
        if python == OLDEST:
            lock(found, python, "newest", "the newest that pyproject.toml allows", GROUPS, "")
            bounds = "".join(f"{name}=={version}\n" for name, version in oldest().items())
            lock(found, python, "oldest", "the oldest that pyproject.toml allows", ("test", "oracles"), bounds)
        else:  # newer Pythons have newer versions of numpy, whose last digits would not be those in the pages
            same = (REQUIREMENTS / f"newest-{OLDEST}.txt").read_text(encoding="utf-8")
            lock(found, python, "newest", f"those of Python {OLDEST}", GROUPS, same)
    for python in missing:
        print(f"python{python} is not on the path, or does not run: its file stays as it is", file=sys.stderr)
    return 1 if missing else 0


def lock(found: str, python: str, name: str, what: str, groups: tuple[str, ...], bounds: str) -> None:
    """Let pip choose versions of everything in these groups, and write them down."""
    path = REQUIREMENTS / f"{name}-{python}.txt"
    wanted = [*TOOLS, "--editable", ".", *(word for group in groups for word in ("--group", group))]
    versions = chosen(found, wanted, bounds)
    path.write_text(
        TOP.format(python=python, what=what) + "".join(f"{name}=={versions[name]}\n" for name in sorted(versions)),
        encoding="utf-8",
    )
    print(f"{path.relative_to(ROOT)}: {len(versions)} packages")


def chosen(found: str, wanted: list[str], bounds: str) -> dict[str, str]:
    """Return the version of each package that pip would install into an empty environment of this Python."""
    with tempfile.TemporaryDirectory() as folder:
        report, constraints = Path(folder) / "report.json", Path(folder) / "constraints.txt"
        constraints.write_text(bounds, encoding="utf-8")
        pip = [sys.executable, "-m", "pip", "--python", found, "--disable-pip-version-check", "--quiet"]
        # without --ignore-installed what this Python happens to have would not be in the report
        dry = ["install", "--dry-run", "--ignore-installed", "--report", str(report), "--constraint", str(constraints)]
        subprocess.run([*pip, *dry, *wanted], cwd=ROOT, check=True)
        installed = json.loads(report.read_text(encoding="utf-8"))["install"]
    versions = {one["metadata"]["name"]: one["metadata"]["version"] for one in installed}
    # 2.13.0+cpu is a build of 2.13.0; which build is there depends on the machine
    return {normal(name): version.partition("+")[0] for name, version in versions.items() if name != "recassay"}


def normal(name: str) -> str:
    """Return the name of a package as pip compares names."""
    return re.sub(r"[-_.]+", "-", name).lower()


def interpreter(python: str) -> str | None:
    """Return where this Python is, from its environment variable or the path, if it runs and is of this version."""
    if sys.version_info[:2] == tuple(int(part) for part in python.split(".")):
        return sys.executable
    name = f"python{python}"
    found = os.environ.get(f"RECASSAY_PYTHON_{python.replace('.', '_')}") or shutil.which(name)
    if found is None:
        return None
    # a version manager may have a python3.12 on the path that says only that 3.12 is not switched on
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
    return found if said.startswith(f"Python {python}.") else None


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
