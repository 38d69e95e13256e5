"""Check a change in under a minute: style and types of everything, and the tests that mirror the changed files.

    python .ci/check.py [--since REF]     files that differ from REF (main); without it, from the last commit

A changed module is tested by its doctests, by the unit tests of its folder and by the rules for all modules; a changed
test by itself. The whole suite is `make test`.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE, UNIT = Path("src/recassay"), Path("tests/unit")
BIN = Path(sys.executable).parent


def changed(since: str) -> list[Path]:
    """Return the files that differ from a commit, new ones included."""
    listed = subprocess.run(["git", "diff", "--name-only", since], cwd=ROOT, capture_output=True, text=True, check=True)
    new = subprocess.run(
        ["git", "ls-files", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    files = (Path(name) for name in (listed.stdout + new.stdout).split("\n") if name)
    return sorted(file for file in files if (ROOT / file).is_file())


def tests_of(files: list[Path]) -> list[str]:
    """Return the paths that pytest is given: tests next to the changed modules, and the modules for their doctests."""
    found: dict[str, None] = {}
    for file in files:
        if file.suffix != ".py":
            continue
        if file.is_relative_to(SOURCE):
            found |= {str(file): None, str(UNIT / "test_public.py"): None}
            mirror = UNIT / file.relative_to(SOURCE).parent
            name = f"test_{file.stem.lstrip('_')}.py"
            own = [mirror / name] if (ROOT / mirror / name).exists() else sorted((ROOT / mirror).glob("test_*.py"))
            found |= {str(test.relative_to(ROOT) if test.is_absolute() else test): None for test in own}
        elif file.is_relative_to("tests") and file.name.startswith("test_"):
            found[str(file)] = None
    return list(found)


def main() -> int:
    """Run style, types and tests; return 1 if any of them fails."""
    since = sys.argv[sys.argv.index("--since") + 1] if "--since" in sys.argv else "HEAD"
    sources = ["src", "tests", "bench", "docs", "examples", ".ci"]
    steps = [
        [str(BIN / "ruff"), "check", "-q", *sources],
        [str(BIN / "ruff"), "format", "--check", "-q", *sources],
        [str(BIN / "mypy")],
        [str(BIN / "mypy"), "tests/typed"],
    ]
    if tests := tests_of(changed(since)):
        steps.append([sys.executable, "-m", "pytest", "-q", "-n", "auto", "--dist", "loadfile", *tests])
    else:
        print(f"nothing changed since {since}: no tests")
    failed, begin = 0, time.monotonic()
    for step in steps:
        failed |= subprocess.run(step, cwd=ROOT, check=False).returncode != 0
    print(f"{'failed' if failed else 'fine'} after {time.monotonic() - begin:.0f} s")
    return failed


if __name__ == "__main__":
    sys.exit(main())
