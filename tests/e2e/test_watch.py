"""The page of a live evaluation in a browser: it updates while events come, on a desktop and on a phone."""

from __future__ import annotations

import json

import polars as pl
import pytest

from recassay.live.events import read_lines, read_table
from recassay.live.results import Watched
from recassay.live.settings import read_rules
from recassay.live.simulate import MONDAY, Simulation
from recassay.live.watch import build_settings
from recassay.live.watcher import Watcher

from .conftest import HOSTILE, RecordedPage

pytest.importorskip("starlette", reason="needs starlette and uvicorn: pip install 'recassay[live]'")
pytest.importorskip("uvicorn", reason="needs starlette and uvicorn: pip install 'recassay[live]'")
pytest.importorskip("prometheus_client", reason="needs prometheus-client: pip install 'recassay[live]'")

from recassay.live.server import Server

OPTIONS = {"user_window": "1h", "idle": "3650d", "segments": ["device"]}


def interactions(n):
    """Interactions with the lists of two models; the name of one of them is HTML markup."""
    return [
        {
            "event": "interaction", "user_id": f"user{at}", "item_id": f"item{at % 7}", "time": MONDAY / 1e6 + 60 * at,
            "arm": model, "items": [f"item{(at * factor) % 11 + place}" for place in range(3)],
        }
        for at in range(n)
        for model, factor in ((HOSTILE, 3), ("pop", 5))
    ]  # fmt: skip


@pytest.fixture(scope="module")
def watched():
    """Return the results of a live evaluation after half of its events, and after all of them."""
    log = pl.concat(Simulation(days=0.4, per_day=4000, users=600, late=0.01).batches())
    taken = read_lines([json.dumps(one).encode() for one in interactions(500)], ["device"])
    found = []
    for part in (log[: log.height // 2], log):
        watcher = Watcher(build_settings("ndcg@10 hit@10 mrr@10", read_rules("hit@10: new > old"), **OPTIONS))
        now = round(part["time"].max() * 1e6)
        watcher.take("shown", read_table(part, ["device"]), now)
        watcher.take("interactions", taken, now)
        watcher.clock.partitions["interactions"].ended = True
        watcher.step(now)
        watcher.commit()
        found.append(Watched(watcher, now))
    return found


@pytest.fixture
def opened(browser, watched):
    """Return a function that opens the page of a server with the first results; the server comes with it."""
    server, contexts = Server(":0"), []
    server.start()
    server.publish(watched[0])

    def open_(width, scheme):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        recorded = RecordedPage(context.new_page())
        recorded.page.goto(server.url)
        recorded.page.get_by_text("Updates as events come.").wait_for()
        return recorded, server

    yield open_
    for context in contexts:
        context.close()
    server.stop()


def received(page):
    return int(page.locator(".lead").inner_text().split(" events")[0].replace(",", ""))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [375, 1400])
def test_the_page_updates_and_fits_and_is_accessible(opened, watched, tmp_path, width, scheme):
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="the checker is missing: pip install axe-playwright-python"
    )
    recorded, server = opened(width, scheme)
    page = recorded.page
    first, second = (one.watcher.bins()["received"] for one in watched)
    assert received(page) == first
    server.publish(watched[1])
    page.get_by_text(f"{second:,} events received").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.locator("main img").count() == 0  # names are shown as text
    assert page.locator("td", has_text=HOSTILE).count()
    assert all(one.startswith(server.url) for one in recorded.requests)
    found = axe.Axe().run(page).response["violations"]
    serious = [(one["id"], [node["html"][:150] for node in one["nodes"]]) for one in found
               if one["impact"] in ("serious", "critical")]  # fmt: skip
    assert not serious, json.dumps(serious, indent=1)
    assert recorded.messages == []
    page.screenshot(path=tmp_path / "watch.png", full_page=True)


def test_what_is_open_and_in_focus_stays_so_when_new_results_come(opened, watched):
    recorded, server = opened(375, "light")
    page = recorded.page
    page.locator("summary").first.click()
    region = page.get_by_role("region", name="Means of the arms")
    region.evaluate("one => { one.focus(); one.scrollLeft = 40; }")
    server.publish(watched[1])
    second = watched[1].watcher.bins()["received"]
    page.get_by_text(f"{second:,} events received").wait_for()
    assert page.locator("details[open]").count() == 1
    assert region.evaluate("one => [one === document.activeElement, one.scrollLeft]") == [True, 40]
