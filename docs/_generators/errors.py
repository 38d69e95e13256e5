"""``reference/errors.md``: what every error code means, with a message that its example raises while the page is written."""

from __future__ import annotations

import os
import tempfile
import textwrap
from pathlib import Path

from _error_examples import EXAMPLES

import recassay as ra
from recassay.errors import Advice, RecassayError, explanations

INTRODUCTION = """\
# Errors

An error says what is wrong, with counts and an example; where; and what to try. It has a code whose meaning
never changes. On the command line it goes to standard error and the exit status is 2 (3 for `X` codes); no output file
is written. In Python it is an exception with `.code`, `.what`, `.where` and `.hint`.

```text
RecassayError
├── InputError      the given data cannot be used           I...
├── UsageError      the request cannot be carried out       U...
└── InternalError   a bug in recassay: please report it     X...
```

Messages name options as keywords in Python, `nan='last'`, and as options on the command line, `--nan last`.
`recassay explain CODE` prints the same text. Each message below is raised by the code above it.
"""

GROUPS = {
    "I1": "Files",
    "I2": "Columns",
    "I3": "Values",
    "I4": "Ids across tables",
    "U": "Requests",
    "X1": "Bugs of recassay",
}


def pages() -> dict[str, str]:
    """Return the text of the page by its path."""
    codes = explanations()
    if unknown := sorted(EXAMPLES.keys() - codes.keys()):
        raise KeyError(f"docs/_error_examples.py: codes that are gone: {unknown}")
    parts = [INTRODUCTION, "| code | meaning |\n| --- | --- |"]
    parts += [f"| [{code}](#{code.lower()}) | {title} |" for code, (title, _, _) in codes.items()]
    for group, heading in GROUPS.items():
        parts.append(f"\n## {heading}\n")
        parts += [_section(code, about) for code, about in codes.items() if code.startswith(group)]
    return {"reference/errors.md": "\n".join(parts)}


def _section(code: str, about: Advice) -> str:
    title, cause, remedy = about
    lines = [f"### {code}", "", f"**{title[:1].upper()}{title[1:]}.** {cause}", "", remedy, ""]
    if code in EXAMPLES:
        example = textwrap.dedent(EXAMPLES[code]).strip("\n")
        lines += ["```python raises", example, "```", "", "```text", raised(code, example), "```", ""]
    return "\n".join(lines)


def raised(code: str, example: str) -> str:
    """Return the message of the error that an example raises in an empty folder; raise if it ends otherwise."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="recassay-errors-") as folder:
        os.chdir(folder)
        try:
            exec(compile(example, code, "exec"), {"ra": ra, "Path": Path})
        except RecassayError as error:
            if error.code != code:
                raise AssertionError(f"the example of {code} raises {error.code}: {error}") from error
            return (
                str(error).replace(str(Path(folder).resolve()) + os.sep, "").replace(str(Path(folder).resolve()), ".")
            )
        finally:
            os.chdir(before)
    raise AssertionError(f"the example of {code} raises nothing")
