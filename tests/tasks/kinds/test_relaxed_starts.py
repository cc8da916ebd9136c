"""Starts of relaxations: what is drawn, that honest models end in the same place, and that a start tells nothing."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from ase.calculators.calculator import Calculator
from ase.calculators.emt import EMT
from ase.calculators.lj import LennardJones
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.adversaries.run_adversary import mean_over_secrets
from tasks.datasets.dataset import Dataset
from tasks.kind import Observation, Watch
from tasks.kinds.relaxed_starts import drawn_starts, read_starts
from tasks.model.calculator import InProcessCalculator
from tasks.simulation.symmetry import space_group
from tasks.structures.frames import Float, Frames
from tests.tasks.kinds.relaxed_sets import KIND, Constant, difference, parameters, relaxation_set, slab

FCC = ("Cu", "Ag", "Au", "Al", "Ni", "Pd", "Pt", "Pb", "Ir", "Rh", "Ca", "Sr")
SECRETS = [f"secret {k}".encode() for k in range(20)]


@cache
def metals() -> Dataset:
    """Twelve perfect crystals that start at their references."""
    crystals = [bulk(element, "fcc", cubic=True) for element in FCC]
    return relaxation_set(crystals, crystals)


def start(dataset: Dataset, secret: bytes = b"a", **values: Any) -> Frames:
    settings = parameters(**values)
    draw = settings.draw(KIND.free_cells(dataset.structures, settings))
    return drawn_starts(dataset.structures, draw, KIND.observe_version, secret)


def log_volumes(frames: Frames, reference: Frames) -> Float:
    return np.asarray(np.log(frames.volumes / reference.volumes))


def observe(dataset: Dataset, model: Calculator, secret: bytes = b"a", **values: Any) -> Observation:
    watch = Watch(clock=lambda: 0.0, secret=secret)
    return KIND.observe(dataset.structures, parameters(**values), InProcessCalculator(model), watch)


def test_displacements_depend_on_the_secret_and_spare_fixed_atoms() -> None:
    atoms = bulk("Cu", cubic=True).repeat(5)
    fixed = np.arange(len(atoms)) % 4 == 0
    dataset = relaxation_set([atoms], [atoms], conditions={"fixed": fixed})
    away = start(dataset, rattle=0.1).positions - dataset.frames.positions
    assert not away[fixed].any()
    # Of a uniform number within ±0.1 the mean square is 0.1²/3; of three of them 0.1².
    assert np.sqrt((away[~fixed] ** 2).sum(axis=1).mean()) == pytest.approx(0.1, rel=0.05)
    assert np.abs(away).max() <= 0.1
    other = start(dataset, b"b", rattle=0.1).positions - dataset.frames.positions
    # A model that subtracts the displacements of another secret gets farther away: the mean square doubles.
    assert np.sqrt(((away - other)[~fixed] ** 2).sum(axis=1).mean()) == pytest.approx(0.1 * np.sqrt(2), rel=0.05)
    np.testing.assert_array_equal(start(dataset, rattle=0.1).positions - dataset.frames.positions, away)
    assert start(dataset) is dataset.frames


@given(st.binary(min_size=1, max_size=8), st.floats(0.001, 0.2))
@settings(max_examples=25, deadline=None)
def test_a_length_differs_by_half_of_the_strain_to_the_strain_half_of_them_longer(secret: bytes, strain: float) -> None:
    reference = metals().frames
    drawn = start(metals(), secret, strain=strain)
    common = log_volumes(drawn, reference) / 3
    assert (np.abs(common) >= 0.5 * strain - 1e-12).all()
    assert (np.abs(common) <= strain + 1e-12).all()
    assert (common > 0).sum() == 6
    # Cubic crystals stay cubic.
    np.testing.assert_allclose(drawn.cell, np.exp(common)[:, None, None] * reference.cell, atol=1e-9)


def test_a_single_crystal_is_as_often_longer_as_shorter() -> None:
    dataset = relaxation_set([bulk("Cu")], [bulk("Cu")])
    longer = [start(dataset, secret, strain=0.1).volumes[0] > dataset.frames.volumes[0] for secret in SECRETS]
    assert 5 <= sum(longer) <= 15  # of 20: all but 1 % of fair draws; the secrets are fixed


def triclinic() -> Atoms:
    return Atoms(
        "CuAu", [(0, 0, 0), (1.1, 1.3, 1.9)], cell=[[3.1, 0.0, 0.0], [0.4, 3.4, 0.0], [0.3, 0.5, 3.9]], pbc=True
    )


def test_the_shape_changes_within_the_space_group() -> None:
    structures = [bulk("Zn", "hcp", a=2.66, c=4.95), triclinic(), slab()]
    structures[2].pbc = (True, True, False)
    dataset = relaxation_set(structures, structures)
    drawn, reference = start(dataset, strain=0.1), dataset.frames
    hexagonal = drawn.atoms(0)
    assert space_group(hexagonal, 1e-5) == space_group(structures[0], 1e-5) == 194
    ratio = hexagonal.cell.lengths()[2] / hexagonal.cell.lengths()[0]
    assert 0.001 < abs(ratio / (4.95 / 2.66) - 1) < 0.1
    assert np.abs(drawn.atoms(1).cell.angles() - structures[1].cell.angles()).min() > 0.01
    # A deformation is symmetric: it turns nothing. Atoms follow the cell.
    stretch = np.linalg.solve(reference.cell[1], drawn.cell[1])
    np.testing.assert_allclose(stretch, stretch.T, atol=1e-12)
    np.testing.assert_allclose(drawn.atoms(1).get_scaled_positions(), structures[1].get_scaled_positions(), atol=1e-12)
    # A slab keeps its cell.
    np.testing.assert_array_equal(drawn.atoms(2).positions, structures[2].positions)
    np.testing.assert_array_equal(drawn.cell[2], reference.cell[2])


@pytest.mark.parametrize(
    ("values", "free"),
    [
        ({"cell": "hydrostatic"}, None),
        ({"strains": [True, True, False, False, False, True]}, [(0, 0), (1, 1), (0, 1)]),
        ({"strains": [True, False, False, False, False, False]}, [(0, 0)]),
    ],
)
def test_only_what_may_relax_is_strained(values: dict[str, Any], free: Any) -> None:
    dataset = relaxation_set([triclinic()], [triclinic()])
    drawn = start(dataset, strain=0.1, **values)
    change = np.linalg.solve(dataset.frames.cell[0], drawn.cell[0]) - np.eye(3)
    if free is None:
        np.testing.assert_allclose(change, change[0, 0] * np.eye(3), atol=1e-12)
    else:
        allowed = np.zeros((3, 3), np.bool_)
        for i, j in free:
            allowed[i, j] = allowed[j, i] = True
        assert not np.abs(change[~allowed]).max() > 1e-12
        assert np.abs(change[allowed]).min() > 1e-4
    assert abs(change[0, 0]) > 0.01


def test_structures_of_the_same_elements_have_one_strain() -> None:
    """So a crystal at several pressures, or with a vacancy, does not tell the mean of several draws."""
    whole = bulk("Cu", cubic=True).repeat(2)
    alloy = bulk("Cu", cubic=True)
    alloy.symbols[0] = "Au"
    dataset = relaxation_set([bulk("Cu"), whole, whole[1:], bulk("Cu"), alloy], [bulk("Cu"), whole, None, None, alloy])
    strains = log_volumes(start(dataset, strain=0.05), dataset.frames)
    np.testing.assert_allclose(strains[:4], strains[0], atol=1e-12)
    assert abs(strains[4] - strains[0]) > 0.01


def test_a_model_without_forces_achieves_the_baseline_of_the_drawn_starts() -> None:
    """And `measure`, which never has the secret, reads it from the observation."""
    dataset, values = metals(), {"strain": 0.03, "rattle": 0.1}
    for secret in SECRETS[:3]:
        observed = observe(dataset, Constant(), secret, **values)
        metrics = KIND.measure(observed, dataset, parameters(**values), None).metrics
        volumes = start(dataset, secret, **values).volumes / dataset.frames.volumes
        assert metrics["volume_mape"].baseline == pytest.approx(100 * np.abs(volumes - 1).mean())
        for name in ("rmsd", "volume_mape"):
            assert metrics[name].value == pytest.approx(metrics[name].baseline, abs=1e-12)
    rest = Observation({name: array for name, array in observed.arrays.items() if name != "start_cell"})
    with pytest.raises(ValueError, match="observation: start_cell is missing"):
        KIND.measure(rest, dataset, parameters(**values), None)
    assert "start_cell" not in observe(dataset, Constant(), start="published").arrays


@pytest.mark.parametrize("offset", [-0.015, -0.005, 0.005, 0.015])
def test_no_guess_near_the_start_is_better_than_the_start(offset: float) -> None:
    """A model that knows the distribution, but no chemistry, shrinks or widens every cell by as much."""
    reference = metals().frames
    errors = np.array(
        [log_volumes(start(metals(), secret, strain=0.03, cell="hydrostatic"), reference) / 3 for secret in SECRETS]
    )
    guessed = np.abs(errors + offset).mean(axis=1) / np.abs(errors).mean(axis=1)
    np.testing.assert_allclose(guessed, 1.0, atol=1e-9)


def test_subtracting_the_draw_of_another_secret_is_worse_than_the_start() -> None:
    """In the mean 10/9 of the start's error: half of the strains differ by 1/6 of the largest, the others by 3/2.

    Of six metals the share varies by 0.4 from secret to secret, so that twenty secrets do not show it.
    """
    crystals = [bulk(element, "fcc") for element in FCC[:6]]
    dataset = relaxation_set(crystals, crystals)
    known = log_volumes(start(dataset, b"", strain=0.03, cell="hydrostatic"), dataset.frames)
    shares = []
    for k in range(400):
        drawn = log_volumes(start(dataset, f"{k}".encode(), strain=0.03, cell="hydrostatic"), dataset.frames)
        shares.append(np.abs(drawn - known).mean() / np.abs(drawn).mean())
    interval = mean_over_secrets(shares)
    assert interval.low > 1.0
    assert interval.low < 10 / 9 < interval.high
    assert np.std(shares) == pytest.approx(0.4, abs=0.05)


def test_a_known_offset_of_the_stored_starts_does_not_help() -> None:
    """They are 1 % longer than the references, and everybody knows it."""
    reference = metals().frames
    wider = [atoms.copy() for atoms in map(reference.atoms, range(len(reference)))]
    for atoms in wider:
        atoms.set_cell(1.01 * atoms.cell, scale_atoms=True)
    dataset = relaxation_set(wider, [reference.atoms(i) for i in range(len(reference))])
    for secret in SECRETS:
        lengths = log_volumes(start(dataset, secret, strain=0.03, cell="hydrostatic"), reference) / 3
        adversary, baseline = np.abs(lengths - np.log(1.01)).mean(), np.abs(lengths).mean()
        assert adversary / baseline == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize(
    ("model", "structure"),
    [(EMT, bulk("Cu", cubic=True)), (lambda: LennardJones(sigma=3.4, epsilon=0.0103, rc=8.5, smooth=True), None)],
)
def test_an_honest_model_ends_in_one_place_from_two_secrets(model: Any, structure: Atoms | None) -> None:
    """By the criterion of convergence: 1e-4 eV/Å times four atoms is 3 V B times the strain of a length that is left.

    Copper (B = 137 GPa = 0.86 eV/Å³, V = 46 Å³): 3e-6, and 1e-5 of the volume. Argon (B = 0.019 eV/Å³, V = 150 Å³):
    5e-5, and 1.4e-4 of the volume; of the energy 9/2 V B times the square, below 1e-7 eV.
    """
    atoms = structure or bulk("Ar", "fcc", a=5.3, cubic=True)
    dataset = relaxation_set([atoms], [atoms], [difference(1.0, 1.0)])
    tight = {"optimizer": "BFGS", "fmax": 1e-4, "max_steps": 300}
    plain = observe(dataset, model(), start="published", relaxation=tight).arrays
    drawn = [observe(dataset, model(), s, strain=0.03, rattle=0.1, relaxation=tight).arrays for s in SECRETS[:2]]
    volumes = [float(np.linalg.det(arrays["cell"][0])) for arrays in (plain, *drawn)]
    energies = [float(arrays["energy"][0]) for arrays in (plain, *drawn)]
    assert all(arrays["converged"][0] for arrays in (plain, *drawn))
    assert volumes == pytest.approx([volumes[0]] * 3, rel=3e-4)
    assert energies == pytest.approx([energies[0]] * 3, abs=1e-6)
    assert not np.allclose(drawn[0]["start_cell"], drawn[1]["start_cell"], rtol=1e-3)


def test_symmetric_starts_keep_their_symmetry_in_the_relaxation() -> None:
    atoms = bulk("Cu", cubic=True, a=3.7)
    dataset = relaxation_set([atoms], [bulk("Cu", cubic=True)])
    end = observe(dataset, EMT(), strain=0.05, keep_symmetry=True).arrays
    assert end["converged"][0]
    assert space_group(Atoms("Cu4", end["positions"], cell=end["cell"][0], pbc=True), 1e-5) == 225


def test_starts_that_do_not_fit_are_refused() -> None:
    dataset = metals()
    with pytest.raises(ValueError, match="observation: start_positions is float64"):
        read_starts(Observation({"start_positions": np.zeros((3, 3))}), dataset.frames)
