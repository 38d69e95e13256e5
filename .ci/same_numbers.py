"""Show that a change of the code alters no digit of the stored results of papers, and note the new code beside them.

    python .ci/same_numbers.py REVISION --data DIR [PAPER ...]

REVISION has the code that the stored results are known to belong to. The quick version of each paper is run with that
code and with the code of the working tree, on this machine, and the logs in DIR are read again. A paper whose tables
have the same digits is written; the others are named, and have to be computed again. Without names, all papers whose
code has changed are tried.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from recassay.errors import RecassayError
from recassay.reproduction.later import require_same_logs, with_later_code
from recassay.reproduction.paper import PaperFile, find_paper, paper_files
from recassay.reproduction.results import Reproduction, outdated, read_reproduction, write_lock
from recassay.reproduction.run import RESULT

ROOT = Path(__file__).resolve().parents[1]


def quick_run(sources: Path, paper: str, out: Path) -> None:
    """Run the quick version of a paper with the code and the papers in a copy of the sources."""
    command = [sys.executable, "-m", "recassay", "reproduce", str(sources / "reproductions" / f"{paper}.yaml")]
    subprocess.run(
        [*command, "--quick", "--quiet", "-o", str(out)],
        env=os.environ | {"PYTHONPATH": str(sources / "src")}, check=True, stdout=subprocess.DEVNULL, cwd=out.parent,
    )  # fmt: skip


def compared(file: PaperFile, stored: Reproduction, old: Path, work: Path, data: Path) -> Reproduction:
    """Return the stored results of a paper with today's code in their lock; raise U265 if the numbers differ."""
    runs = []
    for name, sources in (("before", old), ("after", ROOT)):
        out = work / f"{file.name}-{name}"
        quick_run(sources, file.name, out)
        runs.append(read_reproduction(file, out / RESULT))
    require_same_logs(stored, data)
    return with_later_code(stored, *runs)


def main() -> int:
    """Compare the papers and return the number of those whose numbers differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("revision")
    parser.add_argument("papers", nargs="*")
    parser.add_argument("--data", type=Path, default=os.environ.get("RECASSAY_DATA"))
    options = parser.parse_intermixed_args()
    if options.data is None:
        parser.error("--data DIR is needed: the logs are read again")
    files = [find_paper(str(path)) for path in paper_files()]
    differing = 0
    with tempfile.TemporaryDirectory() as folder:
        old = Path(folder) / "old"
        subprocess.run(["git", "worktree", "add", "--detach", str(old), options.revision], check=True, cwd=ROOT)
        try:
            for file in files:
                stored = read_reproduction(file, file.results)
                if (options.papers and file.name not in options.papers) or not outdated(stored):
                    continue
                try:
                    found = compared(file, stored, old, Path(folder), options.data)
                except RecassayError as error:
                    differing += 1
                    print(f"{file.name}: {error}")
                else:
                    write_lock(found, file.results)
                    print(f"{file.name}: the same digits in {found.lock['later']['tables']} tables", flush=True)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(old)], check=True, cwd=ROOT)
    return differing


if __name__ == "__main__":
    sys.exit(min(main(), 1))
