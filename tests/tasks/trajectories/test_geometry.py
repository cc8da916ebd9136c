"""Bonds, angles, dihedrals, planarity, angular distribution, superposition, TM-score and radius of gyration."""

from __future__ import annotations

import numpy as np
import pytest
from ase.build import bulk, molecule
from ase.data import atomic_masses
from scipy.spatial.transform import Rotation

from tasks.trajectories.angular_distribution import angular_distribution
from tasks.trajectories.internal_coordinates import bond_angles, bond_lengths, dihedral_angles, ring_planarities
from tasks.trajectories.superposition import radii_of_gyration, rmsd, trajectory_rmsd
from tasks.trajectories.tm_score import distance_scale, tm_scores
from tests.tasks.trajectories.runs import free_run, periodic_run

HEXAGON = 1.39 * np.stack([np.cos(np.pi / 3 * np.arange(6)), np.sin(np.pi / 3 * np.arange(6)), np.zeros(6)], axis=1)


def helix(n: int) -> np.ndarray:
    """Cα of a helix: rise 1.5 Å, 100° a residue, radius 2.3 Å."""
    turn = np.radians(100) * np.arange(n)
    return np.stack([2.3 * np.cos(turn), 2.3 * np.sin(turn), 1.5 * np.arange(n)], axis=1)


def bent_helix(n: int) -> np.ndarray:
    """The second half turned by 60° about x through the residue in the middle."""
    chain, half = helix(n), n // 2
    turn = Rotation.from_euler("x", 60, degrees=True)
    chain[half:] = turn.apply(chain[half:] - chain[half]) + chain[half]
    return chain


def test_coordinates_are_those_of_ase_also_across_a_boundary() -> None:
    ethanol = molecule("CH3CH2OH")
    ethanol.set_cell([9.0, 10.0, 11.0])
    wrapped = ethanol.copy()
    wrapped.pbc = True
    wrapped.wrap()
    run = periodic_run(wrapped.positions[None], ethanol.cell.array, ethanol.numbers)
    assert bond_lengths(run, [[0, 1], [1, 2]])[0] == pytest.approx(
        [ethanol.get_distance(0, 1), ethanol.get_distance(1, 2)]
    )
    assert bond_angles(run, [[0, 1, 2]])[0, 0] == pytest.approx(ethanol.get_angle(0, 1, 2))
    for four in ([2, 1, 0, 3], [0, 1, 2, 3], [3, 2, 1, 4]):
        expected = (ethanol.get_dihedral(*four) + 180) % 360 - 180
        assert (dihedral_angles(run, [four])[0, 0] - expected + 180) % 360 - 180 == pytest.approx(0, abs=1e-6)


def test_a_bond_has_its_boltzmann_distribution() -> None:
    """p(r) ∝ r² exp(−k(r−r₀)²/2kT): positions drawn with it give its mean distance from r₀."""
    r = np.linspace(1.0, 2.0, 20001)
    weight = r**2 * np.exp(-20 * (r - 1.4) ** 2 / (2 * 0.02585))
    random = np.random.default_rng(0)
    lengths = np.interp(random.uniform(size=40000), np.cumsum(weight) / weight.sum(), r)
    directions = random.normal(size=(40000, 3))
    ends = lengths[:, None] * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    found = bond_lengths(free_run(np.stack([np.zeros_like(ends), ends], axis=1)), [[0, 1]])[:, 0]
    expected = (np.abs(r - 1.4) * weight).sum() / weight.sum()
    assert np.abs(found - 1.4).mean() == pytest.approx(expected, rel=0.015)


def test_planarity_of_a_chair_a_turned_ring_and_an_einstein_hexagon() -> None:
    """Chair ±h gives h; a turned flat ring 0; displacements of width σ 0.6515 σ on average."""
    chair = HEXAGON + np.outer([1, -1, 1, -1, 1, -1], [0, 0, 0.1])
    turned = Rotation.from_euler("xyz", [10, 50, 70], degrees=True).apply(HEXAGON) + 5
    planarity = ring_planarities(free_run([chair, turned]), range(6))
    np.testing.assert_allclose(planarity, [0.1, 0.0], atol=1e-12)
    sigma = np.sqrt(8.617333e-5 * 300 / 5)
    noisy = HEXAGON + np.random.default_rng(0).normal(0, sigma, (20000, 6, 3))
    mean = ring_planarities(free_run(noisy), range(6)).mean()
    assert mean == pytest.approx(0.6515 * sigma, rel=0.01)
    assert mean == pytest.approx(0.0468, abs=0.0006)
    broken = free_run([chair, np.full((6, 3), np.nan)])
    assert np.isnan(ring_planarities(broken, range(6))).tolist() == [False, True]


def test_angles_between_neighbours() -> None:
    """fcc: 24 angles of 60°, 12 of 90°, 24 of 120°, 6 of 180° about each atom; random directions: sin(θ)/2."""
    copper = bulk("Cu", "fcc", 4.0, cubic=True).repeat(2)
    run = periodic_run(copper.positions[None], copper.cell.array)
    counted = angular_distribution(run, range(32), range(32), 3.0, n_bins=18)
    assert counted.n_angles == 32 * 66
    for angle, number in ((60, 24), (90, 12), (120, 24), (175, 6)):
        near = np.abs(counted.angle - angle) < 10
        assert counted.density[near].sum() * 10 * 66 == pytest.approx(number)
    none = angular_distribution(run, [0], [1, 2], 1.0)
    assert none.n_angles == 0
    assert np.isnan(none.density).all()


def test_rmsd_after_proper_rotation_only() -> None:
    chain = helix(28)
    moved = Rotation.random(random_state=1).apply(chain) + np.array([3, 4, 5])
    mirrored = chain * [1, 1, -1]
    np.testing.assert_allclose(rmsd(np.array([chain, moved]), chain), 0, atol=1e-9)
    assert rmsd(mirrored[None], chain)[0] == pytest.approx(3.191, abs=1e-3)
    assert np.isnan(rmsd(np.full((1, 28, 3), np.nan), chain)).all()
    assert trajectory_rmsd(free_run([moved]), chain, [1, 5, 7, 9])[0] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("n", "tm", "kabsch"),
    [(20, 0.55644, 2.3942), (28, 0.54734, 3.3025), (40, 0.55236, 4.8376), (100, 0.53044, 12.0229)],
)
def test_a_bent_helix_has_the_published_scores(n: int, tm: float, kabsch: float) -> None:
    """Within 0.01 of tmtools, whose search is heuristic; the chain in nm has a tenth of the RMSD and another score."""
    bent, straight = bent_helix(n), helix(n)
    assert rmsd(bent[None], straight)[0] == pytest.approx(kabsch, abs=1e-4)
    score = tm_scores(bent[None], straight)[0]
    assert score == pytest.approx(tm, abs=0.01)
    assert tm_scores(straight[None], straight)[0] == pytest.approx(1)
    assert rmsd(bent[None] / 10, straight / 10)[0] == pytest.approx(kabsch / 10, abs=1e-5)
    assert tm_scores(bent[None] / 10, straight / 10)[0] > score + 0.1
    assert tm_scores(bent[None], straight, 2 * n)[0] < score


def test_no_superposition_drawn_at_random_scores_higher() -> None:
    """A mirror image: proper rotations only, and no worse than the 0.280 that tmtools finds."""
    chain = helix(28)
    mirrored = chain * [1, 1, -1]
    score = tm_scores(mirrored[None], chain)[0]
    turned = np.einsum("bij,nj->bni", Rotation.random(5000, random_state=0).as_matrix(), mirrored)
    for residue in range(0, 28, 3):
        placed = turned - turned[:, residue, None] + chain[residue]
        distances = ((placed - chain) ** 2).sum(axis=2)
        assert (1 / (1 + distances / distance_scale(28) ** 2)).mean(axis=1).max() <= score
    assert 0.280 <= score < 0.4
    assert tm_scores(np.full((1, 28, 3), np.nan), chain)[0] == 0


def test_the_radius_of_gyration_of_a_dumbbell() -> None:
    run = free_run([[[0, 0, 0], [0, 0, 3.0]]], [1, 8])
    light, heavy = atomic_masses[[1, 8]]
    assert radii_of_gyration(run)[0] == pytest.approx(3 * np.sqrt(light * heavy) / (light + heavy))


def test_bad_geometry_is_refused() -> None:
    run = free_run(np.zeros((1, 6, 3)))
    with pytest.raises(ValueError, match="pairs: there is no atom 6"):
        bond_lengths(run, [[0, 6]])
    with pytest.raises(ValueError, match="triples: an atom is given twice"):
        bond_angles(run, [[0, 1, 0]])
    with pytest.raises(ValueError, match="quadruples must have shape"):
        dihedral_angles(run, [[0, 1, 2]])
    with pytest.raises(ValueError, match="ring: 3 atoms are always in a plane"):
        ring_planarities(run, [0, 1, 2])
    with pytest.raises(ValueError, match="reference must have shape"):
        trajectory_rmsd(run, np.zeros((5, 3)))
    with pytest.raises(ValueError, match="reference: a position is missing"):
        rmsd(run.positions, np.full((6, 3), np.nan))
    with pytest.raises(ValueError, match="reference_length: 5 residues, but 6 are given"):
        tm_scores(run.positions, np.zeros((6, 3)), 5)
