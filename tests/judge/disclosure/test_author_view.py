"""What an author may see: verdict, phase, a sentence, peaks, the log of the preflight, and why there is no other."""

from __future__ import annotations

import json
import re

import pytest

from judge.disclosure.author_view import AuthorView, author_view
from judge.disclosure.redaction import LOG_WITHHELD
from judge.records.records import Peaks
from sandbox.verdict import Verdict
from submissions.preflight.acceptance import submission_path
from submissions.preflight.log import log_path, store_log
from tests.judge.pages.board_records import SUITE, good_results, refused, submission
from tests.judge.small_world import World

OF = submission("alpha")
DATASETS = {task.name: task.dataset for task in SUITE.tasks}


def test_of_each_task_the_closed_list_of_facts() -> None:
    peaks = Peaks(wall_s=12.34, startup_s=1.56, memory_bytes=1234567890)
    crashed = refused(OF, SUITE.tasks[0], Verdict.CRASHED, phase="compute", peaks=peaks)
    crashed = crashed.model_copy(update={"sentence": "The container ended (exit status 65): see its log."})
    others = good_results(OF, 0.3)[1:] + good_results(submission("beta"), 0.3)
    view = author_view(OF, [crashed, *others], "hello", {DATASETS["molecules"]})
    assert [task.task for task in view.tasks] == [task.name for task in SUITE.tasks]
    first, second = view.tasks[:2]
    assert (first.hidden, second.hidden) == (True, False)
    assert (first.verdict, first.phase) == (Verdict.CRASHED, "compute")
    assert first.sentence == "The container ended (by itself), and its log is withheld."
    assert first.peaks == Peaks(wall_s=12.0, startup_s=1.6, memory_bytes=1200 * 2**20)
    assert first.log_withheld == LOG_WITHHELD
    assert second.log_withheld != LOG_WITHHELD
    assert view.log == "hello"
    assert AuthorView.read(view.model_dump_json().encode()) == view


def test_no_metric_no_host_no_hash() -> None:
    said = author_view(OF, good_results(OF, 0.3), "", ()).model_dump()
    facts = {"task", "dataset", "hidden", "verdict", "phase", "sentence", "peaks", "log_withheld"}
    assert set(said) == {"schema_version", "submission", "name", "tasks", "log"}
    assert all(set(task) == facts for task in said["tasks"])


def test_the_command_prints_exactly_that(world: World) -> None:
    world.write_settings()
    submitted = world.submit("emt")
    world.evaluate()
    store_log(world.store, submitted.id, "\x1b[2Jready\n[bold]not markup[/]")
    for name, since in (("copper", "2014"), ("nickel", "")):
        card = world.settings.data / f"{name}@1" / "card.toml"
        card.write_text(re.sub('public_since = ".*"', f'public_since = "{since}"', card.read_text()))
    status, said = world.run_json_here("show", submitted.id, "--author")
    assert status == 0
    view = AuthorView.read(json.dumps(said).encode())
    assert {task.task: task.hidden for task in view.tasks} == {"copper": False, "nickel": True}
    assert view.log == "\\x1b[2Jready\n[bold]not markup[/]"
    status, out, _ = world.run_here("show", submitted.id[:6], "--author")
    assert status == 0
    assert "│ \\x1b[2Jready" in out
    assert "│ [bold]not markup[/]" in out
    assert f"nickel: {LOG_WITHHELD}" in out
    assert "force_rmse" not in out
    _, only = world.run_json_here("show", submitted.id, "--author", "--task", "copper")
    assert [task.task for task in AuthorView.read(json.dumps(only).encode()).tasks] == ["copper"]


@pytest.mark.parametrize("said", ["", "  \n\n"])
def test_what_said_nothing_leaves_no_log(world: World, said: str) -> None:
    submitted = world.submit("emt")
    store_log(world.store, submitted.id, said)
    assert not world.store.exists(log_path(submitted.id))


@pytest.mark.parametrize("option", [(), ("--author",)])
def test_a_strangers_words_move_no_cursor(world: World, option: tuple[str, ...]) -> None:
    of = world.submit("emt")
    bad = "\x1b]0;owned\x07"
    card = of.card.model_copy(update={"name": bad, "version": bad})
    changed = of.model_copy(update={"card": card, "image": of.image.model_copy(update={"reference": bad})})
    world.store.put(submission_path(of.id), changed.model_dump_json().encode())
    world.write_settings()
    status, out, err = world.run_here("show", of.id, *option)
    assert (status, "owned" in out) == (0, True), err
    assert all(line.isprintable() for line in out.splitlines())
