"""Short forms of long names of systems on the page: never those of another system, and escaped."""

import pytest

from recassay.report.content.wording import short_names
from recassay.report.page.content import with_short_names

LONG = "regularization=0.01, iterations=200"


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["Popular", "ItemKNN(neighbours=50)"], []),
        ([f"BPR({LONG})", "Popular"], ["BPR(…)"]),
        ([f"BPR(factors=16, {LONG})", f"BPR(factors=128, {LONG})"], ["BPR(factors=16, …)", "BPR(factors=128, …)"]),
        (
            [f"BPR(factors={a}, rate={b}, {LONG})" for a in (1, 2) for b in (3, 4)],
            [f"BPR(factors={a}, rate={b}, …)" for a in (1, 2) for b in (3, 4)],
        ),
        ([f"BPR({LONG})", "BPR(…)"], ["BPR(regularization=0.01, …)"]),
        (["runs/of-the-first-model/in-production.csv"], ["runs/of-the-fir…production.csv"]),
    ],
)
def test_a_short_form_has_what_tells_a_system_from_the_others(names, short):
    found = short_names(names)
    assert [form for name in names if (form := found.get(name))] == short


def test_names_in_a_sentence_are_escaped_and_keep_their_full_name():
    hostile = "<b>a name</b> that is longer than thirty letters"
    made = with_short_names(f"{hostile} leads & wins.", {hostile: "<b>a…letters"})
    assert made == (
        '<abbr title="&lt;b&gt;a name&lt;/b&gt; that is longer than thirty letters">&lt;b&gt;a…letters</abbr>'
        " leads &amp; wins."
    )
