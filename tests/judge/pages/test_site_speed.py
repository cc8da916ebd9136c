"""How soon the ranking of 200 models on 40 tasks follows a reader's edit, in a real browser."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from judge.disclosure.public_leaderboard import public_board
from judge.pages import data_files, index_page
from judge.ranking.build import build_leaderboard
from judge.ranking.leaderboard import Row
from judge.records.records import Result
from judge.view.page_context import frame
from judge.view.sources import Sources
from submissions.records import Submission
from tasks.suites.suite import Suite, Task
from tests.chromium import launch
from tests.servers.site_server import served
from tests.world.board_records import error, frames_metrics, items_of, result, submission, task, timed

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import BrowserType

N_MODELS, N_COPIES, N_EDITS, N_ROUNDS = 40, 5, 20, 3
MOST = 2.5  # times what a copy of the table takes until it is shown; measured are 1.0 to 1.4
DOMAINS = ("Catalysis", "Inorganic Materials", "Molecules")
KINDS = ("labelled_frames",) * 22 + ("energy_differences",) * 12 + ("nve",) * 3 + ("efficiency",) * 3

pytestmark = [pytest.mark.slow, pytest.mark.alone]

INPUT = ".settings-score[open] input[type=number]"
# From the event to the end of the frame that shows the change, including the wait for that frame, layout and paint; and
# the same for a copy of the table, which tells how fast this machine is just now.
EDITS = """async (n) => {
  const frame = () => new Promise((done) => requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => done(performance.now());
    port2.postMessage(null);
  }));
  const input = document.querySelector("%s");
  const table = document.querySelector("#ranking table.board");
  const copies = [];
  const times = [];
  for (let i = 1; i <= n; i++) {
    await frame();
    const copy = table.cloneNode(true);
    const copied = performance.now();
    table.replaceWith(copy);
    copies.push(await frame() - copied);
    copy.replaceWith(table);
    await frame();
    const before = table.textContent;
    const began = performance.now();
    input.value = i % 2 ? 1 + i / 10 : 0.1;
    input.dispatchEvent(new Event("input", { bubbles: true }));
    const ended = await frame();
    if (table.textContent === before) throw new Error(`edit ${i} changed nothing`);
    times.push(ended - began);
  }
  return [times, copies];
}""".replace("%s", INPUT)


def suite() -> Suite:
    tasks = tuple(task(f"task-{i:02}", kind, DOMAINS[i % 3]) for i, kind in enumerate(KINDS))
    return Suite(name="large", version="1", title="A large suite", tasks=tasks)


def results_of(model: Submission, tasks: tuple[Task, ...], rng: np.random.Generator) -> list[Result]:
    """Results in all tasks, with errors around a random quality of the model."""
    quality = rng.lognormal(-2, 0.5)
    results = []
    for each in tasks:
        relative = float(min(quality * rng.lognormal(0, 0.3), 0.99))
        metrics = {
            "labelled_frames": lambda r=relative: frames_metrics(r, virial=True),
            "energy_differences": lambda r=relative: {"mae": error(r, "eV"), "rmse": error(r, "eV")},
            "nve": dict,
            "efficiency": lambda r=relative: {"time_mean": timed(100 * r)},
        }[each.kind]()
        results.append(result(model, each, metrics))
    return results


def build(folder: Path) -> None:
    """Writes the ranking and its assets only. Each model has five rows."""
    rng, of_suite = np.random.default_rng(5), suite()
    models = [submission(f"model {i}") for i in range(N_MODELS)]
    results = [each for model in models for each in results_of(model, of_suite.tasks, rng)]
    board = build_leaderboard(of_suite, models, results, lambda each: items_of(each) if each.kind == "nve" else None)
    rows = tuple(_copy(row, number) for row in board.rows for number in range(N_COPIES))
    public = {each.dataset for each in of_suite.tasks}
    shared = frame(public_board(replace(board, rows=rows), public), Sources(public=public))
    for name, content in (shared.assets.files | data_files.pages(shared) | index_page.pages(shared)).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def _copy(row: Row, number: int) -> Row:
    model = row.submission
    return replace(row, submission=model.model_copy(update={"id": f"{model.id}-{number}"})) if number else row


def test_a_weight_edit_is_shown_in_little_more_time_than_a_copy_of_the_table(
    tmp_path: Path, chromium: BrowserType
) -> None:
    build(tmp_path)
    with served(tmp_path) as base, launch(chromium) as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(base + "index.html")
        page.locator("[data-settings] > summary").click()
        page.locator("details.settings-score > summary").first.click()
        page.locator(INPUT).first.wait_for()  # the panel draws its parts once it is open
        page.evaluate(EDITS, N_EDITS)  # later edits find a compiled script
        rounds = np.array([page.evaluate(EDITS, N_EDITS) for _ in range(N_ROUNDS)])
    edit, copy = np.median(rounds, axis=(0, 2))
    assert edit < MOST * copy
