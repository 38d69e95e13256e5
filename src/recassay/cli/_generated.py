"""Continuation of given first items by ``recassay recommend --seeds``: sequences without a reference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from recassay.cli import _common, _runs

HOW = "sample"
RULE = "ready_made"


def continue_seeds(
    model: str, log: Any, output: Path, *, seeds: str, rule: str, length: int, how: str, as_json: bool
) -> None:
    """Fit a model on the sequences of a log, generate continuations of given first items, and write them to ``output``.

    ``seeds`` is the file of first items, with columns item_id and optionally user_id and timestamp, and ``rule`` makes
    sequences of the log. Each continuation has ``length`` items, generated ``how`` the protocol ``sequence`` says, such
    as ``sample``. Counts are printed, as JSON if ``as_json``.
    """
    from recassay.checks.base import format_count
    from recassay.data.io.write import write_parquet, write_text
    from recassay.errors import UsageError, printable
    from recassay.evaluate.sequences.generate import generate
    from recassay.models.sequence import parse_any
    from recassay.naming.grammar import Expression
    from recassay.protocols import parse as parse_protocol
    from recassay.split.sequences import parse_rule

    if output.suffix == _runs.TREC:
        hint = "use a name that ends in .parquet, .csv or .tsv"
        raise UsageError("U111", "a TREC file has no columns for generated sequences", where="-o", hint=hint)
    protocol = parse_protocol(str(Expression("sequence", {"k": length, "how": how})))
    name = output.name.partition(".")[0]
    (made,) = generate(parse_any(model), parse_rule(rule)(log), protocol, seeds=Path(seeds), name=name)
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
