"""Conversion of standings (counts of the candidates above each relevant item) to tables, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from recassay.columnar.vocabulary import Vocabulary, rows_in_table
from recassay.data.standings import BinnedStandings, Standings
from recassay.designs._places import WIDTH

MASSES = pl.Array(pl.Float64, WIDTH)

Parts = tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame, pl.DataFrame, dict[str, Any]]


def standings_parts(standings: Standings) -> Parts:
    """Return standings as (pairs of user and relevant item, queries, items, users, other fields), to be stored.

    Standings count the candidates that are ranked above each relevant item. The first four are tables; queries, items
    and users are the same for all systems of a fold. The other fields are a dict, ready for JSON.
    """
    queries: dict[str, Any] = {"user_id": standings.queries, "relevant": standings.relevant}
    queries |= {f"pool {base}": pool for base, pool in standings.pool.items()}
    queries |= {f"mass {base}": mass for base, mass in standings.mass.items()}
    queries |= {f"masses {base}": pl.Series(rows, dtype=MASSES) for base, rows in standings.pool_masses.items()}
    pairs = standings.frame().with_columns(
        pl.Series(f"masses {base}", rows, dtype=MASSES) for base, rows in standings.tied_masses.items()
    )
    ids = standings.vocabulary.ids
    assert ids is not None, "the ids of a log are dense"
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
    items = pl.DataFrame({"item_id": ids, "popularity": standings.popularity})
    users = pl.DataFrame({"user_id": standings.queries if standings.everyone is None else standings.everyone})
    idle = np.flatnonzero(~users["user_id"].is_in(standings.queries.implode()).to_numpy())
    for base, pools in standings.others.items():
        candidates = np.full(users.height, -1)
        candidates[idle] = pools
        users = users.with_columns(pl.Series(f"other {base}", candidates))
    return pairs, pl.DataFrame(queries), items, users, about


def standings_from(name: str, parts: Parts) -> Standings:
    """Return the standings of system ``name`` from the ``parts`` that :func:`standings_parts` made.

    Standings count the candidates that are ranked above each relevant item.
    """

    def column(frame: pl.DataFrame, name: str) -> Any:
        return frame[name].to_numpy().copy()

    pairs, queries, items, users, about = parts
    bases, masses = about["bases"], about["mass_bases"]
    return Standings(
        name=name,
        queries=queries["user_id"],
        offsets=np.append(0, np.cumsum(column(queries, "relevant"))),
        item=rows_in_table(pairs["item_id"], items["item_id"]).astype(np.int32),
        vocabulary=Vocabulary(items["item_id"]),
        tie_relevant=column(pairs, "tie_relevant"),
        above={base: column(pairs, f"above {base}") for base in bases},
        tied={base: column(pairs, f"tied {base}") for base in bases},
        pool={base: column(queries, f"pool {base}") for base in bases},
        mass_above={base: column(pairs, f"mass above {base}") for base in masses},
        mass_tied={base: column(pairs, f"mass tied {base}") for base in masses},
        mass={base: column(queries, f"mass {base}") for base in masses},
        tied_masses={base: column(pairs, f"masses {base}") for base in about["masses"]},
        pool_masses={base: column(queries, f"masses {base}") for base in about["masses"]},
        percentiles={m: _percentiles(pairs, m) for m in about["bins"]},
        others={
            base: users.filter(pl.col(f"other {base}") >= 0)[f"other {base}"].to_numpy().copy()
            for base in bases
            if f"other {base}" in users.columns
        },
        users=about["users"],
        everyone=users["user_id"] if about["everyone"] else None,
        popularity=column(items, "popularity"),
        unlisted=about["unlisted"],
        how=about["how"],
    )


def _percentiles(pairs: pl.DataFrame, bins: int) -> BinnedStandings:
    kinds = ("bin", "above bin", "tied bin", "pool bin")
    bin_, above, tied, pool = (pairs[f"{kind} of {bins}"].to_numpy().copy() for kind in kinds)
    return BinnedStandings(bins, bin_, above, tied, pool)
