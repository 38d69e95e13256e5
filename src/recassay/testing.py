"""Contract checks for your own metrics, models, splits and so on.

Each is one call, which raises AssertionError with the reason if a requirement is not met.

>>> from recassay import testing
>>> from recassay.metrics.registry import parse_metric
>>> testing.check_metric(parse_metric("recall@5"))
"""

from __future__ import annotations

import inspect
import pickle
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
import polars as pl

from recassay.api.judge import judge
from recassay.api.play import play
from recassay.api.score import score
from recassay.checks.base import CHECKS, Check
from recassay.data.features import Features
from recassay.data.fold import Fold, Leakage
from recassay.data.interactions import Interactions
from recassay.data.io.formats import FORMATS, Format, formats
from recassay.data.io.head import read_head
from recassay.data.read import read_interactions, read_items, read_run
from recassay.data.run import Run
from recassay.data.synthetic import log as generated_log
from recassay.engine.options import Execution
from recassay.errors import InternalError, RecassayError, UsageError
from recassay.metrics.align import Conventions
from recassay.metrics.base import Metric
from recassay.metrics.credit import Credit
from recassay.metrics.registry import HEADINGS, METRICS, describe, parse_metric
from recassay.models.base.capabilities import RecommendsLists, ScoresItems, gives_scores
from recassay.models.base.model import NO_ITEM
from recassay.models.factors import PureSVD
from recassay.naming.grammar import parse
from recassay.profiles.base import PROFILES, Profile
from recassay.protocols.ranking import Ranking
from recassay.results.finding import Severity
from recassay.split import Split
from recassay.split import parse as parse_split
from recassay.split.chance import RandomSplit

__all__ = [
    "check_check",
    "check_format",
    "check_metric",
    "check_profile",
    "check_recommender",
    "check_split",
    "checkerboard",
]
__dir__ = __all__.copy  # what `dir` lists

USERS, ITEMS, EVENTS = 40, 50, 800  # of the log with which metrics, splits and so on are tried
RANKS = 8
CLOSE = 1e-12
SQUARES = 40
LEAST_FOUND = 36  # users for whom a learning model must find the item; random lists find it for about 2


def require(holds: bool, otherwise: str) -> None:
    """Raise AssertionError with the text ``otherwise`` unless ``holds`` is true."""
    if not holds:
        raise AssertionError(otherwise)


@contextmanager
def _failing(what: str, kind: type[Exception] = RecassayError) -> Iterator[None]:
    """Turn an error of a kind within the context into an AssertionError that begins with ``what``."""
    try:
        yield
    except kind as error:
        raise AssertionError(f"{what}: {error}") from error


def _require_same_name(thing: Any, parse_name: Callable[[str], object]) -> None:
    """Raise AssertionError unless the name of a metric or a split parses back to an equal one."""
    with _failing(f"{thing} does not read back"):
        again = parse_name(str(thing))
    require(again == thing, f"{thing} reads back as {again!r}")


def _pickled(name: str, thing: Any) -> bytes:
    """Return the pickle of an object; raise AssertionError if the object cannot be pickled."""
    with _failing(f"{name} cannot be pickled, which studies and clusters need", Exception):
        return pickle.dumps(thing)


class World(NamedTuple):
    """A small fold of a generated log, a run on it that ranks every item without ties, and two features of each item.

    ``grades`` are the test part as judgements with gains from 0 to 4, and ``relevant`` with a gain of 1 for every item.
    """

    fold: Fold
    run: Run
    grades: pl.DataFrame
    relevant: pl.DataFrame
    items: Features


def log_of_world() -> Interactions:
    """Return a small generated log with distinct times and ratings from 1 to 5."""
    frame, row = generated_log(users=USERS, items=ITEMS, events=EVENTS, seed=3).frame(), pl.int_range(pl.len())
    return Interactions.from_frame(frame.with_columns(timestamp=pl.col("timestamp") + row, rating=row % 5 + 1.0))


def world() -> World:
    """Return a small fold and run for checks; they are the same in every call."""
    fold = RandomSplit(test=0.2, seed=7)(log_of_world())[0]
    run = play(PureSVD(factors=4), fold, Ranking(k=ITEMS, bins=0), name="system")
    grades = fold.test.frame().select("user_id", "item_id", gain=pl.col("rating") - 1)
    items = read_items({item: {"genre": [f"g{item % 5}", f"h{item % 3}"]} for item in range(1, ITEMS + 1)})
    return World(fold, run, grades, grades.with_columns(gain=pl.lit(1.0)), items)


def check_metric(metric: Metric) -> None:
    """Raise AssertionError, with the reason, unless a metric of ranked lists meets the requirements of all metrics.

    Its name parses back to an equal metric; its docstring has the headings that ``recassay explain`` shows; values are
    within ``bounds`` or NaN; neither the order of rows nor the number of threads changes a bit; and what it credits at
    a rank gives the same number in a list and when the same items are ranked as candidates.
    """
    here = world()
    _require_same_name(metric, parse_metric)
    sections = describe(type(metric)).sections
    absent = [heading for heading in HEADINGS if heading not in sections]
    require(not absent, f"the docstring of {metric} has no paragraph {' and no '.join(f'{one}:' for one in absent)}")
    _check_values(metric, here)
    _check_ranks(metric, here)


def _check_values(metric: Metric, here: World) -> None:
    frame, data = here.run.frame(), {"train": here.fold.train, "items": here.items, "interval": None}
    shuffled, mean = frame.sample(fraction=1.0, shuffle=True, seed=1), None
    for lists, threads, what in (
        (frame, 1, ""),
        (shuffled, 1, "the order of rows"),
        (frame, 3, "the number of threads"),
    ):
        runs, execution = {"system": read_run(lists, "system")}, Execution(threads=threads)
        try:
            scores = score(runs, here.grades, [metric], execution=execution, **data)  # type: ignore[arg-type]
        except (InternalError, UsageError) as error:  # every value is held to the bounds while it is computed
            require(error.code in ("X101", "U243"), f"{metric} cannot be computed: {error}")
            raise AssertionError(f"{metric} has values outside its bounds: {error}") from error
        row = scores.row("system", str(metric))
        require(row.n > 0, f"{metric} is undefined for every user of a sound run")
        mean = row.mean if mean is None else mean
        require(repr(row.mean) == repr(mean), f"{what} changes {metric}: {mean!r} becomes {row.mean!r}")


def _check_ranks(metric: Metric, here: World) -> None:
    """Raise AssertionError unless a metric gives the same numbers in three ways.

    These are from lists, from its formula by rank, and from ranks among candidates. The check is skipped for a metric
    without a formula.
    """
    formula = metric.rank_formula()
    if not isinstance(formula, Credit):
        return
    wanted = formula.of_one(np.arange(1.0, RANKS + 1))
    truth = {f"user {rank}": {"right": 1.0} for rank in range(1, RANKS + 1)}
    lists = {
        f"user {rank}": [*(f"wrong {place}" for place in range(1, rank)), "right"]
        + [f"below {n}" for n in range(RANKS)]
        for rank in range(1, RANKS + 1)
    }
    found = score({"lists": lists}, truth, [metric], interval=None).values("lists", str(metric))
    for rank in range(RANKS):
        what = f"{metric} of a list with one relevant item at rank {rank + 1} is {found[rank]!r}, its formula by rank"
        require(abs(found[rank] - wanted[rank]) < CLOSE, f"{what} gives {wanted[rank]!r}")
    if formula.weight is None:
        listed = score({"system": here.run}, here.relevant, [metric], interval=None).rows[0].mean
        design = judge({"system": here.run}, "AI-AR-AN", [metric], users="with_relevant", interval=None).rows[0].mean
        require(abs(listed - design) < CLOSE, f"{metric} is {listed!r} from lists and {design!r} under AI-AR-AN")


def check_split(split: Split) -> None:
    """Raise AssertionError, with the reason, unless a split meets the requirements of all splits.

    Its name must parse back to an equal split, and it must survive pickling. Each fold must say what it leaks. No row
    may be invented or be in two parts of a fold, and rows in no part must be counted by reason. Neither the order of
    rows nor a second call may change the folds.
    """
    name, log = str(split), log_of_world()
    _require_same_name(split, parse_split)
    require(pickle.loads(_pickled(name, split)) == split, f"{name} is another split after pickling")
    require(split.leakage in get_args(Leakage), f"{name} must state its leakage as one of {get_args(Leakage)}")
    folds = split(log)
    for fold in folds:
        _check_parts(name, fold, log)
    parts = [_parts(fold) for fold in folds]
    require([_parts(fold) for fold in split(log)] == parts, f"calling {name} again changes its folds")
    shuffled = Interactions.from_frame(log.frame().sample(fraction=1.0, shuffle=True, seed=1))
    require([_parts(fold) for fold in split(shuffled)] == parts, f"the order of rows changes the folds of {name}")


def _check_parts(name: str, fold: Fold, log: Interactions) -> None:
    parts = [set(rows) for rows in _parts(fold)]
    for one, other in combinations(parts, 2):
        both = one & other
        require(not both, f"{name} has {len(both)} rows in two parts of a fold, {next(iter(both), '')} for example")
    strange = set().union(*parts) - set(log.frame().rows())
    require(not strange, f"{name} makes {len(strange)} rows that are not in the log")
    kept, removed = sum(map(len, parts)), sum(fold.removed.values())
    what = f"{name}: {kept} rows in the parts and {removed} counted as removed, of {len(log)}"
    require(kept + removed == len(log), what)
    require(bool(len(fold.test)) and bool(len(fold.train)), f"{name} makes a fold with an empty part")


def _parts(fold: Fold) -> list[list[tuple[Any, ...]]]:
    """Return the rows of each part of a fold, sorted."""
    return [sorted(part.frame().rows()) for part in (fold.train, fold.test, fold.validation) if part is not None]


def check_profile(profile: Profile) -> None:
    """Raise AssertionError, with the reason, unless a profile of a library meets the requirements of all profiles.

    It is known by its name and says of which library and version it is; its conventions exist; every metric it names is
    one of ours, can be built, and scores a correct run.
    """
    name = profile.name
    require(PROFILES.kinds.get(name) is profile, f"no profile is known as {name}: register it with ra.register")
    require(bool(profile.title and profile.version), f"{name} must say which library and which version it reproduces")
    strange = set(profile.conventions) - set(Conventions.__dataclass_fields__)
    require(not strange, f"{name} sets conventions that do not exist: {', '.join(sorted(strange))}")
    require(bool(profile.metrics), f"{name} has no metric")
    here = world()
    for metric in profile.metrics:
        with _failing(f"{metric} of {name} cannot be used"):
            text = metric if METRICS.find(metric).cutoff == "none" else f"{metric}@3"
            profile.build(parse(text), {})
            score({"system": here.run}, here.relevant, text, train=here.fold.train, interval=None, profile=name)


def check_check(check: Check) -> None:
    """Raise AssertionError, with the reason, unless a check meets the requirements of all checks.

    Its code must be letters and then digits, and no other check may have it. It must have a title, a severity and a
    docstring that describes the problem. Scoring a correct run with it must raise nothing, and give a sentence or
    nothing.
    """
    code = check.code
    require(re.fullmatch(r"[A-Z]+\d{3,}", code) is not None, f"the code {code!r} is not letters and then three digits")
    with _failing(code):
        known = CHECKS.kinds.get(code)
    require(known is check, f"{code} is not registered: decorate its function with @check")
    require(
        check.severity in get_args(Severity), f"{code} has severity {check.severity!r}, not one of {get_args(Severity)}"
    )
    require(bool(check.title.strip()), f"{code} has no title")
    require(bool(inspect.getdoc(check.ask)), f"the function of {code} has no docstring, which explains it to users")
    here = world()
    scores = score({"system": here.run}, here.relevant, "ndcg@10 recall@10", train=here.fold.train, interval=None)
    designs = judge({"system": here.run}, "TI-AR-AN", "ndcg@10", interval=None)
    for detail in (one.detail for one in (*scores.findings, *designs.findings) if one.code == code):
        require(isinstance(detail, str) and bool(detail), f"{code} gives {detail!r}, not a text")


def check_format(format: Format, path: str | Path, rows: Sequence[tuple[object, object]]) -> None:
    """Raise AssertionError, with the reason, unless a format recognises a file and reads its (user, item) rows.

    The format must be known by its name, be the first to recognise the file, and read the same rows whether it is named
    or recognised.
    """
    path, name = Path(path), format.name
    require(FORMATS.kinds.get(name) is format, f"no format is known as {name}: register it with ra.register")
    head = read_head(path)
    first = next((one for one in formats() if one.matches(head)), None)
    recognised = "no format" if first is None else first.name
    require(first is format, f"{path.name} is recognised by {recognised}, not by {name}")
    wanted = sorted(repr(tuple(row)) for row in rows)
    for named in (None, name):
        with _failing(f"{name} cannot read {path.name}"):
            log = read_interactions(path, format=named)
        found = sorted(map(repr, log.frame().select("user_id", "item_id").rows()))
        require(found == wanted, f"{name} reads {len(found)} rows of {path.name}, {found[:3]}, not {wanted[:3]}")


# --- recommenders ---------------------------------------------------------------------------------------------------


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

    It is fitted on a log whose correct answers are known without data, a checkerboard of users and items.
    ``fit(log)`` must not change the model, and must return an object with ``scores(users)``, ``recommend(users, k)`` or
    factors. A second fit, and a copy by pickle, must give the same bits. A learning model must rank the missing item of
    the checkerboard first for at least 36 of 40 users; use ``learns=False`` for a model that ignores who had what, such
    as popularity.

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
    _check_answers(name, fitted, fold)
    ask = Ranking(k=10, bins=0)
    first = play(fitted, fold, ask, name=name).frame()
    for system, otherwise in (
        (model.fit(fold.train), f"fitting {name} again gives other lists"),
        (fitted, f"calling {name} again gives other lists"),
        (pickle.loads(_pickled(name, model)).fit(fold.train), f"{name} is another model after pickling"),
        (pickle.loads(_pickled(f"the fitted {name}", fitted)), f"what {name} learned is lost in pickling"),
    ):
        require(first.equals(play(system, fold, ask, name=name).frame()), otherwise)
    train = fold.train.take(fold.train.users != 7)
    run = play(model.fit(train), Fold(train, fold.test, "global", {}), Ranking(k=5, bins=0), name=name)
    require(run.standings is not None, f"{name} cannot answer for a user without training events")
    if learns:
        run = play(fitted, fold, Ranking(k=1, bins=0), name=name)
        right = int((run.items == fold.test.items[np.argsort(fold.test.users)][: run.items.size]).sum())
        what = f"{name} ranks the missing square of the checkerboard first for {right} of {SQUARES} users"
        require(right >= LEAST_FOUND, what)


def _check_answers(name: str, fitted: Any, fold: Fold) -> None:
    """Raise AssertionError unless the scores and lists of a fitted model are valid.

    Scores must be one number per item, the same for any batch of users. A list must have each unseen item at most once,
    and no seen one.
    """
    users = np.arange(SQUARES, dtype=np.int32)
    capable = isinstance(fitted, RecommendsLists) or gives_scores(fitted)
    require(capable, f"the fitted {name} has neither scores nor recommend nor factors")
    if isinstance(fitted, ScoresItems):
        table, shape = np.asarray(fitted.scores(users)), (SQUARES, SQUARES)
        require(table.shape == shape, f"{name} gives scores of shape {table.shape}, not {shape}")
        require(not np.isnan(table).any(), f"{name} gives NaN scores; use -inf for items that cannot be scored")
        few = np.asarray(fitted.scores(users[[3, 1]]))
        same = np.allclose(few, table[[3, 1]], rtol=1e-4, atol=1e-6)
        require(same, f"the scores {name} gives a user depend on who else is in the batch")
    if isinstance(fitted, RecommendsLists):
        offsets, profile = fold.train.by_user
        items, scores = fitted.recommend(users, SQUARES + 5)
        right = items.shape == scores.shape == (SQUARES, SQUARES + 5)
        require(right, f"{name} gives lists of another length than requested")
        for user, row in enumerate(items):
            listed, had = row[row != NO_ITEM], profile[offsets[user] : offsets[user + 1]]
            require(np.unique(listed).size == listed.size, f"{name} lists an item twice for user {user}")
            require(not np.isin(listed, had).any(), f"{name} lists items that user {user} has had")
            require(((listed >= 0) & (listed < SQUARES)).all(), f"{name} lists items that do not exist for user {user}")
