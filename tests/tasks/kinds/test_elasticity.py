"""Elasticity: the moduli of second derivatives of the energy, ions clamped and relaxed, and what a failure costs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from ase import Atoms, units
from ase.build import bulk
from ase.calculators.emt import EMT
from pydantic import ValidationError
from scipy.optimize import minimize_scalar

from tasks.kind import Observation, Watch
from tasks.kinds.elasticity import USUAL_ION_STEPS, USUAL_STEPS, Elasticity, ElasticityParameters
from tasks.model.calculator import InProcessCalculator
from tasks.simulation.relaxation import Relaxation, relaxed
from tasks.simulation.strains import deformation, elastic_tensor, is_stable, moduli, strained, voigt_strains
from tasks.structures.frames import Float
from tasks.structures.predictions import Cause
from tests.tasks.made_up_crystals import Argon, Counting, StresslessArgon, make_crystals, silicon

KIND = Elasticity()
TIGHT = Relaxation(optimizer="BFGS", fmax=1e-5, max_steps=200)
SMALL = (-0.001, 0.001)
COPPER, ARGON, SILICON = bulk("Cu", a=3.6), bulk("Ar", a=5.25), bulk("Si", a=5.43)


def small(ions: Any) -> ElasticityParameters:
    """Strains within the linear response."""
    return ElasticityParameters(relaxation=TIGHT, normal_strains=SMALL, shear_strains=SMALL, ions=ions)


class Cubic(NamedTuple):
    """The three stiffnesses of a cubic crystal [GPa], and the moduli they come to, by hand."""

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


def test_default_strains_are_those_of_matcalc_step_by_step(run: Any) -> None:
    """The definition at finite strain, written out anew: F by hand, ASE's stresses, a straight line for each."""
    assert ElasticityParameters().normal_strains == pytest.approx(np.linspace(-0.01, 0.01, 4))
    assert ElasticityParameters().shear_strains == pytest.approx(np.linspace(-0.06, 0.06, 4))
    settings = ElasticityParameters(relaxation=TIGHT, ions="clamped")
    dataset = make_crystals([bulk("Cu", a=3.6)], [{"k_vrh_gpa": 1.0, "g_vrh_gpa": 1.0}])
    model = InProcessCalculator(EMT())
    observation = KIND.observe(dataset.structures, settings, model, Watch(time.monotonic))
    found = KIND.measure(observation, dataset, settings, None).items.columns
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
    assert found["k_vrh_gpa"][0] == pytest.approx((k_voigt + k_reuss) / 2, rel=1e-9)
    assert found["g_vrh_gpa"][0] == pytest.approx((g_voigt + g_reuss) / 2, rel=1e-9)


def test_a_deformation_has_its_strain() -> None:
    rng = np.random.default_rng(2)
    for strain in (*voigt_strains((0.01,), (-0.06,)), rng.uniform(-0.1, 0.1, 6)):
        f = deformation(strain)
        xx, yy, zz, yz, xz, xy = strain * [1, 1, 1, 0.5, 0.5, 0.5]
        np.testing.assert_allclose((f.T @ f - np.eye(3)) / 2, [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], atol=1e-15)
        assert np.allclose(f, np.triu(f))
        atoms = bulk("Si", cubic=True)
        deformed = strained(atoms, strain)
        np.testing.assert_allclose(deformed.positions, atoms.positions @ f.T, atol=1e-12)


def random_stable_tensor(rng: np.random.Generator) -> Float:
    root = rng.normal(size=(6, 6))
    return np.asarray(root @ root.T + 3 * np.eye(6))


def test_the_tensor_of_a_linear_crystal_without_symmetry_is_found_whatever_stress_is_left() -> None:
    rng = np.random.default_rng(7)
    strains = voigt_strains((-0.01, 0.02), (0.01, 0.03, -0.02))
    for _ in range(5):
        tensor, left = random_stable_tensor(rng), rng.normal(size=6)
        np.testing.assert_allclose(elastic_tensor(strains, strains @ tensor + left), tensor, atol=1e-9)


def test_voigt_and_reuss_are_averages_over_all_orientations() -> None:
    """For a crystal without symmetry, from the tensor of fourth rank: no Voigt notation, none of its factors of two."""
    rng = np.random.default_rng(11)
    index = np.array([[0, 5, 4], [5, 1, 3], [4, 3, 2]])
    twice = np.where(index > 2, 2.0, 1.0)
    for _ in range(5):
        tensor = random_stable_tensor(rng)
        stiffness = tensor[index[:, :, None, None], index[None, None]]
        compliance = np.linalg.inv(tensor)[index[:, :, None, None], index[None, None]]
        compliance = compliance / twice[:, :, None, None] / twice[None, None]
        # The isotropic part of c_ijkl has c_iijj = 9 K and c_ijij = 3 K + 10 G; of s_ijkl, 1/K and 1/(3K) + 5/(2G).
        c_iijj, c_ijij = np.einsum("iijj", stiffness), np.einsum("ijij", stiffness)
        s_iijj, s_ijij = np.einsum("iijj", compliance), np.einsum("ijij", compliance)
        found = moduli(tensor)
        assert found.k_voigt == pytest.approx(c_iijj / 9)
        assert found.g_voigt == pytest.approx((c_ijij - c_iijj / 3) / 10)
        assert found.k_reuss == pytest.approx(1 / s_iijj)
        assert found.g_reuss == pytest.approx(5 / 2 / (s_ijij - s_iijj / 3))
        assert found.k_reuss <= found.k_vrh <= found.k_voigt
        assert found.g_reuss <= found.g_vrh <= found.g_voigt


def test_a_tensor_that_some_strain_lowers_is_not_stable() -> None:
    tensor = np.diag([3.0, 2.0, 1.0, 1.0, 1.0, 1.0])
    assert is_stable(tensor)
    tensor[0, 1] = tensor[1, 0] = 2.5  # 3 × 2 < 2.5²
    assert not is_stable(tensor)
    assert not is_stable(np.zeros((6, 6)))
    assert not is_stable(np.diag([1.0, 1.0, 1.0, 1.0, 1.0, 0.0]))


def test_each_failure_is_counted_by_its_cause_and_charged(run: Any) -> None:
    """Face-centred argon is stable, body-centred is not (its forces vanish by symmetry); EMT has no uranium."""
    reference = [{"k_vrh_gpa": 3.0, "g_vrh_gpa": 2.0}] * 2
    dataset = make_crystals([ARGON, bulk("Ar", "bcc", a=4.2)], reference)
    measured = run(KIND, dataset, InProcessCalculator(Argon()), small("clamped"))
    assert measured.items.cause.tolist() == [0, Cause.UNSTABLE]
    for name in ("k_vrh_gpa", "g_vrh_gpa"):
        metric, stated = measured.metrics[f"{name}_mae"], reference[0][name]
        error = abs(measured.items.columns[name][0] - stated)
        assert (metric.n_items, metric.n_failed, metric.baseline) == (2, 1, stated)
        assert metric.value == pytest.approx(error)
        assert metric.charged == pytest.approx((error + 10 * stated) / 2)
    dataset = make_crystals([bulk("U", "fcc", a=4.5), COPPER], reference)
    one_step = small("clamped").model_copy(update={"relaxation": Relaxation(max_steps=1)})
    measured = run(KIND, dataset, InProcessCalculator(EMT()), one_step)
    assert measured.items.cause.tolist() == [Cause.UNSUPPORTED, Cause.NOT_CONVERGED]
    assert measured.metrics["k_vrh_gpa_mae"].value is None
    assert measured.metrics["k_vrh_gpa_mae"].charged == pytest.approx(30.0)


class FailsUnderShear(Argon):
    """Argon of a model that raises for a cell that is not a rhombohedron of edges alike."""

    def calculate(self, atoms: Any = None, *args: Any, **kwargs: Any) -> None:
        if np.ptp(atoms.cell.lengths()) > 1e-3:
            raise RuntimeError("what a strange cell")
        super().calculate(atoms, *args, **kwargs)


@pytest.mark.parametrize("ions", ["clamped", "relaxed"])
def test_one_failed_strain_fails_its_crystal(ions: str, run: Any) -> None:
    dataset = make_crystals([ARGON], [{"k_vrh_gpa": 3.0, "g_vrh_gpa": 2.0}])
    measured = run(KIND, dataset, InProcessCalculator(FailsUnderShear()), small(ions))
    assert measured.items.cause.tolist() == [Cause.ERROR]
    assert np.isnan(measured.items.columns["k_vrh_gpa"]).all()


def test_a_model_without_stress_is_not_asked_at_all(run: Any) -> None:
    model = Counting(StresslessArgon())
    dataset = make_crystals([ARGON] * 2, [{"k_vrh_gpa": 3.0, "g_vrh_gpa": 2.0}] * 2)
    measured = run(KIND, dataset, model)
    assert measured.items.cause.tolist() == [Cause.UNSUPPORTED] * 2
    assert model.asked == []


@pytest.mark.parametrize("ions", ["clamped", "relaxed"])
def test_strained_cells_of_all_crystals_are_asked_together(ions: str, watch: Watch) -> None:
    crystals = [ARGON, bulk("Ar", a=5.3), bulk("Ar", a=5.2)]
    dataset = make_crystals(crystals, [{"k_vrh_gpa": 3.0, "g_vrh_gpa": 2.0}] * 3)
    settings = small(ions).model_copy(update={"normal_strains": (-0.01, 0.01), "shear_strains": (-0.01, 0.01)})
    model = Counting(Argon())
    together = KIND.observe(dataset.structures, settings, model, watch)
    # Atoms of a Bravais lattice have no forces in any cell: with relaxed ions each is asked once, and for its stress.
    calls = [call for call in model.asked if len(call) > 3]
    assert calls == [(1,) * 39] * (1 if ions == "clamped" else 2)
    for index, crystal in enumerate(crystals):
        one = make_crystals([crystal], [{"k_vrh_gpa": 3.0, "g_vrh_gpa": 2.0}])
        alone = KIND.observe(one.structures, settings, InProcessCalculator(Argon()), watch)
        assert together.arrays["stress"][index].tobytes() == alone.arrays["stress"][0].tobytes()


def test_it_stops_early_and_in_good_order(watch: Watch) -> None:
    reference = [{"k_vrh_gpa": 3.0, "g_vrh_gpa": 2.0}] * 4
    dataset = make_crystals([bulk("U", "fcc", a=4.5)] * 3 + [COPPER], reference)
    model = Counting(EMT())
    picky = Watch(time.monotonic, failed_share=0.5)
    observation = KIND.observe(dataset.structures, small("clamped"), model, picky)
    assert observation.arrays["failure"].tolist() == [Cause.UNSUPPORTED] * 3 + [Cause.MISSING]
    assert len(model.asked) == 1
    # One is relaxed already when the others fail: its strained cells are not asked either.
    sheared = bulk("Ar", a=5.25)
    sheared.set_cell(sheared.cell.array @ np.diag([1.0, 1.0, 1.1]), scale_atoms=True)
    ready = relaxed(ARGON, InProcessCalculator(Argon()), TIGHT)
    model = Counting(FailsUnderShear())
    dataset = make_crystals([ready, sheared, sheared, sheared], reference)
    observation = KIND.observe(dataset.structures, small("clamped"), model, picky)
    assert observation.arrays["failure"].tolist() == [Cause.MISSING] + [Cause.ERROR] * 3
    assert len(model.asked) == 1
    model = Counting(Argon())
    dataset = make_crystals([ARGON] * 2, reference[:2])
    late = Watch(model.now, deadline=3.0)
    observation = KIND.observe(dataset.structures, small("relaxed"), model, late)
    assert observation.arrays["failure"].tolist() == [Cause.OVER_TIME] * 2
    assert np.isnan(observation.arrays["stress"]).all()


def test_what_is_asked_is_about_what_is_estimated(watch: Watch) -> None:
    start = bulk("Si", a=5.5)
    start.rattle(0.05, seed=1)
    dataset = make_crystals([start], [{"k_vrh_gpa": 100.0, "g_vrh_gpa": 60.0}])
    for ions, ask in (("clamped", 13), ("relaxed", 13 * (1 + USUAL_ION_STEPS))):
        settings = ElasticityParameters(normal_strains=(-0.01, 0.01), shear_strains=(-0.06, 0.06), ions=ions)
        model = Counting(silicon())
        KIND.observe(dataset.structures, settings, model, watch)
        work = KIND.work(dataset.structures, settings)
        assert work == (USUAL_STEPS + ask, 2 * (USUAL_STEPS + ask))
        assert 0.3 < sum(map(len, model.asked)) / work.frames < 1.5


def test_an_observation_of_other_strains_is_refused(watch: Watch) -> None:
    dataset = make_crystals([ARGON], [{"k_vrh_gpa": 3.0, "g_vrh_gpa": 2.0}])
    observation = KIND.observe(dataset.structures, small("clamped"), InProcessCalculator(Argon()), watch)
    other = small("clamped").model_copy(update={"normal_strains": (-0.002, 0.002)})
    with pytest.raises(ValueError, match="strain is not that of the parameters"):
        KIND.measure(observation, dataset, other, None)


@pytest.mark.parametrize("amounts", [(), (0.01,), (0.01, 0.01), (0.01, 0.5), (float("nan"), 0.01)])
def test_strains_that_give_no_slope_or_no_cell_are_refused(amounts: Any) -> None:
    with pytest.raises(ValidationError):
        ElasticityParameters(shear_strains=amounts)


def test_no_failure_improves_what_is_charged() -> None:
    """Isotropic crystals from exact moduli to ones far beyond the cost of a failure, and one that is unstable."""
    settings = small("clamped")
    scale = np.array([1.0, 1.01, 2.0, 50.0, 1e6, -1.0])
    n, strains = len(scale), settings.strains
    base = np.full((6, 6), 0.0)
    base[:3, :3] = 60.0
    base[np.arange(6), np.arange(6)] = [120.0] * 3 + [30.0] * 3
    stress = scale[:, None, None] * (strains @ base) * units.GPa
    dataset = make_crystals([ARGON] * n, [{"k_vrh_gpa": 80.0, "g_vrh_gpa": 30.0}] * n)
    rest = {"cell": np.ones((n, 3, 3)), "positions": np.zeros((n, 3)), "strain": strains}

    def charged(failing: int | None, cause: Cause) -> tuple[float, float]:
        stresses, failure = stress.copy(), np.zeros(n, np.int8)
        if failing is not None:
            stresses[failing], failure[failing] = np.nan, cause
        stored = Observation({**rest, "stress": stresses, "failure": failure})
        metrics = KIND.measure(stored, dataset, settings, None).metrics
        values = metrics["k_vrh_gpa_mae"].charged, metrics["g_vrh_gpa_mae"].charged
        assert values[0] is not None
        assert values[1] is not None
        return values[0], values[1]

    whole = charged(None, Cause.NONE)
    for index in range(n):
        for cause in (Cause.NONE, Cause.ERROR):  # with NONE: NaN where the model claims success
            failed = charged(index, cause)
            assert failed[0] >= whole[0]
            assert failed[1] >= whole[1]
    assert charged(0, Cause.ERROR)[0] > whole[0]
