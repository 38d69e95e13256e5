"""Outer rooms can be taken out: without one of them everything else imports, and lists, designs and the gate work.

Incremental models are none: the engine of streams walks over them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src" / "recassay"
WORK = """
import recassay as ra
from recassay.cli import build_app

log = ra.read_interactions([(u, i) for u in range(30) for i in range(u % 7, u % 7 + 8)])
fold = ra.split.random(test=0.2)(log)[0]
run = ra.play(ra.models.Popular(), fold, ra.protocols.ranking())
assert ra.score(run, fold, "ndcg@5").rows[0].n
assert ra.judge(run, "TI-AR-AN", "precision@5").rows
assert ra.gate(run, run, fold, "ndcg@5").verdict == "pass"
for name in ra.metrics.__all__, ra.models.__all__:
    assert name
build_app()
"""


def close_door(models, room):
    """Remove a room from the names of its folder, as whoever takes it out would."""
    door = models / "__init__.py"
    text = re.sub(rf"^from recassay\.models\.{room} import .*\n", "", door.read_text(), flags=re.MULTILINE)
    gone = {"GRU", "NARM", "BERT4Rec", "SASRec"}
    door.write_text("".join(line for line in text.splitlines(True) if line.strip(' ",\n') not in gone))


@pytest.mark.parametrize("room", ["live", "backends/spark", "models/neural", "reproduction"])
def test_nothing_else_needs_the_room(tmp_path, room):
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(SOURCE, tmp_path / "recassay", ignore=ignored)
    shutil.rmtree(tmp_path / "recassay" / room)
    if room.startswith("models/"):
        close_door(tmp_path / "recassay" / "models", room.partition("/")[2])
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    environment["NUMBA_DISABLE_JIT"] = "1"  # a copy has no compiled kernels
    ended = subprocess.run([sys.executable, "-c", WORK], env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]
