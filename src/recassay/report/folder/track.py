"""Results sent to a tracker: MLflow, or a CSV file that grows. Sending a folder again changes nothing.

In MLflow a folder of results is a run, with a run below it for every system on every data set, split, design and seed.
"""

from __future__ import annotations

import hashlib
import math
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from recassay._version import __version__
from recassay.data.io import write_text
from recassay.errors import InputError
from recassay.optional import need
from recassay.report.content.csv_text import csv_text
from recassay.report.folder.results import PAGE, SUMMARY, ResultFolder, read_results
from recassay.results.score_set import AXES
from recassay.results.scores import Scores

DIGEST, KIND, PARENT, NAME = "recassay.digest", "recassay.kind", "mlflow.parentRunId", "mlflow.runName"
NUMBERS = ("mean", "low", "high", "n")
LONGEST = 500  # characters of a parameter, and of the text of a finding
MOST = 100  # parameters of a call
UNTRACKED = re.compile(r"[^\w\-. /]|_at_|_x[0-9a-f]+_", re.ASCII)  # what a name of a tracker cannot hold, and its codes


def tracked_name(metric: str) -> str:
    """Return the name of a metric as a tracker accepts it; :func:`metric_name` returns the metric.

    >>> tracked_name("ndcg@10"), tracked_name("ndcg(gain='exp2')@10")
    ('ndcg_at_10', 'ndcg_x28_gain_x3d__x27_exp2_x27__x29__at_10')
    """
    return UNTRACKED.sub(
        lambda found: "_at_" if found[0] == "@" else "".join(f"_x{ord(letter):x}_" for letter in found[0]), metric
    )


def metric_name(tracked: str) -> str:
    """Return the metric that :func:`tracked_name` wrote.

    >>> metric_name(tracked_name("ndcg(gain='exp2')@10"))
    "ndcg(gain='exp2')@10"
    """
    return re.sub("_at_|_x([0-9a-f]+)_", lambda code: chr(int(code[1], 16)) if code[1] else "@", tracked)


def digest_of(folder: ResultFolder) -> str:
    """Return a digest of the results in a folder; equal results have equal digests."""
    return hashlib.sha256((folder.path / SUMMARY).read_bytes()).hexdigest()[:32]


def track_csv(source: str | Path, path: Path) -> int:
    """Add the rows of a folder of results to a CSV file, unless it has them; return how many were added."""
    folder = read_results(source)
    digest = digest_of(folder)
    names = ["digest", "folder", *AXES, "system", "metric", *NUMBERS]
    rows = [
        {"digest": digest, "folder": folder.path.name, **{name: row.get(name) for name in names[2:]}}
        for row in folder.rows
        if row.get("fold", "all") == "all"
    ]
    table = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), strict=False)
    text = csv_text(table)
    if not path.exists():
        write_text(text, path)
        return table.height
    known = path.read_text(encoding="utf-8")
    head, _, body = text.partition("\n")
    if known.partition("\n")[0] != head:
        hint = "name another file with --uri, or remove this one"
        raise InputError("I318", f"{path.name} has other columns than {head}", where=str(path), hint=hint)
    if f"\n{digest}," in known:
        return 0
    write_text(known + ("" if known.endswith("\n") else "\n") + body, path)
    return table.height


def mlflow_client(uri: str | None) -> Any:
    """Return a client of the MLflow server at an address (None: that of the environment)."""
    return need("mlflow", "mlflow").MlflowClient(tracking_uri=uri)


def track_mlflow(source: str | Path, client: Any, experiment: str) -> tuple[str, bool]:
    """Send a folder of results to MLflow; return the id of its run, and whether anything was sent.

    What an interrupted call left is removed and sent again.
    """
    folder = read_results(source)
    digest = digest_of(folder)
    known = client.get_experiment_by_name(experiment)
    home = client.create_experiment(experiment) if known is None else known.experiment_id
    sent = client.search_runs([home], f"tags.`{DIGEST}` = '{digest}'")
    for run in sent:
        if run.data.tags.get(KIND) == "results" and run.info.status == "FINISHED":
            return run.info.run_id, False
    for run in sent:
        client.delete_run(run.info.run_id)
    about = {DIGEST: digest, "recassay.version": __version__}
    parent = client.create_run(home, tags={**about, KIND: "results", NAME: folder.path.name}).info.run_id
    settings = {"command": folder.command, **_flat_settings(folder.settings), **_flat_settings(folder.lock)}
    _log(client, parent, settings, {}, {})
    for place, rows in _rows_by_place(folder).items():
        name = " ".join(str(part) for part in place if part not in (None, "given"))
        tags = {**about, KIND: "system", PARENT: parent, NAME: name}
        child = client.create_run(home, tags=tags).info.run_id
        where = dict(zip(("system", *AXES), map(str, place), strict=True))
        _log(client, child, where, _numbers(rows), dict(_findings(folder.findings, place[0])))
        client.set_terminated(child)
    for file in (PAGE, SUMMARY):
        if (folder.path / file).is_file():
            client.log_artifact(parent, str(folder.path / file))
    client.set_terminated(parent)
    return parent, True


def _rows_by_place(folder: ResultFolder) -> dict[tuple[Any, ...], list[Mapping[str, Any]]]:
    """Return the rows over all folds, keyed by (system, data set, split, protocol, design, seed)."""
    places: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in folder.rows:
        if row.get("fold", "all") == "all":
            places.setdefault((row["system"], *(row.get(axis) for axis in AXES)), []).append(row)
    return places


def log_results(client: Any, run: str, scores: Scores) -> dict[str, float]:
    """Log the scores of one system, and the findings (warnings) on it, to a run of MLflow; return {name: number}."""
    numbers = _numbers({"metric": row.metric, **row.to_dict()} for row in scores.rows)
    findings = [finding.to_dict() for finding in scores.findings]
    _log(client, run, {}, numbers, dict(_findings(findings, scores.systems[0])))
    return numbers


def _numbers(rows: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Return mean, bounds and number of users of each metric, keyed by a name that a tracker accepts."""
    return {
        tracked_name(row["metric"]) + ("" if key == "mean" else f".{key}"): float(row[key])
        for row in rows
        for key in NUMBERS
        if row.get(key) is not None and not math.isnan(row[key])
    }


def _findings(findings: Iterable[Mapping[str, Any]], system: str) -> Iterator[tuple[str, str]]:
    """Yield (name, text) of an MLflow tag for each finding (warning) about ``system`` or about all systems."""
    for finding in findings:
        if not finding.get("system") or system in finding["system"].split(", "):
            text = f"{finding['severity']}: {finding['title']}. {finding['detail']}"
            yield f"finding.{finding['code']}", text[:LONGEST]


def _flat_settings(settings: Mapping[str, Any], head: str = "") -> dict[str, str]:
    """Return nested settings as a flat mapping of texts, with names such as ``judge.level``; ``head`` begins each."""
    flat: dict[str, str] = {}
    for key, value in settings.items():
        flat |= (
            _flat_settings(value, f"{head}{key}.")
            if isinstance(value, Mapping)
            else {f"{head}{key}": str(value)[:LONGEST]}
        )
    return flat


def _log(
    client: Any, run: str, parameters: Mapping[str, str], metrics: Mapping[str, float], tags: Mapping[str, str]
) -> None:
    now = int(time.time() * 1000)
    names = list(parameters)
    entities = need("mlflow", "mlflow").entities
    for begin in range(0, max(1, len(names)), MOST):
        some = [entities.Param(tracked_name(name), parameters[name]) for name in names[begin : begin + MOST]]
        client.log_batch(run, params=some)
    client.log_batch(
        run,
        metrics=[entities.Metric(name, value, now, 0) for name, value in metrics.items()],
        tags=[entities.RunTag(name, text) for name, text in tags.items()],
    )
