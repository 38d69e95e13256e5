"""Test your own recommender in one line: ``recassay.testing.check_recommender(MyModel())``.

Everything a model promises is asked of it on a log whose right answers are known without data: a checkerboard of users
and items, in which every user has had all squares of a colour but one.
"""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import polars as pl

from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.engine.play import play
from recassay.models.base import NOTHING
from recassay.protocols.ranking import Ranking

SQUARES = 40
LEARNT = 36  # of them a model that learns finds at least; chance finds two, and an unlucky start may cost a few


def checkerboard(size: int = SQUARES) -> Fold:
    """User u has had all items of the parity of u but item u, which is what is asked for.

    >>> fold = checkerboard(6)
    >>> fold.train.items[fold.train.users == 2].tolist(), fold.test.items[fold.test.users == 2].tolist()
    ([0, 4], [2])
    """
    user, item = np.nonzero(np.add.outer(np.arange(size), np.arange(size)) % 2 == 0)
    log = Interactions.from_frame(pl.DataFrame({"user_id": user, "item_id": item}))
    asked = user == item
    return Fold(log.take(~asked), log.take(asked), "global", {"split": "checkerboard"})


def check_recommender(model: Any, *, learns: bool = True) -> None:
    """Raise AssertionError, with what is wrong, unless a model keeps all promises of a recommender.

    It has ``fit(log)``, which changes nothing in it, and gives an object with ``scores(users)``, ``recommend(users,
    k)`` or factors. A model that learns finds the missing square of the checkerboard for 36 of 40 users or more;
    ``learns=False`` is for one that ignores who had what (popularity, chance).

    >>> from recassay.models import Popular, UserKNN
    >>> check_recommender(UserKNN(neighbours=10))
    >>> check_recommender(Popular())
    Traceback (most recent call last):
    AssertionError: Popular ranks the missing square of the checkerboard first for 1 of 40 users
    """
    name, fold = str(model), checkerboard()
    before = _pickled(name, model)
    fitted = model.fit(fold.train)
    _need(_pickled(name, model) == before, f"fitting changes {name}: keep what is learnt in another object")
    _answers(name, fitted, fold)
    _repeats(name, model, fitted, fold)
    _small(name, model)
    if learns:
        run = play(fitted, fold, Ranking(k=1, bins=0), name=name)
        right = int((run.items == fold.test.items[np.argsort(fold.test.users)][: run.items.size]).sum())
        what = f"{name} ranks the missing square of the checkerboard first for {right} of {SQUARES} users"
        _need(right >= LEARNT, what)


def _answers(name: str, fitted: Any, fold: Fold) -> None:
    """Lists hold unseen items, once; scores are one per item, and numbers."""
    users = np.arange(SQUARES, dtype=np.int32)
    capable = any(hasattr(fitted, one) for one in ("scores", "recommend", "item_factors"))
    _need(capable, f"what {name} fits has neither scores nor recommend nor factors")
    if hasattr(fitted, "scores"):
        table = np.asarray(fitted.scores(users))
        _need(
            table.shape == (SQUARES, SQUARES), f"{name} gives scores of shape {table.shape}, not {(SQUARES, SQUARES)}"
        )
        _need(not np.isnan(table).any(), f"{name} gives NaN scores; -inf says that an item cannot be scored")
        few = np.asarray(fitted.scores(users[[3, 1]]))
        same = np.allclose(few, table[[3, 1]], rtol=1e-4, atol=1e-6)
        _need(same, f"the scores {name} gives a user depend on who else is asked")
    if hasattr(fitted, "recommend"):
        offsets, profile = fold.train.by_user
        items, scores = fitted.recommend(users, SQUARES + 5)
        _need(
            items.shape == scores.shape == (SQUARES, SQUARES + 5),
            f"{name} gives lists of another length than asked for",
        )
        for user, row in enumerate(items):
            listed = row[row != NOTHING]
            had = profile[offsets[user] : offsets[user + 1]]
            _need(np.unique(listed).size == listed.size, f"{name} lists an item twice for user {user}")
            _need(not np.isin(listed, had).any(), f"{name} lists items that user {user} has had")
            _need(((listed >= 0) & (listed < SQUARES)).all(), f"{name} lists items that do not exist for user {user}")


def _repeats(name: str, model: Any, fitted: Any, fold: Fold) -> None:
    """Fitting again, and a copy that went through pickle, give the same bits."""
    ask = Ranking(k=10, bins=0)

    def lists(one: Any) -> pl.DataFrame:
        return play(one, fold, ask, name=name).frame()

    first = lists(fitted)
    _need(first.equals(lists(model.fit(fold.train))), f"fitting {name} again gives other lists")
    _need(first.equals(lists(fitted)), f"asking {name} again gives other lists")
    copied = pickle.loads(_pickled(name, model))
    _need(first.equals(lists(copied.fit(fold.train))), f"{name} is another model after pickling")
    _need(
        first.equals(lists(pickle.loads(_pickled(f"what {name} fits", fitted)))),
        f"what {name} learnt is lost in pickling",
    )


def _small(name: str, model: Any) -> None:
    """A user without a past can be asked about."""
    fold = checkerboard()
    train = fold.train.take(fold.train.users != 7)
    run = play(model.fit(train), Fold(train, fold.test, "global", {}), Ranking(k=5, bins=0), name=name)
    _need(run.standings is not None, f"{name} cannot answer a user without a past")


def _pickled(name: str, thing: Any) -> bytes:
    try:
        return pickle.dumps(thing)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise AssertionError(f"{name} cannot be pickled, as a study must to keep it: {error}") from error


def _need(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)
