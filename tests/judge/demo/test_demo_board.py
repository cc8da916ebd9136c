"""On the demo's board a model that knows nothing but its questions is last."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.calculators.calculator import Calculator, all_changes
from ase.calculators.emt import EMT

from judge.cli.maintainer.demo import SUITE
from judge.ranking.build import build_leaderboard
from judge.ranking.leaderboard import Leaderboard
from tasks.adversaries.volumes import CentredVolumes
from tasks.kind import Watch
from tasks.kinds.registry import KINDS
from tasks.metrics.measurement import Items
from tasks.model.calculator import InProcessCalculator
from tasks.quickstart.crystals import wien2k
from tasks.quickstart.registry import BUILDERS
from tasks.simulation.birch_murnaghan import energy, pressure
from tasks.suites.suite import Suite, load_suite
from tests.world.board_records import result, submission

SECRETS = (b"one store", b"another store", b"a third store")


class Tabulated(Calculator):
    """A model of elements as good as a network: the all-electron curves with volumes and moduli that are a bit off.

    It answers zero for everything else.
    """

    implemented_properties = ["energy", "forces", "stress"]  # noqa: RUF012

    def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
        super().calculate(atoms, properties, system_changes)
        self.results = {"energy": 0.0, "forces": np.zeros((len(atoms), 3)), "stress": np.zeros(6)}
        if _is_element(atoms):
            eos = wien2k(atoms.symbols[0])
            eos = eos._replace(v0=1.01 * eos.v0, b0_gpa=1.05 * eos.b0_gpa, b0_prime=eos.b0_prime + 0.2)
            volume = np.array([atoms.get_volume() / len(atoms)])
            self.results["energy"] = len(atoms) * float(energy(volume, eos)[0])
            self.results["stress"][:3] = -pressure(volume, eos)[0]


def _is_element(atoms: Atoms) -> bool:
    return bool(atoms.pbc.all()) and len(set(atoms.symbols)) == 1


def untimed() -> Suite:
    """The demo's suite without its tasks of dynamics and timing, which no error of a force field has."""
    suite = load_suite(SUITE)
    tasks = tuple(task for task in suite.tasks if task.kind not in ("nve", "efficiency"))
    return replace(suite, tasks=tasks)


def board(models: Mapping[str, Callable[[], Any]], secret: bytes) -> Leaderboard:
    """The leaderboard of calculators, judged without containers."""
    suite, results, items = untimed(), [], dict[tuple[str, str], Items]()
    submissions = [submission(name) for name in models]
    for model, make in zip(submissions, models.values(), strict=True):
        for task in suite.tasks:
            kind, dataset = KINDS[task.kind], BUILDERS[task.dataset.partition("@")[0]]()
            parameters = kind.parameters.model_validate(task.parameters)
            calculator = InProcessCalculator(make(), domain=task.model_domain)
            watch = Watch(time.monotonic, secret=secret)
            observation = kind.observe(dataset.structures, parameters, calculator, watch)
            measured = kind.measure(observation, dataset, parameters, None)
            items[model.id, task.name] = measured.items
            results.append(result(model, task, measured.metrics))
    return build_leaderboard(suite, submissions, results, lambda r: items[r.submission, r.task])


@pytest.mark.parametrize("secret", SECRETS)
def test_the_middle_of_the_volumes_is_last(secret: bytes) -> None:
    models = {"middle": lambda: CentredVolumes("middle"), "tabulated": Tabulated, "emt": EMT}
    rows = {row.submission.card.name: row for row in board(models, secret).rows}
    assert rows["tabulated"].rank == 1
    assert next(iter(rows)) == "tabulated"
    for name in ("force_field", "property_error"):
        values = {model: row.scores[name].value for model, row in rows.items()}
        # Of everything that counts it is no better than a trivial model. EMT does not know silicon, and is there, too.
        assert values["middle"] == pytest.approx(1.0), name
        assert (values["tabulated"] or 1.0) < 0.8, name
