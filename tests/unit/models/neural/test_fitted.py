"""Capabilities of fitted networks, and their descriptions: presets and parameters."""

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from recassay import models
from recassay.data.sequences import Histories
from recassay.data.synthetic import log
from recassay.errors import UsageError
from recassay.models import GRU, NARM, BERT4Rec, SASRec
from recassay.models.base.capabilities import HasFactors, ScoresItems
from recassay.models.neural.base import FittedNeural
from recassay.testing import check_recommender

from ....refusals import refused

torch = pytest.importorskip("torch")

SMALL = {"dim": 8, "length": 6, "epochs": 2, "device": "cpu"}
MODELS = [
    GRU(**SMALL, hidden=8),
    NARM(**SMALL, hidden=8),
    SASRec(**SMALL, heads=2),
    BERT4Rec(**SMALL, inner=16, copies=1),
]
LOG = log(users=90, items=50, events=1_200, seed=4)
ALL_USERS = np.arange(LOG.n_users, dtype=np.int32)


@pytest.fixture(scope="module", params=MODELS, ids=lambda model: model.name)
def fitted(request):
    return request.param.fit(LOG)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_networks_pass_all_checks_of_a_recommender(model):
    check_recommender(model, learns=False)
    assert model.trains_in_epochs


def test_scores_of_a_user_are_those_of_the_history_for_any_batch(fitted):
    assert isinstance(fitted, ScoresItems)
    assert isinstance(fitted, HasFactors)
    histories, scores = Histories.of(LOG), fitted.scores(ALL_USERS)
    assert scores.dtype == np.float32
    assert np.allclose(scores, fitted.next_scores(histories), atol=1e-5)
    for user in (0, 17, 89):
        assert np.allclose(scores[[user]], fitted.next_scores(histories.take(np.array([user]))), atol=1e-5)
        assert np.allclose(scores[[user]], fitted.scores(np.array([user])), atol=1e-5)


def test_empty_and_short_histories_have_scores(fitted):
    short = Histories(np.array([0, 0, 1]), np.array([3], np.int32))
    scores, probabilities = fitted.next_scores(short), fitted.next_probabilities(short)
    assert np.isfinite(scores).all()
    assert np.allclose(probabilities.sum(axis=1), 1, atol=1e-5)
    assert np.allclose(np.log(probabilities[1] / probabilities[1, 0]), scores[1] - scores[1, 0], atol=1e-4)
    assert fitted.next_scores(short.take(np.empty(0, np.int64))).shape == (0, LOG.n_items)


def test_concurrent_calls_return_the_same_bits(fitted):
    histories, before = Histories.of(LOG), torch.get_num_threads()
    wanted = fitted.next_scores(histories).tobytes()
    fresh = pickle.loads(pickle.dumps(fitted))
    with ThreadPoolExecutor(4) as pool:
        answers = [pool.submit(lambda: fresh.next_scores(histories).tobytes()) for _ in range(8)]
        assert {answer.result() for answer in answers} == {wanted}
    assert torch.get_num_threads() == before


def test_a_pickled_copy_gives_the_same_scores_and_contains_no_cached_values(fitted):
    fitted.scores(ALL_USERS)
    copy = pickle.loads(pickle.dumps(fitted))
    assert copy.__dict__.keys() == {"log", "model", "weights", "epoch_results"}
    assert copy.scores(ALL_USERS).tobytes() == fitted.scores(ALL_USERS).tobytes()
    bare = len(pickle.dumps((fitted.model, fitted.weights, fitted.epoch_results)))
    assert len(pickle.dumps(fitted)) < bare + 2 * len(pickle.dumps(LOG))


def test_with_log_changes_histories_but_not_weights(fitted):
    last = np.flatnonzero(np.arange(len(LOG)) >= len(LOG) - 90)
    early = LOG.take(np.arange(len(LOG) - 90))
    before = FittedNeural(early, fitted.model, fitted.weights)
    after = before.with_log(early.concat(LOG.take(last)))
    assert after.weights is before.weights
    assert np.allclose(after.scores(ALL_USERS), fitted.scores(ALL_USERS), atol=1e-5)
    assert not np.allclose(before.scores(ALL_USERS), fitted.scores(ALL_USERS), atol=1e-5)


def test_a_fitted_network_prints_as_its_description(fitted):
    assert str(fitted) == repr(fitted) == str(fitted.model)


def test_models_are_listed_and_parsed_without_pytorch():
    code = (
        "import sys; from recassay import models; print(*models.REGISTRY.built_in); "
        "print(models.parse('SASRec(dim=64, heads=2)'), 'torch' in sys.modules)"
    )
    lines = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split("\n")
    assert {"GRU", "NARM", "SASRec", "BERT4Rec"} <= {*lines[0].split()}
    assert lines[1] == "SASRec(dim=64, heads=2) False"


def test_the_error_of_missing_pytorch_has_the_command_that_installs_it(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(f"No module named '{name}'", name=name)

    monkeypatch.setattr("importlib.import_module", missing)
    with pytest.raises(UsageError, match=r"SASRec needs torch.*\n.*pip install 'recassay\[neural\]'"):
        SASRec().fit(LOG)


def test_presets_have_the_published_parameters():
    model = SASRec.preset("ml-1m", seed=3)
    assert (model.length, model.dropout, model.batch, model.rate, model.seed) == (200, 0.2, 128, 0.001, 3)
    assert SASRec.preset("beauty") == SASRec(loss="binary") == SASRec.preset("authors")
    beauty = BERT4Rec.preset("beauty")
    assert (beauty.length, beauty.mask, beauty.predictions, beauty.dropout, beauty.dropout_attention) == (
        50, 0.6, 30, 0.5, 0.2,
    )  # fmt: skip
    for kind in (GRU, NARM, SASRec, BERT4Rec):
        for name in kind.presets:
            assert models.parse(str(kind.preset(name))) == kind.preset(name)
    with refused("U107", match="did you mean 'ml-1m'"):
        SASRec.preset("ml1m")


@pytest.mark.parametrize(
    "make",
    [
        lambda: SASRec(heads=3),
        lambda: SASRec(blocks=0),
        lambda: SASRec(length=1),
        lambda: SASRec(dropout=1.0),
        lambda: SASRec(loss="bpr"),
        lambda: SASRec(device="tpu"),
        lambda: GRU(hidden=0),
        lambda: GRU(rate=0.0),
        lambda: GRU(epochs=0),
        lambda: NARM(dropout_states=-0.1),
        lambda: BERT4Rec(mask=1.5),
        lambda: BERT4Rec(copies=0),
        lambda: BERT4Rec(heads=7),
        lambda: BERT4Rec(warmup=-1),
    ],
)
def test_parameters_out_of_range_are_an_error(make):
    with refused("U102"):
        make()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_missing_gpu_is_an_error():
    with refused("U102", match="finds no GPU"):
        SASRec(device="cuda").fit(LOG)
