"""What real files do to a result: each trap is said, or listed with the reason why nobody can know.

The rows are in ``traps``; ``docs/howto/what-recassay-notices.md`` is made of the same rows.
"""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
if str(HERE) not in sys.path:
    sys.path.insert(0, str(HERE))

from traps import TRAPS  # noqa: E402
from traps.base import clean, moved, outcome  # noqa: E402

TWINS = list({id(trap.twin): trap.twin for trap in TRAPS if trap.twin is not None}.values())
MUCH = 0.01  # a mean that moves by more is said, or listed as undetectable


@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.title[:60])
def test_a_trap_is_said_or_listed_as_undetectable(trap):
    found = outcome(trap.case)
    assert found.codes == trap.said, found.text
    by = moved(trap, found)
    if not trap.said and (by is None or abs(by) > MUCH):
        assert trap.why, "say why this cannot be known"


@pytest.mark.parametrize("twin", [clean(), *TWINS], ids=range(len(TWINS) + 1))
def test_nothing_is_said_of_the_clean_twin(twin):
    found = outcome(twin)
    assert found.codes == (), found.text
    assert found.mean is not None
