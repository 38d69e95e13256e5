"""Rows of results as frames and as JSON, and tables of means without values per unit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import polars as pl

from recassay.arrays import Float
from recassay.errors import UsageError
from recassay.naming.grammar import suggest

SYSTEM, DATASET, METRIC, VALUE = "system", "dataset", "metric", "value"
TYPES = {"str": pl.String, "float": pl.Float64, "int": pl.Int64, "int | None": pl.Int64, "bool": pl.Boolean}


def frame_of(rows: Iterable[Any], kind: Any) -> pl.DataFrame:
    """Return rows, objects of the data class ``kind``, as a frame with a column for each field."""
    return pl.DataFrame([asdict(row) for row in rows], schema={one.name: TYPES[str(one.type)] for one in fields(kind)})


@dataclass(frozen=True, eq=False)
class MeansTable:
    """Means (data sets, systems) of the systems that have a value on every data set; ``left_out`` names the others."""

    datasets: tuple[Any, ...]
    systems: tuple[str, ...]
    values: Float
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class FinishedScores:
    """Means of systems on data sets, without values per user.

    ``frame`` has a row per system, data set, metric and setting, with the columns system, dataset, metric, value,
    ``settings`` and repeats (the number of folds or seeds that were averaged). ``higher`` says for each metric whether
    more is better; None for metrics that only describe.
    """

    frame: pl.DataFrame
    settings: tuple[str, ...]
    higher: Mapping[str, bool | None]
    notes: tuple[str, ...] = ()

    @property
    def metrics(self) -> tuple[str, ...]:
        """Return the metrics in order of appearance."""
        return tuple(self.higher)

    @property
    def datasets(self) -> tuple[str, ...]:
        """Return the data sets in order of appearance."""
        return tuple(self.frame[DATASET].unique(maintain_order=True).to_list())

    def tables(self, metric: str) -> dict[tuple[str, ...], MeansTable]:
        """Return the means of one metric as tables (data sets, systems), one for each setting.

        The key is the tuple of the setting's values (split, cut-off, ...), empty if there are no settings. Raise U101
        for an unknown metric.
        """
        if metric not in self.higher:
            raise UsageError("U101", f"there is no metric '{metric}' in this table", hint=suggest(metric, self.metrics))
        rows = self.frame.filter(pl.col(METRIC) == metric)
        if not self.settings:
            return {(): means_table(rows)}
        parts = rows.partition_by(self.settings, as_dict=True, maintain_order=True)
        return {tuple(map(str, key)): means_table(part) for key, part in parts.items()}

    def __repr__(self) -> str:
        systems = self.frame[SYSTEM].n_unique()
        return (
            f"FinishedScores({systems} systems, {len(self.datasets)} data sets, {len(self.metrics)} metrics, "
            f"{self.frame.height:,} values)"
        )


def means_table(rows: pl.DataFrame) -> MeansTable:
    """Return the table of means from rows with the columns system, dataset and value."""
    wide = rows.pivot(on=SYSTEM, index=DATASET, values=VALUE, maintain_order=True)
    every = [name for name in wide.columns if name != DATASET]
    systems = [name for name in every if wide[name].null_count() == 0]
    left_out = tuple(name for name in every if name not in systems)
    values = wide.select(systems).to_numpy().astype(np.float64) if systems else np.zeros((wide.height, 0))
    return MeansTable(tuple(wide[DATASET].to_list()), tuple(systems), values, left_out)
