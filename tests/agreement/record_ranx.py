"""Run compiled ranx and write how it orders tied rows, and its means on adversarial input, to tests/golden/ranx.json.

python tests/agreement/record_ranx.py     in an environment with ranx==0.3.21; it compiles for some minutes
"""

from __future__ import annotations

import json
import random
import warnings
from importlib import metadata
from pathlib import Path

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "ranx.json"
SEED = 1  # of the adversarial input
LENGTHS = [*range(2, 70), *(4 * [16, 17, 31, 32, 33, 64, 100]), 300, 1000]


def lists() -> list[list[int]]:
    """Scores of lists in the order of rows: few different ones, so that most rows tie."""
    rng = random.Random("lists that tie")
    levels = [rng.choice([1, 2, 3, 5, 10, length]) for length in LENGTHS]
    return [[rng.randrange(level) for _ in range(length)] for level, length in zip(levels, LENGTHS, strict=True)]


def main() -> None:
    import ranx
    from adversarial import adversarial
    from answer_adversarial import ranx as answered

    run = ranx.Run({str(q): {str(row): float(s) for row, s in enumerate(held)} for q, held in enumerate(lists())})
    run = run.make_comparable(ranx.Qrels({str(q): {"0": 1} for q in range(len(LENGTHS))}))
    orders = [[int(row) for row in run.run[str(q)]] for q in range(len(LENGTHS))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its compiler
        values = answered(adversarial(SEED))
    means = {name: sum(found.values()) / len(found) for name, found in values.items()}
    versions = {name: metadata.version(name) for name in ("ranx", "numba")}
    GOLDEN.write_text(json.dumps({"versions": versions, "means": means, "orders": orders}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
