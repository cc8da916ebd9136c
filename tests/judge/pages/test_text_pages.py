"""The pages “How it works” and “How to submit”: their numbers come from the code, the release and the board."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from judge.disclosure.public_curves import HIDDEN_DIGITS
from judge.disclosure.public_leaderboard import public_board
from judge.disclosure.redaction import SCORE_DIGITS, TIME_DIGITS
from judge.pages.site import render
from judge.pages.text_pages import pages
from judge.ranking.build import build_leaderboard
from judge.records.few_items import LEAST_ITEMS
from judge.view import formatting
from judge.view.columns import columns_of
from judge.view.limit_text import limit_lines, limits_text
from judge.view.page_context import Frame, frame
from judge.view.sources import Sources
from sandbox.limits import GIB, Limits
from submissions.card.starter import StarterName
from submissions.cli.main import COMMANDS
from submissions.records import ModelCard
from tasks.suites.suite import Suite, load_suite, packaged_suites
from tasks.timing.efficiency_metrics import FAILURE_COST
from tests.judge.pages.page_reader import PageReader
from tests.world.board_records import SUITE, good_results, items_of, submission


def framed(suite: Suite = SUITE, *names: str, driver: str = "docker", hardware: str = "") -> Frame:
    submissions = [submission(name, driver=driver) for name in names]
    results = [each for model in submissions for each in good_results(model, 0.2, driver=driver)]
    if hardware:
        results = [
            result.model_copy(
                update={
                    "provenance": result.provenance.model_copy(
                        update={"origin": result.provenance.origin.model_copy(update={"hardware": hardware})}
                    )
                }
            )
            for result in results
        ]
    board = build_leaderboard(suite, submissions, results, items_of)
    return frame(public_board(board, ()), Sources())


@pytest.mark.parametrize("name", packaged_suites())
def test_every_packaged_suite_has_both_pages(name: str) -> None:
    suite = load_suite(name)
    files = pages(framed(suite))
    assert files.keys() == {"how.html", "submit.html", "ml-peg.html"}
    links = PageReader(files["how.html"]).links
    assert {f"tasks/{task.name}.html" for task in suite.tasks} <= set(links)
    assert {"leaderboard.json", "leaderboard.schema.json"} <= set(links)


def test_numbers_are_those_of_the_release() -> None:
    frame_a = framed(SUITE, "A")
    rules = frame_a.board.release
    halved = rules.model_copy(
        update={
            "force_field": rules.force_field.model_copy(update={"cap": 3.0, "floor": 0.02}),
            "efficiency": rules.efficiency.model_copy(update={"reference_us_per_atom": 77.0}),
            "instability": rules.instability.model_copy(update={"tolerances": (3e-3,), "worst_decades": 7.0}),
        }
    )
    words = PageReader(pages(replace(frame_a, board=replace(frame_a.board, release=halved)))["how.html"]).words
    for words_of_number in (
        "at least 0.02",
        "at most 3",
        "77.0 µs/atom",
        formatting.number(3e-3, 2),
        "counts 7",
        f"{LEAST_ITEMS} items",
    ):
        assert words_of_number in words
    assert "100 µs/atom" not in words
    about = {column.key: column.about for column in columns_of(replace(frame_a.board, release=halved))}
    assert about["efficiency"].startswith("77.0 µs per atom over")
    assert f"counts {formatting.number(FAILURE_COST / 1e6, 1)} s per atom" in about["efficiency"]
    assert f"log₁₀ of the drift over {formatting.number(3e-3, 2)} eV/atom/ps" in about["instability"]
    assert "A run that fails counts 7;" in about["instability"]


def test_the_rules_for_hidden_data_sets_are_stated() -> None:
    words = PageReader(pages(framed(SUITE, "A"))["how.html"]).words
    assert f"for at least {LEAST_ITEMS} items, to {TIME_DIGITS} digits, and only if the remaining" in words
    assert f"as the mean over at least {LEAST_ITEMS} runs, to {HIDDEN_DIGITS} digits" in words
    assert f"For every data set, numbers have {SCORE_DIGITS} digits, and times" in words


def test_limits_are_those_that_results_ran_under() -> None:
    ran = [{"memory_bytes": 8.0 * GIB, "cpus": 2.0}, {"memory_bytes": 16.0 * GIB, "cpus": 2.0}]
    lines = {line.name: line.value for line in limit_lines(ran)}
    assert lines == {"Memory, without swap": "8 GiB\u00a0–\u00a016 GiB", "Processors": "2"}
    default = {line.name: line.value for line in limit_lines(())}
    assert default["From the start to the loaded model"] == formatting.duration(Limits(cpus=1).startup_s)
    assert "Processors" not in default  # their default depends on the machine that makes the page


def test_the_limits_of_one_result_are_a_line() -> None:
    ran = {"task_s": 300.0, "cpus": 2.0, "memory_bytes": 1.5 * GIB}
    assert limits_text(ran) == "Memory, without swap: 1\u202f536 MiB; Processors: 2; The whole task: 5 min 0 s"
    assert limits_text({}) == ""


def test_kinds_without_a_result_from_a_gpu_are_named() -> None:
    assert "No result was measured on a GPU" in PageReader(pages(framed(SUITE, "A"))["how.html"]).words
    on_gpu = framed(SUITE, "A", hardware="GPU NVIDIA H200")
    assert "No result was measured on a GPU" not in PageReader(pages(on_gpu)["how.html"]).words


def test_a_run_without_a_container_is_marked() -> None:
    assert "Not isolated" in PageReader(pages(framed(SUITE, "A", driver="process"))["how.html"]).words
    assert "Not isolated" not in PageReader(pages(framed(SUITE, "A"))["how.html"]).words


def test_every_named_command_and_field_exists() -> None:
    words = PageReader(pages(framed())["submit.html"]).words
    known = set(COMMANDS)
    for command in ("init", "check", "list", "status", "log"):
        assert command in known
        assert f"lambench-submit {command}" in words
    assert all(f" {name}" in words for name in ModelCard.model_fields if name != "schema_version")
    assert ", ".join(StarterName) in words


def test_the_manual_names_every_part_of_the_address_and_every_page() -> None:
    manual = Path("docs/leaderboard.md").read_text(encoding="utf-8")
    script = Path("templates/js/view.js").read_text(encoding="utf-8")
    by_default, filters = (
        re.search(rf"const {name} = \{{(.*?)\n\}};", script, re.S) for name in ("BY_DEFAULT", "FILTERS")
    )
    assert by_default is not None
    assert filters is not None
    names = set(re.findall(r"^  (\w+):", by_default[1] + filters[1], re.M))
    in_manual = {
        "filters": "",
        "columns": "column",
        "picks": "pick",
        "weights": "w.",
        "thresholds": "t.",
        "chosen": "for.",
    }
    for name in names:
        assert f"`{in_manual.get(name, name)}" in manual
    model = submission("A")
    files = render(build_leaderboard(SUITE, [model], good_results(model, 0.2), items_of))
    for path in files:
        if "/" not in path:
            assert f"`{path}`" in manual
