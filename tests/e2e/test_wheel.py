"""The wheel, away from the sources: it brings the papers and their studies."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.wheel
@pytest.mark.path
def test_a_paper_is_reproduced_from_the_wheel(tmp_path):
    target, elsewhere = tmp_path / "installed", tmp_path / "elsewhere"
    elsewhere.mkdir()
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-compile"]
    subprocess.run([*command, "--target", str(target), str(ROOT)], check=True, capture_output=True)
    package = target / "recassay"
    for kind in ("reproductions", "studies"):
        wanted = {path.relative_to(ROOT) for path in (ROOT / kind).rglob("*.*")}
        assert {path.relative_to(package) for path in (package / kind).rglob("*.*")} == wanted
    arguments = ["reproduce", "everyones-a-winner", "--quick", "--quiet", "-o", "winner"]
    environment = {**os.environ, "PYTHONPATH": str(target)}
    done = subprocess.run(
        [sys.executable, "-m", "recassay", *arguments], env=environment, cwd=elsewhere, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "refuted" in done.stdout
    assert (elsewhere / "winner" / "result" / "lock.json").exists()
