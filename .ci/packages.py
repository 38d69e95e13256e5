"""Build the wheel and the source archive, check them, install each on every Python there is, and run the demo.

    python .ci/packages.py [3.11 3.12 ...]

Versions of dependencies are what pip chooses today: this tells whether today's newest still work.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from lock import PYTHONS, ROOT, interpreter

PIP = ("-m", "pip", "--disable-pip-version-check", "--quiet")


def main(pythons: list[str]) -> int:
    """Try both packages on these Pythons, or on all that are there."""
    with tempfile.TemporaryDirectory() as folder:
        environment = Path(folder) / "builder"
        subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
        builder = environment / "bin" / "python"
        subprocess.run([str(builder), *PIP, "install", "hatchling", "twine"], check=True)
        dist = Path(folder) / "dist"
        subprocess.run([str(builder), "-m", "hatchling", "build", "--directory", str(dist)], cwd=ROOT, check=True)
        packages = sorted(dist.iterdir())
        subprocess.run([str(builder), "-m", "twine", "check", "--strict", *map(str, packages)], check=True)
        for python in pythons or (*PYTHONS, "3.14", "3.15"):
            found = interpreter(python)
            if found is None:
                print(f"python{python} is not on the path, or does not run: no package is tried on it", file=sys.stderr)
                continue
            for package in packages:
                works(found, package, Path(folder) / f"{python}-{package.suffix}")
                print(f"Python {python}: {package.name} works", flush=True)
    return 0


def works(found: str, package: Path, folder: Path) -> None:
    """Install a package into an environment of its own and run the demo there, away from the source."""
    subprocess.run([found, "-m", "venv", str(folder)], check=True)
    subprocess.run([str(folder / "bin" / "python"), *PIP, "install", str(package)], check=True)
    subprocess.run([str(folder / "bin" / "recassay"), "demo", "-o", "results", "--quiet"], cwd=folder, check=True)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
