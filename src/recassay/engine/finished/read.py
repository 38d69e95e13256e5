"""Reading of a table of finished scores (means without values per user).

Such a table is long (a row per value) or wide (a column per metric).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

import polars as pl

from recassay.columnar.columns import normalised_name
from recassay.comparison.tables import DATASET, METRIC, SYSTEM, VALUE, FinishedScores
from recassay.data.io.read import open_table
from recassay.engine.lists.score_sets import higher_is_better, parse_numbers
from recassay.errors import InputError
from recassay.naming.arguments import checks_types
from recassay.naming.grammar import suggest
from recassay.results.score_set import GIVEN

ALIASES = {
    DATASET: ("dataset", "data", "datasetname", "corpus", "domain", "benchmark"),
    METRIC: ("metric", "measure", "metricname"),
    VALUE: ("value", "score", "result", "mean", "metricvalue"),
    "cutoff": ("k", "cutoff", "at", "topk", "atk"),
    "repeat": ("fold", "seed", "repeat", "repetition", "trial"),
    "n": ("n", "users", "nusers", "numusers", "queries"),
}
WORDS = {word: meaning for meaning, words in ALIASES.items() for word in words}
COST_WORDS = ("time", "latency", "memory", "seconds")  # in names of metrics where less is better
DESCRIBING_WORDS = ("novelty", "diversity", "coverage", "serendipity", "popularity", "gini", "entropy", "unexpected")


def is_finished(source: object) -> bool:
    """Return whether a file or a frame is a table of finished scores: it has a column of systems and none of users."""
    if isinstance(source, str | Path):
        if not Path(source).is_file():
            return False
    elif not hasattr(source, "columns") or isinstance(source, Mapping):
        return isinstance(source, FinishedScores)
    try:
        return "user_id" not in open_table(source, "finished").columns
    except InputError:
        return False


@checks_types
def read_finished(
    source: object,
    *,
    columns: str | Mapping[str, str] | None = None,
    metrics: Iterable[str] | None = None,
    settings: Iterable[str] = (),
    smaller: Iterable[str] = (),
    larger: Iterable[str] = (),
) -> FinishedScores:
    """Read means that were computed elsewhere, from a file or a frame with a column of systems.

    Long tables have columns metric and value (and perhaps a cut-off ``k``); in wide ones every other column of numbers
    is a metric. Folds or seeds are averaged. Any other column is a setting: systems are compared only where all
    settings are equal; name settings that hold numbers in ``settings``. More is better unless ``smaller`` names the
    metric or its name says so (``rmse``, ``time``). Novelty, diversity and their kind only describe, unless ``larger``
    or ``smaller`` names them.

    >>> table = pl.DataFrame({"Model": [*"abab"], "Dataset": [*"xxyy"], "HR@10": [0.1, 0.2, 0.3, 0.4]})
    >>> read_finished(table)
    FinishedScores(2 systems, 2 data sets, 1 metrics, 4 values)
    """
    if isinstance(source, FinishedScores):
        return source
    where = str(source) if isinstance(source, str | Path) else f"the scores ({type(source).__name__})"
    frame = open_table(source, "finished", columns=columns).frame()
    stated = list(settings)
    if absent := [name for name in stated if name not in frame.columns]:
        hint = suggest(absent[0], frame.columns)
        raise InputError("I313", f"there is no column '{absent[0]}'", where=where, hint=hint)
    frame = _with_standard_columns(parse_numbers(frame), stated).with_columns(pl.col(stated).cast(pl.String))
    frame = _long_format(frame, where)
    if metrics is not None:
        wanted = list(metrics)
        known = frame[METRIC].unique(maintain_order=True).to_list()
        if absent := [name for name in wanted if name not in known]:
            raise InputError("I313", f"there is no metric '{absent[0]}'", where=where, hint=suggest(absent[0], known))
        frame = frame.filter(pl.col(METRIC).is_in(wanted))
    rows, frame = frame.height, frame.filter(pl.col(VALUE).is_finite().fill_null(False))
    missing = rows - frame.height
    notes = (f"{missing:,} of {rows:,} values are missing or not finite and were left out",) * bool(missing)
    varying = tuple(
        name for name in frame.columns if name not in (SYSTEM, DATASET, METRIC, VALUE, "repeat", "n")
        and frame[name].n_unique() > 1
    )  # fmt: skip
    frame = _mean_over_repeats(frame, varying, where)
    smaller, larger = set(smaller), set(larger)
    names = frame[METRIC].unique(maintain_order=True).to_list()
    return FinishedScores(frame, varying, {name: _direction(name, smaller, larger) for name in names}, notes)


def _with_standard_columns(frame: pl.DataFrame, settings: Collection[str]) -> pl.DataFrame:
    """Return a table with columns such as ``model`` or ``data`` renamed to ``system``, ``dataset`` and so on.

    If several columns mean the same, only the first is renamed. The columns named in ``settings`` keep their names.
    """
    renamed: dict[str, str] = {}
    for name in frame.columns:
        meaning = WORDS.get(normalised_name(name))
        if meaning and meaning not in renamed.values() and name not in (SYSTEM, *settings):
            renamed[name] = meaning
    return frame.rename(renamed)


def _long_format(frame: pl.DataFrame, where: str) -> pl.DataFrame:
    """Return a table in long format: a row per value, in columns system, dataset, metric, value and any others."""
    frame = frame.with_columns(pl.col(SYSTEM).cast(pl.String))
    if DATASET not in frame.columns:
        frame = frame.with_columns(pl.lit(GIVEN).alias(DATASET))
    frame = frame.with_columns(pl.col(DATASET).cast(pl.String))
    kept = [name for name in (SYSTEM, DATASET, "repeat", "n", "cutoff") if name in frame.columns]
    if METRIC in frame.columns and VALUE in frame.columns:
        long = frame.with_columns(pl.col(METRIC).cast(pl.String), pl.col(VALUE).cast(pl.Float64, strict=False))
    else:
        numbers = [
            name for name, kind in frame.schema.items() if kind.is_numeric() and name not in kept and name != METRIC
        ]
        if not numbers:
            raise InputError(
                "I313", f"no column holds scores: the columns are {', '.join(map(repr, frame.columns))}", where=where,
                hint="give columns system, dataset, metric and value, or a column of numbers for each metric",
            )  # fmt: skip
        rest = [name for name in frame.columns if name not in numbers]
        long = frame.unpivot(numbers, index=rest, variable_name=METRIC, value_name=VALUE)
        long = long.with_columns(pl.col(VALUE).cast(pl.Float64))
    if "cutoff" in long.columns:
        at = pl.concat_str(pl.col(METRIC), pl.lit("@"), pl.col("cutoff").cast(pl.Int64, strict=False).cast(pl.String))
        long = long.with_columns(pl.coalesce(at, METRIC).alias(METRIC)).drop("cutoff")
    return long


def _mean_over_repeats(frame: pl.DataFrame, settings: tuple[str, ...], where: str) -> pl.DataFrame:
    """Return the means over folds or seeds, one for each system, data set, metric and combination of ``settings``.

    The column ``repeats`` has the number of values averaged. Raise I314 if a value is given twice and the table has no
    column of folds or seeds; ``where`` names the table in the error.
    """
    key = [SYSTEM, DATASET, METRIC, *settings]
    if "repeat" not in frame.columns:
        twice = frame.filter(frame.select(key).is_duplicated())
        if twice.height:
            first = ", ".join(str(twice[name][0]) for name in key)
            raise InputError(
                "I314", f"{twice.height:,} values are given more than once, the first for {first}", where=where,
                hint="add a column that tells them apart: fold or seed (averaged), or a setting such as split",
            )  # fmt: skip
    return frame.group_by(key, maintain_order=True).agg(pl.col(VALUE).mean(), pl.len().alias("repeats"))


def _direction(metric: str, smaller: set[str], larger: set[str]) -> bool | None:
    if metric in larger:
        return True
    name = metric.lower()
    if metric not in smaller and any(word in name for word in DESCRIBING_WORDS):
        return None
    return False if any(word in name for word in COST_WORDS) else higher_is_better(metric, smaller)
