"""Transformed copies without an answer: they fail only their probe, or do not count."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ase.build import molecule
from ase.calculators.calculator import all_changes
from ase.calculators.emt import EMT

from tasks.kind import Watch
from tasks.observing.memorisation_probes import ROW, Probe
from tasks.structures.predictions import Cause
from tests.tasks.observing.probed_models import ENERGIES, FORCES, WATCH, Memory, Wrong, labelled, molecules, see


def test_a_copy_that_is_not_answered_fails_its_probe_and_no_structure() -> None:
    structures = molecules()
    probed = see(Memory(structures, computes=False), labelled(structures), watch=replace(WATCH, failed_share=0.1))
    assert probed.calls == 12 + 16  # sixteen failures of copies do not stop the task
    assert not probed.measured.items.failures()
    for name in (*ENERGIES, *FORCES):
        metric = probed.measured.metrics[name]
        assert (metric.value, metric.n_items, metric.n_failed) == (None, 4, 4), name
    assert probed.measured.notes["translation probe"] == "Asked again about 4 structures, moved: 4 were not answered."


class Refusing(Wrong):
    """Fails at molecules with nitrogen."""

    def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
        super().calculate(atoms, properties, system_changes)
        if 7 in atoms.numbers:
            raise ValueError("no nitrogen")


def test_a_structure_that_is_itself_not_answered_has_no_part_in_the_probes() -> None:
    dataset = labelled(molecules(4))  # the third is ammonia
    probed = see(Refusing(lambda atoms: 0.0), dataset)
    assert probed.measured.items.failures() == {Cause.ERROR: 1}
    for name in (*ENERGIES, *FORCES):
        metric = probed.measured.metrics[name]
        assert (metric.n_items, metric.n_failed) == (3, 0)
        assert metric.value < 1e-4
    nothing = see(Refusing(lambda atoms: 0.0), labelled([molecule("NH3")] * 2))
    assert nothing.measured.metrics["probe_rotation_max"].value is None
    assert nothing.measured.metrics["probe_rotation_max"].n_items == 0


@pytest.mark.parametrize("batches", [1, 3])
def test_copies_that_nobody_had_time_for_are_not_held_against_a_model(batches: int) -> None:
    dataset, clock = labelled(molecules()), iter(range(1000))
    watch = Watch(clock=lambda: float(next(clock)), deadline=batches - 2.0)
    probed = see(EMT(), dataset, watch=watch)
    late = probed.observation.arrays["probe_failure"] == Cause.OVER_TIME
    assert late.any() or batches > 1  # one batch holds 40 atoms, fewer than the 16 copies have in any order
    for probe in Probe:
        metric = probed.measured.metrics[f"probe_{probe}_max"]
        assert metric.n_failed == 0
        assert metric.n_items <= 4 - late[ROW[probe]].sum()
