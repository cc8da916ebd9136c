"""The ranking of four models as a built site, and a browser page that shows it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judge.publishing.site_files import build_site
from judge.records.records import Result
from submissions.records import Check, StatedLabelSet, Submission
from submissions.store.local import LocalStore
from tests.world.board_records import SUITE, good_results, save, submission

if TYPE_CHECKING:
    from playwright.sync_api import Page


LONG = "beta " + "W" * 150
CARDS: dict[str, dict[str, Any]] = {
    "alpha": {
        "open_weights": True,
        "n_parameters": 1_000_000,
        "elements": ("H", "O", "Si"),
        "label_sets": {"Molecules": StatedLabelSet(name="PBE")},
        "version": "1.2",
    },
    LONG: {
        "open_weights": False,
        "n_parameters": 50_000_000,
        "elements": ("H", "C", "O"),
        "affiliation": "\u202eA team",
    },
    "gamma": {"open_weights": True, "label_sets": {"Molecules": StatedLabelSet(name="r2SCAN")}},
    "delta": {"elements": ("Si", "Cu")},
}


RELATIVE = {"alpha": 0.1, LONG: 0.3, "gamma": 0.2, "delta": 0.01}
MANY = "&".join(f"column={key}" for key in ("force_field", "efficiency", "team", "level", "submitted", "weights"))


def conserving(model: Submission) -> Submission:
    """The submission with forces that are the gradient of the energy."""
    check = Check(name="forces = −∇E", passed=True, value="differ by 3e-06 eV/Å")
    return model.model_copy(update={"preflight": model.preflight.model_copy(update={"checks": (check,)})})


def on_gpu(results: list[Result]) -> list[Result]:
    """The results, timed on another class of hardware."""
    provenances = [
        result.provenance.model_copy(
            update={"origin": result.provenance.origin.model_copy(update={"hardware": "GPU X"})}
        )
        for result in results
    ]
    return [
        result.model_copy(update={"provenance": provenance})
        for result, provenance in zip(results, provenances, strict=True)
    ]


def build_ranking_site(folder: Path) -> Path:
    """The folder of the site. The best in error is the slowest (see `good_metrics`). One model is not ranked.

    One ran without a container, on other hardware.
    """
    store = LocalStore(folder / "store")
    for name, card in CARDS.items():
        model = submission(name, **card)
        results = good_results(model, RELATIVE[name], driver="process" if name == "gamma" else "docker")
        if name == "gamma":
            model, results = conserving(model), on_gpu(results)
        save(store, [model], results[:1] if name == "delta" else results)
    build_site(store, SUITE, folder / "site")
    return folder / "site"


class Watched:
    """A page with its console messages, its errors and its requests."""

    def __init__(self, page: Page, base: str) -> None:
        self.page, self.base = page, base
        self.messages: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.messages.append(message.text))
        page.on("pageerror", lambda error: self.messages.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def open(self, query: str = "") -> Page:
        """The ranking, when its script is ready."""
        self.page.goto(f"{self.base}index.html{query}")
        self.page.wait_for_selector("[data-board][data-ready]")
        return self.page


def names(page: Page) -> list[str]:
    """First words of the names of the shown models, from the top."""
    cells = page.locator("#ranking tr[data-id]:not([hidden]) th.model a").all_text_contents()
    return [text.split()[0] for text in cells]


def column(page: Page, key: str) -> list[str]:
    """The shown numbers of a column, from the top."""
    position = page.evaluate("key => document.querySelector(`[data-board] th[data-key='${key}']`).cellIndex", key)
    rows = page.locator("#ranking tr[data-id]:not([hidden])")
    return rows.evaluate_all("(rows, i) => rows.map(tr => tr.cells[i].querySelector('.number').textContent)", position)


def wait_for(page: Page, shown: Callable[[Page], object], value: object) -> None:
    """Waits until `shown(page)` is `value`: numbers under a reader's weights appear in the next frame."""
    for _ in range(200):
        if shown(page) == value:
            return
        page.wait_for_timeout(20)
    assert shown(page) == value
