"""Models from classes in Python files."""

import pickle

import pytest

from recassay import models
from recassay.errors import UsageError
from recassay.testing import check_recommender

from ....refusals import refused

SOURCE = """
from dataclasses import dataclass
import numpy as np
from recassay.models.base.model import ScoringModel


@dataclass(frozen=True)
class Parity:
    \"\"\"Items of the user's own parity.\"\"\"

    weight: float = 1.0

    def fit(self, log):
        return Fitted(log, self.weight)


class Fitted(ScoringModel):
    def __init__(self, log, weight):
        self.log, self.weight = log, weight

    def scores(self, users):
        return self.weight * (np.add.outer(users, np.arange(self.log.n_items)) % 2 == 0)
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(SOURCE)
    return path


def test_a_class_in_a_file_is_a_model(file):
    model = models.parse(f"{file}:Parity(weight=2.0)")
    assert model.weight == 2.0
    check_recommender(model)
    assert pickle.loads(pickle.dumps(model)) == model


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{}:Parety", "did you mean 'Parity'"),
        ("{}:Parity(wait=2)", "unexpected keyword"),
        ("{}x.py:Parity", "there is no file"),
    ],
)
def test_errors_name_the_wrong_part_of_the_text(file, text, words):
    with refused("U123", match=words):
        models.parse(text.format(file))


def test_a_file_that_fails_to_run_is_an_error(tmp_path):
    (tmp_path / "broken.py").write_text("1 / 0")
    with pytest.raises(UsageError, match="ZeroDivisionError"):
        models.parse(f"{tmp_path}/broken.py:Anything")
