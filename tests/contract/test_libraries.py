"""Models of LensKit and RecTools, where these are installed: neither is among the test requirements.

Their own requirements (CUDA packages, NumPy below 2) would burden everybody who runs the tests.
"""

import importlib.util

import pytest

import recassay as ra
from recassay.data.synthetic import log
from recassay.errors import UsageError
from recassay.testing import check_recommender

FOLD = ra.split.random(test=0.25, seed=1)(log(users=120, items=60, events=2_500, seed=3))[0]


def ndcg(model):
    run = ra.play(model, FOLD, ra.protocols.ranking(bins=0))
    return ra.judge(run, "TI-AR-AN", "ndcg@10", interval=None).rows[0].mean


def test_lenskit():
    basic = pytest.importorskip("lenskit.basic")
    model = ra.models.LensKit(basic.PopScorer())
    assert ndcg(model) == pytest.approx(ndcg(ra.models.Popular()), abs=0.01)  # the orders of ties differ
    check_recommender(model, learns=False)


def test_rectools():
    models = pytest.importorskip("rectools.models")
    model = ra.models.RecTools(models.PopularModel())
    assert ndcg(model) == pytest.approx(ndcg(ra.models.Popular()), abs=0.01)
    check_recommender(model, learns=False)
    check_recommender(ra.models.RecTools(models.EASEModel()))


@pytest.mark.parametrize("adapter", [ra.models.LensKit, ra.models.RecTools])
def test_a_library_that_is_not_there_is_asked_for(adapter):
    if importlib.util.find_spec(adapter.__name__.lower()):
        pytest.skip("it is there")
    with pytest.raises(UsageError, match="U112"):
        adapter(object()).fit(FOLD.train)
