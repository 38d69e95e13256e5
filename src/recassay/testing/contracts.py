"""Checks of a metric, a split, a profile, a numbered check or a file format of your own."""

from __future__ import annotations

import inspect
import pickle
import re
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import numpy as np
import polars as pl

from recassay.api.judge import judge
from recassay.api.score import score
from recassay.checks.base import CHECKS, Check
from recassay.data.fold import Fold, Leakage
from recassay.data.interactions import Interactions
from recassay.data.io.formats import FORMATS, Format, formats
from recassay.data.io.head import read_head
from recassay.data.read import read_interactions, read_run
from recassay.engine.options import Execution
from recassay.errors import InternalError, RecassayError, UsageError
from recassay.metrics.align import Conventions
from recassay.metrics.base import Metric
from recassay.metrics.credit import Credit
from recassay.metrics.registry import HEADINGS, describe, find, parse_metric
from recassay.naming.grammar import parse
from recassay.profiles.base import PROFILES, Profile
from recassay.results.finding import Finding, Severity
from recassay.results.scores import Scores
from recassay.split import Split
from recassay.split import parse as parse_split
from recassay.testing.world import World, log_of_world, require, world

RANKS = 8
CLOSE = 1e-12


def check_metric(metric: Metric) -> None:
    """Raise AssertionError, with the reason, unless a metric of ranked lists meets the requirements of all metrics.

    Its name parses back to an equal metric; its docstring has the headings that ``recassay explain`` shows; values are
    within ``bounds`` or NaN; neither the order of rows nor the number of threads changes a bit; and what it credits at
    a rank gives the same number in a list and when the same items are ranked as candidates.
    """
    name, here = str(metric), world()
    try:
        again = parse_metric(name)
    except RecassayError as error:
        raise AssertionError(f"{name} does not read back: {error}") from error
    require(again == metric, f"{name} reads back as {again!r}")
    sections = describe(type(metric)).sections
    absent = [heading for heading in HEADINGS if heading not in sections]
    require(not absent, f"the docstring of {name} has no paragraph {' and no '.join(f'{one}:' for one in absent)}")
    _check_values(metric, here)
    _check_ranks(metric, here)


def _check_values(metric: Metric, here: World) -> None:
    try:
        first = _scored(metric, here.run.frame(), here, threads=1)
    except (InternalError, UsageError) as error:  # every value is held to the bounds while it is computed
        require(error.code in ("X101", "U243"), f"{metric} cannot be computed: {error}")
        raise AssertionError(f"{metric} has values outside its bounds: {error}") from error
    row = first.row("system", str(metric))
    require(row.n > 0, f"{metric} is undefined for every user of a sound run")
    shuffled = here.run.frame().sample(fraction=1.0, shuffle=True, seed=1)
    for frame, threads, what in ((shuffled, 1, "the order of rows"), (here.run.frame(), 3, "the number of threads")):
        other = _scored(metric, frame, here, threads).row("system", str(metric))
        require(repr(other.mean) == repr(row.mean), f"{what} changes {metric}: {row.mean!r} becomes {other.mean!r}")


def _scored(metric: Metric, frame: pl.DataFrame, here: World, threads: int) -> Scores:
    run, log = read_run(frame, "system"), here.fold.train
    execution = Execution(threads=threads)
    return score(
        {"system": run}, here.grades, [metric], train=log, items=here.items, interval=None, execution=execution
    )


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


Parts = tuple[pl.DataFrame, ...]


def check_split(split: Split) -> None:
    """Raise AssertionError, with the reason, unless a split meets the requirements of all splits.

    Its name must parse back to an equal split, and it must survive pickling. Each fold must say what it leaks. No row
    may be invented or be in two parts of a fold, and rows in no part must be counted by reason. Neither the order of
    rows nor a second call may change the folds.
    """
    name, log = str(split), log_of_world()
    try:
        again = parse_split(name)
    except RecassayError as error:
        raise AssertionError(f"{name} does not read back: {error}") from error
    require(again == split, f"{name} reads back as {again!r}")
    require(_copied(split) == split, f"{name} is another split after pickling")
    require(split.leakage in get_args(Leakage), f"{name} must state its leakage as one of {get_args(Leakage)}")
    folds = split(log)
    for fold in folds:
        _check_parts(name, fold, log)
    shuffled = Interactions.from_frame(log.frame().sample(fraction=1.0, shuffle=True, seed=1))
    _check_same(folds, split(log), f"calling {name} again changes its folds")
    _check_same(folds, split(shuffled), f"the order of rows changes the folds of {name}")


def _copied(split: Split) -> Split:
    try:
        found: Split = pickle.loads(pickle.dumps(split))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise AssertionError(f"{split} cannot be pickled, as tasks of a cluster need it: {error}") from error
    return found


def _check_parts(name: str, fold: Fold, log: Interactions) -> None:
    parts = [set(part.rows()) for part in _parts(fold)]
    for one in range(len(parts)):
        for other in range(one):
            both = parts[one] & parts[other]
            require(not both, f"{name} has {len(both)} rows in two parts of a fold, {next(iter(both), '')} for example")
    every = set(log.frame().rows())
    strange = set().union(*parts) - every
    require(not strange, f"{name} makes {len(strange)} rows that are not in the log")
    kept, removed = sum(map(len, parts)), sum(fold.removed.values())
    what = f"{name}: {kept} rows in the parts and {removed} counted as removed, of {len(log)}"
    require(kept + removed == len(log), what)
    require(bool(len(fold.test)) and bool(len(fold.train)), f"{name} makes a fold with an empty part")


def _check_same(folds: tuple[Fold, ...], others: tuple[Fold, ...], otherwise: str) -> None:
    same = len(folds) == len(others) and all(
        a.equals(b)
        for one, other in zip(folds, others, strict=True)
        for a, b in zip(_sorted(one), _sorted(other), strict=True)
    )
    require(same, otherwise)


def _parts(fold: Fold) -> Parts:
    parts = (fold.train, fold.test, *([fold.validation] if fold.validation is not None else []))
    return tuple(part.frame() for part in parts)


def _sorted(fold: Fold) -> Parts:
    return tuple(part.sort(part.columns) for part in _parts(fold))


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
        try:
            text = metric if find(metric).cutoff == "none" else f"{metric}@3"
            profile.build(parse(text), {})
            score({"system": here.run}, here.relevant, text, train=here.fold.train, interval=None, profile=name)
        except RecassayError as error:
            raise AssertionError(f"{metric} of {name} cannot be used: {error}") from error


def check_check(check: Check) -> None:
    """Raise AssertionError, with the reason, unless a check meets the requirements of all checks.

    Its code must be letters and then digits, and no other check may have it. It must have a title, a severity and a
    docstring that describes the problem. Scoring a correct run with it must raise nothing, and give a sentence or
    nothing.
    """
    code = check.code
    require(re.fullmatch(r"[A-Z]+\d{3,}", code) is not None, f"the code {code!r} is not letters and then three digits")
    try:
        known = CHECKS.kinds.get(code)
    except RecassayError as error:
        raise AssertionError(str(error)) from error
    require(known is check, f"{code} is not registered: decorate its function with @check")
    require(
        check.severity in get_args(Severity), f"{code} has severity {check.severity!r}, not one of {get_args(Severity)}"
    )
    require(bool(check.title.strip()), f"{code} has no title")
    require(bool(inspect.getdoc(check.ask)), f"the function of {code} has no docstring, which explains it to users")
    for finding in _findings_of_a_sound_run():
        if finding.code == code:
            require(
                isinstance(finding.detail, str) and bool(finding.detail), f"{code} gives {finding.detail!r}, not a text"
            )


def _findings_of_a_sound_run() -> list[Finding]:
    here = world()
    scores = score({"system": here.run}, here.relevant, "ndcg@10 recall@10", train=here.fold.train, interval=None)
    designs = judge({"system": here.run}, "TI-AR-AN", "ndcg@10", interval=None)
    return [*scores.findings, *designs.findings]


def check_format(format: Format, path: str | Path, rows: Sequence[tuple[object, object]]) -> None:
    """Raise AssertionError, with the reason, unless a format recognises a file and reads its (user, item) rows.

    The format must be known by its name, be the first to recognise the file, and read the same rows whether it is named
    or recognised.
    """
    path = Path(path)
    require(
        FORMATS.kinds.get(format.name) is format, f"no format is known as {format.name}: register it with ra.register"
    )
    head = read_head(path)
    first = next((one for one in formats() if one.matches(head)), None)
    recognised = "no format" if first is None else first.name
    require(first is format, f"{path.name} is recognised by {recognised}, not by {format.name}")
    for named in (None, format.name):
        try:
            log = read_interactions(path, format=named)
        except RecassayError as error:
            raise AssertionError(f"{format.name} cannot read {path.name}: {error}") from error
        found = sorted(map(repr, log.frame().select("user_id", "item_id").rows()))
        wanted = sorted(repr(tuple(row)) for row in rows)
        require(found == wanted, f"{format.name} reads {len(found)} rows of {path.name}, {found[:3]}, not {wanted[:3]}")
