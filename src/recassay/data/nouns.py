"""Names of the kinds of input values (log, fold, run, ...), and errors that say what to write if a function needs
another kind.

Kinds are easily confused: a log for a fold, the tuple that a split returns for one of its folds, ``Popular`` for
``Popular()``. Values of higher packages are recognised by their attributes.

>>> from recassay.data.read import read_interactions
>>> log = read_interactions([("ann", "x"), ("bob", "y")])
>>> require_noun(log, "fold")
Traceback (most recent call last):
recassay.errors.UsageError: [U124] a fold is needed, and this is a log.
  Try:   split the log and take one fold: fold = ra.split.random(test=0.2)(log)[0]
"""

from __future__ import annotations

from typing import Any, Literal

from recassay.data.features import Features
from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.data.run import Run
from recassay.data.sequences import SequenceFold, Sequences
from recassay.data.standings import Standings
from recassay.data.truth import Truth
from recassay.errors import UsageError

Noun = Literal["truth", "run", "log", "items", "fold", "model", "protocol", "scores", "played run", "played stream",
                "fold of sequences", "generated sequences"]  # fmt: skip

NEEDED = {"items": "a table of item features", "scores": "scores of systems", "played run": "a run with standings"}
PLURAL = ("scores", "generated sequences")
KINDS = {
    Interactions: "a log",
    Fold: "a fold",
    Truth: "a truth",
    Run: "a run",
    Features: "a table of item features",
    SequenceFold: "a fold of sequences",
    Sequences: "sequences",
    Standings: "standings",
}
ATTRIBUTES = {
    "scores under designs": ("by_design",),
    "scores": ("systems", "unit_metrics"),
    "a split": ("cuts",),
    "a protocol": ("steps",),
    "a model": ("fit",),
    "a fitted model": ("recommend",),
}
CAPABILITIES = ("fit", "recommend", "scores", "user_factors", "wrap", "start", "learn")  # a model has one of them
LIBRARIES = {name.lower(): name for name in ("Implicit", "Cornac", "LensKit", "RecTools")}  # and their adapters
FOLDS = "the tuple of folds that a split returns"
CUT = "split the log and take one fold: fold = ra.split.random(test=0.2)(log)[0]"
PLAY = "let a model recommend first: run = ra.play(ra.models.Popular(), fold, ra.protocols.ranking())"
SCORE = "score runs first: scores = ra.score(runs, truth, 'ndcg@10')"
ORDER = {
    "score": "the order is ra.score(runs, truth, metrics)",
    "play": "the order is ra.play(model, fold, protocol)",
}
HINTS: dict[tuple[Noun, str], str] = {
    ("truth", FOLDS): "take one of them: ra.score(runs, folds[0], metrics)",
    ("truth", "a run"): ORDER["score"],
    ("truth", "a model"): ORDER["score"],
    ("run", "a truth"): ORDER["score"],
    ("run", "scores"): "these runs are scored already: ra.compare(scores) tests their differences",
    ("log", "a fold"): "fold.train is the log that models learn from, fold.test what they must predict",
    ("log", FOLDS): "take the training part of one of them: folds[0].train",
    ("log", "a run"): "a run holds the lists of a system; give the events of users",
    ("fold", "a log"): CUT,
    ("fold", FOLDS): "take one of them, the first is folds[0]",
    ("fold", "a model"): ORDER["play"],
    ("model", "a fold"): ORDER["play"],
    ("model", "a log"): ORDER["play"],
    ("scores", "a run"): SCORE,
    ("scores", "scores under designs"): "take those of one design: ra.compare(scores.scores(design))",
    (
        "scores",
        "several values",
    ): "score all runs in one call and compare that: ra.score([first, second], truth, metrics)",
    ("played run", "a run"): "ra.play(run, fold, ra.protocols.ranking()) gives it standings",
    ("played run", "scores"): "give the runs that were played, not their scores",
}
ELSE: dict[Noun, str] = {
    "truth": "give a fold, its test part, a truth, a path, a table, or {user: [items]}",
    "run": PLAY,
    "log": "read one: log = ra.read_interactions('events.csv')",
    "items": "read one: items = ra.read_items('items.csv')",
    "fold": CUT,
    "model": "give a model such as ra.models.Popular(), a fitted model, or a run",
    "protocol": "give ra.protocols.ranking(), next_item() or prequential()",
    "scores": SCORE,
    "played run": PLAY,
    "fold of sequences": "fold = ra.split.latest_sequences(test=0.2)(ra.split.sessions(gap=3600)(log))[0]",
    "generated sequences": "let a model generate: generated = ra.sequences.generate(ra.models.sequence.Markov(), fold)",
    "played stream": "play a model on a log: stream = ra.play(model, log, ra.protocols.prequential())",
}


def kind_of(value: Any) -> str:
    """Return the kind of a value as text, such as ``a truth``; an empty text for a table, a path and anything unknown.

    >>> kind_of({"ann": ["x"]}), kind_of(Truth.empty())
    ('', 'a truth')
    """
    if isinstance(value, type):
        return f"the class {value.__name__}"
    for noun, words in KINDS.items():
        if isinstance(value, noun):
            return words
    if isinstance(value, list | tuple):
        return FOLDS if value and all(isinstance(one, Fold | SequenceFold) for one in value) else ""
    if hasattr(type(value), "columns") or hasattr(value, "__arrow_c_stream__"):
        return ""
    return next((words for words, names in ATTRIBUTES.items() if all(hasattr(value, name) for name in names)), "")


def wrong_noun(value: Any, needed: Noun, where: str = "") -> UsageError:
    """Return the error U124 for a value of another kind than ``needed``, the kind that a function needs."""
    kind = kind_of(value)
    if not kind and isinstance(value, list | tuple | dict) and needed == "scores":
        kind = "several values"
    what = kind or f"of type {type(value).__name__}"
    hint = HINTS.get((needed, kind), ELSE[needed])
    if needed == "model" and callable(value):
        hint = "wrap a function: ra.models.ScoreFunction(function), or RecommendFunction(function) if it returns lists"
    if isinstance(value, type):
        name = getattr(value, "name", "") or value.__name__
        hint = f"write {name}() with parentheses" + ("" if needed != "run" else f", and {PLAY}")
    several = needed in PLURAL
    needs = f"{NEEDED.get(needed, needed if several else f'a {needed}')} {'are' if several else 'is'} needed"
    return UsageError("U124", f"{needs}, and this is {what}", where=where, hint=hint)


def require_noun(value: Any, needed: Noun, *allowed: str) -> None:
    """Raise U124 if a value is of another known kind than ``needed`` or one of ``allowed``.

    A value of unknown kind, such as a table or a path, passes.
    """
    kind = kind_of(value)
    if kind and kind not in (f"a {needed}", *allowed):
        raise wrong_noun(value, needed)


def require_model(value: Any) -> None:
    """Raise U124 unless a value is a model, fitted or not, or a run; one of another library has to be wrapped."""
    require_noun(value, "model", "a fitted model", "a run")
    library = type(value).__module__.partition(".")[0]
    if library in LIBRARIES:
        raise UsageError(
            "U124",
            f"{type(value).__name__} is a model of the library {library}",
            hint=f"wrap it: ra.models.{LIBRARIES[library]}(model)",
        )
    if isinstance(value, range | slice) or not any(hasattr(value, name) for name in CAPABILITIES):  # these have a start
        raise wrong_noun(value, "model")


def require_log(log: Any) -> None:
    """Raise U124 unless a value is a log in memory: models are fitted on nothing else."""
    if not isinstance(log, Interactions):
        raise wrong_noun(log, "log")
