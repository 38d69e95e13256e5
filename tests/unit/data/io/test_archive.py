"""Archives hold what recassay makes, come back with the same bits, and run no code when they are read."""

import copy
import functools
import json
import os
import pickle
from pathlib import Path
from types import MappingProxyType

import numpy as np
import polars as pl
import pytest
from scipy import sparse

import recassay as ra
from recassay import models
from recassay.data.interactions import Interactions
from recassay.data.io import archive
from recassay.data.synthetic import log
from recassay.errors import UsageError
from recassay.models.base.model import FittedFactors
from recassay.models.base.registry import REGISTRY, load_fitted
from recassay.models.incremental._lists import GrowingLists

LOG = log(users=30, items=20, events=300, seed=4)
RATED = Interactions.from_frame(LOG.frame().with_columns(rating=pl.Series(np.arange(len(LOG)) % 5 + 1.0)))


class Planted:
    """An object whose pickle makes a file when it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.fixture
def there(tmp_path):
    """Return a value after it went through an archive."""

    def through(value, shared=None):
        archive.save_archive(tmp_path / "a.npz", value, shared)
        return archive.load_archive(tmp_path / "a.npz", shared)

    return through


def test_plain_values_and_containers_come_back_equal(there):
    value = {
        "numbers": [1, -(2**80), 0.1, float("inf"), True, None],
        (1, "a"): ("b", {2, 3}, frozenset({4}), b"\x00\xff"),
        3: {"deep": [[], {}, ()]},
    }
    assert there(value) == value
    assert type(there(MappingProxyType({"a": 1}))) is MappingProxyType


def test_arrays_and_tables_come_back_with_their_types(there):
    for array in (np.arange(6, dtype=np.int32).reshape(2, 3).T, np.array(2.5), np.zeros((0, 3)), np.array(["a", "bc"])):
        back = there(array)
        assert (back.dtype, back.shape, back.flags.f_contiguous) == (array.dtype, array.shape, array.flags.f_contiguous)
        assert (back == array).all()
    scalar = there(np.float32(0.1))
    assert (type(scalar), scalar) == (np.float32, np.float32(0.1))
    frame = pl.DataFrame({"a": [1, None], "b": ["x", "y"], "c": pl.Series([1, 2], dtype=pl.Datetime("us"))})
    assert there(frame).equals(frame)
    assert there(frame).schema == frame.schema
    assert there(frame["b"]).equals(frame["b"])
    matrix = sparse.csr_matrix(np.eye(3, dtype=np.float32))
    assert (there(matrix) != matrix).nnz == 0


def test_what_is_shared_stays_shared(there):
    one = np.arange(3)
    first, second, (third,) = there([one, one, [one]])
    assert first is second
    assert first is third
    lists = GrowingLists()
    assert there([LOG, lists], {"log": LOG})[0] is LOG


def test_an_object_may_hold_itself(there):
    lists = GrowingLists()
    lists.self = [lists]
    back = there(lists)
    assert back.self[0] is back


def test_objects_of_recassay_come_back_without_what_is_computed_again(there):
    assert LOG.fingerprint
    back = there(LOG)
    assert type(back) is Interactions
    assert "fingerprint" not in vars(back)
    assert back.fingerprint == LOG.fingerprint


def test_the_same_value_gives_the_same_bytes(tmp_path):
    for name in "ab":
        archive.save_archive(tmp_path / name, [LOG, {"a": np.arange(3)}])
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize(
    "value",
    [Path("a"), print, functools.partial(print), np.array([object()]), pl.Series([object()]), Planted("a"), Planted],
    ids=["path", "function", "partial", "objects", "series", "instance", "class"],
)
def test_what_no_archive_holds_is_refused(value, there):
    with pytest.raises(archive.NotStorableError):
        there([value])


@pytest.mark.parametrize("name", sorted(REGISTRY.names))
def test_every_built_in_model_that_fits_a_log_needs_no_pickle(name, there):
    kind = REGISTRY.names[name]
    quick = {"epochs": 1, "dim": 8, "heads": 2, "batch": 32}  # networks train for minutes otherwise
    try:
        fitted = kind(**{key: value for key, value in quick.items() if key in kind.__dataclass_fields__}).fit(RATED)
    except (UsageError, AttributeError, TypeError):
        pytest.skip("it needs more than a log, or a library that is not installed")
    back = there(fitted, {"log": RATED})
    users = np.arange(5, dtype=np.int32)
    if hasattr(fitted, "scores"):
        assert np.array_equal(back.scores(users), fitted.scores(users))
    else:
        assert type(back) is type(fitted)


def forged(path, row):
    """Write an archive whose only object is given by a row of its document."""
    document = json.dumps({"root": [0], "rows": [row], "shared": []}).encode()
    with path.open("wb") as file:
        np.savez(file, state=np.frombuffer(document, np.uint8))


@pytest.mark.parametrize(
    "name",
    ["os:system", "subprocess:Popen", "recassay.models.base.registry:Path", "recassay.data.io.archive:_Rows",
     "recassay.models.base.registry:REGISTRY", "recassayed:Thing", "recassay.datab:Thing"],
)  # fmt: skip
def test_a_forged_archive_makes_no_object_of_another_package(name, tmp_path):
    forged(tmp_path / "a", [name])
    with pytest.raises((ValueError, ModuleNotFoundError)):
        archive.load_archive(tmp_path / "a")


def test_pickled_members_of_an_archive_are_not_read(tmp_path):
    path, trap = tmp_path / "a", tmp_path / "trap"
    with path.open("wb") as file:
        np.savez(file, state=np.array([Planted(trap)], object))
    with pytest.raises(ValueError, match="allow_pickle"):
        archive.load(path)
    assert not trap.exists()


def test_a_pickle_is_read_only_if_this_process_wrote_it_or_the_user_trusts_it(tmp_path):
    path, trap = tmp_path / "a", tmp_path / "trap"
    archive.save(path, [Path("own")])
    assert path.read_bytes()[:1] == b"\x80"
    assert archive.load(path) == [Path("own")]
    path.write_bytes(pickle.dumps(Planted(trap)))
    with pytest.raises(UsageError, match="recassay run --trust") as caught:
        archive.load(path)
    assert (caught.value.code, trap.exists()) == ("U236", False)
    archive.load(path, trust=True)
    assert trap.exists()


def test_the_checkpoint_of_a_stream_runs_no_code_without_trust(tmp_path):
    path, trap = tmp_path / "stream.checkpoint", tmp_path / "trap"
    path.write_bytes(pickle.dumps({"about": {}, "state": Planted(trap)}))
    with pytest.raises(UsageError, match="U236"):
        ra.play(ra.models.incremental.ISGD(), LOG, ra.protocols.prequential(), checkpoint=path)
    assert not trap.exists()


def of_matrix(fitted):
    fitted.right.indices[0] = 1 << 30


def of_descending_rows(fitted):
    fitted.left.indptr[1] = -5


def of_a_log(fitted):
    fitted.log.items[-1] = 1 << 30


def of_lists(fitted):
    fitted.learner.common.owners.values[0] = 1 << 30


def of_a_cache(fitted):
    fitted.learner.common.entity_of[0] = 1 << 30


def of_a_queue(fitted):
    fitted.learner.queue[0, 1] = 1 << 30


def of_factors(fitted):
    fitted.learner.items = fitted.learner.items[:, :-2]


def of_profiles(fitted):
    fitted.learner.profiles.start[0] = 1 << 40


def of_totals(fitted):
    fitted.learner.state.totals[3] = 1e9


@pytest.mark.parametrize(
    ("model", "change"),
    [
        ("ItemKNN", of_matrix), ("ItemKNN", of_descending_rows), ("Popular", of_a_log), ("UKNN", of_lists),
        ("StreamItemKNN", of_a_cache), ("ISGD(negatives=2)", of_a_queue), ("BPRMF", of_factors),
        ("BPRMF", of_profiles), ("StreamBiasedMF", of_totals),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)  # fmt: skip
def test_arrays_that_lead_outside_of_other_arrays_are_refused_before_a_compiled_loop_sees_them(model, change, tmp_path):
    fitted = copy.deepcopy(models.parse(model).fit(RATED))
    archive.save_archive(tmp_path / "sound.npz", {"model": "m", "fitted": fitted})
    load_fitted(tmp_path / "sound.npz")
    change(fitted)
    archive.save_archive(tmp_path / "crafted.npz", {"model": "m", "fitted": fitted})
    with pytest.raises(UsageError, match=r"U123.*no fitted model can be read"):
        load_fitted(tmp_path / "crafted.npz")


def test_the_file_of_a_model_that_cannot_recommend_is_refused(tmp_path):
    fitted = FittedFactors(LOG, np.zeros((LOG.n_users, 2), np.float32), np.zeros((LOG.n_items, 3), np.float32))
    archive.save_archive(tmp_path / "crafted.npz", {"model": "m", "fitted": fitted})
    with pytest.raises(UsageError, match="U123"):
        load_fitted(tmp_path / "crafted.npz")
