"""Option objects: how tables are read, lists interpreted, groups reported and work done.

A value is checked where its object is made, whether it comes from Python, the command line or a study.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from recassay.data.read import Columns, read_with_shared_names
from recassay.naming import choices
from recassay.naming.arguments import CheckedOptions

Table = TypeVar("Table")


@dataclass(frozen=True)
class ReadOptions(CheckedOptions):
    """Options for reading the tables of a call.

    ``columns`` names columns of the runs, and of the other tables where they have them; ``truth_columns`` names those
    of the truth, ``train_columns`` those of the training log, ``users_columns`` and ``items_columns`` those of the
    tables of users and items, and ``run_columns`` those of single runs by name, if they differ. ``format`` and ``nan``
    apply to the runs, ``negative`` to gains of the truth.

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
    items_columns: Columns = None

    def columns_of(self, run: str) -> Columns:
        """Return the column names of the run with this name."""
        return self.run_columns.get(run, self.columns)

    def read(self, role: str, read: Callable[..., Table], source: Any, *arguments: Any, **options: Any) -> Table:
        """Return the table that ``read`` makes of a source, with the column names of its role in the call.

        The ``role`` is truth, train, users or items; ``arguments`` and ``options`` are further ones of ``read``.
        """
        return read_with_shared_names(
            lambda names: read(source, *arguments, columns=names, **options),
            self.columns,
            getattr(self, f"{role}_columns"),
            option="--columns" if role == "truth" else f"--{role}-columns",
        )


@dataclass(frozen=True)
class ConventionOptions(CheckedOptions):
    """Conventions of a call of ``score``; None leaves a choice to the profile (another library), or to the default.

    ``missing`` and ``no_relevant`` are defaults of every metric that does not state its own. ``missing="error"``
    refuses a run that lacks a user. ``order``, ``ties``, ``precision`` and ``duplicates`` say how lists are read, see
    :class:`~recassay.metrics.align.Conventions`.
    """

    missing: choices.Missing | None = None
    no_relevant: choices.NoRelevant | None = None
    order: choices.ListOrder | None = None
    ties: choices.TieOrder | None = None
    precision: choices.Precision | None = None
    duplicates: choices.Duplicates | None = None


@dataclass(frozen=True)
class GroupOptions(CheckedOptions):
    """Options of groups of users or items: groups of fewer users than ``smallest_group`` are not reported.

    ``correction`` is how p-values are corrected over groups and over pairs of groups.
    """

    smallest_group: int = 10
    correction: choices.Correction = "holm"


@dataclass(frozen=True)
class Execution(CheckedOptions):
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


@dataclass(frozen=True)
class DesignOptions(CheckedOptions):
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


def population_or_table(users: Any) -> tuple[choices.Population, Any]:
    """Return (population, table of users) of an option ``users``, which is one of the two.

    >>> population_or_table("known"), population_or_table("users.csv")
    (('known', None), ('all', 'users.csv'))
    """
    is_population = isinstance(users, str) and users in choices.words(choices.Population)
    return (users, None) if is_population else ("all", users)
