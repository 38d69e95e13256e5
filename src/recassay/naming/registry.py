"""The registry: everything of one kind by name, from recassay, an installed package or a user's script.

There is one registry for each kind of thing (metrics, splits, models). It holds

* what recassay contains: classes or values in the modules of one package;
* what installed packages contribute through entry points (the group ``recassay.metrics``, for instance);
* what this process defines: a subclass in a script or notebook is found from the moment it exists.

:func:`load_file` imports a Python file of a user, with models, metrics and splits.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import inspect
import pkgutil
import sys
import typing
import weakref
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import EntryPoints, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar

from recassay.errors import UsageError
from recassay.naming.grammar import Expression, parse, split, suggest
from recassay.naming.named import Named

Thing = TypeVar("Thing")
OWN = "recassay"


class Registry(Generic[Thing]):
    """All classes or objects ("things") of one kind, such as all metrics, by name.

    ``noun`` is the word for one of them in messages: "there is no split 'randm'". ``package`` is searched for built-in
    things. Things are subclasses of ``kind`` that have a name or, with ``values``, objects of that class at the top
    level of a module. ``group`` names the entry points of installed packages. ``key`` is the attribute that holds the
    name, and ``missing`` the error code for an unknown name.
    """

    def __init__(
        self, noun: str, package: str, kind: type[Any], *, group: str, values: bool = False, key: str = "name",
        missing: str = "U115",
    ) -> None:  # fmt: skip
        self.noun, self.package, self.kind, self.group = noun, package, kind, group
        self.values, self.key, self.missing = values, key, missing
        self.broken: dict[str, str] = {}
        """Entry points that could not be loaded, and why."""
        self._added: dict[str, tuple[str, Thing]] = {}  # name -> the module that defines it, and the thing
        self._modules: list[ModuleType] = []
        self._homes: dict[str, str] = {}  # the module of each thing, by name
        self._values: list[tuple[str, str, Any]] = []  # found in the modules, which are looked through once
        # Classes that were looked up, by name and the number of definitions then; one that nobody else holds may go.
        self._recent: weakref.WeakValueDictionary[tuple[str, int], Any] = weakref.WeakValueDictionary()
        self._packages: dict[str, str] = {}  # top-level module of an installed package -> its name and version

    @property
    def kinds(self) -> Mapping[str, Thing]:
        """Return all registered classes or objects by name, in alphabetical order.

        Raise U109 if two of different modules share a name.

        A class that is defined again (a notebook cell run twice) replaces the earlier one.
        """
        if not self._modules:
            self._load()
        things = [] if self.values else [(one.name, one.__module__, one) for one in _named_subclasses(self.kind)]
        kinds: dict[str, Thing] = {}
        homes: dict[str, str] = {}
        for name, module, thing in [*self._values, *things, *((name, *entry) for name, entry in self._added.items())]:
            if homes.get(name, module) != module and kinds[name] is not thing:
                raise self._clash(name, homes[name], module)
            kinds[name], homes[name] = thing, module
        self._homes = homes
        return dict(sorted(kinds.items()))

    @property
    def names(self) -> Mapping[str, Thing]:
        """Return all registered classes or objects by every name they have, aliases included."""
        kinds = self.kinds
        return {alias: thing for thing in kinds.values() for alias in getattr(thing, "aliases", ())} | dict(kinds)

    @property
    def built_in(self) -> Mapping[str, Thing]:
        """Return the registered classes or objects that are part of recassay, by name."""
        return {name: thing for name, thing in self.kinds.items() if self._homes[name].partition(".")[0] == OWN}

    def add(self, thing: Thing, name: str = "", module: str = "") -> Thing:
        """Register a class or object (``thing``) under its own name or ``name``, and return it.

        Subclasses of :attr:`kind` need no call: they are found by themselves. ``module`` is where it is from: two
        modules cannot register the same name.
        """
        module = module or (thing.__module__ if isinstance(thing, type) else "__main__")
        name = name or getattr(thing, self.key)
        earlier = self._added.get(name)
        if earlier is not None and earlier[0] != module:
            raise self._clash(name, earlier[0], module)
        self._added[name] = module, thing
        self._recent.clear()
        return thing

    def find(self, name: str, *, where: str = "") -> Thing:
        """Return the registered class or object with this name, in any letter case.

        Raise an error that suggests a similar name if there is none.
        """
        found: Thing | None = self._recent.get((name, Named.n_defined))
        if found is None or getattr(found, self.key) != name:  # it may have been renamed
            found = self._search(name, where)
            if isinstance(found, type):
                self._recent[name, Named.n_defined] = found
        return found

    def _search(self, name: str, where: str) -> Thing:
        """Return the thing with this name or alias, in any letter case; raise the error for an unknown name.

        ``where`` says in the error where the name was used.
        """
        quick = self._find_in_own_module(name)
        if quick is not None:
            return quick
        known = self.names
        thing = known.get(name) or {key.lower(): one for key, one in known.items()}.get(name.lower())
        if thing is None:
            failed = "".join(f"; not loaded: {point} ({why})" for point, why in self.broken.items())
            hint = suggest(name, known) + failed
            raise UsageError(self.missing, f"there is no {self.noun} '{name}'", where=where or name, hint=hint)
        return thing

    def parse(self, text: str | Any) -> Any:
        """Return the object that a text describes, ``k_folds(k=5)`` for instance; an object is returned as it is."""
        if isinstance(text, self.kind):
            return text
        expression = parse(str(text))
        if expression.k is not None:
            raise UsageError("U104", f"'{text}' does not parse: a {self.noun} has no cut-off", where=str(text))
        return build(self.find(expression.name), expression)

    def parse_list(self, texts: str | Any | Iterable[str | Any]) -> list[Any]:
        """Return the objects of a list of texts, or of one text with commas or blanks between."""
        if isinstance(texts, self.kind):
            return [texts]
        if isinstance(texts, str):
            return [self.parse(text) for text in split(texts)]
        return [one for text in typing.cast("Iterable[Any]", texts) for one in self.parse_list(text)]

    def title(self, name: str) -> str:
        """Return the first line of the docstring of the class with this name."""
        return (inspect.getdoc(self.kinds[name]) or "").partition("\n")[0]

    def source(self, name: str) -> str:
        """Return where the class or object with this name is from: recassay, a package with its version, or a file."""
        module = self._homes[name] if name in self.kinds else ""
        top = module.partition(".")[0]
        file = getattr(sys.modules.get(module), "__file__", None)
        return self._packages.get(top) or (OWN if top == OWN else Path(file).name if file else "this session")

    def _find_in_own_module(self, name: str) -> Thing | None:
        """Return a built-in class that a module of its own name defines, importing no other module of the package.

        Importing all of them takes longer than scoring a small file. Return None if there is no such module, or if the
        name may have another meaning: if all modules have been imported, if an installed package adds classes, or if
        this process defines one.
        """
        if self.values or self._modules or self._added or _installed().select(group=self.group):
            return None
        for module in self._module_names:
            if module.rpartition(".")[2] == name:
                importlib.import_module(module)
        kinds = list(_named_subclasses(self.kind))
        if any(kind.__module__.partition(".")[0] != OWN for kind in kinds):
            return None
        return next((kind for kind in kinds if kind.name == name), None)

    @functools.cached_property
    def _module_names(self) -> tuple[str, ...]:
        """Return the names of the modules in the package that holds the built-in things."""
        home = importlib.import_module(self.package)
        return tuple(module.name for module in pkgutil.walk_packages(home.__path__, f"{self.package}."))

    def _clash(self, name: str, one: str, other: str) -> UsageError:
        what = f"two {self.noun}s are named '{name}': one in {one}, one in {other}"
        return UsageError("U109", what, hint="rename one of them: a name has to mean one thing")

    def _load(self) -> None:
        """Import the modules of the package and of entry points."""
        self._modules = [importlib.import_module(module) for module in self._module_names]
        for point in _installed().select(group=self.group):
            try:
                loaded = point.load()
            except Exception as error:
                self.broken[f"{point.name} = {point.value}"] = f"{type(error).__name__}: {error}"
                continue
            top = point.module.partition(".")[0]
            self._packages[top] = f"{point.dist.name} {point.dist.version}" if point.dist else top
            if isinstance(loaded, ModuleType):
                self._modules.append(loaded)
            elif not (isinstance(loaded, type) and issubclass(loaded, self.kind)):
                self.add(loaded, getattr(loaded, self.key, "") or point.name, point.module)
        if self.values:
            self._values = [
                (getattr(value, self.key), module.__name__, value)
                for module in self._modules
                for value in vars(module).values()
                if isinstance(value, self.kind)
            ]


@functools.cache  # it looks through every installed package
def _installed() -> EntryPoints:
    return typing.cast("EntryPoints", entry_points())  # a subclass of dict on Python 3.11


def build(kind: Any, expression: Expression) -> Any:
    """Return ``kind(**parameters)`` for the parameters of an expression; raise U102 if they do not fit."""
    if isinstance(kind, type) and issubclass(kind, Named):
        return kind.build(expression)
    try:
        return kind(**expression.parameters)
    except TypeError as error:
        raise UsageError("U102", f"{expression.name} cannot be made: {error}", where=str(expression)) from error


def _named_subclasses(kind: type[Any]) -> Iterator[Any]:
    for child in kind.__subclasses__():
        if vars(child).get("name"):  # one that only inherits its parent's name is not known by it
            yield child
        yield from _named_subclasses(child)


def load_file(path: str | Path, where: str = "") -> ModuleType:
    """Import a Python file and return its module, so that the registries know the classes that it defines.

    A file is imported once: a second call returns the same module. Raise U123 if there is no such file or if it fails;
    ``where`` says in the error where the file was named (default: its path).
    """
    path = Path(path)
    where = where or str(path)
    if not path.is_file():
        raise UsageError("U123", f"there is no file '{path}'", where=where, hint="write the path from where you are")
    name = "_recassay_file_" + hashlib.blake2b(str(path.resolve()).encode(), digest_size=8).hexdigest()
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError("U123", f"'{path}' is not a Python file", where=where, hint="its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # pickling looks its classes up there
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        what = f"{path} cannot be used: {type(error).__name__}: {error}"
        raise UsageError("U123", what, where=where, hint="run the file by itself to see where") from error
    return module
