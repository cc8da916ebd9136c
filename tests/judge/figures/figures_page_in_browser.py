"""The page of figures of a small board, open in a real browser."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

from judge.publishing.site_files import build_site
from sandbox.verdict import Verdict
from submissions.store.local import LocalStore
from tasks.metrics.metric import MetricPart
from tests.world.board_records import FORCE, SUITE, frames_metrics, good_results, refused, result, save, submission

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Locator, Page

HOSTILE_NAME = '=<b>bold</b><a href="https://example.org">%{x}</a>, "q"'
PARTS = tuple(
    MetricPart(by=by, name=name, metric=FORCE, value=value, unit="eV/Å", n_items=10)
    for by, name, value in (("element", "H", 0.1), ("element", "Og", 0.38), ("group", "a group", 0.2))
)
LOW = {"width": 1280, "height": 120}  # at this height no figure is near the view at first


def build_small_site(folder: Path) -> Path:
    """The site of four models: one with a hostile name, one with failed items, and one that ran out of time."""
    store = LocalStore(folder / "store")
    for name, relative in (("alpha", 0.1), (HOSTILE_NAME, 0.2), ("gamma", 0.3)):
        model = submission(name)
        results = good_results(model, relative)
        failures = {"NON_FINITE": 2, "ERROR": 1} if name == "gamma" else {}
        metrics = frames_metrics(relative, virial=True)
        results[0] = result(model, SUITE.tasks[0], metrics, failures=failures, parts=PARTS)
        save(store, [model], results)
    late = submission("late")
    save(store, [late], [*good_results(late, 0.5)[1:], refused(late, SUITE.tasks[0], Verdict.TIME_LIMIT)])
    build_site(store, SUITE, folder / "site")
    return folder / "site"


class FiguresPage:
    """A page, its requests, and its console messages."""

    def __init__(self, browser: Browser, address: str, **context: Any) -> None:
        self.context: BrowserContext = browser.new_context(**context)
        self.page: Page = self.context.new_page()
        self.messages: list[str] = []
        self.requests: list[str] = []
        self._downloaded: deque[float] = deque(maxlen=8)
        self.page.on("console", lambda message: self.messages.append(message.text))
        self.page.on("pageerror", lambda error: self.messages.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(address)

    def __enter__(self) -> FiguresPage:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()

    @property
    def plotly_requests(self) -> int:
        return sum("/plotly-" in url for url in self.requests)

    def figure(self, key: str) -> Locator:
        return self.page.locator(f"figure#{key}")

    def show(self, key: str) -> None:
        """Scrolls to a figure, and waits until plotly has drawn it."""
        stage = self.figure(key).locator(".stage")
        stage.scroll_into_view_if_needed()
        stage.locator(".main-svg").first.wait_for()

    def download(self, key: str, kind: str) -> str:
        """A file of a figure. Chromium drops the eleventh download of a page within a second."""
        if len(self._downloaded) == self._downloaded.maxlen:
            self.page.wait_for_timeout(1000 * max(0.0, self._downloaded[0] + 1.2 - monotonic()))
        with self.page.expect_download() as download:
            self.page.get_by_role("button", name=f"Download {key} as {kind}").click()
        assert download.value.suggested_filename == f"{key}.{kind.lower()}"
        content = Path(download.value.path()).read_text(encoding="utf-8")
        self._downloaded.append(monotonic())
        return content

    def figure_ids(self) -> list[str]:
        ids = self.page.locator("figure[data-figure]").evaluate_all("all => all.map((figure) => figure.id)")
        return cast(list[str], ids)
