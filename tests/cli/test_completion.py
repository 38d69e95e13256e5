"""Completion in bash, zsh and fish, by the protocol that the shells use."""

import pytest

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
