"""Archives that would fill the memory are refused."""

import gzip

import pytest

import recassay as ra
from recassay.data.io import edge
from recassay.errors import InputError


@pytest.mark.parametrize("suffix", ["csv", "json"])
def test_an_archive_that_grows_beyond_what_a_table_would_is_refused_with_its_size(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(edge, "HARMLESS", 1 << 20)
    path = tmp_path / f"run.{suffix}.gz"
    path.write_bytes(gzip.compress(b"user_id,item_id,score\n" + b"1,2,0.5\n" * (1 << 18)))
    with pytest.raises(InputError, match=r"I117. run.*gzip archive of 0 MB that unpacks to [12] MB or more"):
        ra.read_run(path)
    varied = "user_id,item_id,score\n" + "".join(f"{row},{row * row % 997},{row % 89 / 89}\n" for row in range(1 << 16))
    path.with_name("other.csv.gz").write_bytes(gzip.compress(varied.encode()))
    assert ra.read_run(path.with_name("other.csv.gz")).items.size == 1 << 16
