"""Output in an encoding that lacks dashes, lines or names: ASCII in their place, and the same JSON."""

import json
import os
import subprocess
import sys

import pytest

ENCODINGS = {
    "latin-1": {"PYTHONIOENCODING": "latin-1"},
    "ascii": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
}
SCORES = "system,user,ndcg\n" + "".join(f"{name},{user},0.{user}\n" for name in ("a – š😀", "b") for user in range(8))


def output(folder, *options, **environment):
    (folder / "scores.csv").write_text(SCORES, "utf-8")
    command = [sys.executable, "-m", "recassay", "compare", "scores.csv", "--resamples", "50", *options]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(command, cwd=folder, env={**clean, **environment}, capture_output=True, check=True).stdout


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_names_dashes_and_lines_are_ascii_where_the_encoding_lacks_them(tmp_path, encoding):
    printed = output(tmp_path, **ENCODINGS[encoding]).decode("ascii")
    assert r"a - \u0161\U0001f600" in printed
    assert "----" in printed


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_json_has_the_same_content_in_every_encoding(tmp_path, encoding):
    expected = json.loads(output(tmp_path, "--json", PYTHONIOENCODING="utf-8"))
    assert "a – š😀" in json.dumps(expected, ensure_ascii=False)
    assert json.loads(output(tmp_path, "--json", **ENCODINGS[encoding]).decode("ascii")) == expected
