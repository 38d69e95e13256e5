"""How numbers, names and conventions are put into words, the same in every format."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.cells import cell_len

from recassay.comparison.intervals import LARGE
from recassay.data.scores import PLACES, Scores
from recassay.metrics.align import Conventions

if TYPE_CHECKING:
    from recassay.comparison.compare import Comparison

NOTHING = "–"
UNDEFINED = "undefined"

INTERVALS = {
    "bca": "bootstrap interval (BCa)",
    "abc": "bootstrap interval (ABC)",
    "percentile": "bootstrap interval (percentile)",
    "normal": "interval (Student's t)",
}
TESTS = {
    "permutation": "paired permutation test",
    "bootstrap": "paired bootstrap test",
    "t": "paired t test",
    "wilcoxon": "Wilcoxon signed-rank test",
    "wilcoxon-pratt": "Wilcoxon signed-rank test (zeros after Pratt)",
    "sign": "sign test",
    "mcnemar": "McNemar test",
}
CORRECTIONS = {
    "holm": "Holm",
    "bonferroni": "Bonferroni",
    "bh": "Benjamini-Hochberg",
    "by": "Benjamini-Yekutieli",
    "none": "uncorrected",
}


def number(value: float, digits: int) -> str:
    """A mean.

    >>> number(0.26734, 4), number(float("nan"), 4), number(-0.00001, 4), number(float("inf"), 4)
    ('0.2673', 'undefined', '0.0000', '∞')
    """
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return UNDEFINED if math.isnan(value) else f"{value:z.{digits}f}"


def difference(value: float, digits: int) -> str:
    """A difference, always with its sign.

    >>> difference(-0.01234, 4), difference(0.5, 2), difference(0.0, 2)
    ('-0.0123', '+0.50', '0.00')
    """
    if math.isnan(value):
        return UNDEFINED
    text = number(abs(value), digits)
    return text if not math.isinf(value) and float(text) == 0 else f"{'-' if value < 0 else '+'}{text}"


def p_value(p: float) -> str:
    """A p-value, never 0.

    >>> p_value(0.0312), p_value(0.00002), p_value(float("nan"))
    ('0.0312', '<0.0001', 'undefined')
    """
    if math.isnan(p):
        return UNDEFINED
    return f"{p:.4f}" if p >= 0.00005 else "<0.0001"


def p_words(p: float) -> str:
    """A p-value in a sentence.

    >>> p_words(0.0312), p_words(0.00002)
    ('p = 0.0312', 'p <0.0001')
    """
    text = p_value(p)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def interval(low: float, high: float, digits: int) -> str:
    """An interval; a dash where there is none.

    >>> interval(0.25, 0.3, 2), interval(float("nan"), float("nan"), 2), interval(-0.1, 0.2, 1)
    ('0.25–0.30', '–', '-0.1 to 0.2')
    """
    if math.isnan(low) or math.isnan(high):
        return NOTHING
    between = " to " if low < 0 else "–"
    return f"{number(low, digits)}{between}{number(high, digits)}"


def printable(name: str) -> str:
    """A name from a file on one line, without power over a terminal: control characters are spelt out.

    >>> printable("a\\x1b[31m\\nb")
    'a\\\\x1b[31m\\\\nb'
    """
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in name)


def shorten(name: str, width: int) -> str:
    """A name cut in the middle to at most ``width`` columns of a terminal.

    >>> shorten("bert4rec-large-v2", 11), shorten("pop", 11)
    ('bert4…ge-v2', 'pop')
    """
    if cell_len(name) <= width:
        return name
    head, tail = name[: len(name) // 2], name[len(name) // 2 :]
    while cell_len(head) + cell_len(tail) >= width and (head or tail):
        head, tail = (head[:-1], tail) if cell_len(head) > cell_len(tail) else (head, tail[1:])
    return f"{head}…{tail}"


def letters(count: int) -> list[str]:
    """A letter for each of many systems.

    >>> letters(28)[-3:]
    ['z', 'aa', 'ab']
    """
    alphabet = "abcdefghijklmnopqrstuvwxyz"
    return [alphabet[i] if i < 26 else alphabet[i // 26 - 1] + alphabet[i % 26] for i in range(count)]


def joined(chosen: Iterable[str]) -> str:
    """Letters side by side, with commas once one of them is a pair."""
    found = list(chosen)
    return ("," if any(len(letter) > 1 for letter in found) else "").join(found)


def conventions(scores: Scores) -> str:
    """The conventions that are not the default, or nothing."""
    defaults = asdict(Conventions())
    parts = [f"profile={scores.settings['profile']}"] if scores.settings.get("profile") else []
    used = scores.settings.get("conventions", {})
    parts += [f"{name}={value}" for name, value in used.items() if value != defaults.get(name)]
    meant = {heading: full for heading, full in scores.settings.get("metrics", {}).items() if heading != full}
    sentences = [f"Conventions: {', '.join(parts)}"] if parts else []
    sentences += [f"{heading} is {full}" for heading, full in meant.items()]
    return f"{'; '.join(sentences)}." if sentences else ""


def lengths(known: Iterable[tuple[str, str, int]]) -> str:
    """How many places metrics without a cut-off looked at, from metrics, systems and places; nothing without any.

    >>> lengths([("mrr", "a", 10), ("map", "a", 10)])
    'mrr and map are over the first 10 places, the longest list of the run.'
    >>> lengths([("mrr", "a", 10), ("mrr", "b", 100)])
    'mrr is over the longest list of each run: 10 places of a, 100 of b.'
    """
    known = list(known)
    metrics, places = list(dict.fromkeys(one[0] for one in known)), {one[1]: one[2] for one in known}
    if not known:
        return ""
    which = f"{', '.join(metrics[:-1])} and {metrics[-1]} are" if len(metrics) > 1 else f"{metrics[0]} is"
    counts = list(places.values())
    if len(set(counts)) == 1:
        return f"{which} over the first {counts[0]:,} places, the longest list of the run{'s' * (len(places) > 1)}."
    each = [f"{count:,} of {printable(name)}" for name, count in places.items()]
    each[0] = each[0].replace(" of ", " places of ", 1)
    return f"{which} over the longest list of each run: {', '.join(each)}."


def level(scores: Scores) -> str:
    """The level of the intervals, in percent."""
    return f"{100 * scores.settings.get('interval', {}).get('level', 0.95):.4g} %"


def method(scores: Scores, comparison: Comparison | None) -> str:
    """What the interval and the test are, or nothing."""
    parts = [part for part in (_interval_used(scores), test_used(comparison)) if part]
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def uncut(scores: Scores) -> str:
    """How far metrics without a cut-off look, or nothing."""
    places = ((row.metric, row.system, row.parameters.get(PLACES)) for row in scores.rows)
    return lengths((metric, system, found) for metric, system, found in places if isinstance(found, int))


def _interval_used(scores: Scores) -> str:
    asked = scores.settings.get("interval", {})
    with_interval = [row for row in scores.rows if not math.isnan(row.low)]
    if not asked.get("method") or not with_interval:
        return ""
    sizes = sorted({row.n for row in with_interval})
    users = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    kinds = [asked["method"]]
    if kinds == ["bootstrap"]:
        kinds = [kind for kind, used in (("bca", sizes[0] <= LARGE), ("abc", sizes[-1] > LARGE)) if used]
    names = " or ".join(INTERVALS.get(kind, f"{kind} interval") for kind in kinds)
    return f"{level(scores)} {names} over {users} {'user' if sizes == [1] else 'users'}"


def test_used(comparison: Comparison | None) -> str:
    """Which test, and what p is corrected for, or nothing."""
    if comparison is None or not comparison.rows:
        return ""
    row = comparison.rows[0]
    name = TESTS.get(row.test, f"{row.test} test")
    pairs = len(comparison.rows)
    if comparison.family == "metric":
        pairs = sum(other.metric == row.metric for other in comparison.rows)
    over = f"{pairs:,} pair{'' if pairs == 1 else 's'}{' per metric' if comparison.family == 'metric' else ''}"
    if row.correction == "none":
        return f"{name}, p uncorrected for {over}"
    return f"{name}, {CORRECTIONS.get(row.correction, row.correction)} over {over}"
