"""``recassay watch``: live evaluation of a recommender while people use it."""

import re
import signal
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from recassay.cli import _common, _options
from recassay.cli._options import OUTPUT, STATISTICS, option
from recassay.errors import UsageError

if TYPE_CHECKING:
    from recassay.live.watcher import Watcher

EVENTS, DECISION, TEST = "Events", "Decision", "Simulation"
METRICS = "ndcg@10 hit@10 mrr@10 precision@10 recall@10 map@10"
Value = TypeVar("Value")
NUMBER, LIMITS = "a number, as in NAME=NUMBER", "a pair of limits, as in METRIC=LOW:HIGH"
SHOW_EVERY = 1.0  # seconds between two live tables


def watch(
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SOURCE]...",
            help="Files or folders that grow, - for standard input, redis://HOST:PORT/DB?stream=NAME or "
            "kafka://HOST:PORT/TOPIC. Each is a partition; a topic has its own.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        option(
            "-o --output", "Folder for the state and the results; a stopped watch resumes there.", OUTPUT, metavar="DIR"
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        option(
            "-m --metric",
            f"Metrics; may be repeated, or quote several.  [default: {METRICS}]",
            STATISTICS,
            metavar="METRIC",
            autocompletion=_options.complete_metrics,
        ),
    ] = None,
    window: Annotated[
        str, option("--window", "How long after an exposure its feedback counts.", EVENTS, metavar="TIME")
    ] = "30m",
    lateness: Annotated[
        str,
        option(
            "--lateness",
            "How much older than the newest event of its partition an event may be.",
            EVENTS,
            metavar="TIME",
        ),
    ] = "5m",
    idle: Annotated[
        str, option("--idle", "Stop waiting for a partition after this long without events.", EVENTS, metavar="TIME")
    ] = "1m",
    segment: Annotated[
        list[str] | None,
        option("--segment", "Field of exposures by which means are shown; may be repeated.", EVENTS, metavar="FIELD"),
    ] = None,
    items: Annotated[
        str | None, option("--items", "Item features, for diversity and coverage.", EVENTS, metavar="FILE")
    ] = None,
    train: Annotated[
        str | None, option("--train", "Training log, for novelty and for --model.", EVENTS, metavar="LOG")
    ] = None,
    model: Annotated[
        list[str] | None,
        option(
            "--model",
            "Model to judge on interactions: it recommends before each, and then learns it; such as "
            '"new=ISGD(factors=20)", mine.py:MyModel() or a file of recassay fit. May be repeated.',
            EVENTS,
            metavar="[NAME=]MODEL",
            autocompletion=_options.complete_models,
        ),
    ] = None,
    kinds: Annotated[
        str | None,
        option(
            "--kinds",
            "Kinds of feedback that count, with their gains, such as click=1,buy=3.  [default: all, 1]",
            EVENTS,
            metavar="KIND=GAIN,...",
        ),
    ] = None,
    max_items: Annotated[
        int, option("--max-items", "Most items of a list; longer lists are rejected.", EVENTS, metavar="N", min=1)
    ] = 1000,
    replay: Annotated[
        bool,
        option(
            "--replay",
            "Read everything, close all windows, and exit; results have the same bits as a live watch.",
            EVENTS,
        ),
    ] = False,
    once: Annotated[bool, option("--once", "Read new events, print the table, and exit.", EVENTS)] = False,
    journal: Annotated[
        Path | None,
        option(
            "--journal",
            "With --replay: folder of a live watch; deliveries that were late there are late here.",
            EVENTS,
            metavar="DIR",
        ),
    ] = None,
    unit: Annotated[
        str,
        _options.choice(
            "--unit", "What is assigned to an arm, and counts as one observation", ("user", "exposure"), STATISTICS
        ),
    ] = "user",
    user_window: Annotated[
        str,
        option(
            "--user-window", "Count a user's exposures within this time after the first.", STATISTICS, metavar="TIME"
        ),
    ] = "1d",
    every: Annotated[
        str, option("--every", "Length of a period; bounds are updated at the end of each.", STATISTICS, metavar="TIME")
    ] = "5m",
    share: Annotated[
        str | None,
        option(
            "--share", "Shares of the arms, such as old=9,new=1.  [default: equal]", STATISTICS, metavar="ARM=SHARE,..."
        ),
    ] = None,
    control: Annotated[
        str | None,
        option("--control", "Arm that the others are compared with.  [default: all pairs]", STATISTICS, metavar="ARM"),
    ] = None,
    level: _options.Level = 0.95,
    limits: Annotated[
        str | None,
        option(
            "--limits",
            "Range of a metric without a fixed one, such as novelty@10=0:20.",
            STATISTICS,
            metavar="METRIC=LOW:HIGH,...",
        ),
    ] = None,
    until: Annotated[
        list[str] | None,
        option(
            "--until",
            'Stop when a claim is established, such as "ndcg@10: new > old"; or a YAML file of rules.',
            DECISION,
            metavar="RULE",
        ),
    ] = None,
    notify: Annotated[
        str | None,
        option(
            "--notify",
            "URL to which each decision is posted as JSON with a text, as chats take it; the URL is not stored.",
            DECISION,
            metavar="URL",
            envvar="RECASSAY_NOTIFY",
        ),
    ] = None,
    http: Annotated[
        str | None,
        option(
            "--http",
            "Address at which to serve the page, /metrics, /health and /api until Ctrl-C, such as :8000.",
            OUTPUT,
            metavar="[HOST]:PORT",
        ),
    ] = None,
    simulate: Annotated[
        str | None,
        option(
            "--simulate",
            "Watch simulated users instead, such as days=3,effect=0.15,drift=0.2,outage=1h.",
            TEST,
            metavar="SETTINGS",
        ),
    ] = None,
    to: Annotated[
        str | None,
        option(
            "--to",
            "With --simulate: write the events to this file, redis:// or kafka:// instead.",
            TEST,
            metavar="SOURCE",
        ),
    ] = None,
    rate: Annotated[float | None, option("--rate", "With --simulate: events a second.", TEST, metavar="N")] = None,
    as_json: _options.AsJson = False,
    fail_on: _options.FailOn = None,
    quiet: _options.Quiet = False,
) -> None:
    """Watch a running recommender: compare arms with bounds that are valid at any time.

    It runs until the sources end, a rule is decided, or it is stopped. The status is 1 if a rule of harm was decided.

    Example: recassay watch --simulate days=2 --until "hit@10: new > old" -o watched
    """
    from recassay.live.attached import AttachedModels, read_models
    from recassay.live.settings import read_rules
    from recassay.live.simulate import Simulation
    from recassay.live.watch import build_context, build_settings

    simulation = None if simulate is None else Simulation.parse(simulate)
    _check(sources, simulation, to, output, journal, replay)
    if simulation is not None and to is not None:
        from recassay.live.opening import write_events

        written = write_events(simulation.batches(), to, rate)
        _common.say(f"{written:,} events are in {to}")
        return
    settings = build_settings(
        " ".join(metric) if metric else METRICS,
        tuple(rule for one in until or () for rule in read_rules(one)),
        window=window, lateness=lateness, idle=idle, segments=segment or (), unit=unit, user_window=user_window,
        every=every, shares=by_name(share, "--share", _number, NUMBER), alpha=round(1 - level, 12),
        gains=by_name(kinds, "--kinds", _number, NUMBER), max_items=max_items,
        limits=by_name(limits, "--limits", _range, LIMITS), control=control,
    )  # fmt: skip
    from recassay.live.watcher import Watcher

    context = build_context(items, train)
    models = AttachedModels(read_models(model or []), context.train)
    watcher = Watcher(settings, output, context=context, journal=journal, models=models)
    try:
        _run(watcher, sources, simulation, rate, replay, once, notify, http, as_json or quiet)
        _end(watcher, output, as_json, fail_on)
    finally:
        watcher.close()


def _check(
    sources: list[str] | None, simulation: Any, to: str | None, output: Path | None, journal: Path | None, replay: bool
) -> None:
    """Raise U254 for options of the command that contradict each other."""

    if bool(sources) == (simulation is not None):
        what = "sources and --simulate were both given" if sources else "no source of events was named"
        raise UsageError("U254", what, hint="name a file, a folder, redis://, kafka:// or -; or say --simulate days=3")
    if journal is not None and not (sources and replay):
        what = "a journal belongs to a replay of the events that were watched"
        raise UsageError("U254", what, where=f"--journal {journal}", hint="name their files, and add --replay")
    if to is not None and simulation is None:
        raise UsageError("U254", "--to writes simulated events", where=f"--to {to}", hint="add --simulate days=3")
    if output is None and sources and any("://" in one for one in sources):
        raise UsageError("U254", "a stream needs a folder for its state", where=sources[0], hint="add -o DIR")


def _run(
    watcher: "Watcher", sources: Any, simulation: Any, rate: float | None, replay: bool, once: bool, notify: str | None,
    http: str | None, quiet: bool,
) -> None:  # fmt: skip
    """Read and evaluate events until the sources end or the user stops, showing results as the options say.

    The results are shown in a live table, or by a web server at the address ``http``.
    """
    from recassay.live.display import live_table
    from recassay.live.notify import Notifier
    from recassay.live.opening import open_sources
    from recassay.live.results import Watched
    from recassay.live.sources import BatchSource
    from recassay.live.watch import Loop

    opened: list[Any] = (
        [BatchSource("simulation", simulation.batches, rate)]
        if simulation is not None
        else open_sources(sources, follow=not (replay or once))
    )
    if watcher.journal is not None:
        watcher.count_deliveries(open_sources(sources, follow=False))
    notifier = Notifier(notify, watcher, _common.say) if notify else None
    server: Any = None
    live: Any = None
    last_shown = 0.0

    def update(watcher: "Watcher") -> bool:
        """Show the results after a commit; return whether a rule was decided, which ends a watch without a server."""
        nonlocal last_shown
        if notifier is not None:
            notifier.send()
        decided = bool(watcher.tally.evidence.decisions)
        if time.monotonic() - last_shown >= SHOW_EVERY or decided or watcher.finished:
            last_shown, results = time.monotonic(), Watched(watcher)
            if live is not None:
                live.update(live_table(results), refresh=True)
            if server is not None:
                server.publish(results)
        return decided and server is None

    with ExitStack() as outputs:
        if http is not None:
            from recassay.live.server import Server

            server = Server(http, notifier)
            server.start()
            outputs.callback(server.stop)
            _common.say(f"Watching at {server.url} (Ctrl-C ends)")
        if notifier is not None:
            outputs.callback(notifier.finish)
        if not quiet and not once and http is None and sys.stdout.isatty():
            from rich.live import Live

            live = outputs.enter_context(Live(console=_common.console(), auto_refresh=False, transient=True))
        finish = replay or simulation is not None
        loop = Loop(watcher, opened, update, once=once, finish=finish, say=_common.say)
        for name in (signal.SIGINT, signal.SIGTERM):
            signal.signal(name, lambda *_: loop.stop())
        loop.run()
        while server is not None and not once and not loop.stopped:  # with the last results, until the user stops it
            if notifier is not None:
                notifier.send()
            time.sleep(0.2)


def _command() -> str:
    """Return the command line without secrets: passwords in the URLs of sources, and the URL of the webhook."""
    return re.sub(r"--notify[ =]\S+", "--notify URL", _common.command_line())


def _end(watcher: "Watcher", output: Path | None, as_json: bool, fail_on: str | None) -> None:
    """Print the results, and write them if there is an output folder.

    Exit with status 1 if an arm was found to be harmful, or if a finding is at least as severe as ``fail_on``.
    """
    from recassay.live.results import Watched

    found = Watched(watcher)
    if output is not None and found.arms:
        found.write(output, command=_command())
    from recassay.live.display import live_table

    _common.show(as_json, found.to_dict, lambda: live_table(found))
    if output is not None and not as_json:
        _common.say(f"State and results are in {output}")
    if any(decision["harm"] for decision in found.decisions):
        raise typer.Exit(1)
    _common.fail_on(fail_on, found.findings)


def by_name(text: str | None, option: str, read: Callable[[str], Value], what: str) -> dict[str, Value]:
    """Return ``{"a": 1.0, "b": 2.0}`` for the text ``a=1,b=2``, where ``read`` returns the value of each part.

    Raise U107 for a value that is not ``what`` the option takes.
    """
    values = {}
    for part in filter(None, (text or "").split(",")):
        name, value = part.rsplit("=", 1) if "=" in part else (part, "")
        try:
            values[name.strip()] = read(value)
        except ValueError:
            raise UsageError("U107", f"{value!r} is not {what}", where=f"{option} {text}") from None
    return values


def _number(text: str) -> float:
    """Return a number; 1 for an empty text."""
    return float(text or 1)


def _range(text: str) -> tuple[float, float]:
    """Return the lowest and the highest value of a text such as ``0:20``."""
    low, high = text.split(":")
    return float(low), float(high)
