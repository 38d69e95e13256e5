"""``recassay warm`` runs what most commands need, and says where the compiled kernels are."""


def test_warm(recassay, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    ended = recassay("warm")
    assert (ended.code, ended.out) == (0, "")
    assert ended.err.startswith("Compiled kernels are kept in ")
    assert not list(tmp_path.iterdir())
