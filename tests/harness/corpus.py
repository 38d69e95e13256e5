"""Sound inputs of every class, and the ways in which they are damaged."""

from __future__ import annotations

import functools
import gzip
import io
import json
import random

import polars as pl

TABLE = pl.DataFrame(
    {
        "user_id": [1, 1, 1, 2, 2, 3],
        "item_id": [10, 11, 12, 10, 13, 11],
        "score": [0.9, 0.5, 0.1, 0.8, 0.2, 0.7],
        "timestamp": [1_600_000_000, 1_600_000_100, 1_600_000_200, 1_600_000_300, 1_600_000_400, 1_600_000_500],
    }
)
STUDY = b"""study: small
about: Which system wins?
data: {generate: "log(users=60, items=40, events=900)"}
parameters: {factors: 4}
split: k_folds(k=2)
models: {popular: Popular, random: Random, svd: "PureSVD(factors={factors})"}
designs: [lists, AI-AR-AN]
metrics: [recall@5, "ndcg(gain='exp2')@10"]
compare: {baseline: popular}
judge: {resamples: 200, level: 0.9}
seeds: [0, 1]
quick: {models: [Popular], seeds: 0}
"""
STREAM = b"""study: stream
data:
  - &log {name: a, generate: "drifting(users=60, items=30, events=800, changes=1)"}
protocol: prequential(at=10, warmup=100)
models: [ISGD, StreamPopular]
metrics: [recall@10]
over_time: {window: 100, detectors: [ADWIN]}
tune: {share: 0.2, grid: {ISGD: {factors: [5, 10]}}}
"""


def parquet(frame: pl.DataFrame, **how: object) -> bytes:
    """Return a frame as the bytes of a Parquet file."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, **how)
    return buffer.getvalue()


def foreign_parquet(frame: pl.DataFrame) -> list[bytes]:
    """Return a frame as Parquet of pyarrow: with pages, dictionaries and encodings that Polars does not write."""
    import pyarrow.parquet

    ways: list[dict[str, object]] = [
        {"data_page_version": "2.0", "compression": "snappy"},
        {"compression": "gzip", "row_group_size": 2, "write_page_checksum": True},
        {"use_dictionary": False, "column_encoding": dict.fromkeys(("user_id", "item_id"), "DELTA_BYTE_ARRAY")},
    ]
    made = []
    for way in ways:
        buffer = io.BytesIO()
        pyarrow.parquet.write_table(frame.to_arrow(), buffer, **way)
        made.append(buffer.getvalue())
    return made


@functools.cache
def files() -> dict[str, list[bytes]]:
    """Return sound files by suffix."""
    text = TABLE.with_columns(pl.col("user_id", "item_id").cast(pl.String) + "é")
    records = TABLE.to_dicts()
    nested = {"ann": {"x": 0.5, "y": 0.1}, "bob": {"x": 2}}
    return {
        ".csv": [TABLE.write_csv().encode(), text.write_csv().encode(), b'user,item,score\r\n"a,""b",c,1e3\r\n'],
        ".tsv": [TABLE.write_csv(separator="\t").encode(), b"1\t2\t3\t881250949\n4\t5\t1\t891717742\n"],
        ".txt": [b"1 10\n1 11\n2 10\n", b"1 2 3\n\n2 3\n"],
        ".dat": [b"1::10::5::978300760\n2::11::3::978302109\n"],
        ".run": [b"1 Q0 d1 1 0.9 tag\n1 Q0 d2 2 0.5 tag\n2 Q0 d1 1 0.7 tag\n"],
        ".qrels": [b"1 0 d1 2\n1 0 d2 0\n2 0 d1 1\n"],
        ".inter": [b"user_id:token\titem_id:token\trating:float\n1\t10\t5\n2\t11\t3\n"],
        ".json": [json.dumps(part).encode() for part in (nested, {"ann": ["x", "y"]}, records)],
        ".jsonl": ["\n".join(map(json.dumps, records)).encode(), b'{"user":"a","items":["x","y"]}\n'],
        ".parquet": [
            parquet(TABLE), parquet(text), parquet(TABLE, compression="uncompressed"),
            parquet(TABLE.with_columns(pl.col("item_id").cast(pl.Int128) if hasattr(pl, "Int128") else "item_id")),
            parquet(TABLE.group_by("user_id").agg("item_id", "score")),
            parquet(text.with_columns(pl.col("item_id").cast(pl.Categorical))), *foreign_parquet(text),
        ],
        ".csv.gz": [gzip.compress(TABLE.write_csv().encode(), mtime=0)],
    }  # fmt: skip


WORDS = [
    b"nan", b"inf", b"-inf", b"1e400", b"-1", b"0", b"9223372036854775808", b"1e-400", b"\x00", b"\xff\xfe",
    b"\xef\xbb\xbf", b'"', b"'", b"\r", b"\n", b"\r\n", b"\t", b",", b";", b"|", b"::", b"{", b"}", b"[", b"]", b"(",
    b")", b"@", b"=", b"*", b"&a ", b"*a", b"<<: ", b"!!int ", b"!!binary ", b"!!python/name:os.system ",
    b"2001-99-99", b"~", b"null", b"true", b"\xe2\x80\xa8", b"\xc2\x85", b"\xed\xa0\x80", b"\x1b]0;x\x07", b"\\u0000",
    b"\\ud800", b"__class__", b"{factors}", b"user_id", b"item_id", b"rank", b"score", b"timestamp", b"9" * 5000,
    b"[" * 2000, b"(" * 300, b"- " * 200, b"a" * 300,
]  # fmt: skip


def mutate(data: bytes, others: list[bytes], rng: random.Random) -> bytes:
    """Return data with one to eight damages."""
    made = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        at = rng.randrange(len(made) + 1)
        size = rng.choice((1, 1, 2, 4, 16, 64))
        kind = rng.randrange(8)
        if kind == 0 and made:
            made[min(at, len(made) - 1)] ^= 1 << rng.randrange(8)
        elif kind == 1 and made:
            made[min(at, len(made) - 1)] = rng.randrange(256)
        elif kind == 2:
            del made[at : at + size]
        elif kind == 3:
            made[at:at] = made[at : at + size] * rng.choice((1, 2, 50))
        elif kind in (4, 5):
            made[at : at + rng.choice((0, 0, size))] = rng.choice(WORDS)
        elif kind == 6:
            other = rng.choice(others)
            cut = rng.randrange(len(other) + 1)
            made[at:] = other[cut:]
        else:
            del made[at:]
    return bytes(made[: 1 << 20])
