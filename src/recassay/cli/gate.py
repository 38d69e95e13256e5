"""``recassay gate``: may a candidate replace the baseline? Its exit status stops a build."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from recassay.cli import _common, _options, _runs
from recassay.cli._options import COLUMNS, OUTPUT, STATISTICS, choice, option
from recassay.errors import UsageError
from recassay.naming.grammar import suggest

CRITERIA, INPUT = "Criteria", "Input"
PATHS = ("truth", "candidate", "baseline", "train", "items", "users")  # keys of a gate file, relative to the file


def gate(
    context: typer.Context,
    truth: Annotated[
        str, typer.Argument(metavar="TRUTH|GATE.yaml", help="Held-out relevant items, or a file with all settings.")
    ],
    candidate: Annotated[
        str | None, typer.Argument(metavar="CANDIDATE", help="Run file of the candidate; a gate file may name it.")
    ] = None,
    baseline: Annotated[
        str | None,
        option(
            "--baseline",
            "What it may replace: a run file, or FOLDER of an earlier score -o or gate -o (FOLDER:SYSTEM).",
            CRITERIA,
            metavar="RUN|FOLDER",
        ),
    ] = None,
    metrics: Annotated[
        list[str] | None,
        option(
            "-m --metric",
            "Metrics; may be repeated.",
            CRITERIA,
            metavar="METRIC",
            autocompletion=_options.complete_metrics,
        ),
    ] = None,
    margin: Annotated[
        str,
        option("--margin", "What the candidate may lose: a share of the baseline (0.5%) or a difference.", CRITERIA),
    ] = "1%",
    require: Annotated[
        list[str] | None,
        option("--require", "A limit, such as 'coverage@10 >= 0.3'. May be repeated.", CRITERIA, metavar="LIMIT"),
    ] = None,
    by: Annotated[
        list[str] | None,
        option(
            "--by",
            "Also test each group of users: a column of --users or of the truth, with a margin if it has its own "
            "(country=2%). May be repeated.",
            CRITERIA,
            metavar="COLUMN[=MARGIN]",
        ),
    ] = None,
    believable: Annotated[
        str, option("--believable", "An improvement larger than this is suspicious.", CRITERIA, metavar="SHARE")
    ] = "50%",
    undecided: Annotated[
        str, choice("--undecided", "What an undecided gate does", ("fail", "pass"), CRITERIA, metavar="STATUS")
    ] = "fail",
    train: Annotated[
        str | None, option("--train", "Training log: finds training items in the lists.", INPUT, metavar="LOG")
    ] = None,
    items: Annotated[
        str | None, option("--items", "Item features, for diversity metrics.", INPUT, metavar="FILE")
    ] = None,
    users: Annotated[
        str | None, option("--users", "Table with a row per user, for --by; or: known.", INPUT, metavar="USERS")
    ] = None,
    columns: Annotated[
        str | None, option("--columns", "Column names, such as user=uid,item=iid.", INPUT, metavar=COLUMNS)
    ] = None,
    profile: Annotated[
        str | None,
        option(
            "--profile", "Compute metrics as another library does.", INPUT, autocompletion=_options.complete_profiles
        ),
    ] = None,
    relevant_from: Annotated[
        float, option("--relevant-from", "Smallest gain of a relevant item.", INPUT, metavar="GAIN")
    ] = 1.0,
    level: Annotated[
        float, option("--level", "Confidence of each bound, one-sided.", STATISTICS, metavar="SHARE")
    ] = 0.95,
    output: Annotated[
        Path | None,
        option(
            "-o --output",
            "Write gate.json, gate.md, gate.xml (JUnit), report.html and the scores, a later baseline, to this folder.",
            OUTPUT,
            metavar="FOLDER",
        ),
    ] = None,
    table: _options.TextOrMarkdown = "text",
    as_json: _options.AsJson = False,
    quiet: _options.Quiet = False,  # noqa: ARG001  (main reads it)
) -> None:
    """Say whether a candidate may replace the baseline: pass, fail, undecided or suspicious.

    The exit status is 0 for pass and 1 for the others. All options may stand in a file: recassay gate gate.yaml RUN.

    Example: recassay gate truth.parquet new.parquet --baseline old.parquet -m "ndcg@10 recall@20" --margin 0.5%
    """
    from recassay.api.gate import gate as judge_candidate
    from recassay.api.score import several
    from recassay.data.fold_files import identity_of
    from recassay.data.io.manifest import require_own_folder

    flags: dict[str, Any] = {
        "truth": truth, "candidate": candidate, "baseline": baseline, "metrics": metrics, "margin": margin,
        "require": require, "by": by, "believable": believable, "undecided": undecided, "train": train, "items": items,
        "users": users, "columns": columns, "profile": profile, "relevant_from": relevant_from, "level": level,
    }  # fmt: skip
    settings = flags
    if truth.endswith((".yaml", ".yml")):
        typed = {name: value for name, value in flags.items() if name != "truth" and _common.is_given(context, name)}
        settings = flags | {"truth": None} | read_gate_file(Path(truth), tuple(flags)) | typed
    for name, flag in (("truth", "TRUTH"), ("candidate", "CANDIDATE"), ("baseline", "--baseline"), ("metrics", "-m")):
        if not settings.get(name):
            what = "the gate has no " + ("metric" if name == "metrics" else name)
            raise UsageError("U105", what, hint=f"give it as {flag}, or as `{name}:` in the gate file")
    if not isinstance(settings.get("by", {}), Mapping):
        parts = (text.partition("=") for text in several(settings["by"]))
        settings["by"] = {column.strip(): own.strip() for column, _, own in parts}
    settings["truth"], settings["train"] = _runs.of_fold(settings["truth"], settings.get("train"))
    undecided_passes = settings.pop("undecided") == "pass"
    if output is not None:
        require_own_folder(output)
    given = {name: value for name, value in settings.items() if value is not None}
    if output is not None:
        given["interval"] = "bootstrap"  # for the page
    result = judge_candidate(**given)
    if output is not None:
        from recassay.api.compare import compare
        from recassay.report.folder.results import write_results
        from recassay.report.tables.gate import write_gate

        comparison = compare(result.scores, baseline="baseline")
        write_results(result.scores, comparison, output, identity_of(settings["truth"]), command=_common.command_line())
        write_gate(result, output, undecided_passes=undecided_passes)
    if as_json:
        _common.print_json(result.to_dict())
    else:
        from recassay.report.tables.gate import gate_markdown, gate_text

        if table == "markdown":
            typer.echo(gate_markdown(result), nl=False)
        else:
            _common.console().print(gate_text(result))
    if result.verdict != "pass" and not (undecided_passes and result.verdict == "undecided"):
        raise typer.Exit(1)


def read_gate_file(path: Path, known: tuple[str, ...]) -> dict[str, Any]:
    """Return the settings of a gate file, its paths relative to the folder of the file; raise U132 for unknown keys."""
    from recassay.data.io.lake import beside
    from recassay.study.config.reading import read_document

    document = read_document(path)
    for key in document.content:
        if key not in known:
            what = f"a gate file has no key '{key}'"
            raise UsageError("U132", what, where=document.where((key,)), hint=suggest(str(key), known))
    settings = dict(document.content)
    for name in PATHS:
        if isinstance(settings.get(name), str) and settings[name] != "known":
            settings[name] = str(beside(path.parent, settings[name]))
    return settings
