"""The steps of ``action.yml``, and the script of the page for GitLab, run in a shell as a build server runs them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
GATE = "truth: truth.csv\nbaseline: old.csv\nmetrics: {hit@1: 40%}\nbelievable: 200%\n"


@pytest.fixture
def folder(tmp_path):
    """Create a truth, three runs and a gate file, as a checkout of a project would have them."""
    (tmp_path / "truth.csv").write_text("user,item\n" + "".join(f"{user},x\n" for user in range(60)))
    for name, hits in {"old": 30, "new": 40, "bad": 3}.items():
        rows = "".join(f"{u},{'x' if u < hits else 'y'},2\n{u},{'y' if u < hits else 'x'},1\n" for u in range(60))
        (tmp_path / f"{name}.csv").write_text("user,item,score\n" + rows)
    (tmp_path / "gate.yaml").write_text(GATE)
    return tmp_path


def shell(script, folder, **more):
    """Run a script where ``recassay`` is on the path; return its exit status."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "HOME": str(folder), "CI": "true", **more}
    return subprocess.run(["bash", "-e", "-c", script], cwd=folder, env=environment, check=False).returncode


@pytest.mark.parametrize(("candidate", "verdict", "status"), [("new.csv", "pass", 0), ("bad.csv", "fail", 1)])
def test_the_action(folder, candidate, verdict, status):
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    step = next(step for step in action["runs"]["steps"] if step.get("id") == "gate")
    inputs = {name: told["default"] for name, told in action["inputs"].items()} | {"candidate": candidate}
    told = {name: inputs[re.fullmatch(r"\$\{\{ inputs\.(\w+) \}\}", text)[1]] for name, text in step["env"].items()}
    summary, outputs = folder / "summary.md", folder / "outputs.txt"
    # the kernels that the tests compiled, in place of the cache of the action
    script = re.sub(r"^export NUMBA_CACHE_DIR.*$", "", step["run"], flags=re.MULTILINE)
    ended = shell(script, folder, **told, GITHUB_STEP_SUMMARY=str(summary), GITHUB_OUTPUT=str(outputs))
    assert ended == status
    assert outputs.read_text() == f"verdict={verdict}\n"
    assert summary.read_text().startswith(f"**{verdict.capitalize()}.")
    comment = action["outputs"]["comment"]["value"].replace("${{ inputs.output }}", inputs["output"])
    assert (folder / comment).read_text() == summary.read_text()


def test_the_action_ends_with_the_status_of_a_mistake(folder):
    step = next(step for step in yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"] if "id" in step)
    script = step["run"].replace('export NUMBA_CACHE_DIR="$HOME/.cache/recassay-kernels"', "")
    assert shell(script, folder, GATE="gate.yaml", CANDIDATE="nobody.csv", OUTPUT="out", GITHUB_STEP_SUMMARY="s") == 2


def test_the_lines_for_gitlab(folder):
    page = (ROOT / "docs" / "howto" / "github-actions.md").read_text()
    job = yaml.safe_load(re.search(r"```yaml\n(# \.gitlab-ci\.yml\n.*?)```", page, re.DOTALL)[1])["gate"]
    script = "\n".join(line for line in job["script"] if not line.startswith("pip "))
    assert shell(script.replace("new.parquet", "new.csv"), folder) == 0
    assert json.loads((folder / "gate-results" / "gate.json").read_text())["verdict"] == "pass"
    assert (folder / job["artifacts"]["reports"]["junit"]).exists()


def test_the_workflow_and_the_gate_file_of_the_page(folder):
    """The workflow parses and names inputs and outputs of the action, and the keys of the gate file are known."""
    page = (ROOT / "docs" / "howto" / "github-actions.md").read_text()
    blocks = [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)]
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    step = next(step for step in blocks[0]["jobs"]["gate"]["steps"] if step.get("id") == "gate")
    assert set(step["with"]) <= set(action["inputs"])
    from recassay.cli.gate import read_gate_file

    (folder / "page.yaml").write_text(yaml.safe_dump(blocks[1]))
    known = ("truth", "train", "baseline", "metrics", "require")
    assert read_gate_file(folder / "page.yaml", known)["truth"] == str(folder / "data/truth.parquet")
