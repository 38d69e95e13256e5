"""``explanation/twelve-answers.md``: one small input under every profile, scored when the page is made."""

from __future__ import annotations

from typing import Any

import recassay as ra
from recassay.naming.grammar import parse
from recassay.profiles import PROFILES
from recassay.profiles.base import Profile

K = 5
COLUMNS = {
    "P@5": "precision@5",
    "R@5": "recall@5",
    "nDCG@5": "ndcg@5",
    "MAP@5": "map@5",
    "MRR@5": "mrr@5",
    "HR@5": "hit@5",
}
TRUTH = {"u1": ["a", "c", "z"], "u2": ["b"], "u3": ["a", "c", "q", "r", "s", "t", "v"], "u4": ["a", "b"]}
LISTS = {"u1": ["b", "a", "d", "c", "e"], "u2": ["b", "a", "c", "d", "e"], "u3": ["a", "c", "b"]}
CIRCUMSTANCES = {"users without a hit"}  # what about this input a profile makes an exception of

INTRODUCTION = """\
# One input, many answers

Give thirteen libraries the same four users, and compute precision, recall, nDCG, MAP, MRR and hit rate at 5. They give
{distinct} different answers, and agree on none of the six numbers. Hardly one is wrong: each library made choices,
and few say which. This page shows the input, the answers, and the choices.

## The input

"""

BETWEEN = """\

So `u2` has one relevant item and it comes first; `u3` has more relevant items than five ranks can hold, and a list of
only three; `u4` has something to find and no list at all. Every score is positive and no two in a list are equal.

## The answers

Every row is computed by recassay under the [profile](../reference/profiles.md) of that library, when this page is made.
The tests hold the same numbers to what the libraries themselves print, user by user.

"""

AFTER = """\

A dash: the library has no such metric, or one that cannot be computed from lists. `error`: it raises one.

Get a row yourself with `--profile`:

```
recassay score truth.csv run.csv -m "precision@5 recall@5 ndcg@5 map@5 mrr@5 hit@5" --profile lenskit
```

## Why they differ

"""

CONVENTIONS = """\

## Every choice in one table

`k` is the cut-off, `R` the number of relevant items of the user, `n` the length of the list. A grade is discounted by
1/log2(rank + 1), or by 1/log2(rank) from rank 2 on. «Left out» and «0» say what a user adds to the mean.

"""

EXCLUSIONS = """\

## What no profile reproduces

Some answers follow no rule: they depend on the implementation of a sort, contradict the library itself, or are bugs.
The profile does not reproduce these (`recassay explain NAME` says what it does instead):

"""

CLOSING = """\

## What to make of it

- A number without its library, version and population cannot be compared with another. recassay stores every parameter
  of every metric in its results, also the defaults.
- Differences of denominators look like differences of systems: on this input MAP@5 lies between {low} and {high}.
- Whether a user without a list counts 0 or is left out moves every number here by a third. Leaving them out rewards
  systems that answer only easy users; recassay counts 0 by default, and reports their number.
- recassay's defaults agree with trec_eval for every user with a list, scores that differ, and something to find.

See [how to reproduce another library](../howto/reproduce-another-library.md).
"""

DIVIDED_BY = {"k": "k", "list": "min(n, k)", "relevant": "R", "reachable": "min(R, k)", "hits": "hits"}
GAIN = {"linear": "grade", "binary": "0 or 1", "exp2": "2^grade - 1"}
DISCOUNT = {"log2p1": "log2(rank + 1)", "jk": "log2(rank) from 2"}
IDEAL = {"judged": "all relevant", "retrieved": "the hits found", "k": "k relevant"}
TIES = {
    "id": "as ranked",
    "trec": "id descending, as text",
    "id_descending": "id descending",
    "row": "row order",
    "ranx": "row order, up to 15",
    "expected": "mean over orders",
}
REPEATED = {"first": "first counts", "last": "last score counts", "keep": "counts again"}


def pages() -> dict[str, str]:
    """Return the text of the page by its path."""
    rows = {name: _answers(profile) for name, profile in PROFILES.kinds.items()}
    maps = sorted(row["MAP@5"] for row in rows.values() if row["MAP@5"][0].isdigit())
    parts = [
        INTRODUCTION.format(distinct=len({tuple(row.values()) for row in rows.values()})),
        _table(["user", "relevant", "list, best first"], _input()),
        BETWEEN,
        _table(["library", *COLUMNS], [[PROFILES.kinds[name].title, *row.values()] for name, row in rows.items()]),
        AFTER,
        "\n".join(f"- **{one.title}** {one.version}: {'; '.join(one.differs)}." for one in PROFILES.kinds.values())
        + "\n",
        CONVENTIONS,
        _table(
            list(_conventions(PROFILES.kinds["trec_eval"])),
            [list(_conventions(one).values()) for one in PROFILES.kinds.values()],
        ),
        EXCLUSIONS,
        "".join(f"- **{one.title}**, {exclusion}.\n" for one in PROFILES.kinds.values() for exclusion in one.excludes),
        CLOSING.format(low=maps[0], high=maps[-1]),
    ]
    return {"explanation/twelve-answers.md": "".join(parts)}


def _input() -> list[list[str]]:
    return [[user, " ".join(TRUTH[user]), " ".join(LISTS.get(user, ["none"]))] for user in TRUTH]


def _answers(profile: Profile) -> dict[str, str]:
    """Return the means under a profile as printed, by column."""
    run = {user: {item: float(len(items) - place) for place, item in enumerate(items)} for user, items in LISTS.items()}
    asked = [text for text in COLUMNS.values() if parse(text).name in profile.metrics]
    scores = ra.score({"toy": run}, TRUTH, asked, profile=profile.name, interval=None)
    shown = {}
    for column, text in COLUMNS.items():
        if text not in asked:
            shown[column] = "-"
        elif profile.exclusion(parse(text).name, CIRCUMSTANCES):
            shown[column] = "error"
        else:
            shown[column] = f"{scores.row('toy', text).mean:.3f}"
    return shown


def _conventions(profile: Profile) -> dict[str, str]:
    """Return the row of a profile in the table of choices, from the metrics that it builds."""
    built: dict[str, Any] = {
        name: profile.build(parse(f"{name}@{K}"), {}) for name in ("precision", "recall", "map", "ndcg", "mrr", "hit")
        if name in profile.metrics
    }  # fmt: skip
    ndcg, average = built["ndcg"], built.get("map")
    ap = "-" if average is None else DIVIDED_BY[average.divide_by] if average.name == "map" else "k, at every rank"
    if average is not None and average.name == "map" and average.divide_by == "list":
        ap = "min(R, n, k)"
    behind = ", unlisted tied behind the list" if ndcg.unlisted == "tied" else ""
    return {
        "library": profile.title,
        "P over": DIVIDED_BY[built["precision"].divide_by],
        "R over": DIVIDED_BY[built["recall"].divide_by],
        "AP over": ap,
        "gain": GAIN[ndcg.gain],
        "discount": DISCOUNT[ndcg.discount],
        "ideal of nDCG": IDEAL[ndcg.ideal] + behind,
        "user without a list": _policy(built, "missing", {"zero": "0", "skip": "left out"}),
        "user with nothing relevant": _policy(built, "no_relevant", {"zero": "0", "undefined": "left out"}),
        "tied scores": _reading(profile, "ties", "id", TIES, "tied scores"),
        "repeated item": _reading(profile, "duplicates", "first", REPEATED, "repeated items"),
    }


def _policy(built: dict[str, Any], parameter: str, words: dict[str, str]) -> str:
    """Return what most metrics do, and which metrics differ."""
    by_value: dict[str, list[str]] = {}
    for name, metric in built.items():
        by_value.setdefault(words[getattr(metric, parameter)], []).append(name)
    (usual, _), *others = sorted(by_value.items(), key=lambda pair: -len(pair[1]))
    return "; ".join([usual, *(f"{', '.join(names)}: {word}" for word, names in others)])


def _reading(profile: Profile, name: str, ours: str, words: dict[str, str], when: str) -> str:
    """Return a convention, and whether the library follows it in every metric."""
    excluded = [one for one in profile.excludes if one.when == when]
    if any(not one.metrics for one in excluded):
        return "no rule"
    word = words[profile.conventions.get(name, ours)]
    return "; ".join([word, *(f"not in {', '.join(one.metrics)}" for one in excluded)])


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
