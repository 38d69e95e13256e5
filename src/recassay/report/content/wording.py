"""Formatting of numbers, names and conventions, the same in every table, figure and page."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, set_cell_size

from recassay.checks.decisions import FEW_FOR_BOOTSTRAP
from recassay.errors import printable as printable  # noqa: PLC0414  tables and pages take it from here
from recassay.metrics.align import Conventions
from recassay.naming.grammar import split
from recassay.results.score_set import AXES, Place
from recassay.results.scores import CATALOGUE_ITEMS, FEATURES, PLACES, Scores, plural, population, worded
from recassay.stats.intervals import LARGE
from recassay.stats.significance import p_phrase as p_phrase  # noqa: PLC0414
from recassay.stats.significance import p_value as p_value  # noqa: PLC0414

if TYPE_CHECKING:
    from recassay.comparison.compare import Comparison

DIGITS = 4  # decimals of means
WIDTH = 30  # characters of the longest name of a system that a sentence has whole
CALL = re.compile(r"(?P<name>[\w.]+)\((?P<parameters>.+)\)")  # a model with its parameters
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
CATALOGUES = {"train": "training log", "truth": "truth", "items": "table of items"}
GAINS = {"linear": "Linear", "exp2": "Exponential"}  # which items below the threshold add to
CORRECTIONS = {
    "holm": "Holm",
    "bonferroni": "Bonferroni",
    "bh": "Benjamini-Hochberg",
    "by": "Benjamini-Yekutieli",
    "none": "uncorrected",
}


def number(value: float, digits: int = DIGITS) -> str:
    """Return a mean as text with a fixed number of decimals.

    >>> number(0.26734, 4), number(float("nan"), 4), number(-0.00001, 4), number(float("inf"), 4)
    ('0.2673', 'undefined', '0.0000', '∞')
    """
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return UNDEFINED if math.isnan(value) else f"{value:z.{digits}f}"


def difference(value: float, digits: int = DIGITS) -> str:
    """Return a difference as text, always with its sign.

    >>> difference(-0.01234, 4), difference(0.5, 2), difference(0.0, 2)
    ('-0.0123', '+0.50', '0.00')
    """
    if math.isnan(value):
        return UNDEFINED
    text = number(abs(value), digits)
    return text if not math.isinf(value) and float(text) == 0 else f"{'-' if value < 0 else '+'}{text}"


def interval(low: float, high: float, digits: int = DIGITS) -> str:
    """Return an interval as text; a dash if a bound is undefined.

    >>> interval(0.25, 0.3, 2), interval(float("nan"), float("nan"), 2), interval(-0.1, 0.2, 1)
    ('0.25–0.30', '–', '-0.1 to 0.2')
    """
    if math.isnan(low) or math.isnan(high):
        return NOTHING
    between = " to " if low < 0 else "–"
    return f"{number(low, digits)}{between}{number(high, digits)}"


def shorten(name: str, width: int) -> str:
    """Return a name, with an ellipsis in its middle if it is wider than ``width`` terminal columns.

    >>> shorten("bert4rec-large-v2", 11), shorten("pop", 11)
    ('bert4…ge-v2', 'pop')
    """
    if cell_len(name) <= width:
        return name
    head = width // 2
    tail = set_cell_size(name[::-1], width - 1 - head)[::-1]
    return f"{set_cell_size(name, head).rstrip()}…{tail.lstrip()}"


def system_letters(count: int) -> list[str]:
    """Return a label for each of ``count`` systems: a letter, or two letters after z.

    >>> system_letters(28)[-3:]
    ['z', 'aa', 'ab']
    """
    return [*ascii_lowercase, *map("".join, itertools.product(ascii_lowercase, repeat=2))][:count]


def joined(chosen: Iterable[str]) -> str:
    """Return the labels of systems as one text, with commas between them if one has two letters, such as ``aa``."""
    letters = list(chosen)
    return ("," if any(len(letter) > 1 for letter in letters) else "").join(letters)


def series(parts: Sequence[str], separator: str = ", ") -> str:
    """Return words as a list in a sentence.

    >>> series(["a"]), series(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return f"{separator.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else parts[0]


def conventions(scores: Scores) -> str:
    """Return a sentence on conventions that differ from the defaults, and on renamed metrics; "" if there are none."""
    defaults = asdict(Conventions())
    parts = [f"profile={scores.settings['profile']}"] if scores.settings.get("profile") else []
    used = scores.settings.get("conventions", {})
    parts += [f"{name}={value}" for name, value in used.items() if value != defaults.get(name) and name != "users"]
    renamed = {heading: full for heading, full in scores.settings.get("metrics", {}).items() if heading != full}
    over = population(scores.settings)
    sentences = [f"Means are over {over}"] if over else []
    sentences += [f"Conventions: {', '.join(parts)}"] if parts else []
    sentences += [f"{heading} is {full}" for heading, full in renamed.items()]
    return worded(f"{'; '.join(sentences)}.", scores.unit) if sentences else ""


def notes(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return sentences on what metrics were computed over: depth of lists, catalogue, features of items, small gains.

    ``rows`` are those of a summary. The text is empty if no metric needs a sentence.

    >>> def row(metric, **parameters):
    ...     return {"metric": metric, "system": "a", "parameters": parameters}
    >>> notes([row("mrr", places=10), row("mrr", places=100) | {"system": "b"}])
    'mrr is computed over the longest list of each run: 10 ranks of a, 100 of b.'
    >>> notes([row("coverage@5", catalogue="train", catalogue_items=723)])
    'Catalogue of coverage@5: 723 items of the training log.'
    >>> notes([row("ild@5", features="18 in genres (split at ',')"), row("eild@5", features="18 in genres")])
    "Features of items for ild@5: 18 in genres (split at ','). Features of items for eild@5: 18 in genres."
    >>> notes([row("ndcg@5", gain="linear", relevant_from=4.0)])
    "Linear gains of ndcg@5: those below relevant_from=4 count too, as with trec_eval's -l."
    """
    depths: dict[tuple[str, str], int] = {}
    by_note: dict[tuple[str, str], dict[str, None]] = {}
    for row in rows:
        metric, parameters = row["metric"], row.get("parameters") or {}
        if PLACES in parameters:
            depths[metric, row["system"]] = parameters[PLACES]
        if (where := CATALOGUES.get(parameters.get("catalogue", ""))) is not None:
            size = f"{parameters[CATALOGUE_ITEMS]:,} " if CATALOGUE_ITEMS in parameters else ""
            by_note.setdefault(("Catalogue of", f"{size}items of the {where}"), {})[metric] = None
        gain, threshold = parameters.get("gain"), parameters.get("relevant_from", 1.0)
        if gain in GAINS and threshold != 1:
            text = f"those below relevant_from={threshold:g} count too, as with trec_eval's -l"
            by_note.setdefault((f"{GAINS[gain]} gains of", text), {})[metric] = None
        if FEATURES in parameters:
            by_note.setdefault(("Features of items for", parameters[FEATURES]), {})[metric] = None
    sentences = [f"{what} {', '.join(metrics)}: {text}." for (what, text), metrics in by_note.items()]
    return " ".join([*([_depths(depths)] if depths else []), *sentences])


def _depths(depths: Mapping[tuple[str, str], int]) -> str:
    """Return a sentence on how many positions metrics without a cut-off were computed over, by (metric, system).

    >>> _depths({("mrr", "a"): 10, ("map", "a"): 10})
    'mrr and map are computed over the first 10 ranks, the longest list of the run.'
    """
    metrics = list(dict.fromkeys(metric for metric, _ in depths))
    by_system = {system: depth for (_, system), depth in depths.items()}
    which = f"{series(metrics)} {'are' if len(metrics) > 1 else 'is'} computed over the"
    each = [f"{depth:,} of {printable(name)}" for name, depth in by_system.items()]
    if len(set(by_system.values())) == 1:
        return f"{which} first {each[0].partition(' ')[0]} ranks, the longest list of the run{'s' * (len(each) > 1)}."
    return f"{which} longest list of each run: {', '.join(each).replace(' of ', ' ranks of ', 1)}."


def test_name(test: str, correction: str) -> str:
    """Return the name of a test and that of the correction of its p-values.

    >>> test_name("t", "holm")
    'paired t test, Holm'
    """
    return f"{TESTS.get(test, test)}, {CORRECTIONS.get(correction, correction)}"


def percent(level: float) -> str:
    """Return a level of confidence as text in percent.

    >>> percent(0.95)
    '95 %'
    """
    return f"{100 * level:.4g} %"


def level(scores: Scores) -> str:
    """Return the level of the intervals as text in percent."""
    return percent(scores.settings.get("interval", {}).get("level", 0.95))


def method(scores: Scores, comparison: Comparison | None) -> str:
    """Return a sentence that names the method of the intervals and the test; "" if there is neither."""
    options, parts, lenient = scores.settings.get("interval", {}), [], ""
    sizes = sorted({row.n for row in scores.rows if not math.isnan(row.low)})
    if options.get("method") and sizes:
        count = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
        kinds = [options["method"]]
        if kinds == ["bootstrap"]:
            kinds = [kind for kind, used in (("bca", sizes[0] <= LARGE), ("abc", sizes[-1] > LARGE)) if used]
        names = " or ".join(INTERVALS.get(kind, f"{kind} interval") for kind in kinds)
        parts.append(f"{level(scores)} {names} over {count} {scores.unit if sizes == [1] else plural(scores.unit)}")
    if comparison is not None and comparison.rows:
        parts.append(test_phrase(comparison))
        if any(row.test == "bootstrap" and row.n < FEW_FOR_BOOTSTRAP for row in comparison.rows):
            lenient = f" With fewer than {FEW_FOR_BOOTSTRAP} users this test finds too much (D004)."
    text = "; ".join(parts)
    return worded(f"{text[:1].upper()}{text[1:]}.{lenient}", scores.unit) if text else ""


def test_phrase(comparison: Comparison) -> str:
    """Return the name of the test, the correction of p-values, and the number of pairs; "" if nothing was tested."""
    if not comparison.rows:
        return ""
    row = comparison.rows[0]
    name = TESTS.get(row.test, f"{row.test} test")
    pairs = len(comparison.rows)
    if comparison.family == "metric":
        pairs = sum(other.metric == row.metric for other in comparison.rows)
    pairs += comparison.untested
    over = f"{pairs:,} pair{'' if pairs == 1 else 's'}{' per metric' if comparison.family == 'metric' else ''}"
    if row.correction == "none":
        return f"{name}, p uncorrected for {over}"
    return f"{name}, {CORRECTIONS.get(row.correction, row.correction)} over {over}"


def place_names(places: Iterable[Place]) -> dict[Place, str]:
    """Return a short name for each place: only the coordinates in which places differ, such as data set and seed.

    A single place is named by all its stated coordinates.

    >>> list(place_names([Place("ml-1m", design="P1R", seed=3)]).values())
    ['ml-1m, P1R, seed 3']
    >>> list(place_names([Place("ml-1m", seed=3), Place("steam", seed=3)]).values())
    ['ml-1m', 'steam']
    """
    places = list(places)
    constant = {axis for axis in AXES if len({getattr(place, axis) for place in places}) == 1}
    hidden = constant if len(places) > 1 else set[str]()
    return {place: place.text(hidden=hidden) for place in places}


def short_names(systems: Iterable[str]) -> dict[str, str]:
    """Return a short form of each long name: of its parameters only those that tell it from the other systems.

    Other long names lose their middle. A name stays whole if its short form could be another system's.

    >>> names = [f"BPR(factors={number}, regularization=0.01)" for number in (16, 32)]
    >>> short_names(["Popular", *names])[names[0]]
    'BPR(factors=16, …)'
    """
    every = list(dict.fromkeys(systems))
    forms = {name: _short_forms(name, every) for name in every if len(name) > WIDTH}
    for at in range(max(map(len, forms.values()), default=0)):
        short = {name: own[min(at, len(own) - 1)] for name, own in forms.items()}
        if len({short.get(name, name) for name in every}) == len(every):
            return {name: form for name, form in short.items() if len(form) < len(name)}
    return {}


def _short_forms(name: str, every: list[str]) -> list[str]:
    """Return possible short forms of a model's name, the shortest first; ``every`` are the names of all systems.

    Longer forms have more of the parameters that distinguish it from other systems. A name that is not that of a model
    has one form, without its middle.
    """
    call = CALL.fullmatch(name)
    if call is None:
        return [shorten(name, WIDTH)]
    others = [match for other in every if other != name and (match := CALL.fullmatch(other))]
    alike = [set(split(other["parameters"])) for other in others if other["name"] == call["name"]]
    own = [part for part in split(call["parameters"]) if alike and not all(part in other for other in alike)]
    return [f"{call['name']}({', '.join([*own[:size], '…'])})" for size in range(min(1, len(own)), len(own) + 1)]
