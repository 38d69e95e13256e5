"""Bars on a terminal, nothing in pipes and in CI, a line at the end, and how a study that was stopped goes on."""

from __future__ import annotations

import re

import pytest

from recassay.cli._common import progress


def used(capsys, *, quiet=False):
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


def test_a_pipe_sees_nothing(capsys, monkeypatch):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    assert used(capsys) == ""


def test_ci_and_quiet_see_nothing(capsys, terminal, monkeypatch):
    assert used(capsys, quiet=True) == ""
    monkeypatch.setenv("CI", "true")
    assert used(capsys) == ""


def test_a_terminal_sees_bars_with_a_rate_and_a_line_at_the_end(capsys, terminal):
    said = used(capsys)
    assert "1000/1000" in said
    assert "/s" in said
    assert "judging [red]x[/red]" in said  # a name is text
    assert re.search(r"Done in \d+\.\d s", said)


def test_a_study_that_is_stopped_says_how_it_goes_on(recassay, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.yaml").write_text(
        "study: tiny\ndata: {generate: 'log(users=40, items=30, events=400)'}\nsplit: random(test=0.2)\n"
        "models: [Popular, Random]\nmetrics: recall@5\n"
    )

    def stopped(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("recassay.study.record.Record.written", stopped)
        answer = recassay("run", "tiny.yaml", "-o", "out")
    assert (answer.code, answer.out) == (130, "")
    assert "goes on where it was" in answer.err
    assert not list((tmp_path / "out").rglob("*.tmp"))
    assert recassay("run", "tiny.yaml", "-o", "out").code == 0
