"""Option objects that public functions share: how tables are read, how lists are interpreted and how work is done.

Functions such as ``score`` take these objects or keywords of the same names and defaults. The keywords become the same
objects, so there is one place where a value is checked, whether it comes from Python, the command line or a study.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

from recassay.data.read import Columns
from recassay.errors import UsageError
from recassay.metrics.align import Conventions
from recassay.naming import choices
from recassay.naming.arguments import check_fields
from recassay.naming.grammar import suggest
from recassay.stats.intervals import Uncertainty

WORDS: dict[str, tuple[str, ...]] = {name: get_args(kind) for name, kind in get_type_hints(Conventions).items()} | {
    "missing": choices.words(choices.Missing)
}

Options = TypeVar("Options")


@dataclass(frozen=True)
class ReadOptions:
    """Options for reading the tables of a call.

    ``columns`` names columns of the runs, and of the other tables where they have them; ``truth_columns`` names those
    of the truth, ``train_columns`` those of the training log, ``users_columns`` those of the table of users, and
    ``run_columns`` those of single runs by name, if they
    differ. ``format`` and ``nan`` apply to the runs, ``negative`` to gains of the truth.

    >>> ReadOptions("user=u", run_columns={"als": "user=uid"}).columns_of("als")
    'user=uid'
    >>> ReadOptions(nan="lats")
    Traceback (most recent call last):
    recassay.errors.UsageError: [U107] nan='lats' is not known.
      Where: ReadOptions
      Try:   did you mean 'last'?
    """

    columns: Columns = None
    truth_columns: Columns = None
    format: str | None = None
    nan: choices.Nan = "error"
    negative: choices.Negative = "error"
    train_columns: Columns = None
    run_columns: Mapping[str, Columns] = field(default_factory=dict)
    users_columns: Columns = None

    def columns_of(self, run: str) -> Columns:
        """Return the column names of the run with this name."""
        return self.run_columns.get(run, self.columns)

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class ConventionOptions:
    """Conventions of a call of ``score``.

    None leaves a choice to the ``profile`` (the conventions of another library), or to the default.

    ``relevant_from``, ``missing`` and ``no_relevant`` are defaults of every metric that does not state its own.
    ``order``, ``ties``, ``precision`` and ``duplicates`` say how lists are read, and ``users`` over which users means
    are, see :class:`~recassay.metrics.align.Conventions`.
    """

    profile: str | None = None
    relevant_from: float = 1.0
    missing: str | None = None
    no_relevant: str | None = None
    order: str | None = None
    ties: str | None = None
    precision: str | None = None
    duplicates: str | None = None
    users: str | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        for name, known in WORDS.items():
            value = getattr(self, name)
            if value is not None and value not in known and (name, value) != ("missing", "allow"):
                raise UsageError(
                    "U107", f"{name}={value!r} is not known", where=f"--{name}", hint=suggest(value, known)
                )


@dataclass(frozen=True)
class GroupOptions:
    """Groups of users or items whose means are reported, and how they are tested.

    ``by`` names columns of users, ``by_item`` columns of items. Groups of fewer than ``smallest_group`` users are not
    reported. ``correction`` is how p-values are corrected over groups and over pairs of groups.

    >>> GroupOptions("country").by
    ('country',)
    """

    by: str | Sequence[str] = ()
    by_item: str | Sequence[str] = ()
    smallest_group: int = 10
    correction: choices.Correction = "holm"

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("by", "by_item"):
            given = getattr(self, name)
            object.__setattr__(self, name, (given,) if isinstance(given, str) else tuple(given or ()))
        if self.smallest_group < 2:
            what = f"smallest_group must be at least 2, got {self.smallest_group}"
            raise UsageError("U102", what, hint="the default is 10: the mean of fewer users says little")

    @property
    def requested(self) -> bool:
        """Return whether any column is named whose groups are to be reported."""
        return bool(self.by or self.by_item)


@dataclass(frozen=True)
class Execution:
    """Options that say where and how work is carried out.

    ``engine`` names a back end (``local`` or ``spark``; None decides by the inputs). ``memory`` is a budget for run
    files that are larger than memory, such as ``"2GB"``. ``work`` is a folder that all nodes of a cluster can read and
    write. ``threads`` is at least 1, or None for all processors. ``progress`` is called while work is under way.
    """

    engine: choices.Engine | None = None
    memory: str | int | None = None
    work: str | Path | None = None
    threads: int | None = None
    progress: Callable[..., None] | None = None

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class DesignOptions:
    """Options of :func:`~recassay.judge`: which users count, and how candidates are drawn.

    ``users`` says whether users without a relevant item count 0, ``short`` whether users with fewer candidates than a
    design draws are an error or get all of them. ``method`` is ``exact`` (closed form) or ``sample`` (``draws`` random
    draws). ``variance`` requests the variance over draws.
    """

    users: choices.DesignUsers = "all"
    short: choices.Short = "error"
    method: choices.DrawMethod = "exact"
    draws: int = 20
    variance: bool = True

    def __post_init__(self) -> None:
        check_fields(self)


def population_or_table(users: Any) -> tuple[str | None, Any]:
    """Return (population, table of users) of an option ``users``, which is one of the two; the other is None.

    >>> population_or_table("known"), population_or_table("users.csv")
    (('known', None), (None, 'users.csv'))
    """
    is_population = isinstance(users, str) and users in choices.words(choices.Population)
    return (users, None) if is_population else (None, users)


def one_of(name: str, given: Options | None, keywords: Options) -> Options:
    """Return the options object of a call (``given``), or the one made of its keywords; raise U107 if both set options.

    >>> one_of("uncertainty", None, Uncertainty(level=0.9)).level
    0.9
    >>> one_of("uncertainty", Uncertainty(level=0.8), Uncertainty()).level
    0.8
    >>> one_of("uncertainty", Uncertainty(), Uncertainty(method=None))
    Traceback (most recent call last):
    recassay.errors.UsageError: [U107] interval= and uncertainty= were both given.
      Try:   set it in Uncertainty(...), or leave out uncertainty=
    """
    if given is None:
        return keywords
    kind: Any = type(keywords)
    default = kind()
    for one in fields(kind):
        if getattr(keywords, one.name) != getattr(default, one.name):
            keyword = "interval" if kind is Uncertainty and one.name == "method" else one.name
            raise UsageError(
                "U107",
                f"{keyword}= and {name}= were both given",
                hint=f"set it in {kind.__name__}(...), or leave out {name}=",
            )
    return given
