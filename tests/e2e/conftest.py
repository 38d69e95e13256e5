"""A browser and the report page of a study; without a browser these tests are skipped."""

from __future__ import annotations

import shutil

import pytest

from recassay.study.run.study import run_study

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
HOSTILE = "<img src=x onerror=alert(1)>"
STUDY = f"""
study: {HOSTILE!r}
about: "Who wins? </script><script>alert(2)</script>"
data:
  - {{name: one, generate: "log(users=60, items=40, events=1200, seed=1)"}}
  - {{name: two, generate: "log(users=50, items=40, events=1000, seed=2)"}}
split: random(test=0.2)
models:
  {HOSTILE!r}: Popular
  random: Random
  svd: PureSVD(factors=5)
metrics: ndcg@5, ndcg@10, recall@10, mrr
designs: [lists, TI-AR-AN, TI-1R-NN(9)]
experiments: [percentiles, sparsity(steps=3)]
judge: {{resamples: 200}}
"""


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="the browser's driver is missing: pip install playwright"
    )
    if BROWSER is None:
        pytest.skip("there is no browser to read the page with: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def study(browser, tmp_path_factory):
    """Run a study whose name and one of whose system names are HTML markup; return its folder."""
    home = tmp_path_factory.mktemp("study")
    (home / "study.yaml").write_text(STUDY, encoding="utf-8")
    run_study(home / "study.yaml", home / "out")
    return home / "out"


class RecordedPage:
    """A page with all its network requests and console messages."""

    def __init__(self, page):
        self.page, self.requests, self.messages = page, [], []
        page.on("request", lambda one: self.requests.append(one.url))
        page.on("console", lambda one: self.messages.append(one.text))
        page.on("pageerror", lambda one: self.messages.append(str(one)))
        page.on("dialog", lambda one: (self.messages.append(one.message), one.dismiss()))

    def shown(self, selector):
        """Return the visible elements."""
        return self.page.locator(selector).locator("visible=true").all()

    def choose(self, name, value):
        self.page.select_option(f"select[name={name}]", value)


@pytest.fixture
def opened(browser):
    """Return a function that opens a file in the browser."""
    contexts = []

    def open_(path, *, width=1280, scheme="light", **more):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **more)
        contexts.append(context)
        recorded = RecordedPage(context.new_page())
        recorded.page.goto(path.resolve().as_uri())
        return recorded

    yield open_
    for context in contexts:
        context.close()
