"""g(r): an ideal gas within and beyond half of the cell, shells of crystals in any cell, and mdtraj's numbers."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from ase.build import bulk, make_supercell
from scipy.stats import chi2

from tasks.trajectories.radial_distribution import (
    MLIPAUDIT_BINS,
    RadialBins,
    highest_peak,
    radial_distribution,
)
from tasks.trajectories.trajectory import Trajectory
from tests.tasks.trajectories.runs import free_run, periodic_run


@pytest.fixture(scope="module")
def ideal_gas() -> Trajectory:
    """400 frames of 200 atoms anywhere, in a cube of 20 Å, spread over several cells."""
    return periodic_run(np.random.default_rng(0).uniform(-40, 40, (400, 200, 3)), [20.0] * 3)


def test_an_ideal_gas_has_no_structure(ideal_gas: Trajectory) -> None:
    """g is 1 below L/2, and the counts are Poisson with mean F·N(N−1)/2·v/V."""
    bins = RadialBins(0.0, 10.0, 50)
    distribution = radial_distribution(ideal_gas, range(200), None, bins)
    edges = np.linspace(0, 10, 51)
    expected = 400 * 200 * 199 / 2 * 4 / 3 * np.pi * np.diff(edges**3) / 20**3
    outer = distribution.r > 1.0
    assert ((distribution.counts - expected) ** 2 / expected)[outer].sum() < chi2.ppf(0.999, outer.sum())
    total = distribution.counts.sum() / expected.sum()
    assert total == pytest.approx(1.0, abs=0.002)
    np.testing.assert_allclose(distribution.g, distribution.counts / expected, rtol=1e-12)
    assert distribution.largest_right == pytest.approx(10.0)


def test_beyond_half_of_the_cell_the_published_g_falls_by_the_known_law(ideal_gas: Trajectory) -> None:
    """From L/2 to L/√2 the shortest images alone give 3L/(2r) − 2."""
    beyond = radial_distribution(ideal_gas, range(200), None, RadialBins(10.0, 14.0, 8), beyond_half_cell=True)
    np.testing.assert_allclose(beyond.g, 30 / beyond.r - 2, atol=0.006)


def test_two_kinds_of_an_ideal_gas_and_a_cell_that_changes() -> None:
    """Each frame counts with its own volume: N·M·Σ 1/V."""
    random = np.random.default_rng(1)
    sides = np.array([16.0, 20.0, 25.0] * 100)
    scaled = random.uniform(0, 1, (300, 150, 3))
    run = periodic_run(scaled * sides[:, None, None], [20.0] * 3, cells=sides[:, None, None] * np.eye(3))
    distribution = radial_distribution(run, range(50), range(50, 150), RadialBins(1.0, 8.0, 7))
    np.testing.assert_allclose(distribution.g, 1.0, atol=0.03)
    assert distribution.counts.sum() / (distribution.counts / distribution.g).sum() == pytest.approx(1.0, abs=0.004)
    # Neighbours: density of the second set times volume, on average over the frames.
    shells = 4 / 3 * np.pi * (8.0**3 - 1)
    assert distribution.neighbours.sum() == pytest.approx(100 * (1 / sides**3).mean() * shells, rel=0.01)


SKEWED = [[1, 0, 0], [1, 1, 0], [1, 1, 1]]


@pytest.mark.parametrize("matrix", [np.eye(3), SKEWED], ids=["primitive", "skewed"])
def test_the_shells_of_fcc_are_12_6_24_12_24(matrix: Any) -> None:
    """In oblique cells of 6³ atoms: a primitive one, and the same lattice with long vectors."""
    a = 4.0
    crystal = make_supercell(bulk("Cu", "fcc", a).repeat(6), matrix)
    run = periodic_run(crystal.positions[None], crystal.cell.array)
    distribution = radial_distribution(run, range(len(crystal)), None, RadialBins(0.0, 8.4, 840))
    assert distribution.largest_right == pytest.approx(6 * a / np.sqrt(2) / 2)
    for shell, count in enumerate((12, 6, 24, 12, 24), start=1):
        near = np.abs(distribution.r - a * np.sqrt(shell / 2)) < 0.1
        assert distribution.neighbours[near].sum() == pytest.approx(count)


def test_an_oblique_cell_counts_the_pairs_that_all_images_give() -> None:
    """Against every image in the 5³ cells around, at random positions."""
    cell = np.array([[9.0, 0, 0], [-4.4, 7.8, 0], [3.0, 2.0, 10.0]])
    positions = np.random.default_rng(2).uniform(-9, 9, (3, 30, 3))
    shifts = np.array(list(itertools.product(range(-6, 7), repeat=3))) @ cell
    distances = [
        np.linalg.norm(frame[i] - frame[j] + shifts, axis=1).min()
        for frame in positions
        for i, j in itertools.combinations(range(30), 2)
    ]
    run = periodic_run(positions, cell)
    published = radial_distribution(run, range(30), None, RadialBins(0.0, 9.0, 90), beyond_half_cell=True)
    np.testing.assert_array_equal(published.counts, np.histogram(distances, 90, (0.0, 9.0))[0])
    right = radial_distribution(run, range(30), None, RadialBins(0.0, 3.0, 30))
    np.testing.assert_array_equal(right.counts, published.counts[:30])


def test_the_bins_of_mlipaudit_are_mdtrajs() -> None:
    """2000 bins of 0.01 Å centred on 0, 0.01 … 19.99 Å, and the same counts up to mdtraj's single precision."""
    run = periodic_run(np.random.default_rng(3).uniform(0, 24.772, (20, 100, 3)), [24.772] * 3)
    distribution = radial_distribution(run, range(100), None, MLIPAUDIT_BINS, beyond_half_cell=True)
    np.testing.assert_allclose(distribution.r, 0.01 * np.arange(2000), atol=1e-12)
    mdtraj = pytest.importorskip("mdtraj")
    topology = mdtraj.Topology()
    residue = topology.add_residue("ATM", topology.add_chain())
    for _ in range(100):
        topology.add_atom("O", mdtraj.element.oxygen, residue)
    sides = np.full((20, 3), 2.4772)
    same = mdtraj.Trajectory(run.positions / 10, topology, unitcell_lengths=sides, unitcell_angles=np.full((20, 3), 90))
    pairs = np.array(list(itertools.combinations(range(100), 2)))
    r, g = mdtraj.compute_rdf(same, pairs, r_range=(-0.0005, 1.9995), n_bins=2000)
    np.testing.assert_allclose(distribution.r, 10 * r, atol=1e-9)
    # Single precision moves a pair by one bin at most: neither gains nor loses a pair in all.
    outer = distribution.counts > 0
    counts = g[outer] * distribution.counts[outer] / distribution.g[outer]
    assert np.abs(np.cumsum(counts) - np.cumsum(distribution.counts[outer])).max() <= 3


def test_the_peak_is_sought_in_its_interval() -> None:
    """Shells of copper at a/√2 and a: each is the highest peak of its interval."""
    crystal = bulk("Cu", "fcc", 4.0, cubic=True).repeat(3)
    run = periodic_run(crystal.positions[None], crystal.cell.array)
    distribution = radial_distribution(run, range(len(crystal)), None, RadialBins(-0.005, 5.995, 600))
    assert highest_peak(distribution, 0.0, 6.0) == pytest.approx(2.83)
    assert highest_peak(distribution, 3.5, 4.5) == pytest.approx(4.0)
    with pytest.raises(ValueError, match=r"peak: no pair of atoms from 0.5 to 2 Å"):
        highest_peak(distribution, 0.5, 2.0)


def test_what_has_no_g_is_refused() -> None:
    run = periodic_run(np.random.default_rng(4).uniform(0, 10, (2, 5, 3)), [10.0, 12.0, 14.0])
    bins = RadialBins(0.0, 5.0, 10)
    for first, second, wide, line in (
        ([0, 1], [1, 2], bins, "second: atom 1 is also in the first set"),
        ([0], None, bins, "first: one atom has no pair"),
        ([0, 9], None, bins, "first: there is no atom 9"),
        (
            [0, 1],
            None,
            RadialBins(0, 5.1, 9),
            r"bins: g\(r\) is right up to 5.000 Å, .* not to 5.1 Å: end the bins there",
        ),
        ([0, 1], None, RadialBins(3, 2, 9), "state an increasing range"),
    ):
        with pytest.raises(ValueError, match=line):
            radial_distribution(run, first, second, wide)
    with pytest.raises(ValueError, match="need three periodic directions"):
        radial_distribution(free_run(run.positions), [0, 1], None, bins)
    broken = run.positions.copy()
    broken[1, 4] = np.nan
    with pytest.raises(ValueError, match=r"frame 1 .* is not finite"):
        radial_distribution(periodic_run(broken, [10.0] * 3), [0, 1], None, bins)
