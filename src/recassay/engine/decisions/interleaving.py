"""Team-draft interleaving, offline: which of two systems a simulated reader of a mixed list clicks more often."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay._kernel_cache import njit
from recassay.columnar.identity import id_keys, mix
from recassay.columnar.layout import ranges, row_groups
from recassay.columnar.vocabulary import Vocabulary, concat_ids
from recassay.data.read import Columns, RunSource, TableSource, each_run, read_truth
from recassay.data.run import Run
from recassay.data.truth import Truth
from recassay.errors import UsageError
from recassay.metrics.align import Conventions, align
from recassay.naming import choices
from recassay.naming.arguments import checks_types
from recassay.rng import derive_seed
from recassay.stats.intervals import BOOTSTRAP, Uncertainty, intervals

Click = Literal["cascade", "position"]
EXACT_PLACES = 20  # 2^10 drafts of each user
MOST_PLACES = 128  # a draft has a bit for two places

Float = NDArray[np.float64]
Int32 = NDArray[np.int32]
Bool = NDArray[np.bool_]
NONE = -1  # fills the end of a list, and marks a draft that has ended


@dataclass(frozen=True, eq=False, repr=False)
class Interleaving:
    """Results of team-draft interleaving: for each pair of systems and each user, which one gets more clicks.

    ``chances`` maps a pair of systems to an array (users, 2): the probabilities that the first system gets more clicks,
    and that the second does. ``at`` is the length of interleaved lists, and ``draws`` the number of drafts per user,
    None for all of them.
    """

    users: pl.Series
    chances: dict[tuple[str, str], Float]
    at: int
    click: Click
    draws: int | None = None
    confidence: Uncertainty = BOOTSTRAP
    missing: dict[str, int] = field(default_factory=dict)

    def summary(self) -> pl.DataFrame:
        """Return a row per pair: shares of users that a and b win, of ties, and ``delta`` with its interval.

        ``delta`` is the share of wins of a with half of the ties, minus 1/2 (Chapelle et al. 2012), so it is above 0 if
        a is preferred.
        """
        rows = []
        for (a, b), chances in self.chances.items():
            wins_a, wins_b = chances.mean(axis=0).tolist() if len(chances) else (float("nan"), float("nan"))
            low, high = self._bounds(chances)
            row = {"a": a, "b": b, "wins_a": wins_a, "wins_b": wins_b, "ties": 1 - wins_a - wins_b}
            rows.append({**row, "delta": (wins_a - wins_b) / 2, "low": low, "high": high, "n": len(chances)})
        return pl.DataFrame(rows)

    def _bounds(self, chances: Float) -> tuple[float, float]:
        how = self.confidence
        if how.method is None:
            return float("nan"), float("nan")
        values = (chances[:, :1] - chances[:, 1:]) / 2
        low, high = intervals(values, method=how.method, level=how.level, resamples=how.resamples, seed=how.seed)
        return float(low[0]), float(high[0])

    def __str__(self) -> str:
        head = f"team-draft interleaving of {self.at} places, {len(self.users):,} users, {self.click} clicks"
        rows = self.summary().iter_rows(named=True)
        return "\n".join([head, *(f"{row['a']} - {row['b']}: delta {row['delta']:+.4f}" for row in rows)])

    __repr__ = __str__


@checks_types
def interleave(
    runs: RunSource,
    truth: TableSource,
    at: int = 10,
    *,
    click: Click = "cascade",
    relevant: float = 1.0,
    other: float = 0.0,
    persistence: float = 0.8,
    relevant_from: float = 1.0,
    draws: int | None = None,
    columns: Columns = None,
    interval: choices.IntervalMethod | None = "bootstrap",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Interleaving:
    """Mix the lists of each pair of systems by team-draft interleaving, and compare simulated clicks on their items.

    Both lists are teams that choose items for a list of ``at`` places. The team with fewer items chooses its best item
    that is not chosen yet; a coin decides if both have as many. If a list runs out of items, the other one chooses. A
    click counts for the team that chose the item, and the system with more clicks wins the user.

    ``click="cascade"``: the reader goes down the list and stops at the first click. ``click="position"``: the reader
    looks at place r with probability ``persistence`` ^ (r - 1), independently of clicks. An item that the reader looks
    at is clicked with probability ``relevant`` if its gain is at least ``relevant_from``, else ``other``. With the
    defaults the reader of the cascade clicks the first relevant item and nothing else.

    Without ``draws`` the result is the exact expectation over all coins (at most 20 places) and clicks. ``draws`` takes
    that number of drafts per user, whose coins depend on ``seed`` and the user id only; clicks stay exact. Users
    without a relevant item are left out; a missing list is an empty list. ``delta`` in the summary is half the
    difference of the shares of wins, a minus b. Raise U205 for fewer than two systems.

    >>> runs = {"a": {"ann": ["x", "y"], "bob": ["p", "q"]}, "b": {"ann": ["y", "x"], "bob": ["q", "r"]}}
    >>> found = interleave(runs, {"ann": ["x"], "bob": ["p", "r"]}, at=2, interval=None)
    >>> found.summary().select("wins_a", "wins_b", "ties", "delta").row(0)
    (1.0, 0.0, 0.0, 0.5)

    References: Radlinski, Kurup and Joachims, How does clickthrough data reflect retrieval quality?, CIKM 2008;
    Chapelle, Joachims, Radlinski and Yue, Large-scale validation and analysis of interleaved search evaluation, TOIS
    30(1), 2012; click models: Craswell, Zoeter, Taylor and Ramsey, WSDM 2008.
    """
    _validate(at, draws, {"relevant": relevant, "other": other, "persistence": persistence})
    judged = read_truth(truth, columns=columns)
    lists = _Lists(judged, at, relevant_from)
    for run in each_run(runs, columns=columns):
        lists.add(run)
    if len(lists.tops) < 2:
        raise UsageError("U205", "interleaving needs two systems", where="runs", hint="give a dict of name to run")
    items, relevance = lists.encoded()
    users = judged.queries.filter(pl.Series(lists.has_relevant))
    coins = _draft_coins(users, at, draws, seed)
    examined = np.asarray(persistence ** np.arange(float(at)), np.float64)
    chances = {}
    for a, b in itertools.combinations(lists.tops, 2):
        probabilities = np.zeros((users.len(), 2))
        contest(
            items[a], items[b], relevance[a], relevance[b], coins, examined, click == "cascade",
            np.array([other, relevant], np.float64), probabilities,
        )  # fmt: skip
        chances[a, b] = probabilities
    return Interleaving(users, chances, at, click, draws, Uncertainty(interval, level, resamples, seed), lists.missing)


class _Lists:
    """The first ``at`` items of every system for all users with a relevant item."""

    def __init__(self, truth: Truth, at: int, relevant_from: float) -> None:
        self.truth, self.at, self.relevant_from = truth, at, relevant_from
        self.has_relevant = truth.gains[truth.offsets[:-1]] >= relevant_from  # the highest gain of a user comes first
        self.tops: dict[str, tuple[NDArray[np.int64], NDArray[np.int64], pl.Series]] = {}  # users, places and items
        self.missing: dict[str, int] = {}

    def add(self, run: Run) -> None:
        """Keep the first items of a run; raise an error for an id type that never matches, or an item twice in a list.

        Raise U109 for a second run of the same name.
        """
        if run.name in self.tops:
            raise UsageError("U109", f"two systems are named '{run.name}'", hint="give them as a dict of name to run")
        alignment = align(run, self.truth, Conventions(duplicates="error"))
        given, match = alignment.run, alignment.match[self.has_relevant]
        has_list = match >= 0
        begin = given.offsets[match[has_list]]
        size = np.minimum(given.offsets[match[has_list] + 1] - begin, self.at)
        ids = given.vocabulary.decode(given.items[ranges(begin, size)])
        self.tops[run.name] = np.repeat(np.flatnonzero(has_list), size), ranges(0, size), ids
        self.missing[run.name] = int((~has_list).sum())

    def encoded(self) -> tuple[dict[str, NDArray[np.int32]], dict[str, NDArray[np.bool_]]]:
        """Return two dicts keyed by system, of arrays (users, places): item codes, and whether each item is relevant.

        The code is -1 behind the end of a list.
        """
        truth, n_users = self.truth, int(self.has_relevant.sum())
        kept = (truth.gains >= self.relevant_from) & self.has_relevant[row_groups(truth.offsets)]
        user = (np.cumsum(self.has_relevant) - 1)[row_groups(truth.offsets)[kept]]
        parts = [truth.vocabulary.decode(truth.items[kept]), *(ids for _, _, ids in self.tops.values())]
        vocabulary, codes = Vocabulary.dense(concat_ids(parts))
        pairs = user * vocabulary.size + codes[: user.size]
        items, relevance, begin = {}, {}, user.size
        for name, (rows, places, ids) in self.tops.items():
            item_codes = codes[begin : begin + ids.len()]
            begin += ids.len()
            items[name] = np.full((n_users, self.at), NONE, np.int32)
            relevance[name] = np.zeros((n_users, self.at), np.bool_)
            items[name][rows, places] = item_codes
            relevance[name][rows, places] = np.isin(rows * vocabulary.size + item_codes, pairs)
        return items, relevance


def _draft_coins(users: pl.Series, at: int, draws: int | None, seed: int) -> NDArray[np.uint64]:
    """Return the coins of all drafts, which decide who chooses first in each round.

    Without ``draws`` the array is (1, drafts) and has every sequence of coins for lists of ``at`` places; else it is
    (users, ``draws``), drawn from ``seed`` and the user id.
    """
    if draws is None:
        return np.arange(2 ** ((at + 1) // 2), dtype=np.uint64)[None]
    salt = np.uint64(derive_seed(seed, "interleaving") % 2**64)
    number = np.arange(draws, dtype=np.uint64)
    return np.asarray(mix(mix(mix(id_keys(users)) ^ salt)[:, None] + number[None]))


def _validate(at: int, draws: int | None, chances: dict[str, float]) -> None:
    """Raise an error for an impossible length, too many drafts, or an impossible probability in ``chances``."""
    if not 1 <= at <= MOST_PLACES:
        what = f"the length of the mixed list must be 1 to {MOST_PLACES}, got {at!r}"
        raise UsageError("U103", what, where="at", hint="at=10")
    if draws is None and at > EXACT_PLACES:
        what = f"a list of {at} places has more than a thousand drafts per user"
        raise UsageError("U102", what, where="at", hint="draws=100 takes a hundred of them")
    for name, chance in chances.items():
        if not 0 <= chance <= 1:
            raise UsageError("U102", f"{name} must be a probability, got {chance:g}", where=name, hint=f"{name}=0.5")


@njit(nogil=True, cache=True)
def contest(
    a: Int32, b: Int32, relevant_a: Bool, relevant_b: Bool, coins: NDArray[np.uint64], examined: Float, cascade: bool,
    clicked: Float, out: Float,
) -> None:  # fmt: skip
    """Write to ``out`` (users, 2) the probability that list a gets more clicks than list b, and that b gets more.

    It is the mean over drafts; a draft mixes the two lists, which take turns to add an item. ``a`` and ``b`` (users,
    places) are item codes, -1 behind the end of a list, and ``relevant_a`` and ``relevant_b`` mark relevant items.
    ``coins`` (users, or 1 for all users; drafts) has a bit per round: 1 if a chooses first. ``clicked`` has two
    probabilities of a click on an item that is looked at: if it is not relevant, and if it is. With ``cascade`` the
    reader stops at the first click; else ``examined`` is the probability that the reader looks at each place.
    """
    places = a.shape[1]
    shown, team, click = np.empty(places, np.int32), np.empty(places, np.bool_), np.empty(places)
    for user in range(a.shape[0]):
        words = coins[user if coins.shape[0] > 1 else 0]
        wins_a, wins_b = 0.0, 0.0
        for coin in words:
            size = draft(a[user], b[user], relevant_a[user], relevant_b[user], coin, clicked, shown, team, click)
            if cascade:
                more_a, more_b = first_click(team[:size], click[:size])
            else:
                click[:size] *= examined[:size]
                more_a, more_b = more_clicks(team[:size], click[:size])
            wins_a += more_a
            wins_b += more_b
        out[user, 0], out[user, 1] = wins_a / words.size, wins_b / words.size


@njit(nogil=True, cache=True)
def draft(
    a: Int32, b: Int32, relevant_a: Bool, relevant_b: Bool, coin: np.uint64, clicked: Float,
    shown: Int32, team: Bool, click: Float,
) -> int:  # fmt: skip
    """Write the list that a and b draft for one user: items, teams and chances of a click; return its length.

    The list that has placed fewer items chooses its best item that is not placed yet; if both have placed as many, bit
    n // 2 of ``coin`` decides at place n (1: a). If a list has no item left, the other one chooses. ``shown`` receives
    the items, and ``team`` is True for items that a chose. ``click`` receives ``clicked[1]`` for relevant items and
    ``clicked[0]`` for others.
    """
    next_a, next_b, size_a, size_b = 0, 0, 0, 0
    for place in range(shown.size):
        next_a, next_b = skip_shown(a, next_a, shown[:place]), skip_shown(b, next_b, shown[:place])
        if next_a == NONE and next_b == NONE:
            return place
        of_a = size_a < size_b or (size_a == size_b and (coin >> np.uint64(place // 2)) & np.uint64(1) == 1)
        of_a = next_b == NONE or (of_a and next_a != NONE)
        team[place] = of_a
        if of_a:
            shown[place], click[place] = a[next_a], clicked[int(relevant_a[next_a])]
            size_a += 1
        else:
            shown[place], click[place] = b[next_b], clicked[int(relevant_b[next_b])]
            size_b += 1
    return shown.size


@njit(nogil=True, cache=True)
def skip_shown(items: Int32, begin: int, shown: Int32) -> int:
    """Return the position, from ``begin`` on, of the first item that is not ``shown`` yet; -1 at the end of a list."""
    if begin == NONE:
        return NONE
    for position in range(begin, items.size):
        if items[position] < 0:
            return NONE
        if items[position] not in shown:
            return position
    return NONE


@njit(nogil=True, cache=True)
def first_click(team: Bool, click: Float) -> tuple[float, float]:
    """Return the probabilities that the first click is on an item that a chose, and on one that b chose.

    ``team`` is True for items of a, and ``click`` has the chance of a click on each item if the reader gets that far.
    """
    left, of_a, of_b = 1.0, 0.0, 0.0
    for place in range(click.size):
        if team[place]:
            of_a += left * click[place]
        else:
            of_b += left * click[place]
        left *= 1 - click[place]
    return of_a, of_b


@njit(nogil=True, cache=True)
def more_clicks(team: Bool, click: Float) -> tuple[float, float]:
    """Return the probabilities that a gets more clicks than b, and that b gets more than a.

    Clicks at different places are independent. ``team`` is True for items of a, and ``click`` has the chance of a click
    on each item.
    """
    middle = click.size
    chance = np.zeros(2 * middle + 1)  # of each difference of clicks, from -middle on
    chance[middle] = 1.0
    for place in range(middle):
        moved = chance * click[place]
        chance -= moved
        if team[place]:
            chance[1:] += moved[:-1]
        else:
            chance[:-1] += moved[1:]
    return chance[middle + 1 :].sum(), chance[:middle].sum()
