"""Curves of the total energy: they hold the kept energies, and end with the run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from ase.build import bulk, molecule
from ase.calculators.calculator import Calculator, all_changes
from ase.calculators.emt import EMT
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import ValidationError

from tasks.kind import Observation, Watch
from tasks.kinds.nve import DRIFT_COLUMNS, DriftCurves, Nve, NveParameters, drift_curves
from tasks.metrics.measurement import Items
from tasks.model.calculator import InProcessCalculator
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import Cause
from tests.tasks.made_up import make_dataset

COPPER, OXIDE = bulk("Cu", cubic=True), molecule("CO")


class Failing(EMT):
    """EMT for some questions about carbon; then it raises, or its forces are a million times as large."""

    def __init__(self, after: int, how: str = "raise") -> None:
        super().__init__()
        self.left, self.how = after, how

    def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
        super().calculate(atoms, properties, all_changes)
        if atoms is None or "C" not in atoms.symbols:
            return
        self.left -= 1
        if self.left < 0 and self.how == "raise":
            raise RuntimeError("no more carbon")
        if self.left < 0:
            self.results["forces"] = self.results["forces"] * 1e6


def measured(calculator: Any, parameters: NveParameters, watch: Watch) -> tuple[Observation, Items]:
    """Of four atoms of copper, and of CO."""
    dataset = make_dataset(Frames.from_atoms([COPPER, OXIDE]), None)
    seen = Nve().observe(dataset.structures, parameters, InProcessCalculator(calculator), watch)
    return seen, Nve().measure(seen, dataset, parameters, None).items


def curves(items: Items, parameters: NveParameters) -> DriftCurves:
    drift = drift_curves(items, parameters)
    assert drift is not None
    return drift


def by_hand(seen: Observation, kept: list[int]) -> Float:
    """(2, k) [eV/atom] of these of the energies that were kept."""
    total = seen.arrays["total_energy"]
    return np.array([[(total[i, k] - total[i, 0]) / n for k in kept] for i, n in enumerate((4, 2))])


def test_a_curve_is_the_energies_that_were_kept_less_the_first(watch: Watch) -> None:
    parameters = NveParameters(steps=60, timestep_fs=2.0, sample_every=4)
    seen, items = measured(EMT(), parameters, watch)
    drift = curves(items, parameters)
    # A tenth is 6 steps: kept at it, or last before it, are those after 0, 4, 12, 16 … 60 steps.
    kept = [0, 1, 3, 4, 6, 7, 9, 10, 12, 13, 15]
    np.testing.assert_array_equal(drift.deviation, by_hand(seen, kept))
    assert np.abs(drift.deviation[:, 1:]).min() > 0.0
    assert drift.times_ps.tolist() == pytest.approx([k * 4 * 2.0 / 1000 for k in kept], rel=1e-12)
    assert drift.ids == tuple(items.id)


def test_a_run_that_explodes_has_its_curve_up_to_there_and_the_other_all_of_it(watch: Watch) -> None:
    parameters = NveParameters(steps=20, sample_every=1)
    seen, items = measured(Failing(6, "huge"), parameters, watch)
    assert items.cause.tolist() == [0, Cause.EXPLODED]
    assert items.columns["completed_steps"].tolist() == [20, 5]
    drift = curves(items, parameters).deviation
    assert np.isfinite(drift).tolist() == [[True] * 11, [True] * 3 + [False] * 8]
    np.testing.assert_array_equal(drift, by_hand(seen, list(range(0, 21, 2))))
    assert np.isnan(items.columns["slope"][1])


def test_an_energy_kept_before_the_end_does_not_stand_for_a_tenth_after_it(watch: Watch) -> None:
    """45 of 100 steps are done, and energies kept of each 30th: that of the 30th is the last before the 50th, too."""
    parameters = NveParameters(steps=100, sample_every=30)
    seen, items = measured(Failing(46), parameters, watch)
    assert items.columns["completed_steps"].tolist() == [100, 45]
    drift = curves(items, parameters).deviation
    whole = by_hand(seen, [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3])
    np.testing.assert_array_equal(drift[0], whole[0])
    np.testing.assert_array_equal(drift[1], np.where(np.arange(11) <= 4, whole[1], np.nan))
    assert np.isfinite(whole[1, 5])


class NoForces(Calculator):
    implemented_properties = ["energy"]  # noqa: RUF012


def test_a_run_that_never_began_has_no_curve(watch: Watch) -> None:
    parameters = NveParameters(steps=10)
    _, items = measured(NoForces(), parameters, watch)
    assert np.isnan(curves(items, parameters).deviation).all()
    _, items = measured(Failing(0), parameters, watch)
    drift = curves(items, parameters).deviation
    assert np.isfinite(drift[0]).all()
    assert np.isnan(drift[1]).all()


@given(st.integers(1, 5_000), st.integers(1, 500))
def test_a_tenth_has_the_energy_kept_at_it_or_last_before(steps: int, stride: int) -> None:
    try:
        parameters = NveParameters(steps=steps, sample_every=stride)
    except ValidationError:
        assume(False)
    after = parameters.tenths * stride
    target = np.arange(11) * steps / 10
    assert ((after <= target) & (target < after + stride)).all()
    assert (parameters.tenths[0], parameters.tenths[-1]) == (0, parameters.n_samples - 1)


def test_items_of_an_older_version_have_no_curves(watch: Watch) -> None:
    parameters = NveParameters(steps=10)
    _, items = measured(EMT(), parameters, watch)
    older = replace(items, columns={n: c for n, c in items.columns.items() if n not in DRIFT_COLUMNS})
    assert older.columns.keys() == {"slope", "slope_stderr", "completed_steps", "n_atoms"}
    assert drift_curves(older, parameters) is None
    assert Nve.measure_version > 2  # else items without curves would count as current
