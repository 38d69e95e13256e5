"""The example of a package of one's own, installed as people install packages, and used without touching recassay."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.wheel
ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "examples" / "plugin"
STUDY = """\
study: plugin
data: {generate: "log(users=60, items=40, events=900)"}
split: second_half
protocol: ranking
models: {blend: "Blend(popularity=0.2)", popular: Popular}
designs: [TI-AR-AN]
metrics: [root_gain@5, ndcg@5]
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Return an environment in which the package is installed into a folder of its own."""
    target = tmp_path_factory.mktemp("plugin")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--target"]
    subprocess.run([*command, str(target), str(PLUGIN)], check=True, capture_output=True)
    return {**os.environ, "PYTHONPATH": str(target), "COLUMNS": "200"}


def recassay(environment, *arguments, cwd=None):
    command = [sys.executable, "-m", "recassay", *arguments]
    done = subprocess.run(command, env=environment, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


LISTED = {
    "root_gain": "metrics", "Blend": "models", "second_half": "splits", "EX001": "checks", "in_house": "profiles",
    "arrows": "formats",
}  # fmt: skip
EXPLAINED = [name for name in LISTED if name != "arrows"]
SEVERAL = """\
import contextlib, io, json, sys
from recassay.cli import main

printed = {}
for command in json.loads(sys.argv[1]):
    sys.argv[1:] = command
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
        main()
    printed[" ".join(command)] = out.getvalue()
print(json.dumps(printed))
"""


@pytest.fixture(scope="module")
def printed(installed):
    """Return what several commands print; one process runs them all."""
    commands = [*(["list", kind] for kind in LISTED.values()), *(["explain", name] for name in EXPLAINED)]
    command = [sys.executable, "-c", SEVERAL, json.dumps(commands)]
    done = subprocess.run(command, env=installed, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", LISTED)
def test_everything_in_the_package_is_listed_with_where_it_is_from(printed, name):
    lines = [line for line in printed[f"list {LISTED[name]}"].splitlines() if line.startswith(name)]
    assert len(lines) == 1
    assert lines[0].rstrip().endswith("recassay-example 1.0")


@pytest.mark.parametrize("name", EXPLAINED)
def test_everything_in_the_package_is_explained(printed, name):
    assert printed[f"explain {name}"].startswith(name)


def test_the_command_line_finds_the_package_by_itself(installed):
    assert recassay(installed, "explain", "root_gain").startswith("root_gain")


def test_a_file_of_the_new_format_is_scored_with_the_new_metric_profile_and_check(installed, tmp_path):
    (tmp_path / "truth.arrows").write_text("x <- ann\ny <- ann\nz <- bob\n")
    (tmp_path / "run.arrows").write_text("y <- ann\nq <- ann\nx <- ann\nz <- bob\n")
    out = recassay(installed, "score", "truth.arrows", "run.arrows", "-m", "root_gain@2", "--json", cwd=tmp_path)
    found = json.loads(out)
    (row,) = found["rows"]
    ann = 1 / (1 + 2**-0.5)  # y at rank 1; the best would have x at rank 2
    assert row["mean"] == pytest.approx((ann + 1) / 2, abs=1e-12)
    assert "EX001" in {one["code"] for one in found["findings"]}
    assert recassay(
        installed, "score", "truth.arrows", "run.arrows", "-m", "recall@2", "--profile", "in_house", cwd=tmp_path
    )


def test_a_study_uses_the_new_split_model_and_metric_under_a_design(installed, tmp_path):
    (tmp_path / "study.yaml").write_text(STUDY)
    recassay(installed, "run", "study.yaml", "-o", "out", "-q", cwd=tmp_path)
    rows = json.loads((tmp_path / "out" / "summary.json").read_text())["rows"]
    found = {(row["system"], row["design"], row["metric"]): row["mean"] for row in rows}
    assert 0 < found["blend", "TI-AR-AN", "root_gain@5"] < 1


def test_the_new_metric_works_on_a_stream(installed):
    code = (
        "import recassay as ra\n"
        "from recassay.data.synthetic import log\n"
        "made = log(users=40, items=30, events=500, seed=1)\n"
        "model, protocol = ra.models.incremental.StreamPopular(), ra.protocols.prequential()\n"
        "stream = ra.play(model, made, protocol, metrics='root_gain@10')\n"
        "print(stream.summary()['mean'][0] > 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], env=installed, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "True", done.stderr


def test_the_package_keeps_the_contracts(installed):
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "--rootdir",
        str(PLUGIN),
    ]
    done = subprocess.run([*command, str(PLUGIN / "tests")], env=installed, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
