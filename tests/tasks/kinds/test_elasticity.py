"""Elasticity: the moduli are those of second derivatives of the energy, ions clamped and relaxed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from ase import Atoms, units
from ase.build import bulk
from ase.calculators.emt import EMT
from scipy.optimize import minimize_scalar

from tasks.kind import Watch
from tasks.kinds.elasticity import Elasticity, ElasticityParameters
from tasks.model.calculator import InProcessCalculator
from tasks.simulation.relaxation import Relaxation
from tasks.structures.frames import Float
from tests.tasks.made_up_crystals import Argon, make_crystals, silicon

KIND = Elasticity()
TIGHT = Relaxation(optimizer="BFGS", fmax=1e-5, max_steps=200)
SMALL = (-0.001, 0.001)
COPPER, ARGON, SILICON = bulk("Cu", a=3.6), bulk("Ar", a=5.25), bulk("Si", a=5.43)


def small(ions: Any) -> ElasticityParameters:
    """Strains within the linear response."""
    return ElasticityParameters(relaxation=TIGHT, normal_strains=SMALL, shear_strains=SMALL, ions=ions)


class Cubic(NamedTuple):
    """The three stiffnesses of a cubic crystal [GPa], and its moduli, by hand."""

    c11: float
    c12: float
    c44: float

    @property
    def k(self) -> float:
        return (self.c11 + 2 * self.c12) / 3

    @property
    def g(self) -> float:
        tetragonal = self.c11 - self.c12
        voigt = (tetragonal + 3 * self.c44) / 5
        reuss = 5 * tetragonal * self.c44 / (4 * self.c44 + 3 * tetragonal)
        return (voigt + reuss) / 2


def energy_of(atoms: Atoms, calculator: Any, strain: Float, shift: float = 0.0) -> float:
    """[eV] of `atoms` under the symmetric (3, 3) `strain`, the last atom shifted along x [Å]."""
    moved = atoms.copy()
    moved.set_cell(atoms.cell.array @ (np.eye(3) + strain), scale_atoms=True)
    moved.positions[-1, 0] += shift
    moved.calc = calculator
    return float(moved.get_potential_energy())


def stiffnesses(start: Atoms, calculator: Any, relax_shear: bool) -> Cubic:
    """C11, C12 and C44 from energies alone: second differences about the lattice constant of the lowest energy.

    Under a yz shear symmetry lets the two atoms of diamond move against each other along x only.
    """

    def volumetric(strain: float) -> float:
        return energy_of(start, calculator, strain * np.eye(3))

    atoms = start.copy()
    best = minimize_scalar(volumetric, bounds=(-0.03, 0.03), method="bounded", options={"xatol": 1e-8}).x
    atoms.set_cell(start.cell * (1 + best), scale_atoms=True)

    def curvature(pattern: Any, relax: bool = False, h: float = 2e-3) -> float:
        def energy(amount: float) -> float:
            strain = amount * np.array(pattern, np.float64)
            if not relax:
                return energy_of(atoms, calculator, strain)
            result = minimize_scalar(lambda x: energy_of(atoms, calculator, strain, x), bracket=(-0.01, 0.01), tol=1e-9)
            return float(result.fun)

        e = [energy(k * h) for k in (-2, -1, 0, 1, 2)]
        second = (-e[0] + 16 * e[1] - 30 * e[2] + 16 * e[3] - e[4]) / (12 * h**2)
        return second / atoms.get_volume() / units.GPa

    c11 = curvature(np.diag([1, 0, 0]))
    return Cubic(
        c11=c11,
        c12=curvature(np.diag([1, 1, 0])) / 2 - c11,
        c44=curvature([[0, 0, 0], [0, 0, 0.5], [0, 0.5, 0]], relax_shear),
    )


@pytest.mark.parametrize(
    ("atoms", "calculator", "ions"),
    [
        (COPPER, EMT, "clamped"),
        (COPPER, EMT, "relaxed"),
        (ARGON, Argon, "clamped"),
        (SILICON, silicon, "clamped"),
        (SILICON, silicon, "relaxed"),
    ],
    ids=["copper", "copper, ions relaxed", "argon", "silicon", "silicon, ions relaxed"],
)
def test_moduli_are_those_of_the_energys_second_derivatives(
    atoms: Atoms, calculator: Callable[[], Any], ions: str, run: Any
) -> None:
    expected = stiffnesses(atoms, calculator(), relax_shear=ions == "relaxed" and len(atoms) > 1)
    dataset = make_crystals([atoms], [{"k_vrh_gpa": expected.k, "g_vrh_gpa": expected.g}])
    measured = run(KIND, dataset, InProcessCalculator(calculator()), small(ions))
    # Strains of 1e-3 are off the linear response by (1e-3)² times a few tens; the relaxed volume by 1e-5.
    assert measured.items.columns["k_vrh_gpa"][0] == pytest.approx(expected.k, rel=2e-4)
    assert measured.items.columns["g_vrh_gpa"][0] == pytest.approx(expected.g, rel=2e-4)
    for name, value in (("k_vrh_gpa_mae", expected.k), ("g_vrh_gpa_mae", expected.g)):
        metric = measured.metrics[name]
        assert (metric.unit, metric.n_items, metric.n_failed) == ("GPa", 1, 0)
        assert metric.baseline == pytest.approx(value)  # of moduli that are zero
        assert metric.failure_cost == pytest.approx(10 * value)


def test_clamped_and_relaxed_ions_differ_where_atoms_are_not_at_centres_of_inversion(run: Any) -> None:
    """In diamond silicon the sublattices move against each other under shear; held, C44 is 1.7 times as large."""
    dataset = make_crystals([SILICON], [{"k_vrh_gpa": 1.0, "g_vrh_gpa": 1.0}])
    model = InProcessCalculator(silicon())
    clamped, free = (run(KIND, dataset, model, small(ions)).items.columns for ions in ("clamped", "relaxed"))
    assert clamped["k_vrh_gpa"][0] == pytest.approx(free["k_vrh_gpa"][0], rel=1e-6)
    assert clamped["g_vrh_gpa"][0] / free["g_vrh_gpa"][0] > 1.3


@pytest.mark.parametrize(
    ("crystal", "calculator", "relative_change"),
    [
        (bulk("Cu", a=3.6), EMT, 0.060),
        (bulk("Ar", a=5.25), Argon, 0.153),
        (bulk("Cu", "hcp", a=2.55, c=4.16), EMT, -0.112),
        (bulk("Ag", "hcp", a=2.89, c=4.7), EMT, -0.083),
    ],
)
def test_the_default_shear_strains_are_beyond_the_linear_response(
    run: Any, crystal: Atoms, calculator: Callable[[], Any], relative_change: float
) -> None:
    dataset = make_crystals([crystal], [{"k_vrh_gpa": 1.0, "g_vrh_gpa": 1.0}])
    model = InProcessCalculator(calculator())
    g, linear = (
        run(KIND, dataset, model, settings).items.columns["g_vrh_gpa"][0]
        for settings in (ElasticityParameters(relaxation=TIGHT), small("relaxed"))
    )
    assert g / linear - 1 == pytest.approx(relative_change, abs=0.002)


def test_default_strains_are_those_of_lambench_step_by_step(run: Any) -> None:
    """The definition at finite strain, written independently: F by hand, ASE's stresses, a straight line for each."""
    assert ElasticityParameters().normal_strains == pytest.approx(np.linspace(-0.01, 0.01, 4))
    assert ElasticityParameters().shear_strains == pytest.approx(np.linspace(-0.06, 0.06, 4))
    settings = ElasticityParameters(relaxation=TIGHT, ions="clamped")
    dataset = make_crystals([bulk("Cu", a=3.6)], [{"k_vrh_gpa": 1.0, "g_vrh_gpa": 1.0}])
    model = InProcessCalculator(EMT())
    observation = KIND.observe(dataset.structures, settings, model, Watch(time.monotonic))
    columns = KIND.measure(observation, dataset, settings, None).items.columns
    cell = observation.arrays["cell"][0]
    slopes = np.zeros((6, 6))
    for k, (i, j) in enumerate([(0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1)]):
        amounts = np.linspace(-0.01, 0.01, 4) if k < 3 else np.linspace(-0.06, 0.06, 4)
        amounts = np.append(amounts, 0.0)
        stresses = []
        for e in amounts:
            f = np.eye(3)
            if i == j:
                f[i, i] = np.sqrt(1 + 2 * e)
            else:
                f[i, j], f[j, j] = 2 * e, np.sqrt(1 - 4 * e**2)
            deformed = Atoms("Cu", cell=(f @ cell.T).T, pbc=True)
            deformed.calc = EMT()
            stresses.append(deformed.get_stress() / units.GPa)
        slopes[k] = np.polyfit(amounts * (1 if k < 3 else 2), stresses, 1)[0]
    c = (slopes + slopes.T) / 2
    s = np.linalg.inv(c)
    k_voigt, k_reuss = c[:3, :3].mean(), 1 / s[:3, :3].sum()
    g_voigt = (np.trace(c[:3, :3]) - (c[0, 1] + c[0, 2] + c[1, 2]) + 3 * np.trace(c[3:, 3:])) / 15
    g_reuss = 15 / (4 * (np.trace(s[:3, :3]) - (s[0, 1] + s[0, 2] + s[1, 2])) + 3 * np.trace(s[3:, 3:]))
    assert columns["k_vrh_gpa"][0] == pytest.approx((k_voigt + k_reuss) / 2, rel=1e-9)
    assert columns["g_vrh_gpa"][0] == pytest.approx((g_voigt + g_reuss) / 2, rel=1e-9)


def test_components_of_the_tensor_by_hand(run: Any) -> None:
    """Of copper with clamped ions: 3 GPa off in C11, 6 in C44; what is zero or not stated does not count."""
    expected = stiffnesses(COPPER, EMT(), relax_shear=False)
    moduli = {"k_vrh_gpa": expected.k, "g_vrh_gpa": expected.g}
    stated = {"c11_gpa": expected.c11 + 3.0, "c12_gpa": expected.c12, "c44_gpa": expected.c44 - 6.0, "c14_gpa": 0.0}
    dataset = make_crystals([COPPER, ARGON], [{**moduli, **stated}, moduli])
    measured = run(KIND, dataset, InProcessCalculator(EMT()), small("clamped"))
    metric = measured.metrics["elastic_tensor_mae"]
    assert (metric.n_items, metric.n_failed, metric.unit) == (1, 0, "GPa")
    assert metric.value == pytest.approx(3.0, abs=0.1)
    size = (expected.c11 + 3.0 + expected.c12 + expected.c44 - 6.0) / 3
    assert metric.baseline == pytest.approx(size)
    contributions = {c.metric: c for c in KIND.contributions(measured.items, measured.metrics)}
    contribution = contributions["elastic_tensor_mae"]
    assert contribution.sums.sum() == pytest.approx(metric.charged)
    # EMT does not know silicon: the crystal fails.
    failed = run(KIND, make_crystals([SILICON], [{**moduli, **stated}]), InProcessCalculator(EMT()), small("clamped"))
    assert failed.metrics["elastic_tensor_mae"].charged == pytest.approx(10 * size)
