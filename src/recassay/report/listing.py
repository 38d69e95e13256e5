"""Lists of metrics, models, splits, checks and everything else with a name, and a page that explains one of them."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from recassay.data.io.formats import FORMATS, formats
from recassay.designs import grammar
from recassay.errors import UsageError, explanations
from recassay.metrics.registry import Description, describe
from recassay.naming.arguments import checks_types, words_of
from recassay.naming.grammar import suggest
from recassay.naming.named import Departure, parameter_kinds
from recassay.naming.registry import OWN, Registry
from recassay.optional import install_command
from recassay.report.tables.model import Cell, Column, ResultTable, Terminal, words
from recassay.shown import Displayable


@dataclass(frozen=True)
class Entry:
    """A line of a list: the name of a metric, model or other class, with its title.

    ``group`` is the text of the column between name and title, such as the parameters. ``source`` is where it comes
    from: recassay, an installed package or a file.
    """

    name: str
    group: str
    title: str
    source: str = OWN


@dataclass(frozen=True, repr=False)
class Explanation(Displayable):
    """The page about one name that ``explain`` shows: a title, then paragraphs under headings.

    ``facts`` maps names to short values, which are shown below the sections.
    """

    name: str
    kind: str
    title: str
    sections: Mapping[str, str]
    parameters: tuple[dict[str, Any], ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


def _parameters(kind: Any) -> str:
    return ", ".join(_types_of(kind)) or "none"


def _types_of(kind: Any) -> Mapping[str, Any]:
    """Return ``{parameter: type}`` of a class, which need not be a dataclass."""
    if isinstance(kind, type) and is_dataclass(kind):
        return parameter_kinds(kind)
    return {name: one.annotation for name, one in inspect.signature(kind).parameters.items()}


@dataclass(frozen=True)
class Listed:
    """How to list things of one kind, such as splits.

    ``home`` is where their registry is: it is imported when it is first needed. ``column`` is the heading of the column
    between name and title, ``group`` returns its text, and ``title`` what a thing is; the default is the first line of
    its documentation.
    """

    home: str
    column: str = "parameters"
    group: Callable[[Any], str] = _parameters
    title: Callable[[Any], str] | None = None
    heading: Callable[[Any], str] | None = None

    @property
    def registry(self) -> Registry[Any]:
        """Return the registry of the things."""
        found: Registry[Any] = pkgutil.resolve_name(self.home)
        return found

    def entries(self) -> list[Entry]:
        """Return an entry for each thing of the kind."""
        registry = self.registry
        return [
            Entry(
                name if self.heading is None else self.heading(thing),
                self.group(thing),
                self.title(thing) if self.title else " ".join([_title(registry.title(name)), *_needs(thing)]),
                registry.source(name),
            )
            for name, thing in registry.kinds.items()
        ]


DEPARTS = "Departs from the paper"  # heading of a section
DIRECTIONS = {True: "higher is better", False: "lower is better", None: "neither direction is better"}
READS_RATINGS = {
    True: "the model learns from their values",
    False: "the model does not read their values: every row of the log is one event",
    None: "as the model that it wraps",
}
NAMED = {  # kinds of classes with parameters
    "splits": Listed("recassay.split:REGISTRY", "leakage", lambda kind: str(kind.leakage)),
    "filters": Listed("recassay.split.filters:REGISTRY"),
    "sequences": Listed("recassay.split.sequences:REGISTRY"),
    "models": Listed("recassay.models:REGISTRY"),
    "sequence-models": Listed("recassay.models.sequence:REGISTRY"),
    "protocols": Listed("recassay.protocols:REGISTRY"),
    "experiments": Listed("recassay.experiments:REGISTRY"),
    "estimators": Listed("recassay.sampled.estimators:REGISTRY"),
    "detectors": Listed("recassay.drift:REGISTRY"),
}
METRICS = Listed(
    "recassay.metrics.registry:METRICS", "family", lambda kind: kind.family, lambda kind: describe(kind).title,
    lambda kind: _heading(describe(kind)),
)  # fmt: skip
CHECKS = Listed("recassay.checks.base:CHECKS", "severity", lambda check: check.severity, lambda check: check.title)
PROFILES = Listed(
    "recassay.profiles.base:PROFILES", "version", lambda profile: profile.version,
    lambda profile: next(iter(profile.differs), profile.title),
)  # fmt: skip
KINDS = {**NAMED, "metrics": METRICS, "checks": CHECKS, "profiles": PROFILES}


def entries(kind: str) -> list[Entry]:
    """Return an entry for each name of one kind; ``kind`` is such as ``metrics``, ``models`` or ``checks``."""
    if kind == "designs":
        return [Entry(name, grammar.parameters_of(name) or "none", title) for name, title in grammar.TITLES.items()]
    if kind == "formats":
        return [Entry(one.name, " ".join(one.suffixes), one.description, FORMATS.source(one.name)) for one in formats()]
    rows = KINDS[kind].entries()
    return sorted(rows, key=lambda row: (row.group, row.name)) if kind == "metrics" else rows


def _needs(kind: type) -> list[str]:
    """Return a sentence on the library that a class needs and that is installed on request; none for most classes."""
    library = getattr(kind, "library", "")
    return [f"Needs {install_command(library)}."] if library else []


def _heading(metric: Description) -> str:
    return {"required": f"{metric.name}@k", "optional": f"{metric.name}[@k]"}.get(metric.cutoff, metric.name)


@checks_types
def explain(name: str) -> Explanation:
    """Return the page about a metric, a model, any other listed name, or a code: what ``recassay explain`` prints.

    A name may have parameters. A file format may have the name of a profile or a model, whose page then has a section
    about the format. Raise U107 if nothing has this name.

    >>> explain("hit").title
    '1 if one of the first k places holds a relevant item, else 0.'
    """
    page = _page_of(name)
    known = next((one for one in formats() if one.name == name.lower()), None)
    if known is not None:
        more = (inspect.getdoc(known.table) or "").partition("\n\n")[2]
        use = " ".join([*more.split(), f"Chosen by --format {known.name}, or format='{known.name}' in Python."])
        title = f"{known.description[:1].upper()}{known.description[1:]}."
        if page is None:
            return Explanation(known.name, FORMATS.noun, title, {"Use": use})
        return replace(page, sections={**page.sections, "File format of this name": f"{title} {use}"})
    if page is None:
        values = [one for home in (*NAMED.values(), PROFILES, CHECKS) for one in home.registry.kinds]
        hint = suggest(name, [*METRICS.registry.names, *values, *grammar.TITLES, *FORMATS.kinds, *explanations()])
        if len(hint) >= 100:
            hint = f"recassay list has the names: of metrics, or of {', '.join(NAMED)}, and others"
        raise UsageError("U107", f"there is nothing named '{name}' to explain", hint=hint)
    return page


def _page_of(name: str) -> Explanation | None:
    """Return the page about a name; None if nothing but a file format has this name."""
    bare = name.partition("(")[0].partition("@")[0]
    if bare in METRICS.registry.names:
        return _metric_page(METRICS.registry.names[bare])
    named = [(home, one) for home in NAMED.values() for one in home.registry.kinds if one.lower() == bare.lower()]
    if named:  # a model and a split may differ in case alone: random is a split, Random a model
        return _named_page(*next((found for found in named if found[1] == bare), named[0]))
    if design := next((design for design in grammar.TITLES if design.upper() == bare.upper()), ""):
        written = grammar.parameters_of(design)
        sections = {"Written": f"{design}({written})" if written else design, "Parts": grammar.PARTS}
        sections |= _departures_section(grammar.DEPARTURES.get(design, ()))
        return Explanation(design, "design", grammar.TITLES[design], sections)
    if profile := PROFILES.registry.kinds.get(name):
        return _profile_page(profile)
    return _code_page(name.upper())


def _code_page(code: str) -> Explanation | None:
    """Return the page about a check or an error by its code; None if neither has this code."""
    if check := CHECKS.registry.kinds.get(code):
        sections = {"What": _one_line_paragraphs(inspect.getdoc(check.ask) or ""), "Severity": check.severity}
        return Explanation(check.code, "check", check.title, sections)
    if code in explanations():
        title, cause, remedy = explanations()[code]
        sections = {"What happened": cause, "What to do": remedy}
        return Explanation(code, "error", f"{title[:1].upper()}{title[1:]}.", sections)
    return None


def _named_page(named: Listed, name: str) -> Explanation:
    kind = named.registry.kinds[name]
    doc = (inspect.getdoc(kind) or "").partition(">>>")[0].strip()
    title, _, rest = doc.partition("\n\n")
    hints = _types_of(kind)
    parameters = tuple(
        {
            "name": one.name, "default": None if one.default is MISSING else one.default,
            "choices": [*map(str, words_of(hints[one.name])[0]), *(["(required)"] if one.default is MISSING else [])],
        }
        for one in (fields(kind) if is_dataclass(kind) else ())
    )  # fmt: skip
    facts: dict[str, Any] = {} if named.column == "parameters" else {named.column: named.group(kind)}
    if hasattr(kind, "reads_ratings"):
        facts["ratings"] = READS_RATINGS[kind.reads_ratings]
    if library := getattr(kind, "library", ""):
        facts["needs"] = install_command(library)
    sections = {"What": _one_line_paragraphs(rest)} if rest else {}
    sections |= _departures_section(departures_of(kind))
    return Explanation(name, named.registry.noun, _title(title), sections, parameters, facts)


def _one_line_paragraphs(text: str) -> str:
    r"""Return a docstring with each paragraph on one line, which a terminal breaks to its width.

    >>> _one_line_paragraphs("One\ntwo.\n\nThree.")
    'One two.\n\nThree.'
    """
    return "\n\n".join(" ".join(one.split()) for one in text.split("\n\n"))


def _title(text: str) -> str:
    return " ".join(text.replace("``", "").split())


def _profile_page(profile: Any) -> Explanation:
    held = "its source, restated" if profile.transcribed else "its own recorded answers"
    sections = {
        "Differs": profile.differs,
        "Lists are read with": [f"{key}={value}" for key, value in profile.conventions.items()],
        "Not reproduced": list(map(str, profile.excludes)),
    }
    return Explanation(
        profile.name, "profile", f"The numbers of {profile.title} {profile.version}, checked against {held}.",
        {heading: "\n".join(lines) for heading, lines in sections.items() if lines},
        facts={"metrics": dict(profile.metrics)},
    )  # fmt: skip


def _metric_page(kind: Any) -> Explanation:
    metric = describe(kind)
    parameters = tuple(
        {"name": one.name, "default": one.default, "choices": list(one.choices)} for one in metric.parameters
    )
    facts = {
        "family": metric.family,
        "also called": ", ".join(metric.aliases) or "nothing else",
        "cut-off": metric.cutoff,
        "range": f"{metric.range}, {DIRECTIONS[metric.higher_is_better]}",
        "needs": ", ".join(
            ("generated sequences" if metric.family == "sequence" else "lists and truth", *metric.needs)
        ),
    }
    sections = metric.sections | _departures_section(departures_of(kind))
    return Explanation(_heading(metric), "metric", metric.title, sections, parameters, facts)


def departures_of(named: Any) -> tuple[Departure, ...]:
    """Return the deviations from papers that a class or function declares itself, without those of base classes."""
    return tuple(vars(named).get("departures", ()))


def _departures_section(several: tuple[Departure, ...]) -> dict[str, str]:
    return {DEPARTS: "\n".join(map(str, several))} if several else {}


GROUP_WIDTH = 32  # of the second column, whose longer texts wrap


def listing_table(kind: str, rows: list[Entry]) -> RenderableType:
    """Return a table with a line per entry.

    ``kind`` is what is listed, such as ``metrics``, and ``rows`` are the entries. There is a column for the source if
    an entry is not from recassay.
    """
    columns = {kind: (named.registry.noun, named.column) for kind, named in KINDS.items()}
    columns |= {
        "designs": ("design", "parameters"), "formats": ("format", "suffixes of its own"),
        "checks": ("code", "severity"),
    }  # fmt: skip
    name, group = columns[kind]
    headings = [Column(name, "name"), Column(group, "name", GROUP_WIDTH), Column("what it is", "name")]
    elsewhere = any(row.source != OWN for row in rows)
    lines = [
        (Cell(row.name, "bold"), Cell(row.group), Cell(row.title), *([Cell(row.source)] if elsewhere else []))
        for row in rows
    ]
    table = ResultTable((*headings, *([Column("from", "name")] if elsewhere else [])), tuple(lines), gap=3)
    more = [Text(f"\n{len(rows)} {kind}. More on one: recassay explain NAME", style="dim")]
    registries = {"formats": FORMATS} | {kind: KINDS[kind].registry for kind in KINDS.keys() & {kind}}
    broken = registries[kind].broken if kind in registries else {}
    failed = [words(f"Not loaded: {point}: {why}") for point, why in broken.items()]
    return Group(Terminal(table), *more, *failed)


def explanation_text(page: Explanation) -> RenderableType:
    """Return an explanation as text for a terminal."""
    parts: list[RenderableType] = [Text(page.name, style="bold"), Text(page.title), Text()]
    for heading, text in page.sections.items():
        parts += [Text(heading, style="bold"), Padding(Text(text.replace("``", "")), (0, 0, 1, 2))]
    if page.parameters:
        columns = tuple(Column(heading, "name") for heading in ("parameter", "default", "choices"))
        rows = tuple(
            (Cell(one["name"]), Cell(repr(one["default"])), Cell(", ".join(one["choices"]))) for one in page.parameters
        )
        table = Terminal(ResultTable(columns, rows, gap=3))
        parts += [Text("Parameters", style="bold"), Padding(table, (0, 0, 1, 2))]
    for key, value in page.facts.items():
        if isinstance(value, Mapping):
            parts.append(Text(key.capitalize(), style="bold"))
            parts += [Text(f"  {ours:<16} {theirs}") for ours, theirs in value.items()]
        else:
            parts.append(Text.assemble((f"{key}: ", "bold"), str(value)))
    return Group(*parts)
