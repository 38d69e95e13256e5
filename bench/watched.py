"""A command as a process of its own: its answer, its time limit, and what it and its children took of the machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

EVERY = 0.5  # seconds between two looks
TICK = os.sysconf("SC_CLK_TCK")
REASON = 160  # letters of an error that are shown


@dataclass(frozen=True)
class Watched:
    """What came of a command. ``peak`` is in bytes, of all its processes; ``failed`` says why there is no answer."""

    answer: Mapping[str, Any]
    peak: int
    processor: Mapping[str, float]  # seconds by program
    failed: str | None = None


@dataclass
class Watch:
    """Looks at the processes of a session, which is what a command and all that it starts have in common."""

    session: int
    peak: int = 0
    ticks: dict[tuple[int, str], tuple[str, int]] = field(default_factory=dict)  # by process

    def look(self) -> None:
        """Add what the processes take now."""
        now = 0
        for process, fields in self._processes():
            program = "java" if fields[1] == "java" else "python"
            self.ticks[process, fields[21]] = program, int(fields[13]) + int(fields[14])
            now += _resident(process)
        self.peak = max(self.peak, now)

    def processor(self) -> dict[str, float]:
        """Seconds by program, up to the last look at each process."""
        found: defaultdict[str, float] = defaultdict(float)
        for program, ticks in self.ticks.values():
            found[program] += ticks / TICK
        return dict(found)

    def kill(self) -> None:
        """End all processes of the session."""
        for process, _ in self._processes():
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue

    def _processes(self) -> list[tuple[int, list[str]]]:
        found = []
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                try:
                    text = (folder / "stat").read_text()
                except OSError:
                    continue
                name, rest = text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 2 :].split()
                fields = [folder.name, name, *rest]
                if int(fields[5]) == self.session:
                    found.append((int(folder.name), fields))
        return found


def _resident(process: int) -> int:
    """Bytes in memory; what several processes share is divided among them."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:")), 0)


def watched(command: Sequence[str], limit: float, environment: Mapping[str, str] | None = None) -> Watched:
    """Run a command that prints its answer as one line of JSON, for at most so many seconds."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(
            command, stdout=out, stderr=err, start_new_session=True, env=os.environ | dict(environment or {})
        )
        watch, end = Watch(process.pid), time.monotonic() + limit
        while process.poll() is None and time.monotonic() < end:
            watch.look()
            time.sleep(EVERY)
        late = process.poll() is None
        watch.kill()
        process.wait()
        failed = f"not done after {limit:,.0f} s" if late else _reason(process.returncode, err)
        answer = {} if failed else json.loads(_text(out).splitlines()[-1])
    return Watched(answer, max(watch.peak, answer.get("peak", 0)), watch.processor(), failed)


def _reason(code: int, err: Any) -> str | None:
    if not code:
        return None
    lines = [line.strip() for line in _text(err).splitlines() if line.strip()]
    spoken = [line for line in lines if not line.startswith("at ")]  # not the stack of the virtual machine
    named = [line for line in spoken if "Error" in line or "Exception" in line] or spoken or [f"ended with {code}"]
    return named[-1][:REASON]


def _text(file: Any) -> str:
    file.seek(0)
    text: str = file.read()
    return text
