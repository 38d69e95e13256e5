"""The metrics with curves over time in a study of streams, and their windows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from recassay.naming.grammar import suggest
from recassay.study.config.reading import Reader
from recassay.study.config.schema import Study


def curves_of(reader: Reader, study: Study, metrics: Sequence[str], datasets: Iterable[str]) -> tuple[str, ...]:
    """Return the metrics with curves, the main one first; raise U133 for an unknown metric or data set of a window."""
    curves = study.over_time.metrics or tuple(metrics[:1])
    tuned = study.tune.metric if study.tune else None
    for key, metric in (*(("over_time", one) for one in curves), ("tune", tuned)):
        if metric not in (None, *metrics):
            what = f"there is no metric '{metric}' in the study"
            raise reader.error((key, "metric"), what, suggest(str(metric), metrics))
    windows, known = study.over_time.window, list(datasets)
    for name in windows if isinstance(windows, dict) else ():
        if name not in known:
            what = f"there is no data set '{name}' in the study"
            raise reader.error(("over_time", "window"), what, suggest(name, known))
    return curves
