"""The list of files of a folder: what is intact, damaged, replaced, missing, somebody else's, of another version."""

import json
import multiprocessing
import zlib

import pytest

from recassay.data.io import write_text
from recassay.data.io.manifest import NAME, Manifest, recording
from recassay.errors import RecassayError


@pytest.fixture
def folder(tmp_path):
    with recording(tmp_path) as manifest:
        write_text("one", tmp_path / "a.txt")
        (tmp_path / "sub").mkdir()
        write_text("two", tmp_path / "sub" / "b.txt")
        manifest.write()
    return tmp_path


def refused(folder, *paths):
    """Return the error of a folder whose files cannot be read as results."""
    with pytest.raises(RecassayError) as caught:
        Manifest.read(folder).require_intact(paths)
    return str(caught.value)


def test_what_recassay_wrote_is_intact(folder):
    manifest = Manifest.read(folder)
    assert manifest.is_intact(folder / "a.txt", folder / "sub" / "b.txt")
    assert manifest.state(folder / "c.txt") == "absent"
    manifest.require_intact([folder / "a.txt", folder / "c.txt"])


def test_a_file_of_another_size_was_replaced_and_one_of_the_same_size_is_damaged(folder):
    (folder / "a.txt").write_text("another")
    assert Manifest.read(folder).is_replaced(folder / "a.txt")
    (folder / "a.txt").write_text("uno")
    assert not Manifest.read(folder).is_replaced(folder / "a.txt")
    (folder / "mine.txt").write_text("mine")
    assert Manifest.read(folder).is_replaced(folder / "mine.txt")


def test_changed_missing_and_foreign_files_are_refused_by_name(folder):
    (folder / "mine.txt").write_text("mine")
    assert "mine.txt is not as recassay wrote it: manifest.jsonl does not list it" in refused(
        folder, folder / "mine.txt"
    )
    (folder / "a.txt").write_text("uno")
    assert "[I318] a.txt is not as recassay wrote it: its checksum is another" in refused(folder, folder / "a.txt")
    assert list(Manifest.read(folder).problems()) == ["a.txt in the folder changed"]
    (folder / "sub" / "b.txt").unlink()
    assert "b.txt is not as recassay wrote it: it is missing" in refused(folder)
    assert list(Manifest.read(folder).problems())[1:] == ["sub/b.txt in the folder is missing"]
    (folder / NAME).unlink()
    assert "manifest.jsonl is not as recassay wrote it: it is missing" in refused(folder)


def test_the_cache_may_be_deleted(tmp_path):
    with recording(tmp_path):
        (tmp_path / "cache").mkdir()
        write_text("one", tmp_path / "cache" / "a.txt")
    (tmp_path / "cache" / "a.txt").unlink()
    Manifest.read(tmp_path).require_intact([])
    assert list(Manifest.read(tmp_path).problems()) == []


def test_a_folder_with_files_of_others_is_refused(tmp_path):
    (tmp_path / ".git").mkdir()
    with recording(tmp_path / "new"):
        pass
    with pytest.raises(RecassayError, match=r"U111.*did not write, such as new"), recording(tmp_path):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == [".git", "new"]


def test_a_file_of_somebody_else_is_neither_replaced_nor_removed(folder):
    mine = folder / "mine.txt"
    mine.write_text("mine")
    (folder / "a.txt").write_text("replaced")
    with recording(folder) as manifest:
        with pytest.raises(RecassayError, match=r"U111.*mine.txt is already there"):
            write_text("new", mine)
        for path in (mine, folder / "a.txt", folder / "sub" / "b.txt"):
            manifest.remove(path)
        write_text("new", folder / "sub" / "b.txt")
        manifest.write()
    assert (mine.read_text(), (folder / "a.txt").read_text()) == ("mine", "replaced")
    assert Manifest.read(folder).is_intact(folder / "sub" / "b.txt")


def test_a_folder_of_another_layout_is_refused(folder):
    row = json.dumps({"manifest": 99})
    (folder / NAME).write_text(f"{zlib.crc32(row.encode()):08x} {row}\n")
    with pytest.raises(RecassayError) as caught:
        Manifest.read(folder)
    assert caught.value.code == "U134"


@pytest.mark.parametrize("row", [{"file": "../a", "size": 1, "crc32": 1}, {"file": 3}, [], {"file": "/a"}, 3])
def test_a_crafted_line_lists_nothing(row, folder):
    text = json.dumps(row)
    with (folder / NAME).open("a") as file:
        file.write(f"{zlib.crc32(text.encode()):08x} {text}\n")
    assert sorted(Manifest.read(folder).entries) == ["a.txt", "sub/b.txt"]
    assert "a line of it cannot be read" in refused(folder)


def test_a_file_whose_name_no_system_can_have_is_missing(folder):
    text = json.dumps({"file": "a" * 5_000, "size": 1, "crc32": 1})
    with (folder / NAME).open("a") as file:
        file.write(f"{zlib.crc32(text.encode()):08x} {text}\n")
    assert "it is missing" in refused(folder)


def test_a_line_that_was_cut_off_loses_one_file_until_the_next_run(folder):
    (folder / NAME).write_bytes((folder / NAME).read_bytes()[:-9])
    manifest = Manifest.read(folder)
    assert manifest.state(folder / "a.txt") == "intact"
    assert manifest.state(folder / "sub" / "b.txt") == "unlisted"
    assert manifest.damaged
    assert not manifest.is_replaced(folder / "sub" / "b.txt")
    with recording(folder) as manifest:
        write_text("two", folder / "sub" / "b.txt")
        manifest.write()
    Manifest.read(folder).require_intact([folder / "sub" / "b.txt"])


def write_some(folder, number):
    with recording(folder):
        for other in range(20):
            write_text(f"{number} {other}", folder / f"{number}-{other}.txt")


def test_several_processes_add_to_one_list(folder):
    processes = [multiprocessing.get_context("spawn").Process(target=write_some, args=(folder, n)) for n in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    manifest = Manifest.read(folder)
    assert not manifest.damaged
    assert manifest.is_intact(*(folder / f"{number}-{other}.txt" for number in range(2) for other in range(20)))


def test_a_file_that_another_process_wrote_meanwhile_is_not_of_somebody_else(folder):
    with recording(folder) as manifest:
        process = multiprocessing.get_context("spawn").Process(target=write_some, args=(folder, 1))
        process.start()
        process.join()
        assert "1-0.txt" not in manifest.entries
        write_text("1 0", folder / "1-0.txt")
        assert manifest.is_intact(folder / "1-0.txt", folder / "1-1.txt")
