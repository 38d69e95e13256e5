"""``recassay score``: evaluate run files."""

from pathlib import Path
from typing import Annotated, Any

import typer

from recassay.cli import _common, _options, _runs
from recassay.cli._options import COLUMNS, OUTPUT, STATISTICS, choice, option
from recassay.naming import choices
from recassay.naming.grammar import require_known

DEFAULT_METRICS = "ndcg@10 recall@10 precision@10 mrr map hit@10"
PLACE = {"protocol": "sequence", "design": "sequences"}  # of scores, as in a study
INPUT, CONVENTIONS, GROUPS = "Input", "Conventions", "Groups"


def columns_of(name: str, table: str) -> Any:
    """Return the option for the column names of a table, if they are not those of the runs."""
    what = f"Column names of the {table}, if they differ from those of the runs."
    return option(f"--{name}-columns", what, INPUT, metavar=COLUMNS)


def score(
    context: typer.Context,
    truth: Annotated[
        str,
        typer.Argument(
            metavar="TRUTH",
            help="Held-out relevant items: Parquet, CSV, TREC qrels, JSON, ...; or the folder of a fold, "
            "with its training log, or of a fold of sequences.",
        ),
    ],
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUNS",
            help="Files of lists or of generated sequences, globs, or a folder of files; the file name is the name of "
            "the system.",
        ),
    ],
    metric: Annotated[
        list[str] | None,
        option(
            "-m --metric",
            f"Metrics; may be repeated, or quote several.  [default: {DEFAULT_METRICS}; of sequences: Sequeval's]",
            CONVENTIONS,
            metavar="METRIC",
            autocompletion=_options.complete_metrics,
        ),
    ] = None,
    train: Annotated[
        str | None, option("--train", "Training log, for novelty, seen items and propensities.", INPUT, metavar="LOG")
    ] = None,
    items: Annotated[
        str | None, option("--items", "Item features, for diversity metrics.", INPUT, metavar="FILE")
    ] = None,
    users: Annotated[
        str | None,
        option(
            "--users",
            "known: score only users with training events (needs --train); or a table with a row per user, for --by."
            "  [default: all]",
            INPUT,
            metavar="USERS",
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        option(
            "--columns",
            "Column names of the runs, such as user=uid,item=iid,score=pred, and of other tables that have them; "
            "with a name in front (als:user=u), of that run alone. May be repeated.",
            INPUT,
            metavar=f"[RUN:]{COLUMNS}",
        ),
    ] = None,
    truth_columns: Annotated[str | None, columns_of("truth", "truth")] = None,
    train_columns: Annotated[str | None, columns_of("train", "training log")] = None,
    users_columns: Annotated[str | None, columns_of("users", "table of users")] = None,
    items_columns: Annotated[str | None, columns_of("items", "table of items")] = None,
    input_format: Annotated[
        str | None, option("--format", "Format of the run files, if it is not recognised.", INPUT, metavar="FORMAT")
    ] = None,
    profile: Annotated[
        str | None,
        option(
            "--profile",
            "Compute metrics as another library does; see recassay list profiles.",
            CONVENTIONS,
            metavar="LIBRARY",
            autocompletion=_options.complete_profiles,
        ),
    ] = None,
    relevant_from: Annotated[
        float, option("--relevant-from", "Smallest gain of a relevant item.", CONVENTIONS, metavar="GAIN")
    ] = 1.0,
    missing: Annotated[
        str | None,
        choice(
            "--missing", "A user without a list", choices.Missing, CONVENTIONS, note="[default: zero]", metavar="POLICY"
        ),
    ] = None,
    no_relevant: Annotated[
        str | None,
        choice(
            "--no-relevant",
            "Score of a user without relevant items",
            choices.NoRelevant,
            CONVENTIONS,
            note="[default: undefined]",
            metavar="POLICY",
        ),
    ] = None,
    order: Annotated[
        str | None,
        choice(
            "--order",
            "Order of a list",
            choices.ListOrder,
            CONVENTIONS,
            note="given: by rank, else by score, else by row.  [default: given]",
        ),
    ] = None,
    ties: Annotated[
        str | None,
        choice(
            "--ties",
            "Order of items with equal scores",
            choices.TieOrder,
            CONVENTIONS,
            note="[default: id]",
            metavar="POLICY",
        ),
    ] = None,
    precision: Annotated[
        str | None,
        choice("--precision", "Precision of scores", choices.Precision, CONVENTIONS, note="[default: double]"),
    ] = None,
    duplicates: Annotated[
        str | None,
        choice(
            "--duplicates",
            "An item that occurs twice in a list",
            choices.Duplicates,
            CONVENTIONS,
            note="[default: first]",
            metavar="POLICY",
        ),
    ] = None,
    nan: Annotated[
        choices.Nan, choice("--nan", "A score that is NaN", choices.Nan, CONVENTIONS, metavar="POLICY")
    ] = "error",
    negative: Annotated[
        choices.Negative,
        choice("--negative", "A negative gain", choices.Negative, CONVENTIONS, metavar="POLICY"),
    ] = "error",
    baseline: Annotated[
        str | None,
        option(
            "--baseline",
            "Compare every system with this one.",
            STATISTICS,
            metavar="SYSTEM",
            autocompletion=_options.complete_systems,
        ),
    ] = None,
    test: _options.Test = "permutation",
    correction: _options.Correction = "holm",
    interval: _options.Interval = "bootstrap",
    level: _options.Level = 0.95,
    resamples: _options.Resamples = 10_000,
    seed: _options.Seed = 0,
    within: Annotated[
        float | None,
        option(
            "--within", "Score random users until every mean is accurate to ± this width.", STATISTICS, metavar="WIDTH"
        ),
    ] = None,
    strata: Annotated[
        int,
        option(
            "--strata", "With --within: number of activity strata to draw users from.", STATISTICS, metavar="N", min=1
        ),
    ] = 1,
    by: Annotated[
        list[str] | None,
        option(
            "--by",
            "Also show means by group of users: a column of --users, or of the truth or the training log. May be "
            "repeated.",
            GROUPS,
            metavar="COLUMN",
        ),
    ] = None,
    by_item: Annotated[
        list[str] | None,
        option(
            "--by-item",
            "Also show means by group of relevant items: a column of --items. May be repeated.",
            GROUPS,
            metavar="COLUMN",
        ),
    ] = None,
    smallest_group: Annotated[
        int, option("--smallest-group", "Least number of users of a group that is shown.", GROUPS, metavar="N", min=2)
    ] = 10,
    memory: Annotated[
        str | None,
        option(
            "--memory",
            "Process run files in parts that need about this much memory, such as 2GB.",
            INPUT,
            metavar="SIZE",
        ),
    ] = None,
    engine: Annotated[str, choice("--engine", "Where the work is done", choices.Engine, INPUT)] = "local",
    work: Annotated[
        str | None,
        option(
            "--work",
            "With --engine spark: folder for values that all nodes can access, such as hdfs:///tmp.",
            INPUT,
            metavar="FOLDER",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        option(
            "-o --output",
            "Write report.html, scores.parquet, summary.json and findings.jsonl to this folder.",
            OUTPUT,
            metavar="FOLDER",
        ),
    ] = None,
    table: _options.Table = "text",
    as_json: _options.AsJson = False,
    fail_on: _options.FailOn = None,
    threads: _options.Threads = None,
    quiet: _options.Quiet = False,
) -> None:
    """Score run files against the truth: means with intervals, comparisons, and problems of the files.

    With the folder of a fold of sequences, the files hold generated sequences: sequence_id, position, item_id.

    Example: recassay score truth.parquet runs/ -m "ndcg@10 recall@20" --baseline popular
    """
    quiet = quiet or as_json
    from recassay.api.score import score as score_runs
    from recassay.data.fold_files import TRUTH, identity_of, is_sequence_fold
    from recassay.data.io.manifest import require_own_folder
    from recassay.engine.lists.until import Until
    from recassay.engine.options import ConventionOptions, Execution, GroupOptions, ReadOptions
    from recassay.stats.intervals import Uncertainty

    if engine == "spark":
        from recassay.backends.spark.score import sources_of
    else:
        from recassay.data.io import run_sources as sources_of  # type: ignore[assignment]

    truth, train = _runs.of_fold(truth, train)
    systems = dict(sources_of(runs))
    if baseline is not None:
        require_known(baseline, systems, "U108", f"'{baseline}' is not known", where="--baseline")
    shared, own = _runs.columns_by_run(columns, systems) if columns else (None, {})
    uncertainty = Uncertainty(None if interval == "none" else interval, level, resamples, seed)
    folder, name = Path(truth).parent, Path(truth).name
    sequences = folder if name == TRUTH and is_sequence_fold(folder) else None
    if output is not None:
        require_own_folder(output)
    with _common.progress(quiet) as report:
        if sequences is not None:
            scores = _runs.score_generated(context, sequences, systems, shared, own, uncertainty)
        else:
            scores = score_runs(
                systems,
                truth,
                metric or DEFAULT_METRICS,
                train=train,
                items=items,
                users=users,
                by=by,
                by_item=by_item,
                groups=GroupOptions(smallest_group, correction),
                columns=ReadOptions(
                    shared,
                    truth_columns,
                    input_format,
                    nan,
                    negative,
                    train_columns,
                    own,
                    users_columns,
                    items_columns,
                ),
                profile=profile,
                relevant_from=relevant_from,
                conventions=ConventionOptions(missing, no_relevant, order, ties, precision, duplicates),  # type: ignore[arg-type]
                interval=uncertainty,
                within=None if within is None else Until(within, strata),
                first_hits=output is not None,
                execution=Execution(engine, memory, work, threads, report),  # type: ignore[arg-type]
            )
        comparison = None
        # a test needs a number of users fixed in advance
        if len(systems) > 1 and scores.unit_metrics and within is None:
            from recassay.api.compare import compare

            comparison = compare(
                scores, baseline=baseline, test=test, correction=correction, level=level, seed=seed, threads=threads
            )  # fmt: skip
    where = {**identity_of(truth), **({} if sequences is None else PLACE)}
    _common.show_scores(scores, comparison, where, output, table, as_json)
    _common.fail_on(fail_on, scores.findings)
