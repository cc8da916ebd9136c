"""A model without chemistry never gets below a baseline: every kind, and every layout that can be imported."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.questions import ROUNDING, SECRETS, figures, measure_questions
from judge.data.import_options import LAYOUTS as ARCHIVES
from judge.data.importing import FORMATS
from tasks.adversaries.family import ADVERSARIES
from tasks.adversaries.question_table import LAW, STORED, cells_of
from tasks.adversaries.run_adversary import mean_over_secrets, public_facts
from tasks.kinds.registry import KINDS
from tests.tasks.adversaries.layouts import LAYOUTS, LaidOut, every_layout, imported

# They take minutes: `python -m benchmarks questions` has them.
SLOW_KINDS = {"phonons", "thermal_conductivity", "reaction_paths", "dynamics"}
SLOW_LAYOUTS = {
    "relaxed-structures",
    "quickstart: relaxed-metals",
    "quickstart: wien2k-compression",
    "ml-peg: high_pressure_relaxation",
    "ml-peg: lattice_constants",
    "ml-peg: lattice_constants_experimental",
}


@pytest.fixture(scope="module")
def layouts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, LaidOut]:
    return every_layout(tmp_path_factory.mktemp("layouts"))


def test_every_kind_and_every_format_is_in_the_table(layouts: dict[str, LaidOut]) -> None:
    """A new kind needs a task in `layouts.py` (quickstart or an example), a new format a small data set there."""
    assert {each.kind for each in layouts.values()} == KINDS.built_in
    assert LAYOUTS.keys() == FORMATS.keys()
    assert {name.split(":")[0] for name in layouts if ":" in name} == {*ARCHIVES, "quickstart", "example"}


@pytest.mark.timeout(900)
def test_no_adversary_gets_below_a_baseline(layouts: dict[str, LaidOut]) -> None:
    """Under three secrets, which show that a cell lies below 1, not that it lies above: the benchmark has twenty."""
    below = []
    for layout, laid_out in layouts.items():
        kind = KINDS[laid_out.kind]
        if not kind.traits.draws or kind.name in SLOW_KINDS or layout in SLOW_LAYOUTS:
            continue
        task = laid_out.make()
        facts = public_facts(task)
        for adversary in ADVERSARIES:
            for metric, interval, mark in cells_of(task, adversary, SECRETS[:3], facts):
                if not mark and interval.high < 1.0 - ROUNDING:
                    below.append((layout, adversary, metric))
    assert not below


def test_each_mark_has_a_figure_beside_that_with_a_bound(tmp_path: Path) -> None:
    task = imported("dynamics", tmp_path)
    cells = cells_of(task, "harmonic", SECRETS[:3])
    bounded, law = figures("dynamics", task, "harmonic", cells)
    assert (bounded.bound, bounded.at_least) == (1.0 - ROUNDING, True)
    assert (law.name, law.bound) == (f"dynamics, dynamics, harmonic: unstable_percent ({LAW})", None)

    stored = task._replace(parameters=task.parameters.model_copy(update={"start": "stored"}))
    marks = {cell.metric: cell.mark for cell in cells_of(stored, "harmonic", SECRETS)}
    assert marks == {"unstable_percent": LAW, "rdf_error": STORED, "density_mape": STORED}


def test_a_name_of_no_layout_and_no_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="no layout alloys; there are acwf, "):
        list(measure_questions(["alloys", "compression"]))


def test_the_mean_over_secrets_by_hand() -> None:
    """Of 1, 2, 3: standard error 1/√3, and t = 4.302653 with two degrees of freedom."""
    interval = mean_over_secrets([1.0, 2.0, 3.0])
    assert interval.mean == 2.0
    assert interval.high - 2.0 == pytest.approx(4.302653 / 3**0.5, rel=1e-6)
    assert interval.low == pytest.approx(4.0 - interval.high)
    assert mean_over_secrets([0.7]) == (0.7, 0.7, 0.7)
