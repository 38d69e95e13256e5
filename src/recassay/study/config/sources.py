"""Sources of the logs of a study: files, a folder of data sets, or a generator."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import polars as pl

from recassay.data import synthetic
from recassay.data.features import Features
from recassay.data.interactions import Interactions
from recassay.data.io.lake import beside, is_address
from recassay.data.io.sources import table_files
from recassay.data.memberships import Memberships
from recassay.data.read import read_interactions, read_items, read_memberships, read_with_shared_names
from recassay.data.synthetic import drifting, power_law
from recassay.errors import InputError, UsageError
from recassay.naming.grammar import parse, suggest
from recassay.naming.system_names import TABLE_SUFFIXES
from recassay.split import filters
from recassay.split.filters import Filter, Filtered
from recassay.study.config.schema import Data

Made = TypeVar("Made")

DATA_VARIABLE = "RECASSAY_DATA"
LOGS = ("ratings", "sequences", "events")  # DIR/NAME/ratings.csv
GENERATORS: Mapping[str, Callable[..., Interactions]] = {
    "log": synthetic.log,
    "power_law": power_law,
    "drifting": drifting,
}
ITEM_GENERATORS: Mapping[str, Callable[..., pl.DataFrame]] = {"item_features": synthetic.item_features}
NOT_TEXT = {"values"}  # a parameter that cannot be written as text


def load_log(data: Data, study_folder: Path, data_folder: Path | None = None) -> Interactions:
    """Return the log that an entry under ``data`` of a study describes: read from a file, or generated.

    Paths are relative to ``study_folder``, the folder of the study file; named data sets are in ``data_folder``.

    >>> load_log(Data(generate="log(users=20, items=30, events=100)"), Path()).n_users
    20
    """
    if data.generate:
        return read_interactions(_made(data.generate, GENERATORS), times=data.times)
    path = log_file(data, study_folder, data_folder)
    return read_interactions(path, columns=data.columns or None, format=data.format, times=data.times)


def log_file(data: Data, study_folder: Path, data_folder: Path | None = None) -> Path | str:
    """Return the path or address of the log that an entry under ``data`` names, which is not a generated one."""
    return beside(study_folder, data.path) if data.path else find_data_file(data.name, data_folder, data.table)


def items_source(data: Data, study_folder: Path, data_folder: Path | None = None) -> pl.DataFrame | Path | str | None:
    """Return the item features of an entry under ``data``: their path or address, a generated table, or None."""
    if data.items is None:
        return None
    if _is_generated(data.items):
        return _made(data.items, ITEM_GENERATORS)
    return file_beside(data.items, data, study_folder, data_folder)


def load_items(data: Data, study_folder: Path, data_folder: Path | None = None) -> Features | None:
    """Return the item features of an entry under ``data``, read or generated; None if it has none.

    >>> load_items(Data(generate="log(...)", items="item_features(items=30)"), Path()).n_items
    30
    """
    source = items_source(data, study_folder, data_folder)
    return None if source is None else read_items(source, columns=data.items_columns or None)


def filter_log(
    log: Interactions, steps: Sequence[Filter], data: Data, study_folder: Path, data_folder: Path | None = None
) -> Filtered | None:
    """Return the log of an entry under ``data`` after the filters ``steps``, some of which may read its item features.

    None without filters.
    """
    if not steps:
        return None
    reads_items = any(step.reads_items for step in steps)
    return filters.apply(log, steps, load_items(data, study_folder, data_folder) if reads_items else None)


def load_user_groups(data: Data, by: str, study_folder: Path, data_folder: Path | None = None) -> Memberships:
    """Return the groups that the column ``by`` makes of the users, read from the table of users, or else from the log.

    ``data`` is an entry under ``data`` of a study. Raise U105 for a generated log without a table of users.
    """
    if data.users is not None:
        path = file_beside(data.users, data, study_folder, data_folder)
        return read_with_shared_names(
            lambda names: read_memberships(path, by, "users", columns=names), data.columns or None, option="columns:"
        )
    if data.generate:
        what = f"groups by '{by}' need a table of users, and a generated log has none"
        raise UsageError("U105", what, hint="add `users: users.csv` to the data")
    path = log_file(data, study_folder, data_folder)
    return read_memberships(path, by, "users", columns=data.columns or None)


def load_item_groups(data: Data, by: str, study_folder: Path, data_folder: Path | None = None) -> Memberships:
    """Return the groups that the column ``by`` makes of the items; raise U105 if the data has no table of items."""
    if data.items is None:
        what = f"groups by '{by}' need the table of items, and {data.name or 'the data'} has none"
        raise UsageError("U105", what, hint="add `items: items.csv` to the data")
    source = items_source(data, study_folder, data_folder)
    return read_memberships(source, by, "items", columns=data.items_columns or None)


def _is_generated(items: str) -> bool:
    return "(" in items and not is_address(items)


def file_beside(name: str, data: Data, study_folder: Path, data_folder: Path | None = None) -> Path | str:
    """Return the path or address of an additional table (such as item features) that an entry under ``data`` names.

    It is beside the study file, or for a named data set beside its log in the data folder.
    """
    if data.path or data.generate:
        return beside(study_folder, name)
    return beside(find_data_file(data.name, data_folder, data.table).parent, name)


def names_table(text: str) -> bool:
    """Return whether a text is the name of a file with a table, such as ``items.csv``, and not the text of a model.

    >>> names_table("obvious.csv"), names_table("NGram(smoothing=0.5)"), names_table("mine.py:Obvious")
    (True, False, False)
    """
    return Path(text.removesuffix(".gz")).suffix in TABLE_SUFFIXES


def source_files(data: Data, study_folder: Path, data_folder: Path | None = None) -> list[Path | str]:
    """Return the files and addresses of an entry under ``data``: log, item features and users; none if generated.

    If the log is a folder of files, the folders are listed too, because a new file in one changes the log.
    """
    found: list[Path | str] = []
    if not data.generate:
        log = log_file(data, study_folder, data_folder)
        files = [] if isinstance(log, str) else table_files(log)
        found += {file.parent: None for file in files if files != [log]}
        found.extend(files or (log,))
    items = None if data.items is None or _is_generated(data.items) else data.items
    found += [file_beside(name, data, study_folder, data_folder) for name in (items, data.users) if name is not None]
    paths = [path.resolve() for path in found if isinstance(path, Path) and path.exists()]
    return [*paths, *(address for address in found if isinstance(address, str))]


def _made(text: str, makers: Mapping[str, Callable[..., Made]]) -> Made:
    call = parse(text)
    make = makers.get(call.name)
    if make is None or call.k is not None:
        hint = suggest(call.name, makers)
        raise UsageError("U115", f"there is no generator '{call.name}'", where=text, hint=hint)
    known = {name: parameter for name, parameter in inspect.signature(make).parameters.items() if name not in NOT_TEXT}
    for name in call.parameters:
        if name not in known:
            raise UsageError("U102", f"{call.name} has no parameter '{name}'", where=text, hint=suggest(name, known))
    for name, parameter in known.items():
        if parameter.default is parameter.empty and name not in call.parameters:
            raise UsageError("U102", f"{call.name} needs {name}", where=text, hint=f"write {call.name}({name}=...)")
    return make(**call.parameters)


def find_data_file(name: str | None, folder: Path | None = None, table: str | None = None) -> Path:
    """Return the file of a data set in the data folder: ``NAME/ratings.*`` (or sequences, events), or ``NAME.*``.

    ``table`` is another path in the folder to look for, without the suffix. Raise I111 if there is no such file or if
    no folder is given, neither as ``folder`` nor in the environment variable ``RECASSAY_DATA``.
    """
    wanted = str(table or name)
    given = folder or (Path(os.environ[DATA_VARIABLE]) if os.environ.get(DATA_VARIABLE) else None)
    if given is None:
        files = f"{table}.parquet" if table else f"{name}/{LOGS[0]}.csv or {name}.csv"
        raise InputError(
            "I111",
            f"the study names data '{wanted}', and no data folder was given",
            hint=f"name the folder that has {files}: --data DIR, or the variable {DATA_VARIABLE}",
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
        hint=f"put it there as Parquet or CSV, or give another folder with --data DIR or {DATA_VARIABLE}",
    )


def _files(folder: Path, stem: str) -> list[Path]:
    """Return the tables in a folder that are called ``stem`` plus a suffix, Parquet first, then by name."""
    if not folder.is_dir():
        return []
    found = [path for path in folder.iterdir() if path.is_file() and path.name.partition(".")[0] == stem]
    tables = [path for path in found if Path(path.name.removesuffix(".gz")).suffix in TABLE_SUFFIXES]
    return sorted(tables, key=lambda path: (path.suffix != ".parquet", path.name))
