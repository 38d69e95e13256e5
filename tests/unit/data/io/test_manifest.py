"""Checksums of a folder: what is intact, damaged, replaced, of another version."""

import json
import zlib

import pytest

from recassay.data.io import write_text
from recassay.data.io.manifest import NAME, Manifest, State, recording
from recassay.errors import RecassayError


@pytest.fixture
def folder(tmp_path):
    with recording(tmp_path, log="manifest") as manifest:
        write_text("one", tmp_path / "a.txt")
        (tmp_path / "sub").mkdir()
        write_text("two", tmp_path / "sub" / "b.txt")
        manifest.write()
    return tmp_path


def test_what_recassay_wrote_is_intact(folder):
    manifest = Manifest.read(folder)
    assert manifest.is_intact(folder / "a.txt", folder / "sub" / "b.txt")
    assert manifest.state(folder / "c.txt") is State.ABSENT


def test_every_flipped_bit_of_every_file_is_seen(folder):
    for path in (folder / "a.txt", folder / "sub" / "b.txt"):
        whole = path.read_bytes()
        for bit in range(8 * len(whole)):
            flipped = bytearray(whole)
            flipped[bit // 8] ^= 1 << bit % 8
            path.write_bytes(flipped)
            assert Manifest.read(folder).state(path) is State.CHANGED
        path.write_bytes(whole)


@pytest.mark.parametrize("name", [NAME, "cache/manifest.jsonl"])
def test_a_flipped_bit_of_a_manifest_never_makes_other_bytes_intact(folder, name):
    (folder / "a.txt").write_text("uno")
    whole = (folder / name).read_bytes()
    for bit in range(8 * len(whole)):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        (folder / name).write_bytes(flipped)
        try:
            manifest = Manifest.read(folder)
        except RecassayError:  # the number of the layout
            continue
        assert not manifest.is_intact(folder / "a.txt")
        assert manifest.is_intact(folder / "sub" / "b.txt")  # the other manifest lists it


def test_a_file_of_another_size_was_replaced_and_one_of_the_same_size_is_damaged(folder):
    (folder / "a.txt").write_text("another")
    assert Manifest.read(folder).is_replaced(folder / "a.txt")
    (folder / "a.txt").write_text("uno")
    assert not Manifest.read(folder).is_replaced(folder / "a.txt")
    (folder / "mine.txt").write_text("mine")
    assert Manifest.read(folder).is_replaced(folder / "mine.txt")


def test_files_are_refused_by_name(folder):
    (folder / "a.txt").write_text("uno")
    with pytest.raises(RecassayError, match=r"a\.txt is not as recassay wrote it") as caught:
        Manifest.read(folder).require_intact([folder / "a.txt"])
    assert caught.value.code == "I318"


def test_a_folder_without_a_manifest_is_taken_as_it_is(tmp_path):
    (tmp_path / "a.txt").write_text("old")
    Manifest.read(tmp_path).require_intact([tmp_path / "a.txt"])
    with recording(tmp_path) as manifest:
        assert manifest.is_intact(tmp_path / "a.txt")
        manifest.write()
    (tmp_path / "a.txt").write_text("new")
    assert Manifest.read(tmp_path).state(tmp_path / "a.txt") is State.CHANGED


def test_a_folder_of_another_layout_is_refused(folder):
    files = json.dumps({})
    (folder / NAME).write_text(json.dumps({"manifest": 2, "crc32": zlib.crc32(files.encode())}) + "\n" + files)
    with pytest.raises(RecassayError) as caught:
        Manifest.read(folder)
    assert caught.value.code == "U242"


def test_a_line_that_was_cut_off_loses_one_file(folder):
    log = folder / "cache" / "manifest.jsonl"
    (folder / NAME).unlink()
    log.write_bytes(log.read_bytes()[:-9])
    manifest = Manifest.read(folder)
    assert manifest.state(folder / "a.txt") is State.INTACT
    assert manifest.state(folder / "sub" / "b.txt") is State.UNLISTED
    assert manifest.damaged
    assert not manifest.is_replaced(folder / "sub" / "b.txt")
