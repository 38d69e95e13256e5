"""Explanations of errors of a live evaluation."""

from __future__ import annotations

from recassay.errors.advice.base import Advice

ADVICE: dict[str, Advice] = {
    "U251": Advice(
        "The folder was written with other settings, and results under different settings cannot be combined.",
        "Keep the settings, or choose another folder with `-o`. Rules and `--idle` may change.",
    ),
    "U252": Advice(
        "The state of a watch is open in another process, which would count events twice.",
        "Stop the other `recassay watch`, or choose another folder with `-o`.",
    ),
    "U253": Advice(
        "A file is not the state of a watch, a newer recassay wrote it, or a disk has changed it since: every row has "
        "a checksum, and the file is checked before anything in it is believed.",
        "Give the folder that `recassay watch -o` wrote, or update recassay. In place of a damaged file put a copy, or "
        "read the events again into another folder.",
    ),
    "U254": Advice(
        "A source of events is missing, unknown, gone, or does not answer.",
        "Name a file, a folder, `-`, `redis://HOST:6379/0?stream=NAME` or `kafka://HOST:9092/TOPIC`.",
    ),
    "U255": Advice(
        "A rule of `--until` cannot be read.",
        'Write `--until "ndcg@10: new > old + 0.01"`, or a YAML file with a list of such lines or of mappings.',
    ),
    "X103": Advice(
        "Events of a watch were received that no bin counts, or that two count.",
        "Please report it. The state of the last commit is unharmed.",
    ),
}
