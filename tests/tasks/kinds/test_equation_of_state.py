"""Equations of state: the fit finds the curve's parameters, agrees with ASE's, and gives None without a minimum."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase import Atoms, units
from ase.build import bulk
from ase.calculators.emt import EMT
from ase.collections import dcdft
from ase.eos import EquationOfState as AseEquationOfState

from tasks.datasets.card import Card, Curve, CurveReference, LabelSet, Table
from tasks.datasets.dataset import Dataset, load_dataset
from tasks.kinds.equation_of_state import EquationOfStateKind, EquationOfStateParameters
from tasks.metrics.curve_baselines import BASELINES
from tasks.metrics.measurement import Measurement
from tasks.model.calculator import InProcessCalculator
from tasks.simulation.birch_murnaghan import EquationOfState, energy, fit, pressure
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import Cause
from tests.tasks.made_up import observed

KIND, NOTHING = EquationOfStateKind(), EquationOfStateParameters()


@pytest.mark.parametrize("eos", [EquationOfState(11.95, 141.3, 4.86, -3.7), EquationOfState(37.5, 7.47, 3.77, 1e5)])
def test_the_fit_finds_the_parameters_of_the_curve(eos: EquationOfState) -> None:
    volumes = np.linspace(0.94, 1.06, 7) * eos.v0
    fitted = fit(volumes, energy(volumes, eos))
    assert fitted is not None
    tolerance = 1e-6 if abs(eos.e0) < 100 else 1e-3  # 1e5 eV leave fewer digits
    np.testing.assert_allclose(fitted, eos, rtol=tolerance)


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


def copper_curve(points: int) -> tuple[list[Atoms], Float, Float]:
    """EMT copper at volumes of 0.94 to 1.06 of its own: structures, volumes [Å³] and energies [eV]."""
    structures = []
    for share in np.linspace(0.94, 1.06, points):
        atoms = bulk("Cu", a=3.59)
        atoms.set_cell(atoms.cell * np.cbrt(share), scale_atoms=True)
        atoms.calc = EMT()
        structures.append(atoms)
    energies = np.array([a.get_potential_energy() for a in structures])
    return structures, np.array([a.get_volume() for a in structures]), energies


@pytest.mark.parametrize(
    ("volumes_", "tolerances"),
    [
        # Both minimise the same squares over the same curves, we in one step and ASE by iteration.
        ("published", (1e-7, 1e-6, 1e-6)),
        # Over curves whose middles differ by 0.2 %.
        ("drawn", (1e-3, 1e-2, 1e-2)),
    ],
)
def test_copper_through_the_whole_task_is_that_of_ase_and_of_the_energys_curvature(
    run: Any, volumes_: Any, tolerances: tuple[float, ...]
) -> None:
    structures, volumes, energies = copper_curve(9)
    ase = AseEquationOfState(volumes, energies, eos="birchmurnaghan")
    v0, _, b0 = ase.fit()
    b0_gpa, b0_prime = b0 / units.GPa, float(ase.eos_parameters[2])
    reference = CurveReference(v0_per_atom=v0, b0_gpa=b0_gpa, b0_prime=b0_prime)
    names = tuple(f"v{i}" for i in range(len(structures)))
    curve = Curve(id="Cu", structures=tuple(range(len(structures))), reference={"ASE": reference})
    card = Card(
        name="copper",
        version="1",
        title="EMT copper",
        domain="Inorganic Materials",
        periodic=True,
        label_sets={"ASE": LabelSet(theory="fit of ASE", dispersion=False)},
        default_label_set="ASE",
    )
    table = Table(id=names, group=("",) * len(names), cluster=names, curves=(curve,))
    dataset = Dataset(card, Frames.from_atoms(structures), table, {})
    measured = run(KIND, dataset, InProcessCalculator(EMT()), EquationOfStateParameters(volumes=volumes_))
    assert ("volumes" in measured.notes) == (volumes_ == "published")
    for metric, tolerance in zip(("v0_mae_percent", "b0_mae_percent", "b0_prime_mae"), tolerances, strict=True):
        assert measured.metrics[metric].value == pytest.approx(0.0, abs=tolerance)
    # Without any fit: V d²E/dV² at the minimum, by differences over 0.2 % of the volume.
    energy_at = {}
    h = 0.002 * v0
    for k in (-1, 0, 1):
        atoms = bulk("Cu", a=np.cbrt(4 * (v0 + k * h)))
        atoms.calc = EMT()
        energy_at[k] = atoms.get_potential_energy()
    curvature = v0 * (energy_at[1] - 2 * energy_at[0] + energy_at[-1]) / h**2 / units.GPa
    assert measured.items.columns["b0_gpa"][0] == pytest.approx(curvature, rel=0.01)
    slope = (energy_at[1] - energy_at[-1]) / (2 * h) / units.GPa
    assert abs(slope) / curvature < 2e-3  # how far the fitted volume is from the lowest energy, as a share


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


@pytest.mark.parametrize("points", [5, 7, 11])
def test_constant_energies_have_no_equation_of_state(points: int) -> None:
    """With the rounding of double or single precision, which has a minimum somewhere in half of the cases."""
    rng = np.random.default_rng(points)
    for _ in range(200):
        volumes = np.linspace(0.94, 1.06, points) * rng.uniform(5, 60)
        constant = rng.choice([-1, 1]) * 10 ** rng.uniform(-3, 5)
        for rounding in (0.0, 2e-16, 6e-8):
            energies = constant * (1 + rounding * rng.integers(-2, 3, points))
            assert fit(volumes, energies) is None
        assert fit(volumes, np.full(points, np.float32(constant)) * np.float32(1.1)) is None


# V0 [Å³ per atom] and B0 [GPa], roughly those of argon, neon, benzene and carbon dioxide; then about the least that
# counts.
@pytest.mark.parametrize(("v0", "b0"), [(37.3, 2.9), (22.0, 1.1), (9.6, 8.0), (14.8, 8.5), (37.0, 0.06)])
@pytest.mark.parametrize("e0", [-0.05, -15.0, -14_400.0])
def test_the_softest_crystals_have_one(v0: float, b0: float, e0: float) -> None:
    volumes = np.linspace(0.94, 1.06, 7) * v0
    fitted = fit(volumes, energy(volumes, EquationOfState(v0, b0, 7.0, e0)))
    assert fitted is not None
    assert fitted[:2] == pytest.approx((v0, b0), rel=1e-2)
    if e0 > -1:  # in single precision, whose rounding is small beside the cohesive energy alone
        single = fit(volumes, energy(volumes, EquationOfState(v0, b0, 7.0, e0)).astype(np.float32).astype(np.float64))
        assert single is not None
        assert single.b0_gpa == pytest.approx(b0, rel=0.05)


def test_softer_than_any_crystal_is_none() -> None:
    volumes = np.linspace(0.94, 1.06, 7) * 40.0
    assert fit(volumes, energy(volumes, EquationOfState(40.0, 0.04, 4.0, -1.0))) is None


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
    noise = 1e-7 * np.random.default_rng(0).normal(size=len(dataset.frames))
    for energies in (0.0 * noise, -1.0 + 0.0 * noise, -1.0 + noise):
        assert_flat(KIND.measure(observed(energies), dataset, NOTHING, None))


def assert_flat(flat: Measurement) -> None:
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
