"""Check a numbered check of your own."""

from __future__ import annotations

import inspect
import re
from typing import get_args

from recassay.api.judge import judge
from recassay.api.score import score
from recassay.checks.base import CHECKS, Check
from recassay.errors import RecassayError
from recassay.results.finding import Finding, Severity
from recassay.testing.promise import require
from recassay.testing.world import world


def check_check(check: Check) -> None:
    """Raise AssertionError, with the reason, unless a check meets the requirements of all checks.

    Its code must be letters and then digits, and no other check may have it. It must have a title, a severity and a
    docstring that describes the problem. Scoring a correct run with it must raise nothing, and give a sentence or
    nothing.
    """
    code = check.code
    require(re.fullmatch(r"[A-Z]+\d{3,}", code) is not None, f"the code {code!r} is not letters and then three digits")
    try:
        known = CHECKS.kinds.get(code)
    except RecassayError as error:
        raise AssertionError(str(error)) from error
    require(known is check, f"{code} is not registered: decorate its function with @check")
    require(
        check.severity in get_args(Severity), f"{code} has severity {check.severity!r}, not one of {get_args(Severity)}"
    )
    require(bool(check.title.strip()), f"{code} has no title")
    require(bool(inspect.getdoc(check.ask)), f"the function of {code} has no docstring, which explains it to users")
    for finding in _findings_of_a_sound_run():
        if finding.code == code:
            require(
                isinstance(finding.detail, str) and bool(finding.detail), f"{code} gives {finding.detail!r}, not a text"
            )


def _findings_of_a_sound_run() -> list[Finding]:
    here = world()
    scores = score({"system": here.run}, here.relevant, "ndcg@10 recall@10", train=here.fold.train, interval=None)
    designs = judge({"system": here.run}, "TI-AR-AN", "ndcg@10", interval=None)
    return [*scores.findings, *designs.findings]
