"""The measures of published benchmarks on runs that are known exactly, and what stored frames alone show of a run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from ase.units import kB

from tasks.datasets.simulated_systems import AnyAnalysis
from tasks.dynamics.analyses import SystemRuns, analysed
from tasks.dynamics.stored_frames_error import stored_error, stored_progress
from tests.tasks.dynamics.test_analyses import BENZENE, BONDS, CARBONS, RING, analysis, runs_of, still
from tests.tasks.dynamics.test_curves import RESIDUES, STRETCHED

COPPER = bulk("Cu", cubic=True) * (3, 3, 3)
NEAREST = 3.61 / np.sqrt(2)
CARBON_RING = analysis("planarity", 0.0, ring=RING)


def crystal(n_frames: int = 1) -> SystemRuns:
    return runs_of(np.repeat(COPPER.positions[None], n_frames, axis=0), atoms=COPPER)


def test_g_of_r_at_the_points_of_a_curve() -> None:
    """No pair is nearer than the first neighbours: against 1 all is off by 1 there, and by nothing against 0."""
    fields = {"first": list(range(len(COPPER))), "above": 1.0, "up_to": 2.0, "bin_width": 0.01, "centred": True}
    x = [0.5, 1.0, 1.25, 1.5, 2.0, 4.0]
    flat = analysed(analysis("rdf_rmse", {"x": x, "y": [9, 9, 1, 1, 9, 9]}, **fields), crystal(), "exact")
    assert flat.error == pytest.approx(1.0)
    assert flat.trivial == pytest.approx(0.0)
    half = analysed(analysis("rdf_rmse", {"x": x, "y": [9, 9, 0, 2, 9, 9]}, **fields), crystal(), "exact")
    assert half.error == pytest.approx(np.sqrt(2))
    assert half.trivial == pytest.approx(1.0)


def test_bins_about_multiples_of_their_width_find_a_peak_at_its_multiple() -> None:
    peaks = [
        analysed(
            analysis("first_peak", 2.5, first=list(range(len(COPPER))), up_to=3.0, bin_width=0.1, centred=centred),
            crystal(),
            "exact",
        ).predicted
        for centred in (True, False)
    ]
    assert peaks == pytest.approx([2.6, 2.55])
    assert abs(peaks[0] - NEAREST) < 0.05


def test_a_density_leaves_out_its_first_frames_and_has_the_stated_mass() -> None:
    runs = crystal(5)
    cells = runs.trajectories[0].cells * np.array([2.0, 1, 1, 1, 1])[:, None, None]
    runs = runs._replace(trajectories=[replace(runs.trajectories[0], cells=cells)])
    stated = {"skip_share": 0.2, "mass_per_atom": 10.0}
    density = 4 * 10.0 * 1.66053906660 / 3.61**3
    assert analysed(analysis("density", density, **stated), runs, "exact").predicted == pytest.approx(density, rel=1e-7)
    all_frames = analysed(analysis("density", density, mass_per_atom=10.0), runs, "exact").predicted
    assert all_frames == pytest.approx(density * (4 + 1 / 8) / 5, rel=1e-7)


def test_a_drift_over_the_fluctuation_that_is_expected_and_over_that_of_the_run() -> None:
    """3 meV/ps for 2 ps; the run heats up with it, so that its own fluctuation hides the drift."""
    n_frames = 21
    drift = np.linspace(0.0, 0.006, n_frames)[None]
    degrees = 1.5 * kB * len(BENZENE)
    runs = runs_of(still(n_frames=n_frames), total=drift, temperatures=drift / degrees)
    ratio = analysis("drift_ratio")
    assert analysed(ratio, runs, "exact").error == pytest.approx(0.006 / (kB * 300 * np.sqrt(1.5 * len(BENZENE))))
    assert stored_error(ratio, runs, "exact", 10) == pytest.approx(0.006 / drift.std(), rel=1e-9)
    assert stored_error(ratio, runs, "exact", 10) < np.sqrt(12)


def test_backbone_and_side_chain_outliers_of_chosen_residues() -> None:
    runs = runs_of(still(STRETCHED), atoms=STRETCHED)
    near, far = [(180.0, 180.0)], [(0.0, 0.0)]

    def share(points: list[tuple[float, float]], counted: tuple[int, ...] | None) -> float:
        stated = analysis("dihedral_outliers", {"GENERAL": points}, residues=RESIDUES, counted=counted)
        return analysed(stated, runs, "exact").error

    assert [share(near, None), share(near, (1, 2)), share(far, (1,))] == [0.0, 0.0, 100.0]
    with pytest.raises(ValueError, match="none is between two others"):
        share(near, (0, 2))
    chis = [[(0, 1, 2, 3)], [(3, 4, 5, 6)]]  # all in one plane, trans
    for point, expected in ((175.0, 0.0), (0.0, 100.0)):
        outliers = analysis("sidechain_outliers", [(point,)], residues=chis)
        assert analysed(outliers, runs, "exact").error == expected


def test_stored_frames_alone_show_an_explosion_that_is_in_them_and_no_other() -> None:
    sound = runs_of(still(n_frames=3), temperatures=np.full((1, 3), 300.0))
    assert stored_error(CARBON_RING, sound, "exact", 10) == pytest.approx(0.0, abs=1e-8)
    assert stored_error(CARBON_RING, sound, "exact", 10, known=0.7) == 0.7
    assert stored_progress(sound, 10) == 1.0  # it ended before the fourth of ten frames, and nobody looks
    hot = sound._replace(temperatures=np.array([[300.0, 300.0, 11_000.0]]))
    assert np.isnan(stored_error(CARBON_RING, hot, "exact", 10, known=0.7))
    assert stored_progress(hot, 10) == 0.2
    assert np.isnan(stored_error(CARBON_RING, None, "exact", 10))
    assert stored_progress(None, 10) == 0.0


def test_when_a_hydrogen_left_is_a_share_of_the_whole_run_as_published() -> None:
    """It leaves with the third frame of five. The run ended before the sixth of eleven, and nobody looks."""
    positions, drift = still(n_frames=5), analysis("hydrogen_drift", bonds=BONDS)
    positions[2:, 11, 0] += 20.0
    runs = runs_of(positions)
    assert analysed(drift, runs, "").error == pytest.approx(100 * (1 - 2 / 4))
    assert stored_error(drift, runs, "", 10) == pytest.approx(100 * (1 - 2 / 10))
    assert stored_error(drift, runs_of(still()), "", 10) == 0.0
    # Where it stands beside an image of its molecule, the program sees none.
    box = Atoms(BENZENE, cell=[20.0] * 3, pbc=True)
    assert analysed(drift, runs_of(positions, atoms=box), "").error == 0.0
    assert stored_error(drift, runs_of(positions, atoms=box), "", 10) == pytest.approx(100 * (1 - 2 / 10))


def test_a_protein_as_published_is_the_mean_over_frames_with_lengths_in_nm() -> None:
    """A ring a tenth too large in half of the frames: each atom is off by 0.1 r, or by 0.01 r in nm; d₀ is 0.5 Å."""
    radius = np.linalg.norm(BENZENE.positions[0])
    runs = runs_of(np.concatenate([1.1 * still(n_frames=2), still(n_frames=2)]))
    lowest = analysis("lowest_rmsd", CARBONS, atoms=RING)
    assert stored_error(lowest, runs, "exact", 10) == pytest.approx(0.01 * radius / 2, rel=1e-6)
    assert stored_error(lowest, runs, "exact", 10, known=0.0) == stored_error(lowest, runs, "exact", 10)
    highest = analysis("highest_tm_score", CARBONS, atoms=RING)
    larger = 1 / (1 + (0.01 * radius / 0.5) ** 2)
    assert stored_error(highest, runs, "exact", 10) == pytest.approx((larger + 1) / 2 - 1, abs=1e-9)
    assert analysed(highest, runs, "exact").error == pytest.approx(0.0, abs=1e-9)
    hot = runs._replace(temperatures=np.full((1, 4), 11_000.0))
    assert np.isnan(stored_error(lowest, hot, "exact", 10))


@pytest.mark.parametrize(
    ("stated", "line"),
    [
        (lambda: analysis("sidechain_outliers", [(1.0, 2.0)], residues=[[(0, 1, 2, 3)]]), "other numbers of angles"),
        (lambda: analysis("rdf_rmse", {"x": [1, 2], "y": [0, 1]}, first=[0, 1], above=2, up_to=3), "has no point"),
        (
            lambda: analysis("dihedral_outliers", {"GENERAL": [(0, 0)]}, residues=RESIDUES, counted=[3]),
            "there is no residue 3",
        ),
    ],
    ids=["χ", "no point", "no residue"],
)
def test_settings_that_cannot_be_are_refused(stated: AnyAnalysis, line: str) -> None:
    with pytest.raises(ValueError, match=line):
        stated()
