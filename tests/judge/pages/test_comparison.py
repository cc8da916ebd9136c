"""The rows of a comparison: which model is best, and whether the intervals show it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from judge.disclosure.public_leaderboard import public_board
from judge.pages.compare import compare_page
from judge.pages.compare.comparison import comparison
from judge.pages.compare.comparison_intervals import ModelIntervals, intervals_file, model_intervals
from judge.pages.compare.comparison_lines import Cell, CompareLine, differences, line
from judge.ranking.load import read_board
from judge.view.page_context import Frame, frame
from judge.view.sources import Sources
from scoring.intervals import Interval
from submissions.store.local import LocalStore
from tests.judge.pages.page_reader import page_frame
from tests.judge.pages.seven_models import FAILED
from tests.world.board_records import ENERGY, SUITE, good_results, submission

pytestmark = pytest.mark.together("comparison")


AS_PUBLISHED = "Scores, as published"


def lines_of(seven_models: Frame, *names: str) -> dict[str, CompareLine]:
    """The rows of a comparison of these models, by name, with corrected scores only."""
    chosen = [next(model for model in seven_models.file.models if model.name == name) for name in names]
    groups = [
        group
        for group in comparison(seven_models, chosen, model_intervals(seven_models))
        if group.title != AS_PUBLISHED
    ]
    return {line.name: line for group in groups for line in group.lines}


def test_rows_are_of_the_leaderboard(seven_models: Frame) -> None:
    lines = lines_of(seven_models, "beta", "alpha", FAILED)
    assert [cell.text for cell in lines["Rank"].cells] == ["2", "1", "not ranked"]
    assert [cell.text for cell in lines["Force-field error ↓"].cells][:2] == ["0.200", "0.100"]
    assert [cell.text for cell in lines["Molecules, property error ↓"].cells][:2] == ["0.200", "0.100"]
    assert [cell.note for cell in lines["energy ↓"].cells] == ["200 meV/atom", "100 meV/atom", ""]
    assert [cell.text for cell in lines["Tasks judged OK"].cells] == ["5 of 5", "5 of 5", "4 of 5"]
    assert [cell.fault for cell in lines["Molecules"].cells] == ["", "", "time limit"]
    assert lines["Precision"].same
    assert not lines["Rank"].same


def test_unstated_facts_are_named(seven_models: Frame) -> None:
    lines = lines_of(seven_models, "alpha", "beta")
    assert {cell.text for cell in lines["Weights"].cells} == {"not stated"}
    assert {cell.text for cell in lines["Parameters, counted"].cells} == {"not counted"}
    assert {cell.text for cell in lines["Team"].cells} == {"not known"}


def test_the_tasks_that_differ_most_are_first_with_units_and_intervals(seven_models: Frame) -> None:
    chosen = [next(model for model in seven_models.file.models if model.name == name) for name in ("beta", "alpha")]
    intervals = model_intervals(seven_models)
    first = comparison(seven_models, chosen, intervals)[0]
    assert first.title == "Where they differ most"
    by_name = {line.name: line for line in first.lines if not line.below}
    assert [name.partition(":")[0] for name in by_name] == ["Crystals", "Molecules", "Barriers"]
    cells = by_name["Molecules: energy ↓"].cells
    assert [cell.text for cell in cells] == ["200 meV/atom", "100 meV/atom"]
    assert [cell.note for cell in cells] == ["normalised 0.200", "normalised 0.100"]  # one cluster has no interval
    below = first.lines[1]
    assert (below.name, [cell.text for cell in below.cells][1]) == ("from the best here", "–")
    assert below.cells[0].text.startswith("+100 meV")
    near = ModelIntervals({("molecules", ENERGY): Interval(0.09, 0.11)}, {})
    far = ModelIntervals({("molecules", ENERGY): Interval(0.18, 0.22)}, {})
    made = comparison(seven_models, chosen, {chosen[0].id: far, chosen[1].id: near})[0]
    at = next(index for index, line in enumerate(made.lines) if line.name.startswith("Molecules"))
    values, below = made.lines[at : at + 2]
    assert [cell.mark for cell in values.cells] == ["", "best"]
    assert values.cells[0].note == "180\u00a0– 220; normalised 0.200"
    assert (below.cells[0].text, below.cells[0].note) == ("+100 meV/atom", "+70.0 to +130")


def test_the_intervals_file_has_those_of_the_board_to_three_digits() -> None:
    a = ModelIntervals({("t", "m"): Interval(0.123, 4.0)}, {"force_field": {"Molecules": Interval(0.1, 0.2, n_held=3)}})
    packed = json.loads(intervals_file({"a": a, "b": ModelIntervals({("t", "n"): Interval(1.0, 2.0)}, {})}))
    assert packed == {
        "columns": [["t", "m"], ["t", "n"]],
        "models": {"a": [[0.123, 4.0, 0], None], "b": [None, [1.0, 2.0, 0]]},
        "parts": {"a": {"force_field": {"Molecules": [0.1, 0.2, 3]}}, "b": {}},
    }
    frame = page_frame(SUITE, [submission("alpha")], good_results(submission("alpha"), 0.1))
    intervals = model_intervals(frame)[submission("alpha").id]
    assert intervals.metrics
    assert all(0 < each.low < each.high for each in intervals.metrics.values())


def marks(*cells: Cell, lower: bool | None = True) -> list[str]:
    return [cell.mark for cell in line("error", cells, lower).cells]


def test_the_best_is_certain_only_if_its_interval_is_separate() -> None:
    near, far = Cell("0.2", value=0.2, interval=Interval(0.1, 0.3)), Cell("0.6", value=0.6, interval=Interval(0.5, 0.7))
    wide = Cell("0.6", value=0.6, interval=Interval(0.25, 0.7))
    unknown, held = Cell("0.6", value=0.6), Cell("0.6", value=0.6, interval=Interval(0.6, 0.6, n_held=1))
    assert marks(near, far) == ["best", ""]
    assert marks(near, far, lower=False) == ["", "best"]
    assert (
        marks(near, wide)
        == marks(near, unknown)
        == marks(near, held)
        == marks(near, far, wide)[:2]
        == ["undecided", ""]
    )
    assert marks(near, Cell("0.6", value=0.6, interval=Interval(0.6, 0.6))) == ["best", ""]  # it was resampled
    assert marks(near, far, lower=None) == ["", ""]
    assert marks(near, near, far) == ["undecided", "undecided", ""]
    assert marks(near, near) == ["", ""]
    assert marks(near, Cell("–")) == ["", ""]


def test_a_difference_has_its_range() -> None:
    best, far = (
        Cell("0.200", value=0.2, interval=Interval(0.1, 0.3)),
        Cell("0.600", value=0.6, interval=Interval(0.5, 0.7)),
    )
    wide, alone = Cell("0.600", value=0.6, interval=Interval(0.25, 0.7)), Cell("0.600", value=0.6)
    held = Cell("0.600", value=0.6, interval=Interval(0.6, 0.6, n_held=1))
    (below,) = differences(line("error", [best, far, wide, alone, held, Cell("–")], lower=True))
    assert [(cell.text, cell.note) for cell in below.cells] == [
        ("–", ""),
        ("+0.400", "+0.200 to +0.600"),
        ("+0.400", "intervals overlap"),
        ("+0.400", "no interval"),
        ("+0.400", "not resampled"),
        ("–", ""),
    ]
    (below,) = differences(line("score", [best, far], lower=False))
    assert below.cells[0][:2] == ("−0.400", "−0.600 to −0.200")
    assert differences(line("error", [best, best], lower=True)) == ()
    assert differences(line("time", [best, far])) == ()


def test_scores_are_those_of_every_scheme_in_both_variants(seven_models: Frame) -> None:
    chosen = seven_models.file.models[:2]
    groups = {group.title: group for group in comparison(seven_models, chosen, model_intervals(seven_models))}
    for variant, title in (("corrected", "Scores"), ("as_published", AS_PUBLISHED)):
        scores = [score for scheme in seven_models.file.schemes if scheme.variant == variant for score in scheme.scores]
        shown = [line for line in groups[title].lines if not line.below]
        assert [line.name[:-2] for line in shown] == [score.label for score in scores]
        assert [[cell.value for cell in line.cells] for line in shown] == [
            [score.models[model.id].score for model in chosen] for score in scores
        ]


def test_efficiency_has_no_best_across_hardware(seven_models: Frame) -> None:
    chosen = list(seven_models.file.models[:2])
    other = chosen[1].model_copy(update={"hardware": "another class"})
    alike, apart = (comparison(seven_models, each, {}) for each in (chosen, [chosen[0], other]))
    lines = [{line.name: line for group in groups for line in group.lines} for groups in (alike, apart)]
    for name in ("Efficiency ↑", "time, mean ↓"):
        assert any(cell.mark for cell in lines[0][name].cells)
        assert not any(cell.mark for cell in lines[1][name].cells)


def test_an_empty_store_has_a_page(tmp_path: Path) -> None:
    empty = frame(public_board(read_board(LocalStore(tmp_path), SUITE, pytest.fail), ()), Sources())
    page = compare_page.pages(empty)["compare.html"].decode()
    assert "There is no submission yet: there is nothing to compare." in page
