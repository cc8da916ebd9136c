"""What a program finds that looks at stored frames alone, as MLIPAudit does.

It misses what happened between two of them: a run that explodes from one stored frame to the next looks sound to it,
and is as good as the frames before. When a hydrogen leaves is a share of the whole run, also of one that ended before.

Up to 0.1.5 it takes the mean over frames where its paper says the lowest RMSD and the highest TM-score, and lengths in
nm for Å.
"""

from __future__ import annotations

import numpy as np
from ase.units import kB

from tasks.datasets.protein_analyses import RmsdAnalysis, TmScoreAnalysis
from tasks.datasets.simulated_systems import AnyAnalysis, DriftRatioAnalysis, HydrogenDriftAnalysis
from tasks.dynamics.analyses import PERCENT, SystemRuns, analysed, share_after_drift, superposable
from tasks.trajectories.stability import first_explosion, published_fault
from tasks.trajectories.superposition import rmsd
from tasks.trajectories.thermodynamics import drift_over_fluctuation
from tasks.trajectories.tm_score import tm_scores
from tasks.trajectories.trajectory import Trajectory

ANGSTROM_IN_NM = 0.1


def stored_error(
    analysis: AnyAnalysis, runs: SystemRuns | None, label_set: str, n_intervals: int, known: float | None = None
) -> float:
    """The error of an analysis over the frames of one run that were stored before it ended.

    NaN if there are none, or if they show themselves that the run failed.

    Args:
        n_intervals: between the frames that are stored of a whole run after its equilibration.
        known: the error over these frames, if it has been computed.
    """
    if runs is None:
        return np.nan
    trajectory = runs.trajectories[0]
    if isinstance(analysis, DriftRatioAnalysis):  # the run is not checked, and its own fluctuation is taken
        kinetic = 1.5 * kB * runs.temperatures[0] * trajectory.n_atoms
        return drift_over_fluctuation(trajectory.times_ps, runs.total[0], kinetic) if len(trajectory) > 2 else np.nan
    if isinstance(analysis, HydrogenDriftAnalysis):  # neither is the run checked, nor are there images of atoms
        return PERCENT * share_after_drift(trajectory, analysis, n_intervals, periodic=False)
    if published_fault(trajectory, runs.temperatures[0], runs.target_k) is not None:
        return np.nan
    if isinstance(analysis, RmsdAnalysis | TmScoreAnalysis) and analysis.of_best_frame:
        return _published_in_nm(analysis, trajectory, label_set)
    if known is not None:
        return known
    try:
        return analysed(analysis, runs, label_set).error
    except ValueError:  # too few frames
        return np.nan


def _published_in_nm(analysis: RmsdAnalysis | TmScoreAnalysis, trajectory: Trajectory, label_set: str) -> float:
    """The mean RMSD, or the mean TM-score minus 1, of lengths in nm as if they were Å."""
    positions, points = (ANGSTROM_IN_NM * each for each in superposable(analysis, trajectory, label_set))
    if isinstance(analysis, RmsdAnalysis):
        return float(rmsd(positions, points).mean())
    return float(tm_scores(positions, points, analysis.reference_length).mean()) - 1


def stored_progress(runs: SystemRuns | None, n_frames: int) -> float:
    """The share of `n_frames` before the first one that shows an explosion; 1 if none does."""
    if runs is None:
        return 0.0
    fault = first_explosion(runs.trajectories[0], runs.temperatures[0], runs.target_k, as_published=True)
    return 1.0 if fault is None else min(fault.frame / n_frames, 1.0)
