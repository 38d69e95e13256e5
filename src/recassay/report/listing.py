"""Lists of metrics, models, splits, checks and everything else with a name, and a page that explains one of them."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, asdict, dataclass, field, fields, is_dataclass, replace
from typing import Any, Literal, get_args, get_origin

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from recassay.checks.base import CHECKS
from recassay.checks.base import load as checks
from recassay.data.io.formats import FORMATS, formats
from recassay.designs import grammar
from recassay.errors import UsageError, explanations
from recassay.metrics.base import Metric
from recassay.metrics.registry import METRICS, Description, describe, metrics, names
from recassay.naming.arguments import checks_types
from recassay.naming.grammar import suggest
from recassay.naming.named import Departure, parameter_kinds
from recassay.naming.registry import OWN, Registry
from recassay.optional import install_command
from recassay.profiles import Profile, profiles
from recassay.profiles.base import PROFILES
from recassay.report.tables.model import Cell, Column, ResultTable
from recassay.report.tables.terminal import Terminal, words
from recassay.shown import Displayable


@dataclass(frozen=True)
class Entry:
    """A line of a list: the name of a metric, model or other class, what it is grouped by, and what it is.

    ``source`` is where it comes from: recassay, an installed package or a file.
    """

    name: str
    group: str
    title: str
    source: str = OWN

    def to_dict(self) -> dict[str, str]:
        """Return the line as plain values for JSON."""
        return asdict(self)


@dataclass(frozen=True, repr=False)
class Explanation(Displayable):
    """The page about one name that ``explain`` shows: a title, then paragraphs under headings.

    ``facts`` are short values by name, which are shown below.
    """

    name: str
    kind: str
    title: str
    sections: Mapping[str, str]
    parameters: tuple[dict[str, Any], ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the page as plain values for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Listed:
    """How to list the classes of one kind, such as splits.

    ``home`` is the name of the module with their registry. ``column`` is the heading of the column between name and
    title, and ``group`` returns its text for a class.
    """

    home: str
    column: str
    group: Callable[[Any], str]

    @property
    def registry(self) -> Registry[Any]:
        """Return the registry of the classes; its module is imported when it is first needed."""
        found: Registry[Any] = importlib.import_module(self.home).REGISTRY
        return found


def _parameters(kind: Any) -> str:
    return ", ".join(_types_of(kind)) or "none"


def _types_of(kind: Any) -> Mapping[str, Any]:
    """Return ``{parameter: type}`` of a class, which need not be a dataclass."""
    if isinstance(kind, type) and is_dataclass(kind):
        return parameter_kinds(kind)
    return {name: one.annotation for name, one in inspect.signature(kind).parameters.items()}


PUBLIC = "recassay"  # module of the public functions, which may have departures
DEPARTS = "Departs from the paper"  # heading of a section
READS_RATINGS = {
    True: "the model learns from their values",
    False: "the model does not read their values: every row of the log is one event",
    None: "as the model that it wraps",
}
NAMED = {
    "splits": Listed("recassay.split", "leakage", lambda kind: str(kind.leakage)),
    "filters": Listed("recassay.split.filters", "parameters", _parameters),
    "sequences": Listed("recassay.split.sequences", "parameters", _parameters),
    "models": Listed("recassay.models", "parameters", _parameters),
    "sequence-models": Listed("recassay.models.sequence", "parameters", _parameters),
    "protocols": Listed("recassay.protocols", "parameters", _parameters),
    "experiments": Listed("recassay.experiments", "parameters", _parameters),
    "estimators": Listed("recassay.sampled.estimators", "parameters", _parameters),
    "detectors": Listed("recassay.drift", "parameters", _parameters),
}


def entries(kind: str) -> list[Entry]:
    """Return an entry for each name of one kind; ``kind`` is such as ``metrics``, ``models`` or ``checks``."""
    if kind in NAMED:
        named = NAMED[kind]
        registry = named.registry
        titles = {name: _title(registry.title(name)) for name in registry.kinds}
        return [
            Entry(name, named.group(one), " ".join([titles[name], *_needs(one)]), registry.source(name))
            for name, one in registry.kinds.items()
        ]
    if kind == "metrics":
        found = sorted((describe(metric) for metric in metrics().values()), key=lambda one: (one.family, one.name))
        return [Entry(_heading(one), one.family, one.title, METRICS.source(one.name)) for one in found]
    if kind == "designs":
        return [Entry(name, grammar.parameters_of(name) or "none", title) for name, title in grammar.TITLES.items()]
    if kind == "profiles":
        found_profiles = profiles().values()
        return [
            Entry(one.name, one.version, next(iter(one.differs), one.title), PROFILES.source(one.name))
            for one in found_profiles
        ]
    if kind == "formats":
        return [Entry(one.name, " ".join(one.suffixes), one.description, FORMATS.source(one.name)) for one in formats()]
    return [Entry(one.code, one.severity, one.title, CHECKS.source(one.code)) for one in checks().values()]


def _needs(kind: type) -> list[str]:
    """Return a sentence on the library that a class needs and that is installed on request; none for most classes."""
    library = getattr(kind, "library", "")
    return [f"Needs {install_command(library)}."] if library else []


def _heading(metric: Description) -> str:
    return {"required": f"{metric.name}@k", "optional": f"{metric.name}[@k]"}.get(metric.cutoff, metric.name)


@checks_types
def explain(name: str) -> Explanation:
    """Return the page about a metric, a model, any other listed name, or a code: what ``recassay explain`` prints.

    >>> explain("hit").title
    '1 if one of the first k places holds a relevant item, else 0.'
    """
    return explanation(name)


def explanation(name: str) -> Explanation:
    """Return the page about a metric or class (with or without parameters), a profile, a check or an error code.

    A file format may have the name of a profile or a model, whose page then has a section about the format. Raise U107
    if nothing has this name.
    """
    known = next((one for one in formats() if one.name == name.lower()), None)
    if known is None:
        return _page(name)
    more = (inspect.getdoc(known.table) or "").partition("\n\n")[2]
    use = " ".join([*more.split(), f"Chosen by --format {known.name}, or format='{known.name}' in Python."])
    title = f"{known.description[:1].upper()}{known.description[1:]}."
    try:
        page = _page(name)
    except UsageError:
        return Explanation(known.name, FORMATS.noun, title, {"Use": use})
    return replace(page, sections={**page.sections, "File format of this name": f"{title} {use}"})


def _page(name: str) -> Explanation:
    bare = name.partition("(")[0].partition("@")[0]
    if bare in names():
        return _metric_page(names()[bare])
    named = [(home, one) for home in NAMED.values() for one in home.registry.kinds if one.lower() == bare.lower()]
    if named:  # a model and a split may differ in case alone: random is a split, Random a model
        return _named_page(*next((found for found in named if found[1] == bare), named[0]))
    if bare.upper() in {design.upper() for design in grammar.TITLES}:
        return _design_page(next(design for design in grammar.TITLES if design.upper() == bare.upper()))
    if name in profiles():
        return _profile_page(profiles()[name])
    if name.upper() in checks():
        check = checks()[name.upper()]
        asks = _reflowed(inspect.getdoc(check.ask) or "")
        return Explanation(check.code, "check", check.title, {"What": asks, "Severity": check.severity})
    if name.upper() in explanations():
        title, cause, remedy = explanations()[name.upper()]
        sections = {"What happened": cause, "What to do": remedy}
        return Explanation(name.upper(), "error", f"{title[:1].upper()}{title[1:]}.", sections)
    values = [one for home in NAMED.values() for one in home.registry.kinds]
    known = [*names(), *values, *grammar.TITLES, *profiles(), *FORMATS.kinds, *checks(), *explanations()]
    hint = suggest(name, known)
    hint = hint if len(hint) < 100 else f"recassay list has the names: of metrics, or of {', '.join(NAMED)}, and others"
    raise UsageError("U107", f"there is nothing named '{name}' to explain", hint=hint)


def _named_page(named: Listed, name: str) -> Explanation:
    kind = named.registry.kinds[name]
    doc = (inspect.getdoc(kind) or "").partition(">>>")[0].strip()
    title, _, rest = doc.partition("\n\n")
    hints = _types_of(kind)
    parameters = tuple(
        {"name": one.name, "default": None if one.default is MISSING else one.default, "choices": _choices(one, hints)}
        for one in (fields(kind) if is_dataclass(kind) else ())
    )
    facts: dict[str, Any] = {} if named.column == "parameters" else {named.column: named.group(kind)}
    if hasattr(kind, "reads_ratings"):
        facts["ratings"] = READS_RATINGS[kind.reads_ratings]
    if library := getattr(kind, "library", ""):
        facts["needs"] = install_command(library)
    sections = {"What": _reflowed(rest)} if rest else {}
    sections |= _departures_section(departures_of(kind))
    return Explanation(name, named.registry.noun, _title(title), sections, parameters, facts)


def _design_page(name: str) -> Explanation:
    written = grammar.parameters_of(name)
    sections = {"Written": f"{name}({written})" if written else name, "Parts": grammar.PARTS}
    sections |= _departures_section(grammar.DEPARTURES.get(name, ()))
    return Explanation(name, "design", grammar.TITLES[name], sections)


def _reflowed(text: str) -> str:
    r"""Return a docstring with each paragraph on one line, which a terminal breaks to its width.

    >>> _reflowed("One\ntwo.\n\nThree.")
    'One two.\n\nThree.'
    """
    return "\n\n".join(" ".join(one.split()) for one in text.split("\n\n"))


def _title(text: str) -> str:
    return " ".join(text.replace("``", "").split())


def _choices(one: Field[Any], hints: Mapping[str, Any]) -> list[str]:
    kinds = (hints[one.name], *get_args(hints[one.name]))  # a Literal by itself, or one of several kinds
    words = [str(word) for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)]
    return words + (["(required)"] if one.default is MISSING else [])


def _profile_page(profile: Profile) -> Explanation:
    held = "its source, restated" if profile.transcribed else "its own recorded answers"
    sections = {
        "Differs": _lines(profile.differs),
        "Lists are read with": _lines(f"{key}={value}" for key, value in profile.conventions.items()),
        "Not reproduced": _lines(map(str, profile.excludes)),
    }
    return Explanation(
        profile.name, "profile", f"The numbers of {profile.title} {profile.version}, checked against {held}.",
        {heading: text for heading, text in sections.items() if text},
        facts={"metrics": dict(profile.metrics)},
    )  # fmt: skip


def _lines(texts: Iterable[str]) -> str:
    return "\n".join(texts)


def _metric_page(kind: type[Metric]) -> Explanation:
    metric = describe(kind)
    parameters = tuple(
        {"name": one.name, "default": one.default, "choices": list(one.choices)} for one in metric.parameters
    )
    direction = {True: "higher is better", False: "lower is better", None: "neither direction is better"}
    facts = {
        "family": metric.family,
        "also called": ", ".join(metric.aliases) or "nothing else",
        "cut-off": {"required": "required", "optional": "optional", "none": "none"}[metric.cutoff],
        "range": f"{metric.range}, {direction[metric.higher_is_better]}",
        "needs": ", ".join(
            ("generated sequences" if metric.family == "sequence" else "lists and truth", *metric.needs)
        ),
    }
    sections = metric.sections | _departures_section(departures_of(kind))
    return Explanation(_heading(metric), "metric", metric.title, sections, parameters, facts)


@dataclass(frozen=True)
class Declared:
    """A documented way in which something deviates from a paper, with its name and kind (metric, split, ...)."""

    name: str
    kind: str
    departure: Departure


def departures_of(named: Any) -> tuple[Departure, ...]:
    """Return the deviations from papers that a class or function declares itself, without those of base classes."""
    return tuple(vars(named).get("departures", ()))


def departures() -> list[Declared]:
    """Return every documented deviation from a paper that a class, a design or a public function declares."""
    registries = [home.registry for home in NAMED.values()]
    home = importlib.import_module(PUBLIC)
    public = {f"ra.{name}": getattr(home, name) for name in home.__all__}
    functions = {name: one for name, one in public.items() if callable(one) and not isinstance(one, type)}
    several: list[tuple[str, Mapping[str, Any]]] = [(registry.noun, registry.kinds) for registry in registries]
    named = {(name, kind): one for kind, kinds in several for name, one in kinds.items()}
    named |= {(name, "metric"): one for name, one in metrics().items()}
    named |= {(name, "function"): one for name, one in functions.items()}
    declared = {key: departures_of(one) for key, one in named.items()}
    declared |= {(name, "design"): found for name, found in grammar.DEPARTURES.items()}
    return [Declared(*key, departure) for key, found in declared.items() for departure in found]


def _departures_section(several: tuple[Departure, ...]) -> dict[str, str]:
    return {DEPARTS: "\n".join(map(str, several))} if several else {}


GROUP_WIDTH = 32  # of the second column, whose longer texts wrap


def listing_table(kind: str, rows: list[Entry]) -> RenderableType:
    """Return a table with a line per entry.

    ``kind`` is what is listed, such as ``metrics``, and ``rows`` are the entries. There is a column for the source if
    an entry is not from recassay.
    """
    columns = {"metrics": ("metric", "family"), "profiles": ("profile", "version"), "checks": ("code", "severity")}
    columns |= {"designs": ("design", "parameters"), "formats": ("format", "suffixes of its own")}
    columns |= {kind: (named.registry.noun, named.column) for kind, named in NAMED.items()}
    name, group = columns[kind]
    headings = [Column(name, "name"), Column(group, "name", GROUP_WIDTH), Column("what it is", "name")]
    elsewhere = any(row.source != OWN for row in rows)
    lines = [
        (Cell(row.name, "bold"), Cell(row.group), Cell(row.title), *([Cell(row.source)] if elsewhere else []))
        for row in rows
    ]
    table = ResultTable((*headings, *([Column("from", "name")] if elsewhere else [])), tuple(lines), gap=3)
    more = [Text(f"\n{len(rows)} {kind}. More on one: recassay explain NAME", style="dim")]
    failed = [words(f"Not loaded: {point}: {why}") for point, why in broken(kind).items()]
    return Group(Terminal(table), *more, *failed)


def broken(kind: str) -> Mapping[str, str]:
    """Return ``{plugin: reason}`` for plugins of a kind, such as ``metrics``, that could not be loaded."""
    registries: dict[str, Registry[Any]] = {
        "metrics": METRICS, "profiles": PROFILES, "checks": CHECKS, "formats": FORMATS
    }  # fmt: skip
    registry = registries.get(kind) or (NAMED[kind].registry if kind in NAMED else None)
    return registry.broken if registry is not None else {}


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
