"""What a study file may say: its keys, the kinds of their values, and their defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from recassay.errors import UsageError
from recassay.spec import suggest
from recassay.study.parameters import PARAMETERS, Value, filled
from recassay.study.reading import Document, Key

QUICK = "quick"


def _several(value: Any) -> Any:
    """One value stands for a list of one."""
    return value if isinstance(value, list) or value is None else [value]


Texts = Annotated[list[str], BeforeValidator(_several)]


class Part(BaseModel):
    """A mapping with these keys and no others; a value is of its kind, nothing is converted."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Data(Part):
    """Where a log comes from: a `path`, something to `generate`, or a `name` to look up in the data folder."""

    name: Annotated[str | None, Field(description="what to look up in the data folder, or what to call the data")] = (
        None
    )
    path: Annotated[str | None, Field(description="a file, beside the study unless it is absolute")] = None
    columns: Annotated[dict[str, str], Field(description="column names that are not recognised: `{user: uid}`")] = {}
    table: Annotated[
        str | None,
        Field(description="where in the data folder, if not where the name says: `ml-1m/stream_positive`"),
    ] = None
    format: Annotated[str | None, Field(description="the file's format, where it is not recognised: `lines`")] = None
    times: Annotated[
        Literal["clock", "global", "user"] | None,
        Field(
            description="what its times are, where it is not recognised: `clock`, `global` (an order of all events) or "
            "`user` (an order within each user)"
        ),
    ] = None
    filters: Annotated[Texts, Field(description="what to leave out of this log, before the filters of all")] = []
    generate: Annotated[
        str | None,
        Field(
            description="`log(users=600, items=300, events=12000)`, `power_law(users=600, items=300, ratings=12000)`, "
            "or a stream that changes, `drifting(users=600, items=300, events=12000, changes=1)`"
        ),
    ] = None
    items: Annotated[
        str | None,
        Field(
            description="features of items, for re-ranking and diversity: a file (beside the study; in the folder of a "
            "named data set), or `item_features(items=300)` for a generated log"
        ),
    ] = None
    sequences: Annotated[
        str | None,
        Field(
            description="how the log becomes sequences, for `protocol: sequence`: `sessions(gap=3600)`, `ready_made`"
        ),
    ] = None
    protocol: Annotated[
        str | None, Field(description="what is asked of this stream, where it is not what is asked of the others")
    ] = None


class Judge(Part):
    """How systems are judged under a design."""

    users: Annotated[
        Literal["all", "with_relevant"], Field(description="users a mean is over; those with nothing to find count 0")
    ] = "all"
    short: Annotated[
        Literal["error", "all"], Field(description="fewer candidates than a design asks for: an error, or all of them")
    ] = "error"
    interval: Annotated[
        Literal["bootstrap", "bca", "percentile", "abc", "normal", "none"], Field(description="interval of a mean")
    ] = "bootstrap"
    level: Annotated[float, Field(gt=0, lt=1, description="level of intervals and tests")] = 0.95
    resamples: Annotated[int, Field(ge=1, description="resamples of a bootstrap")] = 10_000
    seed: Annotated[int, Field(description="seed of the resamples")] = 0

    @property
    def method(self) -> str | None:
        """The interval as functions take it."""
        return None if self.interval == "none" else self.interval


class Compare(Part):
    """How systems are compared, over all folds."""

    baseline: Annotated[str | None, Field(description="the system all others are compared with; none: every pair")] = (
        None
    )
    test: Annotated[
        Literal["permutation", "bootstrap", "t", "wilcoxon", "wilcoxon-pratt", "sign", "mcnemar"],
        Field(description="the paired test"),
    ] = "permutation"
    correction: Annotated[
        Literal["holm", "bonferroni", "bh", "by", "none"], Field(description="for several pairs of one metric")
    ] = "holm"


class OverTime(Part):
    """What is told of a stream while it runs."""

    metric: Annotated[str | None, Field(description="the metric of curves and alarms; none: the first")] = None
    how: Annotated[Literal["moving", "fading", "cumulative"], Field(description="the kind of averages")] = "moving"
    by: Annotated[
        Literal["scored", "event", "time"],
        Field(description="what a window counts; time in seconds, or in units of time"),
    ] = "scored"
    window: Annotated[
        int | float | None, Field(gt=0, description="its size; none: a fiftieth of the stream, at most 5,000 events")
    ] = None
    fading: Annotated[float | None, Field(gt=0, lt=1, description="of fading averages; none: 1 - 1 / window")] = None
    alpha: Annotated[
        float, Field(gt=0, lt=1, description="level of signed McNemar, of the final tests, and of bounds")
    ] = 0.01
    largest: Annotated[float, Field(gt=0, description="the largest difference there can be at one event")] = 1.0
    detectors: Annotated[Texts, Field(description="of drift; `[]`: none")] = ["ADWIN", "PageHinkley"]


class Tune(Part):
    """Settings of models, chosen on the first part of every stream."""

    share: Annotated[
        float,
        Field(gt=0, lt=1, description="the first part, as a share: all systems learn it, and none is scored on it"),
    ] = 0.2
    metric: Annotated[str | None, Field(description="what is to be best there; none: that of `over_time`")] = None
    grid: Annotated[
        dict[str, dict[str, list[int | float | bool | str]]],
        Field(description="values to try, by system and parameter: `{isgd: {factors: [5, 10], rate: [0.01, 0.1]}}`"),
    ] = {}


class Study(Part):
    """A study: data x filters x splits x models x designs x metrics x seeds."""

    study: Annotated[str, Field(min_length=1, description="its name")]
    about: Annotated[str, Field(description="the question it answers")] = ""
    data: Annotated[list[Data], BeforeValidator(_several), Field(min_length=1, description="one log or several")]
    filters: Annotated[Texts, Field(description="what to leave out of each log, in this order")] = []
    split: Annotated[Texts, Field(description="one split or several; left out where streams are played")] = []
    protocol: Annotated[str, Field(description="what is asked")] = "ranking"
    models: Annotated[
        list[str] | dict[str, str], Field(min_length=1, description="systems, named by themselves or by you")
    ]
    designs: Annotated[
        Texts,
        Field(min_length=1, description="target sets; `lists`: the ranked lists themselves, as `score` reads them"),
    ] = ["lists"]
    metrics: Annotated[Texts, Field(min_length=1, description="metrics, under every design")]
    seeds: Annotated[
        list[int], Field(min_length=1, description="a seed for each repetition of models that have one")
    ] = [0]
    judge: Annotated[Judge, Field(description="see below")] = Judge()
    compare: Annotated[Compare, Field(description="see below")] = Compare()
    over_time: Annotated[OverTime, Field(description="of streams; see below")] = OverTime()
    tune: Annotated[Tune | None, Field(description="of streams; see below")] = None
    experiments: Annotated[
        Texts, Field(description="of bias or of diversity, on the first fold of each split with the first seed")
    ] = []
    parameters: Annotated[
        dict[str, int | float | bool | str],
        Field(description="values of `{name}` in the texts above, for `--set name=value` to change"),
    ] = {}
    quick: Annotated[dict[str, Any], Field(description="keys that replace those above with `--quick`")] = {}


def read_study(document: Document, *, quick: bool = False, values: Mapping[str, Value] | None = None) -> Study:
    """The study a document describes; with ``quick`` the keys under ``quick`` replace those at the top.

    ``values`` take the place of its parameters.
    """
    content, instead = dict(document.content), document.content.get(QUICK)
    if quick and not instead:
        raise UsageError(
            "U132",
            "the study has no quick part",
            where=document.where((QUICK,)),
            hint="leave --quick out, or write keys that replace others under `quick:`",
        )
    if isinstance(instead, dict):
        _known(document, (QUICK,), instead, set(Study.model_fields) - {QUICK, "study"})
        content |= instead if quick else {}
    at = (QUICK, PARAMETERS) if quick and PARAMETERS in (instead or ()) else (PARAMETERS,)
    if isinstance(content.get(PARAMETERS, {}), dict):
        content = filled(document, content, values or {}, at)
    try:
        return Study.model_validate(content)
    except ValidationError as error:
        raise _refusal(document, error.errors()[0], content, set(instead or ()) if quick else set()) from None


def _known(document: Document, key: Key, content: dict[str, Any], known: set[str]) -> None:
    for name in content:
        if name not in known:
            raise _unknown(document, (*key, name), known)


def _unknown(document: Document, key: Key, known: set[str]) -> UsageError:
    return UsageError(
        "U132",
        f"a study has no key '{key[-1]}' here",
        where=document.where(key),
        hint=suggest(str(key[-1]), known),
    )


def _refusal(document: Document, problem: Any, content: dict[str, Any], replaced: set[str]) -> UsageError:
    """The first thing pydantic minds, in our words and with its place in the file."""
    key = tuple(part for part in problem["loc"] if not str(part).startswith(("list[", "dict[")))
    if key and not isinstance(content.get(key[0]), list) and key[1:2] == (0,):
        key = (key[0], *key[2:])  # one value was taken for a list of one
    place = (QUICK, *key) if key and key[0] in replaced else key
    if problem["type"] == "extra_forbidden":
        parts: dict[str, type[Part]] = {"data": Data, "judge": Judge, "compare": Compare}
        parts |= {"over_time": OverTime, "tune": Tune}
        part = Study if len(key) == 1 else parts[str(key[0])]
        return _unknown(document, place, set(part.model_fields))
    if problem["type"] == "missing":
        return UsageError(
            "U132", f"the study lacks the key '{key[-1]}'", where=document.where(place[:-1]), hint=f"add `{key[-1]}:`"
        )
    given = f": {problem['input']!r}" if not isinstance(problem["input"], dict | list) else ""
    message = str(problem["msg"])
    hint = f"{message[:1].lower()}{message[1:]}"
    return UsageError(
        "U133", f"{'.'.join(map(str, key))} has the wrong value{given}", where=document.where(place), hint=hint
    )
