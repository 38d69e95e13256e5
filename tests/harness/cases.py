"""What a fuzzed input is given to, by class: a case is a class and some bytes, and passes or shows a fault."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import random
import shlex
import sys
import traceback
import warnings
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from unittest import mock

import polars as pl
import typer.main

import recassay as ra
from recassay import cli, drift, protocols, split
from recassay.data.fold_files import write_fold
from recassay.data.io.columns import parse_columns
from recassay.data.io.manifest import NAME, Manifest
from recassay.designs import parse_list
from recassay.errors import InputError, RecassayError
from recassay.metrics.registry import parse_metric
from recassay.models.base.registry import parse as parse_model
from recassay.naming.grammar import parse
from recassay.naming.grammar import split as split_names
from recassay.study.config.reading import parse_values, read_document
from recassay.study.config.schema import read_study
from recassay.study.plan.parsing import make_plan

from . import structures
from .corpus import STREAM, STUDY, TABLE, WORDS, files, mutate

_build_app = cli.build_app
Case = tuple[str, bytes]  # class (of a file also its suffix and its use, after colons), content
EXPRESSIONS = [
    b"ndcg@10", b"ndcg(gain='exp2', discount='jk')@5", b"rbp(p=0.9)", b"recall@20 mrr, hit@1", b"seq_precision@5",
    b"mae", b"PureSVD(factors=8)", b"SASRec(dim=16, epochs=2)", b"MMR(Popular, weight=0.5)", b"ISGD(factors=10)",
    b"AI-AR-AN", b"TI-1R-NN(99, by='popularity')", b"random(test=0.2)", b"k_folds(k=5, by='user')",
    b"prequential(at=10, until=0.5)", b"ranking(k=100)", b"ADWIN(delta=0.002)", b"user=uid,item=iid", b"epochs=20",
    b"x=[1, {a: b}]", b"'2GB'",
]  # fmt: skip
COMMANDS = [
    "score truth.csv run.csv -m ndcg@5", "score truth.csv run.csv -m recall@5 --baseline run --level 0.9 --table csv",
    "score truth.csv run.csv run2.csv --train log.csv --profile trec_eval --json",
    "score truth.csv run.csv --within 0.1",
    "compare scores.csv --baseline a --table latex", "compare scores.csv --power --wanted 0.1 --rope 0.1 --effect d_z",
    "stats log.csv", "stats log.csv --columns user=user_id,item=item_id", "correct ranks.csv --pool 100 --sample 10",
    "gate truth.csv run.csv --baseline run2.csv -m ndcg@5 --margin 2%",
    "gate study.yaml run.csv --require 'hit@5 >= 0.2'",
    "explain ndcg", "explain U101", "list metrics", "report .", "rerank run.csv --train log.csv",
    "run study.yaml -o /dev/null/x --set factors=3", "score truth.csv run.csv --ties expected --order score --seed 3",
]  # fmt: skip
OPTIONS = [
    b"--level", b"--resamples", b"--seed", b"--memory", b"--columns", b"--format", b"--nan", b"--ties", b"--profile",
    b"-m", b"--within", b"--strata", b"--relevant-from", b"--table", b"--threads", b"--test", b"--correction",
    b"--set", b"-o", b"1", b"0", b"-1", b"1e-300", b"nan", b"''", b"'['", b"1e400", b"/", b".", b"-", b"/dev/null",
    b"no/such", b"100000000000", b"9223372036854775808", b"1" + 30 * b"0", b"--pool", b"--sample", b"--smallest-group",
    b"--effect", b"--wanted", b"--rope", b"--order", b"--interval", b"--by", b"--by-item", b"--users",
    b"--duplicates", b"--negative", b"--missing", b"--margin", b"--require", b"--believable", b"--undecided",
]  # fmt: skip


def prepare(folder: Path) -> None:
    """Write the sound files that commands name, and have each command line built once only."""
    cli.build_app = lambda names: _command_line(tuple(names))
    TABLE.write_csv(folder / "run.csv")
    TABLE.reverse().write_csv(folder / "run2.csv")
    TABLE.head(4).select("user_id", "item_id").write_csv(folder / "truth.csv")
    TABLE.drop("score").write_csv(folder / "log.csv")
    pl.DataFrame({"user_id": [1, 2, 3], "rank": [1, 4, 9]}).write_csv(folder / "ranks.csv")
    rows = [{"system": name, "user": user, "ndcg": user / 10} for name in "ab" for user in range(5)]
    pl.DataFrame(rows).write_csv(folder / "scores.csv")
    (folder / "study.yaml").write_bytes(STUDY)
    write_fold(structures.things()["fold"], folder / "fold")


@functools.cache  # typer takes longer to build it than most inputs take to run
def _command_line(names: tuple[str, ...]) -> Any:
    return typer.main.get_command(_build_app(names))


def make(number: int, seed: int) -> Case:
    """Return the input of a number: the same for the same seed."""
    rng = random.Random(f"{seed} {number}")
    kinds = ("file", "names", "study", "options", "parquet", "manifest", "structures")
    kind = rng.choices(kinds, (10, 8, 3, 2, 2, 1, 10))[0]
    if kind in ("file", "parquet"):
        known = files()
        suffix = ".parquet" if kind == "parquet" else rng.choice([name for name in known if name != ".parquet"])
        others = [data for part in known.values() for data in part]
        return f"file:{suffix}:{rng.choice(list(USES))}", mutate(rng.choice(known[suffix]), others, rng)
    if kind == "names":
        return "names", mutate(rng.choice(EXPRESSIONS), EXPRESSIONS, rng)
    if kind == "study":
        return "study", mutate(rng.choice((STUDY, STREAM)), [STUDY, STREAM], rng)
    if kind == "structures":
        return "structures", b"%d" % rng.randrange(10**9)
    if kind == "manifest":
        return "manifest", mutate(b'{"file": "run.csv", "size": 3, "crc32": 2745614147}', EXPRESSIONS, rng)
    line = rng.choice(COMMANDS).encode()
    words = [*line.split(b" "), *rng.choices(OPTIONS + EXPRESSIONS, k=rng.choice((0, 1, 2)))]
    if rng.random() < 0.7:
        at = rng.randrange(1, len(words))
        words[at] = rng.choice((*OPTIONS, *WORDS, mutate(words[at], EXPRESSIONS, rng)))
    return "options", b" ".join(words)


def run(case: Case, folder: Path) -> str:
    """Give an input to what reads it; return "ok", the code of an error, or a fault with its place."""
    kind, data = case
    name, _, suffix = kind.partition(":")
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        try:
            return RUNNERS[name](data, suffix, folder) or "ok"
        except RecassayError as error:
            return error.code if error.exit_code == 2 else fault(error)
        except BaseException as error:  # a panic of Polars is no Exception
            if isinstance(error, KeyboardInterrupt):
                raise
            return fault(error)


def fault(error: BaseException) -> str:
    """Return a fault in one line: the type, and the innermost place in recassay."""
    places = [one for one in traceback.extract_tb(error.__traceback__) if "recassay" in one.filename]
    where = f"{Path(places[-1].filename).name}:{places[-1].lineno}" if places else "?"
    notes = "; ".join(getattr(error, "__notes__", ()))
    return f"FAULT {type(error).__name__} {where} {str(error)[:80]!r}" + (f" in {notes}" if notes else "")


def by_column(function: Callable[[Path], object]) -> Callable[[Path], object]:
    """Return a function that reads tables a column at a time, as only tables of many rows are read otherwise."""

    def call(path: Path) -> object:
        with mock.patch("recassay.data.io.read.SMALL", 0):
            return function(path)

    return call


USES: dict[str, Callable[[Path], object]] = {
    "run": ra.read_run, "truth": ra.read_truth, "log": ra.read_interactions, "items": ra.read_items,
    "scores": ra.read_scores, "run by column": by_column(ra.read_run), "truth by column": by_column(ra.read_truth),
    "score": lambda path: ra.score(str(path), str(path.with_name("truth.csv")), "ndcg@5", interval=None),
}  # fmt: skip


def _file(data: bytes, suffix: str, folder: Path) -> None:
    """Read a file for its use, or for every use if none is named, as of stored files."""
    suffix, _, use = suffix.partition(":")
    path = folder / f"input{suffix}"
    path.write_bytes(data)
    _try_all([USES[use]] if use else list(USES.values()), path)


def _try_all(functions: Iterable[Callable[[Any], object]], given: object) -> None:
    """Call all functions; raise the first error with a code, but any other exception at once."""
    errors = []
    for function in functions:
        try:
            function(given)
        except RecassayError as error:
            str(error)
            errors.append(error)
    if errors:
        raise errors[0]


PARSERS: tuple[Callable[[str], object], ...] = (
    parse, split_names, parse_metric, parse_model, parse_list, split.parse, split.filters.parse, protocols.parse,
    drift.parse, parse_columns, lambda one: parse_values([one]),
)  # fmt: skip


def _names(data: bytes, _suffix: str, _folder: Path) -> None:
    _try_all(PARSERS, data.decode("utf-8", "surrogateescape"))


def _study(data: bytes, _suffix: str, folder: Path) -> None:
    path = folder / "input.yaml"
    path.write_bytes(data)
    for quick in (False, True):
        document = read_document(path, quick=quick)
        make_plan(document, read_study(document))


def _manifest(data: bytes, _suffix: str, folder: Path) -> None:
    path = folder / NAME
    try:
        for content in (data, f"{zlib.crc32(data):08x} ".encode() + data):
            path.write_bytes(content)
            with contextlib.suppress(InputError):
                Manifest.read(folder).require_intact([folder / "run.csv"])
    finally:
        path.unlink()


def _options(data: bytes, _suffix: str, folder: Path) -> str:
    text = data.decode("utf-8", "surrogateescape").replace("\0", "")
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    if any(word.startswith(("--engine", "spark")) for word in words):
        return "ok"
    before, here = sys.argv, Path.cwd()
    sys.argv = ["recassay", *words]
    os.chdir(folder)
    try:
        cli.main()
    except SystemExit as end:
        if end.code == 3:
            lines = sys.stderr.getvalue().splitlines()  # type: ignore[attr-defined]
            return "FAULT exit 3 " + " ".join(line.strip() for line in lines[-4:])[:200]
        return f"exit {end.code}"
    finally:
        sys.argv = before
        os.chdir(here)
    return "ok"


def _structures(data: bytes, _suffix: str, folder: Path) -> None:
    here = Path.cwd()
    os.chdir(folder)
    try:
        if data in structures.NAMES:
            structures.call_soundly(data.decode())
        else:
            structures.call(data)
    except BaseException as error:
        error.add_note(data.decode() if data in structures.NAMES else structures.described(data))
        raise
    finally:
        os.chdir(here)


RUNNERS = {
    "file": _file, "names": _names, "study": _study, "manifest": _manifest, "options": _options,
    "structures": _structures,
}  # fmt: skip
