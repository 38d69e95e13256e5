"""Every noun that could be meant is taken, and every other one is refused with what to write instead."""

import pytest

import recassay as ra
from recassay.errors import InputError, UsageError

LOG = ra.read_interactions({"ann": ["x", "y", "z"], "bob": ["y", "z", "x"], "cem": ["z", "x", "y"]})
FOLDS = ra.split.last()(LOG)
FOLD = FOLDS[0]
RANKING = ra.protocols.ranking(bins=0)
POPULAR = ra.models.Popular()
RUN = ra.play(POPULAR, FOLD, RANKING)
SCORES = ra.score(RUN, FOLD, "hit@1", interval=None)


def test_a_fold_its_test_part_its_frame_and_its_truth_score_alike(tmp_path):
    frame = FOLD.test.frame()
    frame.write_csv(tmp_path / "truth.csv")
    for truth in (FOLD, FOLD.test, frame, frame.to_dict(), ra.read_truth(frame), tmp_path / "truth.csv"):
        assert ra.score(RUN, truth, "hit@1", interval=None).row("Popular", "hit@1").mean == 1.0, type(truth)


def test_ratings_of_a_test_part_are_gains():
    log = ra.read_interactions([("ann", "x", 4.0), ("ann", "y", 2.0)])
    assert ra.read_truth(log).frame().rows() == [("ann", "x", 4.0), ("ann", "y", 2.0)]


def test_a_fold_brings_its_training_part_for_metrics_that_need_one():
    scores = ra.score(RUN, FOLD, "efd@1", interval=None)
    stated = ra.score(RUN, FOLD.test, "efd@1", train=FOLD.train, interval=None)
    assert scores.row("Popular", "efd@1").mean == stated.row("Popular", "efd@1").mean


def test_a_training_log_that_is_given_wins_over_that_of_the_fold():
    skewed = [(user, "x") for user in "abcdefgh"] + [("a", "y"), ("a", "z")]
    means = [ra.score(RUN, FOLD, "efd@1", train=train, interval=None).rows[0].mean for train in (None, skewed, FOLD)]
    assert means[0] == means[2] != means[1]


def test_a_dict_names_runs_that_have_a_name_already():
    assert ra.score({"one": RUN, "two": RUN}, FOLD, "hit@1", interval=None).systems == ("one", "two")


def test_a_model_may_be_given_by_its_text():
    assert ra.play("Popular", FOLD, RANKING).frame().equals(RUN.frame())


WRONG = {
    "the tuple of a split as truth": (lambda: ra.score(RUN, FOLDS, "hit@1"), "folds[0]"),
    "runs and truth in the wrong order": (lambda: ra.score(ra.read_truth(FOLD), RUN, "hit@1"), "ra.score(runs, truth"),
    "a fold for its run": (lambda: ra.score(FOLD, FOLD, "hit@1"), "ra.play(ra.models.Popular()"),
    "a class for its run": (lambda: ra.score(ra.models.Popular, FOLD, "hit@1"), "write Popular() with parentheses"),
    "a model for its run": (lambda: ra.score({"pop": POPULAR}, FOLD, "hit@1"), "let a model recommend first"),
    "scores for runs": (lambda: ra.score(SCORES, FOLD, "hit@1"), "ra.compare(scores)"),
    "a class for its model": (lambda: ra.play(ra.models.Popular, FOLD, RANKING), "write Popular() with parentheses"),
    "a log for a fold": (lambda: ra.play(POPULAR, LOG, RANKING), "ra.split.random(test=0.2)(log)[0]"),
    "the tuple of a split for a fold": (lambda: ra.play(POPULAR, FOLDS, RANKING), "folds[0]"),
    "model and fold in the wrong order": (lambda: ra.play(FOLD, POPULAR, RANKING), "ra.play(model, fold, protocol)"),
    "the class of a protocol": (lambda: ra.play(POPULAR, FOLD, ra.protocols.ranking), "ranking() with parentheses"),
    "a text for a protocol": (lambda: ra.play(POPULAR, FOLD, "ranking"), "ra.protocols.ranking()"),
    "a fold for its log": (lambda: POPULAR.fit(FOLD), "fold.train"),
    "a table for a log": (lambda: POPULAR.fit(LOG.frame()), "ra.read_interactions"),
    "a split of a fold": (lambda: ra.split.random(test=0.2)(FOLD), "fold.train"),
    "a log among the parameters of a split": (lambda: ra.split.random(LOG), "random(...)(log)"),
    "scores for played runs": (lambda: ra.judge(SCORES, "TI-AR-AN", "hit@1"), "not their scores"),
    "a model for its played run": (lambda: ra.judge(POPULAR, "TI-AR-AN", "hit@1"), "let a model recommend first"),
    "a number for a played run": (lambda: ra.judge(5, "TI-AR-AN", "hit@1"), "let a model recommend first"),
    "a list for a played stream": (lambda: ra.over_time([], "recall@10"), "ra.protocols.prequential()"),
    "a log for a played stream": (lambda: ra.over_time(LOG, "recall@10"), "ra.protocols.prequential()"),
    "a run for its scores": (lambda: ra.compare(RUN), "score runs first"),
    "a list of scores": (lambda: ra.compare([SCORES, SCORES]), "score all runs in one call"),
    "scores under designs": (
        lambda: ra.compare(ra.judge(RUN, "TI-AR-AN", "hit@1", interval=None)),
        "scores.scores(design)",
    ),
    "a fold read as a log": (lambda: ra.read_interactions(FOLD), "fold.train"),
    "a log read as items": (lambda: ra.read_items(LOG), "ra.read_items"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_noun_is_refused_with_what_to_write(name):
    call, advice = WRONG[name]
    with pytest.raises(UsageError, match="U124") as caught:
        call()
    assert advice in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_list_of_tables_is_refused_for_lack_of_names():
    with pytest.raises(InputError, match=r"I108.*DataFrame") as caught:
        ra.score([RUN.frame(), RUN.frame()], FOLD, "hit@1")
    assert "dict of name to run" in str(caught.value)
