"""Tables of what systems answered on a fold, and back: ranked lists with their standings, and generated sequences."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recassay.columnar.vocabulary import Vocabulary, rows_in_table
from recassay.data.generated import NOTHING, Generated
from recassay.data.io import write_parquet
from recassay.data.io.parquet import parquet_metadata, read_parquet
from recassay.data.read import read_run
from recassay.data.run import Run
from recassay.data.standings import BinnedStandings, Standings
from recassay.designs._places import WIDTH
from recassay.study.store.folder import MADE_FROM, STANDINGS, StudyCell, StudyFolder, refuse_replaced

ABOUT = "about"  # the entry in the metadata of standings for what is no column
MASSES = pl.Array(pl.Float64, WIDTH)

Tables = tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame, pl.DataFrame]


def run_files(folder: StudyFolder, cell: StudyCell, system: str) -> tuple[Path, ...]:
    """Return the paths of the ranked lists of a system, of its standings, and of three tables of all systems."""
    shared = (folder.place(STANDINGS, folder.of_fold(cell), f"{name}.parquet") for name in ("asked", "items", "users"))
    return folder.run_place(cell, system), folder.run_place(cell, system, STANDINGS), *shared


def store_run(folder: StudyFolder, cell: StudyCell, run: Run, key: str) -> None:
    """Write ranked lists and standings under a key, the lists last: they make the others valid."""
    assert run.standings is not None, "a played run has standings"
    lists, counts, *shared = run_files(folder, cell, run.name)
    (pairs, *others), about = standings_tables(run.standings)
    for table, path in zip(others, shared, strict=True):
        write_parquet(table, path)
    write_parquet(pairs, counts, {MADE_FROM: key, ABOUT: json.dumps(about)})
    write_parquet(run.frame(), lists, {MADE_FROM: key})


def load_run(folder: StudyFolder, cell: StudyCell, system: str, key: str) -> Run | None:
    """Return the ranked lists of a system with their standings if both are stored under this key, else None.

    Lists that somebody else wrote in place of the stored ones are returned without standings; raise U111 if they are in
    the way of lists to compute.
    """
    lists, counts, *shared = run_files(folder, cell, system)
    has_counts = folder.is_made_from(key, counts) and folder.are_intact(*shared)
    if folder.is_replaced(lists, partial(read_run, name=system)):
        if not has_counts:
            refuse_replaced(lists)
        return read_run(lists, system)
    if not (has_counts and folder.is_made_from(key, lists)):
        return None
    pairs, queries, items, users = map(read_parquet, (counts, *shared))
    about = json.loads(parquet_metadata(counts)[ABOUT])
    return replace(read_run(lists, system), standings=standings_of(system, (pairs, queries, items, users), about))


def standings_tables(standings: Standings) -> tuple[Tables, dict[str, Any]]:
    """Return standings as tables of pairs of user and relevant item, of queries, items and users, and other fields.

    Standings count the candidates that are ranked above each relevant item. Queries, items and users are the same for
    all systems of a fold. The other fields are a dict, ready for JSON.
    """
    queries: dict[str, Any] = {"user_id": standings.queries, "relevant": standings.relevant}
    queries |= {f"pool {base}": pool for base, pool in standings.pool.items()}
    queries |= {f"mass {base}": mass for base, mass in standings.mass.items()}
    queries |= {f"masses {base}": pl.Series(rows, dtype=MASSES) for base, rows in standings.pool_masses.items()}
    pairs = standings.frame().with_columns(
        pl.Series(f"masses {base}", rows, dtype=MASSES) for base, rows in standings.tied_masses.items()
    )
    about = {
        "bases": list(standings.above),
        "mass_bases": list(standings.mass_above),
        "masses": list(standings.tied_masses),
        "bins": list(standings.percentiles),
        "users": standings.users,
        "everyone": standings.everyone is not None,
        "unlisted": standings.unlisted,
        "how": dict(standings.how),
    }
    items = pl.DataFrame({"item_id": standings.vocabulary.ids, "popularity": standings.popularity})
    users = pl.DataFrame({"user_id": standings.queries if standings.everyone is None else standings.everyone})
    idle = np.flatnonzero(~users["user_id"].is_in(standings.queries.implode()).to_numpy())
    for base, pools in standings.others.items():
        candidates = np.full(users.height, -1)
        candidates[idle] = pools
        users = users.with_columns(pl.Series(f"other {base}", candidates))
    return (pairs, pl.DataFrame(queries), items, users), about


def standings_of(name: str, tables: Tables, about: dict[str, Any]) -> Standings:
    """Return the standings of system ``name`` from what :func:`standings_tables` made."""

    def columns(frame: pl.DataFrame, kind: str, bases: Sequence[Any]) -> dict[Any, Any]:
        return {base: frame[kind.format(base)].to_numpy().copy() for base in bases}

    pairs, queries, items, users = tables
    bases, mass_bases, masses, bins = about["bases"], about["mass_bases"], about["masses"], about["bins"]
    others = columns(users, "other {}", [base for base in bases if f"other {base}" in users.columns])
    kinds = ("bin of {}", "above bin of {}", "tied bin of {}", "pool bin of {}")
    binned = [columns(pairs, kind, bins) for kind in kinds]
    return Standings(
        name=name,
        queries=queries["user_id"],
        offsets=np.append(0, np.cumsum(queries["relevant"].to_numpy())),
        item=rows_in_table(pairs["item_id"], items["item_id"]).astype(np.int32),
        vocabulary=Vocabulary(items["item_id"]),
        tie_relevant=pairs["tie_relevant"].to_numpy().copy(),
        above=columns(pairs, "above {}", bases),
        tied=columns(pairs, "tied {}", bases),
        pool=columns(queries, "pool {}", bases),
        mass_above=columns(pairs, "mass above {}", mass_bases),
        mass_tied=columns(pairs, "mass tied {}", mass_bases),
        mass=columns(queries, "mass {}", mass_bases),
        tied_masses=columns(pairs, "masses {}", masses),
        pool_masses=columns(queries, "masses {}", masses),
        percentiles={number: BinnedStandings(number, *(counts[number] for counts in binned)) for number in bins},
        others={base: counts[counts >= 0] for base, counts in others.items()},
        users=about["users"],
        everyone=users["user_id"] if about["everyone"] else None,
        popularity=items["popularity"].to_numpy().copy(),
        unlisted=about["unlisted"],
        how=about["how"],
    )


def generated_frame(runs: Sequence[Generated], vocabulary: Vocabulary, first: int = 0) -> pl.DataFrame:
    """Return a table of generated sequences, a row per test sequence and seed, with item ids in place of codes.

    ``runs`` are the sequences of one system, one per seed, and ``vocabulary`` has the ids of the items. The columns are
    seed, sequence (numbered from ``first``), items (a list of k), chances (their k probabilities), and surprise.
    Positions after the end of a short list are null, and so are probabilities that a system does not have.

    >>> made = Generated("mine", np.array([[1, -1]], np.int32), np.array([[0.5, np.nan]]), np.array([2.0]), seed=7)
    >>> frame = generated_frame([made], Vocabulary(pl.Series(["a", "b"])))
    >>> [list(value) if hasattr(value, "__len__") else value for value in frame.row(0)]
    [7, 0, ['b', None], [0.5, None], 2.0]
    >>> generated_of("mine", frame, Vocabulary(pl.Series(["a", "b"])))[0].items.tolist()
    [[1, -1]]
    """
    assert vocabulary.ids is not None, "ids of sequences are dense"
    parts = []
    for made in runs:
        items = vocabulary.ids.gather(pl.Series(made.items.ravel()).replace(NOTHING, None))
        columns = {
            "seed": np.full(len(made), made.seed),
            "sequence": np.arange(first, first + len(made)),
            "items": items.reshape(made.items.shape),
            "chances": pl.Series(made.chances.ravel()).fill_nan(None).reshape(made.items.shape),
            "surprise": pl.Series(made.surprise).fill_nan(None),
        }
        parts.append(pl.DataFrame(columns))
    return pl.concat(parts)


def generated_of(name: str, frame: pl.DataFrame, vocabulary: Vocabulary) -> tuple[Generated, ...]:
    """Return the generated sequences in a table of :func:`generated_frame`, one :class:`Generated` per seed."""
    assert vocabulary.ids is not None, "ids of sequences are dense"
    found = []
    for part in frame.partition_by("seed", maintain_order=True):
        items = part["items"].explode()
        codes = np.full(items.len(), NOTHING, np.int32)
        codes[items.is_not_null().to_numpy()] = rows_in_table(items.drop_nulls(), vocabulary.ids)
        shape = part.height, codes.size // part.height
        chances = np.array(part["chances"].explode().to_numpy()).reshape(shape)
        surprise = np.array(part["surprise"].to_numpy())
        found.append(Generated(name, codes.reshape(shape), chances, surprise, int(part["seed"][0])))
    return tuple(found)
