"""Equations of state: the fit finds what it was made from, agrees with ASE's, and says when there is no minimum."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase import units
from ase.build import bulk
from ase.calculators.emt import EMT
from ase.collections import dcdft
from ase.eos import EquationOfState as AseEquationOfState

from tasks.birch_murnaghan import EquationOfState, energy, fit, pressure
from tasks.calculator import InProcessCalculator
from tasks.dataset import load_dataset
from tasks.equation_of_state import BASELINES, EquationOfStateKind, EquationOfStateParameters
from tasks.predictions import Cause
from tests.tasks.made_up import observed

KIND, NOTHING = EquationOfStateKind(), EquationOfStateParameters()


@pytest.mark.parametrize("eos", [EquationOfState(11.95, 141.3, 4.86, -3.7), EquationOfState(37.5, 7.47, 3.77, 1e5)])
def test_the_fit_finds_the_parameters_of_the_curve(eos: EquationOfState) -> None:
    volumes = np.linspace(0.94, 1.06, 7) * eos.v0
    found = fit(volumes, energy(volumes, eos))
    assert found is not None
    tolerance = 1e-6 if abs(eos.e0) < 100 else 1e-3  # 1e5 eV leave fewer digits
    np.testing.assert_allclose(found, eos, rtol=tolerance)


def test_pressure_is_minus_the_derivative_of_the_energy() -> None:
    eos, h = EquationOfState(16.48, 78.1, 4.57), 1e-4
    volumes = np.linspace(15.0, 18.0, 9)
    slope = (energy(volumes + h, eos) - energy(volumes - h, eos)) / (2 * h)
    np.testing.assert_allclose(pressure(volumes, eos), -slope, atol=1e-8)
    bulk_modulus = -eos.v0 * (pressure(np.array([eos.v0 + h]), eos) - pressure(np.array([eos.v0 - h]), eos)) / (2 * h)
    assert bulk_modulus[0] / units.GPa == pytest.approx(eos.b0_gpa, rel=1e-6)


@pytest.mark.parametrize("element", ["Cu", "Al", "Pt"])
def test_the_fit_agrees_with_ase(element: str) -> None:
    volumes, energies = [], []
    start = bulk(element, cubic=True)
    for scale in np.cbrt(np.linspace(0.94, 1.06, 7)):
        atoms = start.copy()
        atoms.set_cell(atoms.cell * scale, scale_atoms=True)
        atoms.calc = EMT()
        volumes.append(atoms.get_volume())
        energies.append(atoms.get_potential_energy())
    ours = fit(np.array(volumes), np.array(energies))
    assert ours is not None
    v0, e0, b0 = AseEquationOfState(volumes, energies, eos="birchmurnaghan").fit()
    assert ours.v0 == pytest.approx(v0, rel=1e-4)
    assert ours.e0 == pytest.approx(e0, abs=1e-4)
    assert ours.b0_gpa == pytest.approx(b0 / units.GPa, rel=1e-2)


@pytest.mark.parametrize(
    "energies",
    [
        -np.linspace(0.94, 1.06, 7),
        -((np.linspace(0.94, 1.06, 7) - 1.0) ** 2),
        np.full(7, np.nan),
        np.zeros(7),
        np.linspace(10, 0, 7),
    ],
)
def test_without_a_minimum_there_is_no_fit(energies: Any) -> None:
    assert fit(np.linspace(0.94, 1.06, 7) * 20.0, energies) is None


def test_too_few_volumes_give_no_fit() -> None:
    assert fit(np.array([1.0, 1.0, 2.0, 3.0]), np.array([1.0, 1.0, 0.0, 1.0])) is None


def test_the_reference_energies_have_no_error(quickstart: Path) -> None:
    dataset = load_dataset(quickstart / "wien2k-eos@1")
    frames = dataset.frames
    energies = np.full(len(frames), np.nan)
    for curve in dataset.table.curves:
        reference = curve.reference["PBE"]
        data = dcdft.data[curve.id]
        assert (reference.v0_per_atom, reference.b0_gpa) == (data["wien2k_volume"], data["wien2k_B"])
        where = np.array(curve.structures)
        eos = EquationOfState(reference.v0_per_atom, reference.b0_gpa, reference.b0_prime, -5.0)
        energies[where] = frames.n_atoms[where] * energy(frames.volumes[where] / frames.n_atoms[where], eos)
    assert {"Al", "Ni", "Cu", "Pd", "Ag", "Pt", "Au"} <= {curve.id for curve in dataset.table.curves}
    assert len(dataset.table.curves) >= 10
    measured = KIND.measure(observed(energies), dataset, NOTHING, None)
    for metric in measured.metrics.values():
        assert metric.value == pytest.approx(0.0, abs=1e-4)
        assert metric.n_failed == 0


def test_failed_points_and_curves_without_minimum_are_told_apart(quickstart: Path, run: Any) -> None:
    dataset = load_dataset(quickstart / "wien2k-eos@1")
    measured = run(KIND, dataset, InProcessCalculator(EMT()))
    unknown = [curve.id in ("Si", "Ge", "Mo", "Nb", "W") for curve in dataset.table.curves]
    assert measured.items.cause.tolist() == [Cause.UNSUPPORTED if u else 0 for u in unknown]
    copper = dict(zip(measured.items.id, measured.items.columns["v0_per_atom"], strict=True))["Cu"]
    # EMT's copper: a = 3.59 Å.
    assert copper == pytest.approx(3.59**3 / 4, rel=1e-2)
    flat = KIND.measure(observed(np.zeros(len(dataset.frames))), dataset, NOTHING, None)
    assert set(flat.items.cause.tolist()) == {Cause.NOT_CONVERGED}
    for metric in flat.metrics.values():
        assert metric.value is None
        assert metric.charged == pytest.approx(metric.failure_cost)


def test_the_scale_is_how_far_the_reference_lies_from_experiment() -> None:
    for metric, key, relative in (
        ("v0_mae_percent", "volume", True),
        ("b0_mae_percent", "B", True),
        ("b0_prime_mae", "Bp", False),
    ):
        pairs = [(d[f"wien2k_{key}"], d[f"exp_{key}"]) for d in dcdft.data.values() if f"exp_{key}" in d]
        computed, measured = np.array([p for p in pairs if np.isfinite(p).all()]).T
        deviation = np.abs(computed - measured) / (measured / 100 if relative else 1.0)
        assert len(deviation) == 58
        assert BASELINES[metric][1] == pytest.approx(np.median(deviation), rel=5e-3)
