"""The site shows every page as it was written, and its own check would see a page that it does not."""

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
if str(DOCS) not in sys.path:
    sys.path.insert(0, str(DOCS))

import _rendering  # noqa: E402

BLOCK = "<pre><code>study: first\n</code></pre>"
HEADING = '<h2 id="a">The command <code>run</code><a class="headerlink" href="#a">¶</a></h2>'
SOURCE = "## The command `run`\n\nShort:\n\n```yaml studies/first.yaml\nstudy: first\n```\n"


def test_a_fence_that_shows_a_file_gets_its_path_as_title():
    assert '```yaml title="studies/first.yaml"\nstudy: first\n```' in _rendering.for_site(SOURCE)


def test_a_fence_within_a_fence_is_left_as_it_is():
    page = "```text\n``python raises\n1 / 0\n```\n"
    assert _rendering.for_site(page) == page


def test_a_page_rendered_as_written_has_no_problem():
    assert _rendering.problems(SOURCE, f"{HEADING}<p>Short:</p>{BLOCK}") == []


@pytest.mark.parametrize(
    ("html", "problem"),
    [
        (
            f"{HEADING}<p>Short:</p><p><code>yaml studies/first.yaml study: first</code></p>",
            "1 code blocks are fenced",
        ),
        (f"{HEADING}<h1>A comment</h1>{BLOCK}", "headings that the source does not have: ['A comment']"),
        (BLOCK, "1 headings are written and 0 rendered"),
        (f"{HEADING}<p>Short:\n```</p>{BLOCK}", "left in the text: '```'"),
        (f"{HEADING}<p>Table:\n| a | b |\n| --- | --- |</p>{BLOCK}", "left in the text: '| a | b |'"),
        (f"{HEADING}<p>List:\n- <code>a</code></p>{BLOCK}", "left in the text: '- code'"),
    ],
)
def test_the_check_sees(html, problem):
    assert problem in " ".join(_rendering.problems(SOURCE, html))


def test_marks_within_code_and_cells_are_no_problem():
    html = "<p>See <code>- a</code></p><table><tr><td>1. first</td></tr></table>"
    assert _rendering.problems("See `- a`\n", html) == []


@pytest.mark.pages
def test_the_site_shows_every_page_as_written(tmp_path, monkeypatch):
    if not os.environ.get("CI"):
        pytest.importorskip("mkdocs", reason="the site needs mkdocs-material: pip install --group site")
    monkeypatch.setenv("NO_MKDOCS_2_WARNING", "1")
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(tmp_path)))  # its hook ends at the first wrong page
    shown = (tmp_path / "howto/run-a-study/index.html").read_text(encoding="utf-8")
    assert 'class="filename">studies/first.yaml<' in shown
