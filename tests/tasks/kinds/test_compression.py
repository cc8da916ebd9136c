"""Compression: volumes where −dE/dV is the pressure, found from energies alone, and the cost of failures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from ase import Atoms, units
from ase.build import bulk
from ase.calculators.emt import EMT
from scipy.optimize import brentq

from tasks.adversaries.volumes import CentredVolumes
from tasks.kind import Observation, Watch
from tasks.kinds.compression import FARTHEST, NEAREST, NEAREST_SHARES, USUAL_STEPS, Compression, CompressionParameters
from tasks.model.calculator import InProcessCalculator
from tasks.quickstart.crystals import build_wien2k_compression
from tasks.simulation.constant_bulk_modulus import compressed, least_errors
from tasks.simulation.relaxation import Relaxation
from tasks.structures.predictions import Cause
from tests.tasks.made_up_crystals import Argon, Counting, StresslessArgon, make_crystals, silicon

KIND = Compression()
PRECISE = CompressionParameters(relaxation=Relaxation(optimizer="BFGS", fmax=1e-5, max_steps=200))


def volume_at(atoms: Atoms, calculator: Any, pressure_gpa: float, bounds: tuple[float, float]) -> float:
    """[Å³/atom] where −dE/dV of the cell, scaled alike in all directions, is the pressure: by central differences."""

    def energy(volume: float) -> float:
        scaled = atoms.copy()
        scaled.set_cell(atoms.cell * np.cbrt(volume / atoms.get_volume()), scale_atoms=True)
        scaled.calc = calculator
        return float(scaled.get_potential_energy())

    def excess(volume: float) -> float:
        h = 1e-4 * volume
        stencil = energy(volume - 2 * h) - 8 * energy(volume - h) + 8 * energy(volume + h) - energy(volume + 2 * h)
        return -stencil / (12 * h) - pressure_gpa * units.GPa

    n = len(atoms)
    return float(brentq(excess, bounds[0] * n, bounds[1] * n, xtol=1e-9)) / n


@pytest.mark.parametrize(
    ("atoms", "calculator", "pressures", "bounds", "rel"),
    [
        # A residual of fmax = 1e-5 eV per atom in the cell is a pressure of 1e-5 eV/V, so 1e-5 eV/(V B) in volume:
        # 1e-6 in copper and silicon, 2e-5 in argon (V B = 37 Å³ × 2 GPa = 0.5 eV).
        (bulk("Cu", a=3.61), EMT, (0.0, 25.0, 150.0), (6.0, 12.0), 2e-6),
        (bulk("Ar", a=5.25, cubic=True), Argon, (0.0, 1.0, 10.0), (18.0, 40.0), 2e-5),
        (bulk("Si", a=5.43), silicon, (0.0, 5.0), (16.0, 21.0), 2e-6),
    ],
    ids=["copper", "argon", "silicon"],
)
def test_the_volume_is_where_the_energy_falls_off_with_the_pressure(
    atoms: Atoms,
    calculator: Callable[[], Any],
    pressures: tuple[float, ...],
    bounds: tuple[float, float],
    rel: float,
    run: Any,
) -> None:
    expected = [volume_at(atoms, calculator(), p, bounds) for p in pressures]
    dataset = make_crystals(
        [atoms] * len(pressures), [{"volume_per_atom": v} for v in expected], pressure_gpa=pressures
    )
    measured = run(KIND, dataset, InProcessCalculator(calculator()), PRECISE)
    np.testing.assert_allclose(measured.items.columns["volume_per_atom"], expected, rtol=rel)
    assert all(np.diff(expected) < 0)
    mae = measured.metrics["volume_per_atom_mae"]
    assert (mae.unit, mae.n_items, mae.n_failed) == ("Å³/atom", len(pressures), 0)
    # In one trivial model nothing is compressed: its error is the compression of the crystals.
    start = atoms.get_volume() / len(atoms)
    starts = np.full(len(expected), start)
    other = least_errors(starts, np.array(pressures), np.array(expected), NEAREST_SHARES).mean()
    assert mae.baseline == pytest.approx(min(np.abs(start - np.array(expected)).mean(), other))
    assert mae.failure_cost == pytest.approx(10 * mae.baseline)
    assert mae.value == pytest.approx(0.0, abs=rel * start)


def test_a_distorted_crystal_ends_with_minus_the_pressure_as_stress_and_no_forces(watch: Watch) -> None:
    atoms = bulk("Si", a=5.5, cubic=True)
    atoms.rattle(0.05, seed=4)
    atoms.set_cell(
        atoms.cell.array @ np.array([[1.02, 0.01, 0.0], [0.0, 0.99, 0.02], [0.0, 0.0, 1.0]]), scale_atoms=True
    )
    dataset = make_crystals([atoms], [{"volume_per_atom": 20.0}], pressure_gpa=[8.0])
    observation = KIND.observe(dataset.structures, PRECISE, InProcessCalculator(silicon()), watch)
    relaxed_crystal = Atoms(
        atoms.numbers, positions=observation.arrays["positions"], cell=observation.arrays["cell"][0], pbc=True
    )
    relaxed_crystal.calc = silicon()
    # fmax bounds the forces, and n fmax / V the stress: 8 × 1e-5 / 150 eV/Å³ = 1e-4 GPa.
    stress = relaxed_crystal.get_stress() / units.GPa
    np.testing.assert_allclose(stress, [-8.0, -8.0, -8.0, 0.0, 0.0, 0.0], atol=2e-4)
    assert np.abs(relaxed_crystal.get_forces()).max() < 2e-5
    expected = volume_at(bulk("Si", a=5.43), silicon(), 8.0, (16.0, 21.0))
    measured = KIND.measure(observation, dataset, PRECISE, None)
    assert measured.items.columns["volume_per_atom"][0] == pytest.approx(expected, rel=1e-5)


def test_each_failure_is_counted_by_its_cause_and_charged(run: Any) -> None:
    copper, uranium = bulk("Cu", a=3.61), bulk("U", "fcc", a=4.5)
    # Copper breaks under a tension beyond its strength.
    structures = [copper, uranium, copper, copper]
    reference = [{"volume_per_atom": 10.0}] * 4
    dataset = make_crystals(structures, reference, pressure_gpa=[25.0, 25.0, -60.0, 150.0])
    few = CompressionParameters(relaxation=Relaxation(optimizer="BFGS", max_steps=30))
    measured = run(KIND, dataset, InProcessCalculator(EMT()), few)
    assert measured.items.failures() == {Cause.UNSUPPORTED: 1, Cause.EXPLODED: 1}
    mae = measured.metrics["volume_per_atom_mae"]
    starts = np.array([a.get_volume() for a in structures])
    pressures = dataset.conditions["pressure_gpa"]
    baseline = least_errors(starts, pressures, np.full(4, 10.0), NEAREST_SHARES).mean()
    assert baseline < np.abs(starts - 10.0).mean()
    volumes = measured.items.columns["volume_per_atom"]
    assert (mae.n_items, mae.n_failed) == (4, 2)
    assert mae.value == pytest.approx((abs(volumes[0] - 10.0) + abs(volumes[3] - 10.0)) / 2)
    assert mae.charged == pytest.approx((abs(volumes[0] - 10) + abs(volumes[3] - 10) + 2 * 10 * baseline) / 4)
    too_few = CompressionParameters(relaxation=Relaxation(max_steps=1))
    measured = run(KIND, dataset, InProcessCalculator(EMT()), too_few)
    assert measured.items.failures() == {Cause.UNSUPPORTED: 1, Cause.NOT_CONVERGED: 3}
    assert measured.metrics["volume_per_atom_mae"].value is None


def test_a_model_without_stress_is_not_asked_at_all(run: Any) -> None:
    model = Counting(StresslessArgon())
    dataset = make_crystals([bulk("Ar", a=5.25)], [{"volume_per_atom": 30.0}], pressure_gpa=[1.0])
    measured = run(KIND, dataset, model)
    assert measured.items.cause.tolist() == [Cause.UNSUPPORTED]
    assert model.calls == []
    mae = measured.metrics["volume_per_atom_mae"]
    assert mae.charged == mae.failure_cost


def test_what_is_asked_is_about_what_is_estimated(watch: Watch) -> None:
    pressures = (10.0, 50.0, 150.0)
    dataset = make_crystals(
        [bulk("Cu", a=3.61, cubic=True)] * 3, [{"volume_per_atom": 10.0}] * 3, pressure_gpa=pressures
    )
    model = Counting(EMT())
    KIND.observe(dataset.structures, CompressionParameters(), model, watch)
    work = KIND.work(dataset.structures, CompressionParameters())
    assert (work.frames, work.atoms) == (3 * USUAL_STEPS, 12 * USUAL_STEPS)
    assert 0.25 < sum(len(call) for call in model.calls) / work.frames < 1.0  # crystals of lower symmetry take more


def test_datasets_that_do_not_fit_are_named(watch: Watch) -> None:
    model = InProcessCalculator(EMT())
    without = make_crystals([bulk("Cu")], [{"volume_per_atom": 10.0}])
    with pytest.raises(ValueError, match="pressure_gpa: is missing"):
        KIND.observe(without.structures, CompressionParameters(), model, watch)
    slab = bulk("Cu")
    slab.pbc = (True, True, False)
    dataset = make_crystals([bulk("Cu"), slab], [{"volume_per_atom": 10.0}] * 2, pressure_gpa=[1.0, 1.0])
    with pytest.raises(ValueError, match="structure 1 is no crystal"):
        KIND.observe(dataset.structures, CompressionParameters(), model, watch)
    dataset = make_crystals([bulk("Cu")], [{"k_vrh_gpa": 100.0}], pressure_gpa=[1.0])
    observation = KIND.observe(dataset.structures, CompressionParameters(), model, watch)
    with pytest.raises(ValueError, match="no crystal has any of volume_per_atom"):
        KIND.measure(observation, dataset, CompressionParameters(), None)


def test_no_failure_improves_what_is_charged() -> None:
    rng = np.random.default_rng(3)
    starts = [bulk("Cu", a=3.61)] * 12
    reference = rng.uniform(8.0, 11.0, 12)
    dataset = make_crystals(starts, [{"volume_per_atom": v} for v in reference], pressure_gpa=[50.0] * 12)
    # From exact answers to ones far beyond the cost of a failure.
    volumes = reference + np.geomspace(1e-3, 1e4, 12)
    cell = np.cbrt(volumes)[:, None, None] * np.eye(3)
    arrays: dict[str, np.ndarray] = {
        "cell": cell,
        "positions": np.zeros((12, 3)),
        "failure": np.zeros(12, np.int8),
    }

    def charged(failing: int | None) -> float:
        cells, failure = cell.copy(), arrays["failure"].copy()
        if failing is not None:
            cells[failing], failure[failing] = np.nan, Cause.ERROR
        stored = Observation({**arrays, "cell": cells, "failure": failure})
        value = KIND.measure(stored, dataset, CompressionParameters(), None).metrics["volume_per_atom_mae"].charged
        assert value is not None
        return value

    whole = charged(None)
    assert all(charged(i) >= whole for i in range(12))
    assert charged(0) > whole


def test_relaxations_begin_at_drawn_volumes_and_end_at_the_same(watch: Watch) -> None:
    copper = bulk("Cu", a=3.61)
    dataset = make_crystals([copper, copper], [{"volume_per_atom": 10.0}] * 2, pressure_gpa=[5.0, 25.0])
    ends, starts = [], []
    for secret in (b"one store", b"one store", b"another store"):
        model = InProcessCalculator(EMT())
        arrays = KIND.observe(dataset.structures, PRECISE, model, replace(watch, secret=secret)).arrays
        starts.append(arrays["start_volume"])
        ends.append(np.abs(np.linalg.det(arrays["cell"])))
    np.testing.assert_array_equal(ends[0], ends[1])
    np.testing.assert_allclose(ends[0], ends[2], rtol=1e-5)
    away = np.abs(np.log(np.array(starts) / copper.get_volume()))
    assert ((away >= NEAREST) & (away <= FARTHEST)).all()
    # One crystal begins at one volume: the mean over its pressures would tell more.
    np.testing.assert_allclose([s[0] for s in starts], [s[1] for s in starts])
    assert starts[0][0] == starts[1][0] != starts[2][0]


def test_half_of_the_crystals_begin_above_and_half_below(watch: Watch) -> None:
    """Of an odd number either side has one more; springs about the start gain where all begin above."""
    crystals = [bulk(symbol) for symbol in ("Cu", "Ag", "Au", "Al", "Pt")]
    dataset = make_crystals(crystals * 2, [{"volume_per_atom": 10.0}] * 10, pressure_gpa=[5.0] * 5 + [25.0] * 5)
    at_zero = np.array([atoms.get_volume() for atoms in crystals * 2])
    short = CompressionParameters(relaxation=Relaxation(max_steps=1))
    n_above, sides_of_copper = set(), set()
    for secret in range(20):
        around = replace(watch, secret=b"store %d" % secret)
        arrays = KIND.observe(dataset.structures, short, InProcessCalculator(EMT()), around).arrays
        above = arrays["start_volume"] > at_zero
        assert (above[:5] == above[5:]).all()
        n_above.add(int(above[:5].sum()))
        sides_of_copper.add(bool(above[0]))
    assert n_above == {2, 3}
    assert sides_of_copper == {False, True}


def test_a_model_that_takes_the_start_for_the_volume_at_zero_pressure_is_worse_than_the_baseline(watch: Watch) -> None:
    dataset = build_wien2k_compression()
    quick = CompressionParameters(relaxation=Relaxation(optimizer="BFGS", fmax=0.01, max_steps=100))
    shares = []
    for secret in range(20):
        around = replace(watch, secret=b"store %d" % secret)
        observation = KIND.observe(dataset.structures, quick, InProcessCalculator(CentredVolumes("middle")), around)
        mae = KIND.measure(observation, dataset, quick, None).metrics["volume_per_atom_mae"]
        assert mae.charged is not None
        assert mae.baseline is not None
        shares.append(mae.charged / mae.baseline)
    assert np.mean(shares) - 2.09 * np.std(shares, ddof=1) / np.sqrt(20) > 1.5  # Student's t for 19 degrees of freedom
    assert min(shares) > 1


@pytest.mark.parametrize("pressures", [(1.0, 5.0), (25.0, 75.0, 150.0)])
def test_nor_is_any_bulk_modulus_better_on_average(pressures: tuple[float, ...]) -> None:
    """Crystals of many moduli, by the model's own formula, over the starts that may be drawn."""
    rng = np.random.default_rng(1)
    moduli, n = np.exp(rng.normal(np.log(100), 0.6, 40)), len(pressures)
    at_zero = np.repeat(rng.uniform(8.0, 40.0, 40), n)
    at = np.tile(pressures, 40)
    reference = at_zero * np.concatenate([compressed(np.array(pressures), b) for b in moduli])
    incompressible = np.abs(at_zero - reference).mean()
    baseline = min(incompressible, least_errors(at_zero, at, reference, NEAREST_SHARES).mean())
    starts = np.exp(np.outer([-1.0, 1.0], np.linspace(NEAREST, FARTHEST, 9)).ravel())
    for modulus in (20.0, 50.0, 80.0, 120.0, 200.0, 500.0):
        errors = np.abs(at_zero[:, None] * starts * compressed(at, modulus)[:, None] - reference[:, None])
        assert errors.mean() > 1.1 * baseline


def test_a_stated_baseline_that_a_trivial_model_reaches_is_named() -> None:
    dataset = build_wien2k_compression()
    for stated, faults in ((0.7, 0), (0.8, 1)):
        card = dataset.card.model_copy(update={"baselines": {"PBE": {"volume_per_atom_mae": stated}}})
        lines = KIND.build_faults(replace(dataset, card=card))
        assert len(lines) == faults
    assert lines == [
        "baselines.PBE.volume_per_atom_mae: 0.8 is larger than the error of a trivial model, 0.7443, which would pass "
        "for a good one: leave it out, or state at most this"
    ]
    assert KIND.build_faults(make_crystals([bulk("Cu")], [{"k_vrh_gpa": 100.0}])) == []


def test_compression_by_a_bulk_modulus_by_hand() -> None:
    # Far below the modulus a volume falls by P/B, here a thousandth, less (B′ + 1)/2 times its square.
    assert compressed(np.array([0.1]), 100.0)[0] == pytest.approx(1 - 1e-3 + 2.75e-6, abs=1e-7)
    # The crystals have the modulus 100 GPa, one begins at its own volume: one of the tried moduli is within 2.5 %.
    volumes, pressures = np.array([10.0, 20.0]), np.array([10.0, 20.0])
    reference = volumes * compressed(pressures, 100.0)
    assert least_errors(volumes, pressures, reference, np.ones(1)).max() < 0.06
    far = least_errors(volumes, np.zeros(2), volumes, np.array([0.9, 1.1]))
    np.testing.assert_allclose(far, [1.0, 2.0])
