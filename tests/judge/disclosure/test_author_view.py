"""The author's view of a submission: verdict, phase, a sentence, time and memory, and the log of the preflight."""

from __future__ import annotations

import json
import re

import pytest

from judge.disclosure.author_view import LOG_WITHHELD, task_states
from judge.records.records import Peaks
from sandbox.verdict import Verdict
from submissions.preflight.acceptance import submission_path
from submissions.preflight.log import log_path, store_log
from submissions.requests import SubmissionProgress
from tests.world.board_records import SUITE, good_results, refused, submission
from tests.world.world import World

ALPHA = submission("alpha")
DATASETS = {task.name: task.dataset for task in SUITE.tasks}


def test_the_author_sees_a_fixed_list_of_facts_for_each_task() -> None:
    peaks = Peaks(wall_s=12.34, startup_s=1.56, memory_bytes=1234567890)
    crashed = refused(ALPHA, SUITE.tasks[0], Verdict.CRASHED, phase="compute", peaks=peaks)
    crashed = crashed.model_copy(update={"sentence": "The container ended (exit status 65): see its log."})
    first, second, *rest = task_states([crashed, *good_results(ALPHA, 0.3)[1:]], {DATASETS["molecules"]})
    assert [state.task for state in (first, second, *rest)] == [task.name for task in SUITE.tasks]
    assert (first.verdict, first.phase) == (Verdict.CRASHED, "compute")
    assert first.sentence == "The container ended (by itself), and its log is withheld."
    assert (first.wall_s, first.memory_bytes) == (12.0, 1200 * 2**20)
    assert second.verdict is Verdict.OK


def test_no_metric_no_host_no_hash() -> None:
    states = [state.model_dump() for state in task_states(good_results(ALPHA, 0.3), ())]
    assert states
    assert all(set(state) == {"task", "verdict", "phase", "sentence", "wall_s", "memory_bytes"} for state in states)


def test_the_command_prints_what_the_author_reads_in_the_status(world: World) -> None:
    world.write_settings()
    submitted = world.submit("emt")
    world.evaluate()
    store_log(world.store, submitted.id, "\x1b[2Jready\n[bold]not markup[/]")
    for name, since in (("copper", "2014"), ("nickel", "")):
        card = world.settings.data / f"{name}@1" / "card.toml"
        card.write_text(re.sub('public_since = ".*"', f'public_since = "{since}"', card.read_text()))
    status, printed = world.run_json_here("show", submitted.id, "--author")
    assert (status, type(printed)) == (0, dict)
    log, withheld = printed.pop("log"), printed.pop("log_withheld")
    assert withheld == LOG_WITHHELD
    progress = SubmissionProgress.read(json.dumps(printed).encode())
    assert (progress.state, {task.task for task in progress.tasks}) == ("judged", {"copper", "nickel"})
    assert log == "\\x1b[2Jready\n[bold]not markup[/]"
    status, out, _ = world.run_here("show", submitted.id[:6], "--author")
    assert status == 0
    assert "│ \\x1b[2Jready" in out
    assert "│ [bold]not markup[/]" in out
    assert "force_rmse" not in out
    _, only = world.run_json_here("show", submitted.id, "--author", "--task", "copper")
    assert [task["task"] for task in only["tasks"]] == ["copper"]


@pytest.mark.parametrize("output", ["", "  \n\n"])
def test_an_empty_output_leaves_no_log(world: World, output: str) -> None:
    submitted = world.submit("emt")
    store_log(world.store, submitted.id, output)
    assert not world.store.exists(log_path(submitted.id))


@pytest.mark.parametrize("option", [(), ("--author",)])
def test_text_from_a_card_or_image_moves_no_cursor(world: World, option: tuple[str, ...]) -> None:
    submitted = world.submit("emt")
    bad = "\x1b]0;owned\x07"
    card = submitted.card.model_copy(update={"name": bad, "version": bad})
    image = submitted.image.model_copy(update={"reference": bad})
    changed = submitted.model_copy(update={"card": card, "image": image})
    world.store.put(submission_path(submitted.id), changed.model_dump_json().encode())
    world.write_settings()
    status, out, err = world.run_here("show", submitted.id, *option)
    assert (status, "owned" in out) == (0, True), err
    assert all(line.isprintable() for line in out.splitlines())
