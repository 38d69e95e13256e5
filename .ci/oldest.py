"""Print the oldest version of every dependency that pyproject.toml allows, as constraints for pip.

    python .ci/oldest.py

Every lower bound (`>=`) of the core dependencies and of the extras becomes an exact version (`==`). The extra `neural`
is left out: an old PyTorch for Linux brings several gigabytes of CUDA packages.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

LEFT_OUT = {"neural", "mlflow", "lake", "all"}  # no test installs the second and third; the last repeats the others
PYPROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
BOUND = re.compile(r"(?P<name>[A-Za-z0-9._-]+)>=(?P<oldest>[0-9.]+)(,<[0-9.]+)?")


def oldest() -> dict[str, str]:
    """Return the oldest allowed version of each dependency of the core and of the extras."""
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    required = project["dependencies"] + [line for extra in extras if extra not in LEFT_OUT for line in extras[extra]]
    versions: dict[str, str] = {}
    for line in required:
        bound = BOUND.fullmatch(line)
        if bound is None:
            raise SystemExit(f"{line!r} in pyproject.toml has no lower bound of the form name>=version")
        versions[bound["name"]] = bound["oldest"]
    return versions


if __name__ == "__main__":
    for name, version in oldest().items():
        print(f"{name}=={version}")
