"""Tuning of re-rankers: parameters are chosen on the validation part of every fold, and used on its test part."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.data.io import write_json
from recassay.data.io.manifest import manifest_of
from recassay.models.rerank.base import Reranker
from recassay.protocols.base import BaseProtocol, UserProtocol
from recassay.results.exhibit import Exhibit
from recassay.study.config.reading import Reader
from recassay.study.config.schema import Tune
from recassay.study.plan.systems import System
from recassay.study.plan.tuning import FOUND, grid_settings
from recassay.study.store.folder import digest_of, model_key

Choice = dict[str, Any]  # the parameters that were chosen, and a row per combination that was tried


@dataclasses.dataclass(frozen=True, eq=False)
class FailedChoice:
    """A system whose tuning failed: fitting it raises the error, so that it is recorded as a failure of the system."""

    error: Exception

    def __str__(self) -> str:
        return f"failed({self.error})"

    def fit(self, _log: Interactions) -> Any:
        """Raise the error of the tuning."""
        raise self.error


def refuse_tuning_of_others(reader: Reader, tune: Tune | None, protocol: BaseProtocol) -> None:
    """Raise U132 if a study that is neither of streams nor of ranked lists has the key ``tune``."""
    if tune is not None and not isinstance(protocol, UserProtocol):
        hint = "remove `tune:`, or use `protocol: ranking` or `protocol: prequential(at=10)`"
        raise reader.error(("tune",), f"tune is for streams and for re-rankers, and {protocol} has neither", hint)


def check_reranker_grid(reader: Reader, tune: Tune | None, systems: tuple[System, ...]) -> None:
    """Raise U132 if ``tune`` has a system that is no re-ranker, a parameter it does not have, or no metric."""
    if tune is None:
        return
    grid_settings(reader, tune, systems)
    for system in systems:
        if system.name in tune.grid and not isinstance(system.model, Reranker):
            what = f"{system.name} is no re-ranker, and in studies of ranked lists only re-rankers are tuned"
            raise reader.error(("tune", "grid", system.name), what, "name systems such as MMR(of='mf')")
    if tune.metric is None:
        raise reader.error(("tune",), "the metric to optimise is missing", "metric: ild@10, or metric: sudden_death@10")
    from recassay.api.weight import criterion  # few studies tune re-rankers

    for name, text in (("metric", tune.metric), ("keep", tune.keep)):
        if text is not None:
            reader.parse(("tune", name), text, criterion)


def choose_settings(
    system: System, tune: Tune, fold: Fold, ask: UserProtocol, folder: Path, threads: int | None
) -> tuple[System, Choice]:
    """Return a re-ranker with the parameters that are best on the validation part of a fold, and what was tried.

    ``tune`` has the values to try and the metric that decides, and ``ask`` is the protocol. Without a validation part a
    share of the training part is held out. The result is stored below ``folder``; a stored one is read instead.
    """
    assert tune.metric is not None, "check_reranker_grid needs it"
    assert isinstance(system.model, Reranker), "check_reranker_grid refuses others"
    grid, model = tune.grid[system.name], system.model
    search = json.dumps([grid, tune.metric, tune.keep, tune.loss, tune.share], sort_keys=True)
    key = digest_of(model_key(system.text, system.source, model, fold), str(ask), search)
    path = folder / FOUND / f"{key}.json"
    if manifest_of(folder).is_intact(path):
        choice: Choice = json.loads(path.read_text(encoding="utf-8"))
    else:
        choice = _choice(model, grid, tune, fold, ask, threads)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(choice, path)
    chosen = dataclasses.replace(model, **choice["chosen"])
    return dataclasses.replace(system, model=chosen), choice


def _choice(
    model: Reranker, grid: Mapping[str, list[Any]], tune: Tune, fold: Fold, ask: UserProtocol, threads: int | None
) -> Choice:
    from recassay.experiments.rerankers import choose_on_validation, held_out  # few studies tune re-rankers

    if fold.validation is None:
        held = held_out(fold, tune.share)
    else:
        held = dataclasses.replace(fold, test=fold.validation, validation=None)
    assert tune.metric is not None, "check_reranker_grid needs it"
    values = grid if "weight" in grid else {"weight": sorted({0.0, model.weight}), **grid}
    found = choose_on_validation(
        model, held, ask, tune.metric, keep=tune.keep, loss=tune.loss, grid=values, threads=threads
    )
    names = found.table.columns[: found.table.columns.index("moved")]
    names = [name for name in names if name in values]
    return {"chosen": {name: getattr(found.method, name) for name in names}, "tried": found.table.to_dicts()}


def reranker_exhibit(choices: Mapping[str, Mapping[int, Choice]], tune: Tune) -> Exhibit:
    """Return a chart of all parameter values that were tried, by system and fold, with the chosen ones marked."""
    rows = [
        {
            "system": name,
            "fold": fold,
            "setting": number,
            str(tune.metric): row[str(tune.metric)],
            "parameters": ", ".join(f"{parameter}={row[parameter]}" for parameter in choice["chosen"]),
            "within": row["within"],
            "taken": row["chosen"],
        }
        for name, by_fold in choices.items()
        for fold, choice in by_fold.items()
        for number, row in enumerate(choice["tried"])
    ]
    taken = "; ".join(f"{row['system']}, fold {row['fold']}: {row['parameters']}" for row in rows if row["taken"])
    bound = "" if tune.keep is None else f" among those that lose at most {100 * tune.loss:g} % of {tune.keep}"
    return Exhibit(
        "settings",
        "Settings that were tried",
        f"The best {tune.metric} on the validation part of each fold{bound}. Taken: {taken}.",
        pl.DataFrame(rows, infer_schema_length=None),
        "setting",
        str(tune.metric),
        "system",
        facet="fold",
        kind="point",
    )
