"""Worked examples of re-ranking, to 6 decimals."""

import polars as pl
import pytest

import recassay as ra


def close(found, expected):
    assert [item for item, _ in found] == [item for item, _ in expected]
    assert [value for _, value in found] == pytest.approx([value for _, value in expected], abs=5e-7)


MMR = {
    ("max", "none"): [(1, 0.5), (3, 0.75), (4, 0.95), (6, 0.7)],
    ("max", "zscore_step"): [(1, 0.583655), (3, 0.231279), (4, 0.741822), (6, 0.179566)],
    ("paper_text", "zscore_step"): [(1, 0.583655), (3, 0.231279), (4, 0.741822), (6, 0.179566)],
    ("min", "none"): [(1, 0.5), (3, 0.75), (2, 0.65), (5, 0.6)],
    ("min", "zscore_step"): [(1, 0.583655), (3, 0.231279), (2, 0.340492), (5, 0.083975)],
    ("mean", "none"): [(1, 0.5), (3, 0.75), (4, 0.7), (2, 0.65)],
    ("mean", "zscore_step"): [(1, 0.583655), (3, 0.231279), (4, 0.100148)],
    ("ranksys", "none"): [(1, 0.5), (3, 0.75), (4, 0.7), (2, 0.65)],
}


@pytest.mark.parametrize(("form", "norm"), MMR)
def test_mmr_equals_the_worked_example(run, items, picks, form, norm):
    expected = MMR[form, norm]
    method = ra.models.MMR(weight=0.5, places=4, form=form, norm=norm)
    close(picks(ra.rerank(run, method, items=items), len(expected)), expected)


@pytest.mark.parametrize(("form", "order"), [("max", [1, 3, 4, 2]), ("min", [1, 3, 2, 5]), ("mean", [1, 3, 4, 2])])
def test_mmr_with_minmax_equals_the_worked_example(run, items, picks, form, order):
    found = ra.rerank(run, ra.models.MMR(weight=0.5, places=4, form=form, norm="minmax"), items=items)
    assert [item for item, _ in picks(found)] == order


XQUAD = {
    (0.5, "none"): [(1, 0.611111), (4, 0.512963), (2, 0.484370), (6, 0.279123)],
    (0.5, "zscore_step"): [(1, 0.906177), (2, 1.011692), (4, 0.702206), (6, 0.664879)],
    (0.9, "none"): [(2, 0.324706), (1, 0.240741), (6, 0.182422), (4, 0.169753)],
    (0.9, "zscore_step"): [(2, 1.152669), (1, 0.826137), (6, 1.176977), (4, 1.143408)],
}


@pytest.mark.parametrize(("weight", "norm"), XQUAD)
def test_xquad_equals_the_worked_example(run, items, picks, weight, norm):
    table = pl.DataFrame({"item_id": [*range(1, 7), 11, 12, 13, 14], "genres": GENRES})
    train = [("ann", item) for item in (11, 12, 13, 14)] + [("bob", item) for item in range(1, 7)]
    method = ra.models.XQuAD(weight=weight, places=4, norm=norm)
    close(picks(ra.rerank(run, method, items=table, train=train)), XQUAD[weight, norm])


GENRES = [["x"], ["x", "y"], ["y"], ["x"], ["z"], ["y", "z"], ["x"], ["x", "y"], ["z"], ["x"]]

SPAD = {
    (0.5, "none"): [(3, 0.890476), (4, 0.4), (6, 0.271259)],
    (0.5, "zscore_step"): [(3, 1.242726), (6, 0.511124), (4, 0.353553)],
    (0.8, "none"): [(3, 0.884762), (4, 0.16), (6, 0.134014)],
    (0.8, "zscore_step"): [(3, 1.389186), (6, 0.897270), (4, 0.141421)],
}


@pytest.mark.parametrize(("weight", "norm"), SPAD)
def test_spad_equals_the_worked_example(profiles, picks, weight, norm):
    run = ra.read_run({"u": {3: 0.9, 4: 0.8, 6: 0.5, 7: 0.3}}, "mine")
    method = ra.models.SPAD(weight=weight, places=4, norm=norm, k1=2, k2=2)
    close(picks(ra.rerank(run, method, train=profiles), 3), SPAD[weight, norm])
