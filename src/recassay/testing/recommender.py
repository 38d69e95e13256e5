"""Checks of a recommender in one line: ``recassay.testing.check_recommender(MyModel())``.

The model is fitted on a log whose correct answers are known without data: a checkerboard of users and items, in which
every user has had all items of one colour except one.
"""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from recassay.api.play import play
from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.models.base.capabilities import RecommendsLists, ScoresItems, gives_scores
from recassay.models.base.model import NO_ITEM
from recassay.protocols.ranking import Ranking
from recassay.testing.world import require

SQUARES = 40
LEAST_FOUND = 36  # users for whom a learning model must find the item; random lists find it for about 2


def checkerboard(size: int = SQUARES) -> Fold:
    """Return a fold in which user u has had all items of u's parity except item u, which is the test item.

    >>> fold = checkerboard(6)
    >>> fold.train.items[fold.train.users == 2].tolist(), fold.test.items[fold.test.users == 2].tolist()
    ([0, 4], [2])
    """
    user, item = np.nonzero(np.add.outer(np.arange(size), np.arange(size)) % 2 == 0)
    log = Interactions.from_frame(pl.DataFrame({"user_id": user, "item_id": item}))
    is_test = user == item
    return Fold(log.take(~is_test), log.take(is_test), "global", {"split": "checkerboard"})


def _board(model: Any) -> Fold:
    """Return the fold of :func:`checkerboard`, an artificial log; every rating is 1 if the model reads ratings."""
    fold = checkerboard()
    if not getattr(model, "reads_ratings", False):
        return fold
    train, test = (replace(part, ratings=np.ones(len(part))) for part in (fold.train, fold.test))
    return replace(fold, train=train, test=test)


def check_recommender(model: Any, *, learns: bool = True) -> None:
    """Raise AssertionError with an explanation unless a model meets all requirements of a recommender.

    ``fit(log)`` must not change the model, and must return an object with ``scores(users)``, ``recommend(users, k)`` or
    factors. A learning model must rank the missing item of the checkerboard first for at least 36 of 40 users; use
    ``learns=False`` for a model that ignores who had what, such as popularity.

    >>> from recassay.models import Popular, UserKNN
    >>> check_recommender(UserKNN(neighbours=10))
    >>> check_recommender(Popular())
    Traceback (most recent call last):
    AssertionError: Popular ranks the missing square of the checkerboard first for 1 of 40 users
    """
    name, fold = str(model), _board(model)
    before = _pickled(name, model)
    fitted = model.fit(fold.train)
    require(_pickled(name, model) == before, f"fitting changes {name}: return another object with what is learned")
    _answers(name, fitted, fold)
    _repeats(name, model, fitted, fold)
    _small(name, model)
    if learns:
        run = play(fitted, fold, Ranking(k=1, bins=0), name=name)
        right = int((run.items == fold.test.items[np.argsort(fold.test.users)][: run.items.size]).sum())
        what = f"{name} ranks the missing square of the checkerboard first for {right} of {SQUARES} users"
        require(right >= LEAST_FOUND, what)


def _answers(name: str, fitted: Any, fold: Fold) -> None:
    """Raise AssertionError unless the scores and lists of a fitted model are valid.

    Scores must be one number per item, the same for any batch of users. A list must have each unseen item at most once,
    and no seen one.


    """
    users = np.arange(SQUARES, dtype=np.int32)
    capable = isinstance(fitted, RecommendsLists) or gives_scores(fitted)
    require(capable, f"the fitted {name} has neither scores nor recommend nor factors")
    if isinstance(fitted, ScoresItems):
        table = np.asarray(fitted.scores(users))
        require(
            table.shape == (SQUARES, SQUARES), f"{name} gives scores of shape {table.shape}, not {(SQUARES, SQUARES)}"
        )
        require(not np.isnan(table).any(), f"{name} gives NaN scores; use -inf for items that cannot be scored")
        few = np.asarray(fitted.scores(users[[3, 1]]))
        same = np.allclose(few, table[[3, 1]], rtol=1e-4, atol=1e-6)
        require(same, f"the scores {name} gives a user depend on who else is in the batch")
    if isinstance(fitted, RecommendsLists):
        offsets, profile = fold.train.by_user
        items, scores = fitted.recommend(users, SQUARES + 5)
        require(
            items.shape == scores.shape == (SQUARES, SQUARES + 5),
            f"{name} gives lists of another length than requested",
        )
        for user, row in enumerate(items):
            listed = row[row != NO_ITEM]
            had = profile[offsets[user] : offsets[user + 1]]
            require(np.unique(listed).size == listed.size, f"{name} lists an item twice for user {user}")
            require(not np.isin(listed, had).any(), f"{name} lists items that user {user} has had")
            require(((listed >= 0) & (listed < SQUARES)).all(), f"{name} lists items that do not exist for user {user}")


def _repeats(name: str, model: Any, fitted: Any, fold: Fold) -> None:
    """Raise AssertionError unless a second fit, and a copy by pickle, give the same bits."""
    ask = Ranking(k=10, bins=0)

    def lists(system: Any) -> pl.DataFrame:
        return play(system, fold, ask, name=name).frame()

    first = lists(fitted)
    require(first.equals(lists(model.fit(fold.train))), f"fitting {name} again gives other lists")
    require(first.equals(lists(fitted)), f"calling {name} again gives other lists")
    copied = pickle.loads(_pickled(name, model))
    require(first.equals(lists(copied.fit(fold.train))), f"{name} is another model after pickling")
    require(
        first.equals(lists(pickle.loads(_pickled(f"the fitted {name}", fitted)))),
        f"what {name} learned is lost in pickling",
    )


def _small(name: str, model: Any) -> None:
    """Raise AssertionError unless the fitted model also recommends to a user without training events."""
    fold = _board(model)
    train = fold.train.take(fold.train.users != 7)
    run = play(model.fit(train), Fold(train, fold.test, "global", {}), Ranking(k=5, bins=0), name=name)
    require(run.standings is not None, f"{name} cannot answer for a user without training events")


def _pickled(name: str, thing: Any) -> bytes:
    """Return the pickle of an object; raise AssertionError if the object cannot be pickled."""
    try:
        return pickle.dumps(thing)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise AssertionError(f"{name} cannot be pickled, which a study needs to store it: {error}") from error
