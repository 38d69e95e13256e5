"""C014 and C015: events of a stream that a rule leaves out of the mean."""

import polars as pl
import pytest

import recassay as ra
from recassay.checks import diagnose
from recassay.data.synthetic import log
from recassay.models.incremental import StreamPopular
from recassay.report.folder.checks import findings_in


def found(**counts):
    return [(one.code, one.severity) for one in diagnose("stream", counts=counts)]


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({"scored": 900, "repeats": 100, "first": 50}, []),  # a tenth, and no more
        ({"scored": 899, "repeats": 101, "first": 50}, [("C014", "warning")]),
        ({"scored": 899, "repeats": 101, "warmup": 10**6}, [("C014", "warning")]),  # the warm-up is no event to score
        ({"scored": 80, "unpredicted": 20}, [("C014", "warning")]),
        ({"scored": 100, "sampled_out": 900, "warmup": 900}, []),  # drawn at random, or learnt from
        ({"scored": 100, "first": 100}, []),
        ({"scored": 100, "first": 101}, [("C015", "info")]),
        ({"scored": 0, "first": 0}, []),
        ({}, []),
    ],
)
def test_more_than_a_tenth_is_reported(counts, expected):
    assert found(**counts) == expected


def rows_of(repeated):
    """Of 40 users who take 10 items each, then of each so many again."""
    once = [(f"u{user}", f"i{(user + n) % 30}") for n in range(10) for user in range(40)]
    return ra.read_interactions(
        once + [(f"u{user}", f"i{(user + n) % 30}") for n in range(repeated) for user in range(40)]
    )


def test_repeats_are_counted_in_the_finding_and_the_exhibit():
    stream = ra.play(StreamPopular(), rows_of(5), ra.protocols.prequential(at=5, order="row"), metrics="recall@5")
    (finding,) = stream.findings
    assert (finding.code, finding.system) == ("C014", stream.name)
    assert "200 of 560 (36 %) events of known users were not scored" in finding.detail  # 400 events, 40 are first
    assert "repeats='allow'" in finding.detail
    picture = stream.over_time("recall@5", window=50).exhibit()
    assert finding.detail in picture.caption
    for calm in (
        ra.protocols.prequential(at=5, order="row", repeats="allow"),
        ra.protocols.prequential(at=5, order="row", warmup=300),
    ):
        assert [one.code for one in ra.play(StreamPopular(), rows_of(0), calm).findings] == []
    allowed = ra.play(StreamPopular(), rows_of(5), ra.protocols.prequential(at=5, order="row", repeats="allow"))
    assert allowed.findings == ()


def test_every_copy_has_its_own_findings():
    split = ra.protocols.prequential(at=5, order="row", folds="split", copies=2)
    stream = ra.play(StreamPopular(), rows_of(5), split, metrics="recall@5")
    assert [one.code for one in stream.findings] == ["C014", "C014"]


def test_a_study_reports_it_once_for_all_systems(tmp_path):
    rows = rows_of(5).frame().with_columns(timestamp=pl.int_range(pl.len()))
    rows.write_csv(tmp_path / "events.csv")
    (tmp_path / "study.yaml").write_text(
        "study: again\ndata: {path: events.csv}\nprotocol: prequential(at=5)\n"
        "models: {popular: StreamPopular, uknn: UKNN}\nmetrics: [recall@5]\njudge: {resamples: 50}\n"
    )
    results = ra.run_study(tmp_path / "study.yaml", tmp_path / "out")
    (finding,) = [one for one in results.findings if one["code"] == "C014"]
    assert finding["system"] == "popular, uknn"
    assert "200 of 560" in finding["detail"]
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Many events of a stream were not scored" in page
    assert "C014" in [one.code for one in findings_in(tmp_path / "out")]


def test_a_sound_stream_has_no_finding():
    stream = ra.play(StreamPopular(), log(users=60, items=40, events=900), ra.protocols.prequential(at=5, order="row"))
    assert stream.findings == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("split: random(test=0.2)\n", ""),
        (
            "split: random(test=0.2)\nfilters: once(users=1, items=4)\n",
            "filters removed 60 of 460 (13 %) rows (item too rare",
        ),
        ("split: random(test=0.2)\nfilters: once(users=1, items=2)\n", ""),
    ],
)
def test_a_study_reports_filters_that_remove_more_than_a_tenth(tmp_path, text, said):
    rare = [(f"u{n % 40}", f"rare {n // 3}") for n in range(60)]
    rows = ra.read_interactions(rare).frame()
    pl.concat([rows_of(0).frame(), rows]).write_csv(tmp_path / "events.csv")
    (tmp_path / "study.yaml").write_text(
        "study: rare\ndata: {path: events.csv}\nmodels: [Popular, Random]\nmetrics: [recall@5]\n" + text
    )
    results = ra.run_study(tmp_path / "study.yaml", tmp_path / "out")
    found = [one for one in results.findings if one["code"] == "C016"]
    assert [one["severity"] for one in found] == ["info"] * bool(said)
    assert all(said in one["detail"] for one in found)


def test_rows_removed_by_a_split_are_counted_separately():
    found = diagnose(
        "removed rows", steps={"filters": (100, {"a": 10}), "the split": (90, {"too early": 9, "too late": 1})}
    )
    assert [one.detail for one in found] == ["the split removed 10 of 90 (11 %) rows (too early: 9, too late: 1)"]
    assert diagnose("removed rows", steps={}) == ()
