"""``recassay warm``: compile what most commands need, for images and the caches of build servers."""

from __future__ import annotations

import os
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

from recassay.cli import _common

STUDIES = {
    "designs.yaml": """
study: designs
data: {generate: "log(users=60, items=40, events=1200)"}
split: random(test=0.2)
models: {popular: Popular, knn: UserKNN(neighbours=9), svd: PureSVD(factors=5)}
designs: [lists, TI-AR-AN, P1R]
metrics: [ndcg@5, recall@10, mrr]
""",
    "stream.yaml": """
study: stream
data: {generate: "drifting(users=60, items=60, events=1200)"}
protocol: prequential(at=10)
models: {isgd: ISGD(factors=5), recent: Recent}
metrics: [recall@10, mrr@10]
""",
}


def warm() -> None:
    """Compile what most commands need, so that a later first run is as fast as any; for images and build servers.

    The compiled kernels are kept in $NUMBA_CACHE_DIR if it is set, else beside the installed package.

    Example: NUMBA_CACHE_DIR=/opt/recassay-kernels recassay warm
    """
    from recassay.cli.demo import run_demo
    from recassay.study.run.study import run_study

    with (
        tempfile.TemporaryDirectory(prefix="recassay-warm-") as name,
        redirect_stdout(StringIO()),
        redirect_stderr(StringIO()),
    ):
        folder = Path(name)
        run_demo(folder / "demo", seed=1)
        for file, text in STUDIES.items():
            (folder / file).write_text(text, encoding="utf-8")
            run_study(folder / file, folder / file.removesuffix(".yaml"))
    kept = os.environ.get("NUMBA_CACHE_DIR") or Path(__file__).parents[1]
    _common.say(f"Compiled kernels are kept in {kept}")
