"""Completion in bash, zsh and fish, by the protocol that the shells use."""

import os
import subprocess
import sys

import pytest

from recassay.metrics.registry import METRICS, parse_metric
from recassay.models.base.registry import REGISTRY as MODELS
from recassay.naming import source_names
from recassay.profiles.base import PROFILES
from recassay.split import REGISTRY as SPLITS

SHELLS = {
    "bash": lambda words: {"COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)},
    "zsh": lambda words: {"_TYPER_COMPLETE_ARGS": " ".join(words)},
    "fish": lambda words: {"_TYPER_COMPLETE_FISH_ACTION": "get-args", "_TYPER_COMPLETE_ARGS": " ".join(words)},
}


@pytest.fixture
def complete(recassay, monkeypatch):
    """Return what a shell is offered for the last of some words."""

    def run(*words, shell="bash"):
        for name, value in SHELLS[shell](["recassay", *words]).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("_RECASSAY_COMPLETE", f"complete_{shell}")
        return recassay().out

    return run


@pytest.mark.parametrize("shell", list(SHELLS))
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("score", "truth.csv", "runs", "-m", "rpr"), "rprec"),
        (("score", "truth.csv", "runs", "--metric", "ndc"), "ndcg@10"),
        (("score", "truth.csv", "runs", "--profile", "recb"), "recbole"),
        (("score", "truth.csv", "runs", "--test", "wilcoxon-"), "wilcoxon-pratt"),
        (("score", "truth.csv", "runs", "--baseline", "se"), "second"),
        (("recommend", "Pure"), "PureSVD"),
        (("fit", "EA"), "EASE"),
        (("explain", "I20"), "I201"),
        (("split", "log.csv", "--split", "global"), "global_time"),
    ],
)
def test_names_are_completed(complete, folder, shell, words, offered):
    assert offered in complete(*words, shell=shell)


def test_systems_of_a_folder_of_results_are_completed(complete, recassay, folder, monkeypatch):
    recassay("score", "truth.csv", "runs", "-m", "ndcg@2", "--interval", "none", "-o", "out")
    assert complete("compare", "out", "--baseline", "fi").split() == ["first"]
    assert complete("compare", "out", "--competitor", "").split() == ["first", "second"]
    assert complete("compare", "out", "-m", "nd").split() == ["ndcg@2"]
    assert complete("compare", "nowhere", "--baseline", "fi").split() == []


def test_completion_imports_nothing_heavy(folder):
    words = {"COMP_WORDS": "recassay score truth.csv runs -m ndc", "COMP_CWORD": "5"}
    code = (
        "import atexit, sys; heavy = {'numba', 'numpy', 'polars', 'scipy'}\n"
        "atexit.register(lambda: print(sorted(heavy & set(sys.modules)), file=sys.stderr))\n"
        "sys.argv = ['recassay']\nfrom recassay.cli import main\nmain()"
    )
    environment = os.environ | words | {"_RECASSAY_COMPLETE": "complete_bash"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert "ndcg@10" in done.stdout
    assert done.stderr.splitlines()[-1] == "[]"


def test_names_in_the_source_are_those_of_the_registries():
    """Built-in names alone: other tests define things of their own."""

    def built_in(registry):
        return sorted(name for name in registry.kinds if registry.source(name) == "recassay")

    metrics = source_names.metric_names()
    assert sorted(name.partition("@")[0] for name in metrics) == built_in(METRICS)
    assert [parse_metric(name).k for name in metrics] == [10 if "@" in name else None for name in metrics]
    assert all("@" in name or parse_metric(name).cutoff == "none" for name in metrics)
    assert source_names.model_names() == built_in(MODELS)
    assert source_names.profile_names() == built_in(PROFILES)
    assert set(built_in(SPLITS)) <= set(source_names.split_names())
