"""Questions that give answers away: models without chemistry over every layout that can be imported.

Of each layout, each adversary and each secret: the penalised value over the baseline, in the metric in which the
adversary comes off best. Where a kind draws from the secret, the lower end of the mean's 95 % interval over secrets
must not be below 1. Where nothing is drawn the value is shown without a bound, and its line says why.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.report import Figure
from tasks.adversaries.family import ADVERSARIES
from tasks.adversaries.question_table import AdversaryCell, cells_of, is_judged_by_baseline
from tasks.adversaries.run_adversary import AdversaryTask, public_facts
from tasks.kinds.registry import KINDS
from tests.tasks.adversaries.layouts import every_layout

SECRETS = tuple(f"secret {k}".encode() for k in range(20))
ROUNDING = 1e-3  # a model that answers nearly zero differs by so much from one that answers zero


def measure_questions() -> Iterator[Figure]:
    """Each adversary in each layout whose kind has a baseline."""
    with tempfile.TemporaryDirectory() as place:
        for layout, laid_out in every_layout(Path(place)).items():
            if is_judged_by_baseline(KINDS[laid_out.kind]):
                task = laid_out.make()
                facts = public_facts(task)
                for adversary in ADVERSARIES:
                    yield figure(layout, task, adversary, cells_of(task, adversary, SECRETS, facts))


def figure(layout: str, task: AdversaryTask, adversary: str, cells: list[AdversaryCell]) -> Figure:
    """The cell in which the adversary comes off best."""
    name = f"{layout}, {task.kind.name}, {adversary}"
    if not cells:
        return Figure(f"{name}: no error with a baseline", float("nan"), "")
    best = min(cells, key=lambda cell: cell.interval.low)
    name = f"{name}: {best.metric}"
    if best.mark:
        return Figure(f"{name} ({best.mark})", best.interval.low, "of the baseline")
    return Figure(name, best.interval.low, "of the baseline", 1.0 - ROUNDING, at_least=True)
