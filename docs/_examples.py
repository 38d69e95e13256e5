"""Runs the examples of a page and writes what they print back into it.

Two kinds of fenced block are examples. In a ``console`` block every line ``$ recassay ...`` is run, and the lines up to
the next ``$`` are its output. A ``python`` block is run, in one namespace per page, and a ``text`` block right behind it
is what it prints. Output that is shown with ``...`` in it stays as it is while it still fits. A block whose first line
goes on with a path, ``python src/recassay/rng.py``, shows that file, which the commands behind it find under that path.
A block whose first line goes on with ``spark`` is run where Spark can run. Other blocks are left alone.

Every page starts in a folder of its own that holds ``recassay-demo``, as ``recassay demo`` leaves it.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib.util
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent
DEMO = "recassay demo"
HOME = "/home/you/study"  # where the reader is said to be
SHELL = {"cat", "head", "ls"}
FENCE = re.compile(r"^```([^`\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class ExampleError(Exception):
    """An example that does not run."""


@dataclass
class Workshop:
    """The demo, made once, and a fresh folder with a copy of it for every page."""

    base: Path
    demo_output: str = ""

    @classmethod
    @contextlib.contextmanager
    def opened(cls) -> Iterator[Workshop]:
        """Open a workshop in a temporary folder that is removed afterwards."""
        spark_before = spark_is_there()
        with tempfile.TemporaryDirectory(prefix="recassay-docs-") as folder:
            shop = cls(Path(folder) / "base")
            shop.base.mkdir()
            with inside(shop.base):
                status, shop.demo_output = run_recassay(shlex.split(DEMO)[1:])
            if status:
                raise ExampleError(f"recassay demo ended with status {status}:\n{shop.demo_output}")
            try:
                yield shop
            finally:
                if not spark_before and spark_is_there():
                    sys.modules["pyspark.sql"].SparkSession.getActiveSession().stop()

    def refreshed(self, text: str, page: str) -> str:
        """Return the page with every output as its example prints it now."""
        with tempfile.TemporaryDirectory(prefix="recassay-page-") as folder:
            shutil.copytree(self.base, folder, dirs_exist_ok=True)
            with inside(Path(folder)):
                return Page(text, page, self.demo_output).refreshed()


@dataclass
class Page:
    """One page while its examples are run, top to bottom."""

    text: str
    name: str
    demo_output: str
    status: int = 0
    namespace: dict[str, object] = field(default_factory=lambda: {"__name__": "__main__"})
    printed: str | None = None

    def refreshed(self) -> str:
        """Return the page with fresh outputs."""
        parts, end = [], 0
        for block in FENCE.finditer(self.text):
            between, (language, body) = self.text[end : block.start()], block.groups()
            follows = not between.strip()
            parts += [between, f"```{language}\n{self._fresh(language, body, follows)}```"]
            end = block.end()
        return "".join([*parts, self.text[end:]])

    def _fresh(self, language: str, body: str, follows: bool) -> str:
        if language == "text" and follows and self.printed is not None:
            shown = fitting(body, self.printed)
            self.printed = None
            return shown
        self.printed = None
        language, _, path = language.partition(" ")
        if path == "spark" and can_run_spark():
            let_spark_follow(Path.cwd())
            path = ""
        if path and (ROOT / path).is_file():
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            return Path(shutil.copy(ROOT / path, path)).read_text(encoding="utf-8")
        if path:
            return body
        if language == "console":
            return "".join(self._ran(command, output, told="$ echo $?" in body) for command, output in commands(body))
        if language == "python":
            self.printed = self._executed(body)
        return body

    def _executed(self, code: str) -> str:
        out = io.StringIO()
        try:
            with contextlib.redirect_stdout(out):
                exec(compile(code, self.name, "exec"), self.namespace)
        except Exception as error:
            raise ExampleError(f"{self.name}: this block raises {type(error).__name__}: {error}\n{code}") from error
        return tidy(out.getvalue())

    def _ran(self, command: str, shown: str, *, told: bool) -> str:
        """Return a command and its output; a command that fails must be in a block that states the exit status."""
        words = shlex.split(command.replace("\\\n", " "))
        if command == "echo $?":
            fresh = f"{self.status}\n"
        elif words[0] == "recassay":
            fresh = self._recassay(words)
            if self.status and not told:
                raise ExampleError(f"{self.name}: status {self.status} from {command}\n{fresh}")
        elif words[0] in SHELL:
            done = subprocess.run(words, capture_output=True, text=True, check=True)
            fresh = tidy(done.stdout)
        else:
            return f"$ {command}\n{shown}"
        return f"$ {command}\n{fitting(shown, fresh)}"

    def _recassay(self, words: list[str]) -> str:
        if words == shlex.split(DEMO):
            self.status = 0
            return self.demo_output
        target = words[-1] if words[-2:-1] == [">"] else None
        self.status, output = run_recassay(words[1:-2] if target else words[1:])
        output = output.replace(str(Path.cwd()), HOME)
        if target is None:
            return output
        Path(target).write_text(output)
        return ""


def uses_spark(text: str) -> bool:
    """Return whether a page has examples for Spark."""
    return any(block.group(1).endswith(" spark") for block in FENCE.finditer(text))


def can_run_spark() -> bool:
    """Whether there are Java and PySpark."""
    java = shutil.which("java") or os.environ.get("JAVA_HOME")
    return bool(java) and importlib.util.find_spec("pyspark") is not None


def spark_is_there() -> bool:
    """Whether somebody in this process has a session."""
    return "pyspark.sql" in sys.modules and sys.modules["pyspark.sql"].SparkSession.getActiveSession() is not None


def let_spark_follow(folder: Path) -> None:
    """Spark finds relative paths in this folder; Java itself stays where it was started, which must be a place to stay."""
    from recassay.backends.spark.session import spark_session

    with contextlib.chdir(ROOT):
        context = spark_session().sparkContext
    files = context._jvm.org.apache.hadoop.fs
    files.FileSystem.get(context._jsc.hadoopConfiguration()).setWorkingDirectory(files.Path(str(folder)))


def commands(body: str) -> Iterator[tuple[str, str]]:
    """Each command of a console block, without the prompt, and the output shown below it."""
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        lines = part.splitlines(keepends=True)
        size = 1 + next(i for i, line in enumerate(lines) if not line.rstrip("\n").endswith("\\"))
        yield "".join(lines[:size]).rstrip("\n"), "".join(lines[size:])


def fitting(shown: str, fresh: str) -> str:
    """Return the output as shown if it matches what is printed now (``...`` matches anything), else the fresh one."""
    agree = doctest.OutputChecker().check_output(shown, fresh, doctest.ELLIPSIS)
    return shown if agree else fresh


def tidy(output: str) -> str:
    """Output without blanks at the ends of lines, blank lines at its ends, and what only a first run says."""
    lines = [line.rstrip() for line in output.splitlines() if not line.startswith("Compiling kernels")]
    return "\n".join(lines).strip("\n") + "\n" if any(lines) else ""


def run_recassay(arguments: list[str]) -> tuple[int, str]:
    """Exit status and output, standard error too, of the command line in this process."""
    from recassay.cli import main

    out, status = io.StringIO(), 0
    with (
        mock.patch.object(sys, "argv", ["recassay", *arguments]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(out),
    ):
        try:
            main()
        except SystemExit as stop:
            status = int(stop.code or 0)
    return status, tidy(out.getvalue())


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    """In this folder, with a plain environment, so that the same page prints the same everywhere."""
    before = Path.cwd()
    unset = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "FORCE_COLOR", "NO_COLOR")}
    with mock.patch.dict(os.environ, {**unset, "TERM": "dumb", "LC_ALL": "C"}, clear=True):
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)
