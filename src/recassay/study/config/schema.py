"""The schema of a study file: its keys, the types of their values, and their defaults."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from recassay.errors import UsageError
from recassay.naming.grammar import suggest
from recassay.stats.intervals import Uncertainty
from recassay.study.config.reading import PARAMETERS, QUICK, Document, Key, Value, fill_parameters

Section = TypeVar("Section", bound=BaseModel)


def _as_list(value: Any) -> Any:
    """Return the value as a list: a single value becomes a list of one, and None stays None."""
    return value if isinstance(value, list) or value is None else [value]


Size = Annotated[int | float, Field(gt=0)]
Texts = Annotated[list[str], BeforeValidator(_as_list)]


class ConfigSection(BaseModel):
    """A part of a study file: a mapping that allows no other keys than its fields, and converts no types."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Data(ConfigSection):
    """The source of a log: a `path`, a `generate` text, or a `name` to look up in the data folder."""

    name: Annotated[str | None, Field(description="the data set in the data folder, or a name for the data")] = None
    path: Annotated[
        str | None,
        Field(
            description="a file, relative to the study file, or an address such as `duckdb://shop.db?query=from log`"
        ),
    ] = None
    columns: Annotated[dict[str, str], Field(description="column names that are not recognised: `{user: uid}`")] = {}
    table: Annotated[
        str | None,
        Field(description="the table in the data folder, if it is not found by name: `ml-1m/stream_positive`"),
    ] = None
    format: Annotated[str | None, Field(description="the file's format, if it is not recognised: `lines`")] = None
    times: Annotated[
        Literal["clock", "global", "user"] | None,
        Field(
            description="the kind of its times, if not recognised: `clock`, `global` (an order of all events) or "
            "`user` (an order within each user)"
        ),
    ] = None
    filters: Annotated[Texts, Field(description="filters of this log, applied before those of all logs")] = []
    split: Annotated[Texts, Field(description="the splits of this log, in place of those of the study")] = []
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
            description="item features, for re-ranking and diversity: a file (relative to the study, or "
            "in the folder of a named data set) or an address, or `item_features(items=300)` for a generated log"
        ),
    ] = None
    items_columns: Annotated[
        dict[str, str],
        Field(description="column names of `items`; or write `items: {path: FILE, columns: {item: sku}}`"),
    ] = {}
    users: Annotated[
        str | None,
        Field(description="a table with a row per user, placed like `items`, for `by`; none: the log has the columns"),
    ] = None
    similarities: Annotated[
        str | None,
        Field(
            description="similarities of items, for `seq_diversity(similarity='given')`: a file, placed like `items`, "
            "with columns item_id, other_id and similarity"
        ),
    ] = None
    primitive: Annotated[
        str | None,
        Field(
            description="the recommender of obvious items, for `seq_serendipity(primitive='given')`: the text of a "
            "model of sequences (`MostPopular`, `mine.py:Obvious`), or a file, placed like `items`, with a column "
            "item_id, the most obvious item first"
        ),
    ] = None
    sequences: Annotated[
        str | None,
        Field(
            description="the rule that makes sequences, for `protocol: sequence`: `sessions(gap=3600)`, `ready_made`"
        ),
    ] = None

    @model_validator(mode="before")
    @classmethod
    def _items_with_columns(cls, content: Any) -> Any:
        """Accept the table of items as a mapping of path and columns."""
        items = content.get("items") if isinstance(content, dict) else None
        if isinstance(items, dict) and items.keys() == {"path", "columns"}:
            return {**content, "items": items["path"], "items_columns": items["columns"]}
        return content

    protocol: Annotated[
        Texts, Field(description="the protocol of this stream, or several, if it differs from that of the study")
    ] = []


class Judge(ConfigSection):
    """The settings under ``judge``: which users a mean is over, intervals, and what to do with too few candidates."""

    users: Annotated[
        Literal["all", "with_relevant"],
        Field(description="users of a mean; with `all`, users without relevant items count 0"),
    ] = "all"
    short: Annotated[
        Literal["error", "all"],
        Field(description="fewer candidates than a design samples: an error, or use all of them"),
    ] = "error"
    interval: Annotated[
        Literal["bootstrap", "bca", "percentile", "abc", "normal", "none"], Field(description="interval of a mean")
    ] = "bootstrap"
    level: Annotated[float, Field(gt=0, lt=1, description="level of intervals and tests")] = 0.95
    resamples: Annotated[int, Field(ge=1, description="resamples of a bootstrap")] = 10_000
    seed: Annotated[int, Field(description="seed of the resamples")] = 0

    @property
    def uncertainty(self) -> Uncertainty:
        """Return the settings of intervals; their method is None if the study asks for ``none``."""
        method = None if self.interval == "none" else self.interval
        return Uncertainty(method, self.level, self.resamples, self.seed)


class Compare(ConfigSection):
    """The settings under ``compare``: the comparison of systems over all folds."""

    baseline: Annotated[
        str | None, Field(description="the system that all others are compared with; none: all pairs")
    ] = None
    test: Annotated[
        Literal["permutation", "bootstrap", "t", "wilcoxon", "wilcoxon-pratt", "sign", "mcnemar"],
        Field(description="the paired test"),
    ] = "permutation"
    correction: Annotated[
        Literal["holm", "bonferroni", "bh", "by", "none"],
        Field(description="correction for several pairs of one metric"),
    ] = "holm"


class OverTimeConfig(ConfigSection):
    """The settings under ``over_time``: curves, tests and drift alarms of studies of streams."""

    metric: Annotated[
        str | list[str] | None,
        Field(description="the metric of curves and alarms, or several metrics with curves; none: the first"),
    ] = None
    how: Annotated[Literal["moving", "fading", "cumulative"], Field(description="the kind of averages")] = "moving"
    by: Annotated[
        Literal["scored", "event", "time"],
        Field(description="the unit of windows; time is in seconds, or in the unit of the log"),
    ] = "scored"
    window: Annotated[
        Size | dict[str, Size] | None,
        Field(
            description="its size, or a size per data set: `{ml-1m: 5000}`; none: a fiftieth of the stream, at most "
            "5,000 events"
        ),
    ] = None
    fading: Annotated[float | None, Field(gt=0, lt=1, description="of fading averages; none: 1 - 1 / window")] = None
    alpha: Annotated[
        float, Field(gt=0, lt=1, description="level of signed McNemar, of the final tests and of bounds")
    ] = 0.01
    largest: Annotated[float, Field(gt=0, description="the largest possible difference at one event")] = 1.0
    detectors: Annotated[Texts, Field(description="drift detectors; `[]`: none")] = ["ADWIN", "PageHinkley"]

    @property
    def metrics(self) -> tuple[str, ...]:
        """Return the metrics that the study names for curves; none if it leaves the choice open."""
        return () if self.metric is None else tuple(_as_list(self.metric))

    def window_of(self, dataset: str) -> float | None:
        """Return the size of the windows on a data set (events or units of time); None for the default size."""
        return self.window.get(dataset) if isinstance(self.window, dict) else self.window


class Tune(ConfigSection):
    """The settings under ``tune``: parameters of models are chosen on the first part of streams."""

    share: Annotated[
        float,
        Field(
            gt=0,
            lt=1,
            description="the first part of a stream, as a share of the events: all systems learn it, none is scored "
            "on it",
        ),
    ] = 0.2
    metric: Annotated[
        str | None,
        Field(description="the metric to optimise there; none: that of `over_time`"),
    ] = None
    grid: Annotated[
        dict[str, dict[str, list[int | float | bool | str]]],
        Field(description="values to try, by system and parameter: `{isgd: {factors: [5, 10], rate: [0.01, 0.1]}}`"),
    ] = {}


class Study(ConfigSection):
    """The content of a study file: every model on every data set, split and seed, scored by every design and metric.

    A design says which items are ranked as candidates.
    """

    study: Annotated[str, Field(min_length=1, description="its name")]
    about: Annotated[str, Field(description="the question it answers")] = ""
    plugins: Annotated[
        Texts,
        Field(description="Python files with metrics, models, splits or checks of your own"),
    ] = []
    data: Annotated[list[Data], BeforeValidator(_as_list), Field(min_length=1, description="one log or several")]
    filters: Annotated[Texts, Field(description="filters of every log, applied in this order")] = []
    split: Annotated[
        Texts, Field(description="one split or several, for all data that has none of its own; none for streams")
    ] = []
    protocol: Annotated[
        Texts, Field(min_length=1, description="the queries that systems answer; for streams perhaps several protocols")
    ] = ["ranking"]
    models: Annotated[
        list[str] | dict[str, str],
        Field(
            min_length=1,
            description="systems, as a list, or as a mapping from names: models, or run files such as "
            "`runs/{data}/{fold}.csv`",
        ),
    ]
    designs: Annotated[
        Texts,
        Field(min_length=1, description="target sets; `lists`: the ranked lists, as `score` reads them"),
    ] = ["lists"]
    metrics: Annotated[Texts, Field(min_length=1, description="metrics, under every design")]
    seeds: Annotated[
        list[int], Field(min_length=1, description="a seed for each repetition of models that have one")
    ] = [0]
    users: Annotated[
        Literal["all", "known"],
        Field(description="the test users that are scored: `all`, or those `known`, with training events in the fold"),
    ] = "all"
    by: Annotated[
        Texts, Field(description="columns of users: means by group are shown too, with the gap between groups")
    ] = []
    by_item: Annotated[
        Texts,
        Field(description="columns of items: means by group of relevant items, of the ranked lists, are shown too"),
    ] = []
    smallest_group: Annotated[int, Field(ge=2, description="users of the smallest group that is shown")] = 10
    judge: Annotated[Judge, Field(description="see below")] = Judge()
    compare: Annotated[Compare, Field(description="see below")] = Compare()
    over_time: Annotated[OverTimeConfig, Field(description="of streams; see below")] = OverTimeConfig()
    tune: Annotated[Tune | None, Field(description="of streams; see below")] = None
    experiments: Annotated[
        Texts,
        Field(description="experiments on bias or diversity, on the first fold of each split with the first seed"),
    ] = []
    parameters: Annotated[
        dict[str, int | float | bool | str],
        Field(description="values of `{name}` in the texts above; `--set name=value` changes them"),
    ] = {}
    quick: Annotated[dict[str, Any], Field(description="keys that replace those above with `--quick`")] = {}


def read_study(document: Document, values: Mapping[str, Value] | None = None) -> Study:
    """Return the study in a document; raise U132 for the first key or value that is wrong.

    ``values`` override the parameters of the study.
    """
    if document.quick and not document.content.get(QUICK):
        raise document.error(
            (QUICK,),
            "the study has no quick part",
            "remove --quick, or add a `quick:` part with keys that replace others",
        )
    known = set(Study.model_fields) - {QUICK, "study"}
    quick_part = document.content.get(QUICK)
    for name in quick_part if isinstance(quick_part, dict) else ():
        if name not in known:
            raise _unknown_key(document, (QUICK, name), known, "study")
    content = {**document.content, **document.replaced}
    if isinstance(content.get(PARAMETERS, {}), dict):
        content = fill_parameters(document, content, values or {})
    return validated(Study, document, content, "study")


def validated(section: type[Section], document: Document, content: Mapping[str, Any], noun: str) -> Section:
    """Return the ``content`` of a file as an object of the class ``section``; raise U132 for a wrong key or value.

    The error names the first mistake, a misspelt key before others, with its line in ``document``. ``noun`` is the word
    for the file in errors, such as study.
    """
    try:
        return section.model_validate(content)
    except ValidationError as error:
        problem = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
    key = tuple(part for part in problem["loc"] if not str(part).startswith(("list[", "dict[", "function-")))
    if problem["type"] == "extra_forbidden":
        raise _unknown_key(document, key, set(_section_at(section, key[:-1]).model_fields), noun)
    if problem["type"] == "missing":
        raise document.error(key[:-1], f"the {noun} lacks the key '{key[-1]}'", f"add `{key[-1]}:`")
    given = f": {problem['input']!r}" if not isinstance(problem["input"], dict | list | BaseModel) else ""
    message = str(problem["msg"]).removeprefix("Value error, ")
    name = ".".join(map(str, document.place(key))).removeprefix(f"{QUICK}.")
    raise document.error(key, f"{name} has the wrong value{given}", message[:1].lower() + message[1:])


def _unknown_key(document: Document, key: Key, known: Collection[str], noun: str) -> UsageError:
    return document.error(key, f"a {noun} has no key '{key[-1]}' here", suggest(str(key[-1]), known))


def _section_at(section: type[BaseModel], key: Key) -> type[BaseModel]:
    """Return the class of the section that holds ``key``, found by following the parts of the key from ``section``."""
    for part in key:
        if part in section.model_fields:
            kinds = [section.model_fields[str(part)].annotation]
            while kinds and not (isinstance(kinds[0], type) and issubclass(kinds[0], BaseModel)):
                kinds = [*kinds[1:], *get_args(kinds[0])]
            section = next((kind for kind in kinds if isinstance(kind, type)), section)
    return section
