"""How much results of models move from one processor to another: writes its section of bench/RESULTS.md.

    python bench/processors.py            every setting, a process each, one after the other
    python bench/processors.py --print    what one process finds, as JSON

Settings turn instructions of the processor off (``tests/processor/settings.py``). Every model is fitted, played and
scored under each of them; a table says how many users get another list, and how far the mean moves.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

from tools import help_if_asked, machine, write_section

HERE = Path(__file__).resolve().parent
SETTINGS = HERE.parent / "tests" / "processor" / "settings.py"
LOG = {"users": 2_000, "items": 800, "events": 60_000, "seed": 11}
MODELS = (
    "Popular", "ItemKNN", "UserKNN", "PureSVD(factors=32)", "PLSA(factors=16, iterations=20)",
    "ALS(factors=32, iterations=10)", "BPR(factors=32, iterations=20)", "GRU(dim=16, hidden=16, epochs=3)",
    "SASRec(dim=16, epochs=3, loss='binary')",
)  # fmt: skip
METRIC = "ndcg@10"


def found() -> dict[str, Any]:
    """Return the lists and the mean of every model on this machine as it is."""
    import recassay as ra
    from recassay.data.synthetic import log

    fold = ra.split.last(n=1)(log(**LOG))[0]
    ask = ra.protocols.next_item()
    answers = {}
    for text in MODELS:
        run = ra.play(ra.models.parse(text), fold, ask)
        mean = ra.score(run, ask.truth(fold), METRIC, interval=None).rows[0].mean
        tops = [run.items[begin : min(begin + 10, end)] for begin, end in pairwise(run.offsets.tolist())]
        answers[text] = {"mean": mean, "lists": [hashlib.md5(top.tobytes()).hexdigest()[:8] for top in tops]}
    return answers


def settings() -> Any:
    """Load the settings of the tests."""
    spec = importlib.util.spec_from_file_location("settings", SETTINGS)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Run every setting; print the table and write its section."""
    ours = settings()
    results = {}
    for name in ours.SETTINGS:
        command = [sys.executable, __file__, "--print"]
        done = subprocess.run(command, env=ours.environment(name), check=True, capture_output=True)
        results[name] = json.loads(done.stdout)
        print(name, {text: round(one["mean"], 6) for text, one in results[name].items()}, file=sys.stderr)
    plain = results["plain"]
    rows = []
    for text in MODELS:
        others = [one[text] for one in results.values()]
        lists = max(sum(a != b for a, b in zip(plain[text]["lists"], one["lists"], strict=True)) for one in others)
        moved = max(abs(plain[text]["mean"] - one["mean"]) for one in others)
        share = lists / len(plain[text]["lists"])
        rows.append(f"| `{text}` | {plain[text]['mean']:.4f} | {100 * share:.2f} % | {moved:.1e} |")
    section = [
        "## Models on other processors\n",
        f"`python bench/processors.py`: {LOG['users']:,} users, the last event of each held out, {len(results)} "
        f"settings that turn off instructions of the processor. The largest change under any of them. {machine()}.\n",
        f"| model | {METRIC} | users with another list of ten | change of the mean |",
        "| --- | ---: | ---: | ---: |",
        *rows,
    ]
    print(*section[1:], sep="\n")
    write_section("Models on other processors", "\n".join(section))


if __name__ == "__main__":
    help_if_asked(__doc__)
    print(json.dumps(found())) if "--print" in sys.argv else main()
