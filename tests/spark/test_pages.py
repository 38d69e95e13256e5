"""Pages with examples for Spark print what they show, in the session of the other tests of Spark."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT / "docs") not in sys.path:
    sys.path.insert(0, str(ROOT / "docs"))

import _examples  # noqa: E402
import generate  # noqa: E402

PAGES = [path for path in generate.written() if _examples.uses_spark(path.read_text(encoding="utf-8"))]


def name(path):
    return str(path.relative_to(ROOT))


@pytest.fixture(scope="module")
def workshop(request):
    """Without Spark the other examples of the pages are run."""
    has_spark = _examples.can_run_spark()
    if has_spark:
        request.getfixturevalue("spark")
    with _examples.Workshop.opened() as shop:
        yield shop
    if has_spark:
        _examples.let_spark_follow(ROOT)


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_every_example_prints_what_the_page_shows(path, workshop):
    text = path.read_text(encoding="utf-8")
    assert workshop.refreshed(text, name(path)) == text, "run: make docs"
