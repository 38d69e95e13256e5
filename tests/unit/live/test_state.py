"""The state of a watch: who may open it, and what it refuses."""

import os
import sqlite3

import pytest

import recassay as ra
from recassay.errors import InternalError, UsageError
from recassay.live.watch import build_settings
from recassay.live.watcher import Watcher

SHOWN = [{"request_id": "1", "user_id": "ann", "items": ["x"], "time": 60}]


def test_other_settings_are_refused(tmp_path):
    ra.watch(SHOWN, "hit@1", output=tmp_path)
    with pytest.raises(UsageError, match=r"U134.*window"):
        ra.watch(SHOWN, "hit@1", output=tmp_path, window="1h")


def test_a_second_process_is_refused(tmp_path):
    watcher = Watcher(build_settings("hit@1"), tmp_path)
    with pytest.raises(UsageError, match="U237"):
        Watcher(build_settings("hit@1"), tmp_path)
    watcher.close()
    Watcher(build_settings("hit@1"), tmp_path).close()


def test_what_is_no_state_or_a_newer_one_is_refused(tmp_path):
    ra.watch(SHOWN, "hit@1", output=tmp_path / "newer")
    with sqlite3.connect(tmp_path / "newer" / "state.sqlite") as db:
        db.execute("pragma user_version = 99")
    db.close()
    with pytest.raises(UsageError, match=r"U253.*version 99"):
        ra.watch(SHOWN, "hit@1", output=tmp_path / "newer")
    ra.watch(SHOWN, "hit@1", output=tmp_path / "text")
    (tmp_path / "text" / "state.sqlite").write_text("no database, but a text that is long enough to be read" * 20)
    with pytest.raises(UsageError, match="U253"):
        ra.watch(SHOWN, "hit@1", output=tmp_path / "text")
    with pytest.raises(UsageError, match="U111"):  # a folder of somebody else
        ra.watch(SHOWN, "hit@1", output=tmp_path)
    with pytest.raises(UsageError, match="U253"):
        ra.watch(SHOWN, "hit@1", journal=tmp_path / "nowhere")


@pytest.mark.parametrize(
    "change", ["update sums set data = zeroblob(length(data))", "update value set name = name || 'x'"]
)
def test_a_row_that_was_changed_is_refused(change, tmp_path):
    ra.watch(SHOWN, "hit@1", output=tmp_path)
    with sqlite3.connect(tmp_path / "state.sqlite") as db:
        db.execute(change)
    db.close()
    with pytest.raises(UsageError, match=r"U253.*another checksum"):
        ra.watch(SHOWN, "hit@1", output=tmp_path)


def test_a_mean_outside_the_range_of_its_metric_stops_the_watch():
    found = ra.watch(SHOWN, "hit@1")
    (sums,) = found.watcher.tally.sums.rows.values()
    sums.limbs[0, 0, 0, 3] += 1 << 12
    with pytest.raises(InternalError, match=r"X101.*hit@1 of all is .*, outside its range 0 to 1"):
        found.summary()


def test_a_journal_with_a_stream_that_is_read_once_is_refused(tmp_path):
    ra.watch(SHOWN, "hit@1", output=tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match=r"U254.*twice"):
        ra.watch(tmp_path / "pipe", "hit@1", journal=tmp_path)


def test_counts_that_do_not_add_up_are_never_written(tmp_path):
    watcher = Watcher(build_settings("hit@1"), tmp_path)
    watcher.counts["received"] += 1
    with pytest.raises(InternalError, match="X103"):
        watcher.commit()
    watcher.close()


def test_the_size_of_the_state_is_bounded_by_the_window(tmp_path):
    sizes = []
    for hours in (6, 24):
        shown = [
            {
                "request_id": str(at),
                "user_id": f"u{at % 50}",
                "items": ["a", "b", "c"],
                "time": at * 3600 * hours / 20_000,
            }
            for at in range(20_000)
        ]
        watcher = Watcher(build_settings("hit@1", user_window="1h", every="1h"), tmp_path / str(hours))
        from recassay.live.sources import table_source
        from recassay.live.watch import Loop

        Loop(watcher, [table_source(shown, "t")]).run()
        sizes.append(watcher.state.log_bytes("kept") + watcher.state.log_bytes("waiting"))
        watcher.close()
    assert sizes[1] < sizes[0]  # the same events over four times the time: a quarter of them is pending
