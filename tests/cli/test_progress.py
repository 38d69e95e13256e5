"""Progress: bars on a terminal, nothing in pipes and in CI, a final line, and how to resume a stopped study."""

from __future__ import annotations

import re

import pytest

from recassay.cli._common import progress


def progress_output(capsys, *, quiet=False):
    with progress(quiet) as report:
        if report is not None:
            for done in (0, 500, 1000):
                report("judging [red]x[/red]", done, 1000)
    return capsys.readouterr().err


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)


def test_nothing_is_printed_to_a_pipe(capsys, monkeypatch):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    assert progress_output(capsys) == ""


def test_nothing_is_printed_in_ci_or_if_quiet(capsys, terminal, monkeypatch):
    assert progress_output(capsys, quiet=True) == ""
    monkeypatch.setenv("CI", "true")
    assert progress_output(capsys) == ""


def test_a_terminal_shows_bars_with_a_rate_and_a_final_line(capsys, terminal):
    output = progress_output(capsys)
    assert "1000/1000" in output
    assert "/s" in output
    assert "judging [red]x[/red]" in output  # markup in names is not interpreted
    assert re.search(r"Done in \d+\.\d s", output)


def test_a_stopped_study_prints_how_to_resume(recassay, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.yaml").write_text(
        "study: tiny\ndata: {generate: 'log(users=40, items=30, events=400)'}\nsplit: random(test=0.2)\n"
        "models: [Popular, Random]\nmetrics: recall@5\n"
    )

    def stopped(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("recassay.study.run.record.Record.write", stopped)
        answer = recassay("run", "tiny.yaml", "-o", "out")
    assert (answer.code, answer.out) == (130, "")
    assert "to resume, run" in answer.err
    assert not list((tmp_path / "out").rglob("*.tmp"))
    assert recassay("run", "tiny.yaml", "-o", "out").code == 0
