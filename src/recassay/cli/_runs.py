"""Run files of commands (ranked lists of one system): writing them, and finding the truth that they are judged by."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from recassay.cli import _common
from recassay.errors import UsageError
from recassay.naming.grammar import suggest

if TYPE_CHECKING:
    import polars as pl

    from recassay.data.run import Run
    from recassay.results.scores import Scores
    from recassay.stats.intervals import Uncertainty

SEPARATORS = {".csv": ",", ".tsv": "\t"}
TREC = ".trec"
SUFFIXES = (".parquet", *SEPARATORS, TREC)
# options of recassay score that apply to generated sequences
OF_SCORE = {
    "truth", "runs", "metric", "items", "columns", "input_format", "baseline", "test", "correction", "interval",
    "level", "resamples", "seed", "output", "table", "as_json", "fail_on", "threads", "quiet",
}  # fmt: skip


def refuse_unwritable(output: Path) -> None:
    """Raise U111 if the suffix of the output file is not one of those that can be written."""
    if output.suffix not in SUFFIXES:
        what = f"cannot write a run to '{output.name}': its file type is not supported"
        raise UsageError("U111", what, where="-o", hint=f"use a name that ends in {', '.join(SUFFIXES[:-1])} or {TREC}")


def write_run(run: Run, output: Path) -> None:
    """Write a run as Parquet, CSV, TSV or TREC, by the suffix of the file."""
    from recassay.data.io.write import write_text

    if output.suffix == TREC:
        write_text(trec_text(run, output), output)
    else:
        write_table(run.frame(), output)


def write_table(frame: pl.DataFrame, output: Path) -> None:
    """Write a table as Parquet, CSV or TSV, by the suffix of the file."""
    from recassay.data.io.write import write_parquet, write_text

    if output.suffix == ".parquet":
        write_parquet(frame, output)
    else:
        write_text(frame.write_csv(separator=SEPARATORS[output.suffix]), output)


def trec_text(run: Run, output: Path) -> str:
    """Return a run in the format of TREC: user, Q0, item, rank, score and the name of the run, with blanks between.

    The score is that of the run, or minus the rank where it has none. Blanks in the name of the run are left out. Raise
    U111 if an id has a blank or is empty, since its parts would then be read as columns; ``output`` is named in the
    error.
    """
    import polars as pl

    frame = run.frame()
    rank = pl.col("rank") if "rank" in frame.columns else pl.int_range(1, pl.len() + 1).over("user_id")
    score = pl.col("score") if "score" in frame.columns else -rank.cast(pl.Float64)
    made = frame.select(
        pl.col("user_id").cast(pl.String),
        pl.lit("Q0").alias("q0"),
        pl.col("item_id").cast(pl.String),
        rank.alias("rank"),
        score.alias("score"),
        pl.lit("".join(run.name.split()) or "run").alias("tag"),
    )
    for column in ("user_id", "item_id"):
        unfit = made[column].filter(made[column].str.contains(r"\s") | (made[column] == ""))
        if unfit.len():
            what = f"{unfit.len():,} rows have a {column} with a blank, such as {unfit[0]!r}, and TREC files cannot"
            raise UsageError("U111", what, where=str(output), hint="write .parquet, .csv or .tsv")
    return made.write_csv(separator=" ", include_header=False, quote_style="never")


def columns_by_run(given: Sequence[str], systems: Collection[str]) -> tuple[str | None, dict[str, str]]:
    """Return the column names for all runs (None if not given), and those for single runs by the name of the run.

    ``given`` are the values of ``--columns``, and ``systems`` the names of the runs. Raise U102 if columns are given
    twice, and U108 for the name of a run that does not exist.

    >>> columns_by_run(["user=u,item=i", "als:user=uid,item=iid"], ["als", "pop"])
    ('user=u,item=i', {'als': 'user=uid,item=iid'})
    """
    by_run: dict[str, str] = {}
    for text in given:
        name = max((name for name in systems if text.startswith(f"{name}:")), key=len, default="")
        prefix, colon, _ = text.partition("=")[0].rpartition(":")
        if colon and not name:
            what, hint = f"there is no run '{prefix}'", suggest(prefix, systems)
            raise UsageError("U108", what, where=f"--columns {text}", hint=hint)
        if name in by_run:
            which = f"'{name}'" if name else "all runs"
            raise UsageError(
                "U102", f"the columns of {which} are given twice", where=f"--columns {text}",
                hint="write all keys in one option; --columns NAME:KEY=COLUMN,... is for the run of that name alone",
            )  # fmt: skip
        by_run[name] = text.removeprefix(f"{name}:")
    return by_run.pop("", None), by_run


def of_fold(truth: str, train: str | None) -> tuple[str, str | None]:
    """Return the paths of the truth and the training log.

    If ``truth`` is the folder of a fold, both are files in this folder, unless ``train`` names another training log.
    Raise I109 for a folder of folds.
    """
    if not Path(truth).is_dir():
        return truth, train
    from recassay.data.fold_files import TRAIN, TRUTH, folds_in, is_fold, no_fold_error

    if folds_in(truth):
        raise no_fold_error(Path(truth))
    return (str(Path(truth) / TRUTH), train or str(Path(truth) / TRAIN)) if is_fold(truth) else (truth, train)


def score_generated(
    context: typer.Context,
    folder: Path,
    files: Mapping[str, Path],
    shared: str | None,
    own: Mapping[str, str],
    uncertainty: Uncertainty,
) -> Scores:
    """Return the scores of generated sequences against the test sequences of the fold in ``folder``.

    ``files`` maps systems to files. ``shared`` are the column names of all files, and ``own`` those of single ones.
    Further options are those of the command line in ``context``. Raise U102 for one that only ranked lists have.
    """
    for name in sorted(context.params.keys() - OF_SCORE):
        if _common.is_given(context, name):
            option = f"--{name.replace('_', '-')}"
            what = f"{option} is for ranked lists, and the fold has sequences"
            raise UsageError("U102", what, where=option, hint="leave it out")
    from recassay.data.fold_files import read_generated, read_sequence_fold
    from recassay.engine.sequences.score import score_sequences

    given, fold = context.params, read_sequence_fold(folder)
    generated = {
        name: read_generated(path, name, fold, columns=own.get(name, shared), format=given["input_format"])
        for name, path in files.items()
    }
    return score_sequences(
        fold,
        generated,
        given["metric"],
        items=given["items"],
        interval=uncertainty.method,
        level=uncertainty.level,
        resamples=uncertainty.resamples,
        seed=uncertainty.seed,
        threads=given["threads"],
    )
