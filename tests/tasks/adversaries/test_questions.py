"""A model without chemistry never gets below a baseline: every kind, and every layout that can be imported."""

from __future__ import annotations

import pytest

from benchmarks.questions import ROUNDING, SECRETS, every_task
from judge.data.import_options import LAYOUTS as ARCHIVES
from judge.data.importing import FORMATS
from tasks.adversaries.family import ADVERSARIES
from tasks.adversaries.question_table import cells_of, is_judged_by_baseline
from tasks.adversaries.run_adversary import AdversaryTask, mean_over_secrets, public_facts
from tasks.kinds.registry import KINDS
from tests.tasks.adversaries.layouts import LAYOUTS

# Minutes also of few items: `python -m benchmarks questions` has them.
SLOW = {"phonons", "thermal_conductivity", "reaction_paths", "dynamics"}
SLOW_LAYOUTS = {"quickstart: relaxed-metals", "quickstart: wien2k-compression", "vacancies"}


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, AdversaryTask]:
    return dict(every_task(tmp_path_factory.mktemp("layouts")))


def test_every_kind_and_every_format_is_in_the_table(tasks: dict[str, AdversaryTask]) -> None:
    """A new kind needs a task in `layouts.py` (quickstart or an example), a new format a small data set there."""
    assert {task.kind.name for task in tasks.values()} == KINDS.built_in
    assert LAYOUTS.keys() == FORMATS.keys()
    assert {name.split(":")[0] for name in tasks if ":" in name} == {*ARCHIVES, "quickstart", "example"}


def test_no_adversary_gets_below_a_baseline(tasks: dict[str, AdversaryTask]) -> None:
    below = []
    for layout, task in tasks.items():
        if task.kind.name in SLOW or layout in SLOW_LAYOUTS or not is_judged_by_baseline(task.kind):
            continue
        facts = public_facts(task)
        for adversary in ADVERSARIES:
            for metric, interval, mark in cells_of(task, adversary, SECRETS[:3], facts):
                if not mark and interval.mean < 1.0 - ROUNDING:
                    below.append((layout, adversary, metric, interval.mean))
    assert not below


def test_the_mean_over_secrets_by_hand() -> None:
    """Of 1, 2, 3: standard error 1/√3, and t = 4.302653 with two degrees of freedom."""
    interval = mean_over_secrets([1.0, 2.0, 3.0])
    assert interval.mean == 2.0
    assert interval.high - 2.0 == pytest.approx(4.302653 / 3**0.5, rel=1e-6)
    assert interval.low == pytest.approx(4.0 - interval.high)
    assert mean_over_secrets([0.7]) == (0.7, 0.7, 0.7)
