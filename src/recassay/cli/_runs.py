"""Run files that commands write."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recassay.data.run import Run

SEPARATORS = {".csv": ",", ".tsv": "\t"}


def refuse_unwritable(output: Path) -> None:
    """Raise, before any work, if the output is not a kind of file that can be written."""
    if output.suffix not in (".parquet", *SEPARATORS):
        from recassay.errors import UsageError

        what = f"cannot write a run to '{output.name}': its file type is not supported"
        raise UsageError("U111", what, where="-o", hint="use a name that ends in .parquet, .csv or .tsv")


def write_run(run: Run, output: Path) -> None:
    """Write a run as Parquet, CSV or TSV, by the suffix of the file."""
    from recassay.data.io.write import write_parquet, write_text

    if output.suffix == ".parquet":
        write_parquet(run.frame(), output)
    else:
        write_text(run.frame().write_csv(separator=SEPARATORS[output.suffix]), output)
