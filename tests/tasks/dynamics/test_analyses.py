"""Each analysis of runs that are known exactly, and what is known without any run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.build import molecule
from pydantic import TypeAdapter

from tasks.datasets.simulated_systems import AnyAnalysis
from tasks.dynamics.analyses import Analysed, SystemRuns, analysed, unmeasured
from tasks.dynamics.analysis_checks import check_analysis
from tasks.dynamics.distributions import N_PARTS, RANGES, DistributionRange, distribution
from tasks.dynamics.simulate import DynamicsSettings
from tasks.structures.frames import Float, Frames
from tasks.trajectories.trajectory import Trajectory

BENZENE = molecule("C6H6")
RING = [0, 1, 2, 3, 4, 5]
CARBONS = BENZENE.positions[:6].tolist()
BONDS = [(i, i + 6) for i in range(6)]


def analysis(measure: str, reference: Any = None, **fields: Any) -> AnyAnalysis:
    stated = {"measure": measure, **fields, **({} if reference is None else {"reference": {"exact": reference}})}
    made: AnyAnalysis = TypeAdapter(AnyAnalysis).validate_python(stated)
    return made


def runs_of(*positions: Float, atoms: Atoms = BENZENE, **quantities: Float) -> SystemRuns:
    """Replicas with these positions (f, N, 3), a frame each 0.1 ps."""
    n_frames = len(positions[0])
    trajectories = [
        Trajectory(
            each,
            np.repeat(atoms.cell.array[None], n_frames, axis=0),
            atoms.pbc,
            atoms.numbers,
            0.1 * np.arange(n_frames),
        )
        for each in positions
    ]
    zeros = np.zeros((len(positions), n_frames))
    return SystemRuns(trajectories, quantities.get("total", zeros), quantities.get("temperatures", zeros), 300.0)


def still(atoms: Atoms = BENZENE, n_frames: int = 4) -> Float:
    return np.repeat(atoms.positions[None], n_frames, axis=0)


def turned() -> Float:
    atoms = BENZENE.copy()
    atoms.rotate(77.0, (1, 2, 3))
    atoms.translate([4.0, 5.0, 6.0])
    return still(atoms)


def larger() -> Float:
    return still() * 1.1


def half_larger() -> Float:
    """In the first half of the frames."""
    return np.concatenate([larger()[:2], still()[2:]])


def bent() -> Float:
    """The carbons in turn 0.2 Å above and below their plane."""
    positions = still()
    positions[:, :6, 2] += 0.2 * np.array([1, -1, 1, -1, 1, -1])
    return positions


def lost() -> Float:
    """A hydrogen is gone after the second of three intervals."""
    positions = still()
    positions[2:, 11] *= 3.0
    return positions


CC = float(BENZENE.get_distance(0, 1))
RADIUS = float(np.sqrt((BENZENE.get_masses()[:6, None] * BENZENE.positions[:6] ** 2).sum() / (6 * 12.011)))
CHAIN = [[3.8 * i, 0.0, 0.0] for i in range(6)]


@pytest.mark.parametrize(
    ("stated", "positions", "predicted", "error", "trivial"),
    [
        (analysis("bond_length", CC, pairs=[(0, 1)]), [still(), larger()], 1.05 * CC, 0.05 * CC, CC),
        (analysis("bond_length", CC, pairs=[(0, 1)], each_frame=True), [still(), larger()], 1.05 * CC, 0.05 * CC, CC),
        (analysis("angle", 119.0, triples=[(0, 1, 2)]), [turned()], 120.0, 1.0, 119.0),
        (analysis("planarity", 0.0, ring=RING), [bent(), still()], 0.1, 0.1, np.nan),
        (analysis("rmsd", CARBONS, atoms=RING), [turned()], 0.0, 0.0, np.nan),
        (analysis("rmsd", CARBONS, atoms=RING), [larger()], 0.1 * CC, 0.1 * CC, np.nan),
        (analysis("lowest_rmsd", CARBONS, atoms=RING), [half_larger(), larger()], 0.05 * CC, 0.05 * CC, np.nan),
        (analysis("tm_score", CARBONS, atoms=RING), [turned()], 1.0, 0.0, np.nan),
        (analysis("highest_tm_score", CARBONS, atoms=RING), [half_larger()], 1.0, 0.0, np.nan),
        (analysis("radius_of_gyration", RADIUS, atoms=RING), [larger()], 1.1 * RADIUS, 0.1 * RADIUS, RADIUS),
        (analysis("hydrogen_drift", bonds=BONDS), [lost(), still()], 100 / 6, 100 / 6, np.nan),
    ],
)
def test_geometry_of_known_runs(
    stated: AnyAnalysis, positions: list[Float], predicted: float, error: float, trivial: float
) -> None:
    result = analysed(stated, runs_of(*positions), "exact")
    assert result.predicted == pytest.approx(predicted, abs=1e-3)
    assert result.error == pytest.approx(error, abs=1e-3)
    assert result.trivial == pytest.approx(trivial, nan_ok=True)


def test_temperature_and_drift_are_means_over_replicas() -> None:
    temperatures = np.array([[290.0, 310.0, 300.0, 320.0], [280.0, 300.0, 290.0, 310.0]])
    result = analysed(analysis("temperature"), runs_of(still(), still(), temperatures=temperatures), "")
    assert result == Analysed(300.0, 300.0, 0.0, 300.0)
    total = np.array([[0.0, 1.2, 2.4, 3.6], [0.0, -1.2, -2.4, -3.6]])  # ± 12 eV/ps of 12 atoms
    drift = analysed(analysis("energy_drift"), runs_of(still(), still(), total=total), "")
    assert drift.error == pytest.approx(1.0)


def test_the_diffusion_coefficient_of_a_random_walk() -> None:
    """Steps of variance s² a coordinate each 0.1 ps: D = s²/(2 · 0.1 ps) = 0.2 Å²/ps = 2e-9 m²/s."""
    walk = np.cumsum(np.random.default_rng(1).normal(0, 0.2, (2000, 64, 3)), axis=0)
    gas = Atoms("Ar64", np.zeros((64, 3)))
    stated = analysis("diffusion", 2.0, atoms=list(range(64)), from_ps=0.1, to_ps=1.0)
    result = analysed(stated, runs_of(walk, atoms=gas), "exact")
    assert result.predicted == pytest.approx(2.0, rel=0.05)
    assert result.error == pytest.approx(50 * (result.predicted - 2.0))


def test_a_box_that_shrinks_below_the_range_counts_as_an_ideal_gas_there() -> None:
    rng = np.random.default_rng(2)
    box = Atoms("Ar50", rng.uniform(0, 6, (50, 3)), cell=[6.0] * 3, pbc=True)
    curve = {"x": [0.0, 10.0], "y": [3.0, 3.0]}
    stated = analysis("rdf", curve, first=list(range(50)), r_max=5.0, bin_width=0.1)
    result = analysed(stated, runs_of(rng.uniform(0, 6, (200, 50, 3)), atoms=box), "exact")
    assert result.curve is not None
    assert (result.curve.g[result.curve.r > 3.0] == 1.0).all()
    assert result.curve.g[10:29].mean() == pytest.approx(1.0, abs=0.02)
    assert result.trivial == pytest.approx(2.0)


def test_a_window_without_a_pair_has_no_peak() -> None:
    pair = Atoms("Ar2", [(0, 0, 0), (0, 0, 4.0)], cell=[12.0] * 3, pbc=True)
    near = analysis("first_peak", 3.0, first=[0, 1], above=2.0, up_to=3.5)
    assert np.isnan(analysed(near, runs_of(still(pair), atoms=pair), "exact").error)
    far = analysis("first_peak", 4.0, first=[0, 1], above=2.0, up_to=5.0)
    assert analysed(far, runs_of(still(pair), atoms=pair), "exact").predicted == pytest.approx(4.0, abs=0.03)


@pytest.mark.parametrize(
    ("stated", "ensemble", "reference", "trivial"),
    [
        (analysis("bond_length", 1.4, pairs=[(0, 1)]), "nvt", 1.4, 1.4),
        (analysis("diffusion", 2.0, atoms=[0], from_ps=0.0, to_ps=0.02), "nvt", 2.0, 100.0),
        (analysis("energy_drift"), "nve", 0.0, np.nan),
        (analysis("temperature"), "nvt", 250.0, 250.0),
        (analysis("tm_score", CHAIN, atoms=RING), "nvt", 1.0, np.nan),
        (analysis("hydrogen_drift", bonds=BONDS), "nvt", 0.0, np.nan),
    ],
)
def test_reference_and_trivial_error_are_known_without_a_run(
    stated: AnyAnalysis, ensemble: Any, reference: float, trivial: float
) -> None:
    start = Frames.from_atoms([BENZENE])
    check_analysis("here", stated, start, DynamicsSettings(ensemble=ensemble, steps=100, store_every=5))
    result = unmeasured(stated, start, "exact", 250.0)
    assert np.isnan([result.predicted, result.error]).all()
    assert result.reference == reference
    assert result.trivial == pytest.approx(trivial, nan_ok=True)


def test_a_distribution_has_every_value_once_and_the_farthest_at_its_ends() -> None:
    within = DistributionRange(0.0, 3.0)
    shares = distribution([np.array([[0.05, 0.05], [-7.0, 1.55]]), np.array([1e300, 2.95, 0.15, 0.15])], within)
    expected = np.zeros(N_PARTS)
    expected[[0, 1, 15, 29]] = 100 * np.array([3, 2, 1, 2]) / 8
    np.testing.assert_allclose(shares, expected)
    np.testing.assert_allclose(within.middles[[0, 1, 15, 29]], [0.05, 0.15, 1.55, 2.95])


def test_distributions_of_known_runs() -> None:
    """One of two replicas has bonds that are a tenth longer; a ring with a wave is as far from its plane."""
    length = BENZENE.get_distance(0, 6) - 0.01  # not at the edge of a part
    bonds = analysed(analysis("bond_length", length, pairs=BONDS), runs_of(still(), larger()), "exact")
    wave = still()
    wave[2:, :6, 2] += 0.104 * np.array([1, -1, 1, -1, 1, -1])
    ring = analysed(analysis("planarity", 0.0, ring=RING), runs_of(wave), "exact")
    for result, measure, places in ((bonds, "bond_length", (0.01, 0.11)), (ring, "planarity", (0.005, 0.105))):
        assert result.shares is not None
        assert RANGES[measure].middles[result.shares == 50.0] == pytest.approx(places)
    start = Frames.from_atoms([BENZENE])
    assert unmeasured(analysis("planarity", 0.0, ring=RING), start, "exact", 300.0).shares is None
