"""Generated sequences on the command line: models that continue first items, and scores of files that hold some."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from recassay.cli import _common, _runs

if TYPE_CHECKING:
    from recassay.data.sequences import SequenceFold, Sequences
    from recassay.results.scores import Scores
    from recassay.stats.intervals import Uncertainty

HOW = "sample"
RULE = "ready_made"
PLACE = {"protocol": "sequence", "design": "sequences"}  # of scores, as in a study
# options of recassay score that apply to generated sequences
OF_SCORE = {
    "truth", "runs", "metric", "items", "columns", "input_format", "baseline", "test", "correction", "interval",
    "level", "resamples", "seed", "output", "table", "as_json", "fail_on", "threads", "quiet",
}  # fmt: skip


def continue_seeds(
    model: str,
    sequences: Sequences | SequenceFold,
    output: Path,
    *,
    seeds: str | None,
    items: str | None,
    length: int,
    how: str,
    as_json: bool,
) -> None:
    """Fit a model on sequences, generate continuations of first items, and write them to ``output``.

    ``seeds`` is the file of first items, with columns item_id and optionally user_id and timestamp, or with columns of
    ``items``, the file of features. By default they are those of the test sequences of a fold. Each continuation has
    ``length`` items, generated ``how`` the protocol ``sequence`` says, such as ``sample``. Counts are printed, as JSON
    if ``as_json``.
    """
    from recassay.checks.base import format_count
    from recassay.data.io.write import write_parquet, write_text
    from recassay.engine.sequences.generate import generate
    from recassay.errors import UsageError, printable
    from recassay.models.sequence import parse_any
    from recassay.naming.grammar import Expression
    from recassay.protocols import parse as parse_protocol

    if output.suffix == _runs.TREC:
        hint = "use a name that ends in .parquet, .csv or .tsv"
        raise UsageError("U111", "a TREC file has no columns for generated sequences", where="-o", hint=hint)
    protocol = parse_protocol(str(Expression("sequence", {"k": length, "how": how})))
    name = output.name.partition(".")[0]
    begun = None if seeds is None else Path(seeds)
    (made,) = generate(parse_any(model), sequences, protocol, seeds=begun, items=items, name=name)
    frame = made.frame()
    output.parent.mkdir(parents=True, exist_ok=True)
    if output.suffix == ".parquet":
        write_parquet(frame, output)
    else:
        write_text(frame.write_csv(separator=_runs.SEPARATORS[output.suffix]), output)
    counts = {"output": str(output), "seeds": len(made), "rows": frame.height}
    if as_json:
        _common.print_json(counts)
    else:
        sizes = f"{format_count(len(made), 'seed')}, {format_count(frame.height, 'item')}"
        _common.say(printable(f"{sizes}\n  file   {output}", keep="\n"))


def sequence_fold_of(truth: str) -> Path | None:
    """Return the folder of a file with the truth, if it holds a fold of sequences, else None."""
    from recassay.data.sequence_files import TRUTH, is_sequence_fold

    folder = Path(truth).parent
    return folder if Path(truth).name == TRUTH and is_sequence_fold(folder) else None


def score_generated(
    context: typer.Context,
    folder: Path,
    files: Mapping[str, Path],
    shared: str | None,
    own: Mapping[str, str],
    uncertainty: Uncertainty,
) -> Scores:
    """Return the scores of generated sequences in ``files``, by name, against the test sequences of a fold.

    ``shared`` are the column names of all files, and ``own`` those of single ones. Further options are those of the
    command line in ``context``. Raise U102 for one that only ranked lists have.
    """
    from recassay.errors import UsageError

    for name in sorted(context.params.keys() - OF_SCORE):
        if (source := context.get_parameter_source(name)) and source.name != "DEFAULT":
            option = f"--{name.replace('_', '-')}"
            what = f"{option} is for ranked lists, and the fold has sequences"
            raise UsageError("U102", what, where=option, hint="leave it out")
    from recassay.data.sequence_files import read_generated, read_sequence_fold
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
