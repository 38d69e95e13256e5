"""One grammar for everything that has a name: ``name(parameter=value)@k``.

A metric or model is written the same way in Python, on the command line, in a study file and in a table heading.
Parsing uses Python's own grammar and a short list of allowed nodes; nothing is evaluated.

>>> parse("rbp(p=0.9)")
Expression(name='rbp', parameters={'p': 0.9}, k=None)
>>> str(parse("ndcg( gain = 'exp2' )@10"))
"ndcg(gain='exp2')@10"
>>> split("ndcg@10 recall@20, ndcg(gain='exp2', discount='jk')@5")
['ndcg@10', 'recall@20', "ndcg(gain='exp2', discount='jk')@5"]
"""

from __future__ import annotations

import ast
import difflib
import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from recassay.errors import UsageError

Value = str | int | float | bool | None
Word = TypeVar("Word")
LONGEST = 2000  # characters of one expression
QUOTED = r"""'[^']*'?|"[^"]*"?"""  # to the end of the text if nothing ends it
PART = re.compile(rf"""(?:[^\s,;'"(]|{QUOTED}|\((?:[^'"()]|{QUOTED}|\([^()]*\)?)*\)?)+""")  # of a list of expressions


@dataclass(frozen=True)
class Expression:
    """A parsed ``name(parameter=value)@k``: name, parameters by name, and cut-off (None without one)."""

    name: str
    parameters: Mapping[str, Value] = field(default_factory=dict)
    k: int | None = None

    def __str__(self) -> str:
        inside = ", ".join(f"{key}={value!r}" for key, value in self.parameters.items())
        call = f"{self.name}({inside})" if inside else self.name
        return call if self.k is None else f"{call}@{self.k}"


def parse(text: str) -> Expression:
    """Return the parsed expression; raise a :class:`UsageError` that shows where a mistake is."""
    if not isinstance(text, str):
        raise UsageError(
            "U104", f"a name must be text, got {type(text).__name__}", where=repr(text)[:60], hint="such as 'ndcg@10'"
        )
    if len(text) > LONGEST:
        raise _unparsable(f"{text[:40]}...", f"it has {len(text):,} characters, more than {LONGEST}")
    return _parsed(text)


@functools.lru_cache(maxsize=1024)  # a heading is parsed again for each run that is scored
def _parsed(text: str) -> Expression:
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (ValueError, RecursionError, MemoryError):  # a NUL, half a surrogate pair, or hundreds of nested brackets
        raise _unparsable(text, "it has characters that names cannot have") from None
    except SyntaxError as error:
        column = (error.offset or 1) - 1
        pointer = f"{text.strip()[:column]}«here»{text.strip()[column:]}"
        raise _unparsable(text, f"there is a mistake at {pointer}") from None
    k: int | None = None
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.MatMult):
        k = _cutoff(tree.right, text)
        tree = tree.left
    if isinstance(tree, ast.Name):
        return Expression(tree.id, {}, k)
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
        return Expression(tree.func.id, _parameters(tree, text), k)
    raise _unparsable(text, "it is not of the form name(parameter=value)@k")


def parse_parameters(brackets: str, text: str, positional: tuple[str, ...] = ()) -> dict[str, Value]:
    """Return the parameters in the text ``brackets``, for names that are not Python identifiers, such as ``TI-1R-NN``.

    ``text`` is shown in errors, and ``positional`` are the parameter names of values without a name.

    >>> parse_parameters("(99, by='popularity')", "NN(99, by='popularity')", ("n",))
    {'n': 99, 'by': 'popularity'}
    """
    if not brackets:
        return {}
    try:
        call = ast.parse(f"design{brackets}", mode="eval").body if len(text) <= LONGEST else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        call = None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or len(call.args) > len(positional):
        raise _unparsable(text, "the brackets do not hold parameters")
    named = {name: _literal(node, text) for name, node in zip(positional, call.args, strict=False)}
    call.args = []
    return {**named, **_parameters(call, text)}


def _cutoff(node: ast.expr, text: str) -> int:
    value = _literal(node, text)
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise UsageError(
            "U103",
            f"the cut-off in '{text}' is {value!r}",
            where=text,
            hint="write a whole number of at least 1 after the @, as in ndcg@10",
        )
    return value


def _parameters(call: ast.Call, text: str) -> dict[str, Value]:
    if call.args:
        raise _unparsable(text, "a parameter has no name")
    parameters: dict[str, Value] = {}
    for keyword in call.keywords:
        if keyword.arg is None:
            raise _unparsable(text, "** is not allowed")
        if keyword.arg in parameters:
            raise _unparsable(text, f"{keyword.arg} is given twice")
        parameters[keyword.arg] = _literal(keyword.value, text)
    return parameters


def _literal(node: ast.expr, text: str) -> Value:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        if isinstance(node, ast.Name):  # gain=exp2 reads as gain='exp2'
            return node.id
        raise _unparsable(text, "a value is not a plain number or word") from None
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise _unparsable(text, f"{value!r} is not a plain number or word")


def _unparsable(text: str, why: str) -> UsageError:
    return UsageError(
        "U104", f"'{text}' does not parse: {why}", where=text, hint="write it as ndcg@10 or ndcg(gain='exp2')@10"
    )


def split(text: str | Iterable[str]) -> list[str]:
    """Split a list of expressions at commas and blanks outside brackets and quotes."""
    if not isinstance(text, str):
        if not isinstance(text, Iterable):
            raise UsageError("U104", f"{text!r:.80} is neither a text nor a list of texts", hint="write it as ndcg@10")
        return [part for line in text for part in split(line)]
    return PART.findall(text)


def require_known(word: Word, known: Iterable[Any], code: str, what: str, *, where: str = "") -> Word:
    """Return ``word``; raise the error ``code``, which says ``what`` and suggests a word, unless it is ``known``.

    >>> require_known("ndgc", ["ndcg", "recall"], "U101", "there is no metric 'ndgc'")
    Traceback (most recent call last):
    recassay.errors.UsageError: [U101] there is no metric 'ndgc'.
      Try:   did you mean 'ndcg'?
    """
    words = list(known)
    if word not in words:
        raise UsageError(code, what, where=where, hint=suggest(str(word), words))
    return word


def suggest(word: str, choices: Iterable[str]) -> str:
    """Return a "did you mean" hint for a mistyped name, or the list of choices if none is similar.

    >>> suggest("ndgc", ["ndcg", "recall"])
    "did you mean 'ndcg'?"
    """
    names = sorted(map(str, choices))
    word = word if isinstance(word, str) else repr(word)
    near = difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    if not near:  # the same letters in another case, or a beginning
        near = [name for name in names if name.lower().startswith(word.lower()) or word.lower() == name.lower()][:1]
    return f"did you mean '{near[0]}'?" if near else f"choose one of: {', '.join(names)}"
