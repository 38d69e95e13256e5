"""Run streams through river's drift detectors and write where they raise alarms to tests/golden/river.json.

python tests/agreement/record_river.py     in an environment with river==0.26.1
"""

from __future__ import annotations

import json
import random
from pathlib import Path

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "river.json"
STREAMS = {"risen": (0.2, 0.6), "fallen": (0.7, 0.3), "still": (0.5, 0.5), "up and down": (0.2, 0.9, 0.2, 0.9)}
PAGE_HINKLEY = [
    {"delta": 0.005, "threshold": 50.0, "fading": 0.9999, "least": 30},
    {"delta": 0.005, "threshold": 10.0, "fading": 1.0, "least": 30},
    {"delta": 0.05, "threshold": 5.0, "fading": 0.99, "least": 100},
]


def losses(means: tuple[float, ...], each: int = 1500) -> list[float]:
    """Zeros and ones of these means, one stretch after the other; the same wherever they are made."""
    draw = random.Random(str(means)).random
    return [float(draw() < mean) for mean in means for _ in range(each)]


def main() -> None:
    from river.drift import ADWIN, PageHinkley

    answers: dict[str, dict[str, list[list[int]]]] = {}
    for name, means in STREAMS.items():
        found = []
        for settings in PAGE_HINKLEY:
            detector = PageHinkley(
                min_instances=int(settings["least"]),
                delta=settings["delta"],
                threshold=settings["threshold"],
                alpha=settings["fading"],
                mode="up",
            )
            found.append(alarms(detector, losses(means)))
        answers[name] = {"PageHinkley": found, "ADWIN": [alarms(ADWIN(), losses(means))]}
    GOLDEN.write_text(json.dumps(answers, indent=1) + "\n")


def alarms(detector: object, stream: list[float]) -> list[int]:
    """Places at which the detector says that there is drift."""
    found = []
    for place, loss in enumerate(stream):
        detector.update(loss)  # type: ignore[attr-defined]
        if detector.drift_detected:  # type: ignore[attr-defined]
            found.append(place)
    return found


if __name__ == "__main__":
    main()
