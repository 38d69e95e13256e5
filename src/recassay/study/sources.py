"""Where the logs of a study come from: files beside it, a folder of data sets, or a generator."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import polars as pl

from recassay.data import synthetic
from recassay.data.drifting import drifting
from recassay.data.features import Features
from recassay.data.interactions import Interactions
from recassay.data.io.sources import TABLE_SUFFIXES
from recassay.data.power_law import power_law
from recassay.data.read import read_interactions, read_items
from recassay.errors import InputError, UsageError
from recassay.spec import parse, suggest
from recassay.study.schema import Data

Made = TypeVar("Made")

VARIABLE = "RECASSAY_DATA"
LOGS = ("ratings", "sequences", "events")  # DIR/NAME/ratings.csv
GENERATORS: Mapping[str, Callable[..., Interactions]] = {
    "log": synthetic.log,
    "power_law": power_law,
    "drifting": drifting,
}
OF_ITEMS: Mapping[str, Callable[..., pl.DataFrame]] = {"item_features": synthetic.item_features}
NOT_TEXT = {"values"}  # a parameter that no text can hold


def load(data: Data, study_folder: Path, data_folder: Path | None = None) -> Interactions:
    """The log that data describes.

    >>> load(Data(generate="log(users=20, items=30, events=100)"), Path()).n_users
    20
    """
    if data.generate:
        return read_interactions(generated(data.generate), times=data.times)
    path = study_folder / data.path if data.path else located(data.name, data_folder, data.table)
    return read_interactions(path, columns=data.columns or None, format=data.format, times=data.times)


def load_items(data: Data, study_folder: Path, data_folder: Path | None = None) -> Features | None:
    """The features of items that data describes, if it does.

    >>> load_items(Data(generate="log(...)", items="item_features(items=30)"), Path()).n_items
    30
    """
    if data.items is None:
        return None
    if "(" in data.items:
        return read_items(_made(data.items, OF_ITEMS))
    beside = study_folder if data.path or data.generate else located(data.name, data_folder, data.table).parent
    return read_items(beside / data.items)


def generated(text: str) -> Interactions:
    """A log made up as a text says: ``log(users=600, items=300, events=12000, seed=1)``, or ``power_law(...)``."""
    return _made(text, GENERATORS)


def _made(text: str, makers: Mapping[str, Callable[..., Made]]) -> Made:
    asked = parse(text)
    make = makers.get(asked.name)
    if make is None or asked.k is not None:
        hint = suggest(asked.name, makers)
        raise UsageError("U115", f"there is no generator '{asked.name}'", where=text, hint=hint)
    known = {name: one for name, one in inspect.signature(make).parameters.items() if name not in NOT_TEXT}
    for name in asked.parameters:
        if name not in known:
            raise UsageError("U102", f"{asked.name} has no parameter '{name}'", where=text, hint=suggest(name, known))
    for name, parameter in known.items():
        if parameter.default is parameter.empty and name not in asked.parameters:
            raise UsageError("U102", f"{asked.name} needs {name}", where=text, hint=f"write {asked.name}({name}=...)")
    return make(**asked.parameters)


def located(name: str | None, folder: Path | None = None, table: str | None = None) -> Path:
    """The file of a data set in the data folder: ``NAME/ratings.*``, ``sequences`` or ``events``, or ``NAME.*``.

    ``table`` says where instead, without the end of the file's name.
    """
    wanted = str(table or name)
    given = folder or (Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None)
    if given is None:
        files = f"{table}.parquet" if table else f"{name}/{LOGS[0]}.csv or {name}.csv"
        raise InputError(
            "I111",
            f"the study names data '{wanted}', and no folder of data was given",
            hint=f"name the folder that has {files}: --data DIR, or the variable {VARIABLE}",
        )
    stems = () if table else LOGS
    places = *((given / wanted, stem) for stem in stems), ((given / wanted).parent, Path(wanted).name)
    for place, stem in places:
        if found := _files(place, stem):
            return found[0]
    looked = ", ".join(f"{place}/{stem}.*" for place, stem in places)
    raise InputError(
        "I111",
        f"there is no data '{wanted}'",
        where=looked,
        hint=f"put it there as Parquet or CSV, or give another folder with --data DIR or {VARIABLE}",
    )


def _files(folder: Path, stem: str) -> list[Path]:
    """Files of this stem, Parquet first, then by name."""
    if not folder.is_dir():
        return []
    found = [one for one in folder.iterdir() if one.is_file() and one.name.partition(".")[0] == stem]
    tables = [one for one in found if Path(one.name.removesuffix(".gz")).suffix in TABLE_SUFFIXES]
    return sorted(tables, key=lambda one: (one.suffix != ".parquet", one.name))
