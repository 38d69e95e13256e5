"""The documentation keeps up with the program: nothing stale, nothing left out, no dead link, every example runs."""

import inspect
import re
import sys
from pathlib import Path

import pytest
import typer.main

import recassay as ra
from recassay.checks.base import CHECKS
from recassay.cli import build_app
from recassay.data.io import FORMATS
from recassay.errors import explanations
from recassay.metrics.registry import METRICS
from recassay.profiles import PROFILES

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
REFERENCE = DOCS / "reference"
if str(DOCS) not in sys.path:
    sys.path.insert(0, str(DOCS))

import _examples  # noqa: E402
import _notebooks  # noqa: E402
import generate  # noqa: E402

PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
WRITTEN = generate.written()
# Those with examples for Spark are in tests/spark/test_pages.py.
RUN_HERE = [
    pytest.param(path, marks=[pytest.mark.path] if path.name == "README.md" else [])
    for path in WRITTEN
    if not _examples.uses_spark(path.read_text(encoding="utf-8"))
]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def name(path):
    return str(path.relative_to(ROOT))


@pytest.fixture(scope="module")
def workshop():
    with _examples.Workshop.opened() as shop:
        yield shop


@pytest.fixture(scope="module")
def generated():
    return generate.generated()


@pytest.mark.pages
@pytest.mark.parametrize("path", sorted(generate.generated_paths()), ids=name)
def test_a_generated_page_is_fresh(path, generated):
    assert path.read_text(encoding="utf-8") == generated[path], "run: make docs"


def test_every_generated_page_is_there(generated):
    assert generated.keys() == generate.generated_paths()


@pytest.mark.pages
@pytest.mark.parametrize("script", _notebooks.scripts(), ids=name)
def test_a_notebook_shows_what_its_script_prints(script):
    notebook = script.with_suffix(".ipynb")
    assert notebook.read_text(encoding="utf-8") == _notebooks.notebook(script), "run: make docs"


@pytest.mark.pages
@pytest.mark.parametrize("path", RUN_HERE, ids=name)
def test_every_example_prints_what_the_page_shows(path, workshop):
    text = path.read_text(encoding="utf-8")
    assert workshop.refreshed(text, name(path)) == text, "run: make docs"


def test_the_check_names_a_stale_page_and_fails(tmp_path, monkeypatch, capsys):
    page = tmp_path / "page.md"
    page.write_text("old")
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    monkeypatch.setattr(generate, "fresh", lambda places: iter([(page, "new")]))
    assert generate.main(["--check"]) == 1
    assert (capsys.readouterr().out, page.read_text()) == ("stale: page.md\n", "old")
    assert generate.main([]) == 0
    assert page.read_text() == "new"
    assert generate.main(["--check"]) == 0


def test_an_example_that_no_longer_prints_this_is_written_again(workshop):
    page = "```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n"
    assert workshop.refreshed(page, "page") == page.replace("3\n", "2\n")
    page = "```console\n$ recassay --version\nrecassay of old\n```\n"
    assert "recassay 0." in workshop.refreshed(page, "page")
    with pytest.raises(_examples.ExampleError, match="status 2"):
        workshop.refreshed("```console\n$ recassay explain nothing-of-the-kind\n```\n", "page")
    with pytest.raises(_examples.ExampleError, match="ZeroDivisionError"):
        workshop.refreshed("```python\n1 / 0\n```\n", "page")


def headings(page):
    text = (REFERENCE / page).read_text(encoding="utf-8")
    return re.findall(r"^#+ (.*)$", text, re.MULTILINE)


def test_every_name_has_its_entry():
    assert set(METRICS.built_in) <= set(headings("metrics.md"))
    assert set(PROFILES.kinds) <= set(headings("profiles.md"))
    assert set(CHECKS.built_in) <= set(headings("findings.md"))
    assert set(explanations()) <= set(headings("errors.md"))
    formats = (REFERENCE / "formats.md").read_text(encoding="utf-8")
    assert [one for one in FORMATS.built_in if f"`{one}`" not in formats] == []
    python = (REFERENCE / "python.md").read_text(encoding="utf-8")
    families = [ra.models, ra.models.incremental, ra.models.sequence]
    classes = {name for family in families for name in family.__all__ if inspect.isclass(getattr(family, name))}
    assert [name for name in classes if f"| `{name}(" not in python] == []


def test_every_parameter_of_a_metric_is_in_its_entry():
    text = (REFERENCE / "metrics.md").read_text(encoding="utf-8")
    entries = dict(re.findall(r"^### (\S+)\n(.*?)(?=^##)", text, re.MULTILINE | re.DOTALL))
    for one, kind in METRICS.built_in.items():
        assert [parameter for parameter in kind.defaults() if f"`{parameter}`" not in entries[one]] == [], one


def test_every_command_and_option_is_in_the_page_with_help():
    text = (REFERENCE / "cli.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## recassay (\S+)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    commands = typer.main.get_command(build_app()).commands
    assert sections.keys() == commands.keys()
    for command, found in commands.items():
        assert found.help, command
        for parameter in found.params:
            assert parameter.help, (command, parameter.name)
            for option in parameter.opts:
                known = option if option.startswith("-") else (parameter.metavar or option.upper())
                assert known in sections[command], (command, known)


def anchors(path):
    """Anchors of the headings of a page, as they are made where such pages are shown."""
    found = re.findall(
        r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.M | re.S), re.M
    )
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


def test_every_relative_link_leads_somewhere():
    for path in PAGES:
        for link in LINK.findall(CODE.sub("", path.read_text(encoding="utf-8"))):
            if link.startswith(("http://", "https://", "mailto:")):
                continue
            file, _, anchor = link.partition("#")
            target = (path.parent / file).resolve() if file else path
            assert target.exists(), f"{link} in {name(path)}"
            assert target.is_relative_to(ROOT), f"{link} in {name(path)} leaves the project"
            if anchor:
                assert anchor in anchors(target), f"{link} in {name(path)}"


def test_every_page_can_be_reached_from_the_readme():
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md" or not page.is_file():
            continue
        reached.add(page)
        links = LINK.findall(CODE.sub("", page.read_text(encoding="utf-8")))
        waiting += [(page.parent / link.partition("#")[0]).resolve() for link in links if ":" not in link]
    assert sorted(name(page) for page in PAGES if page not in reached) == []
