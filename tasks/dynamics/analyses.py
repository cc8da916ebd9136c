"""The quantities of runs, from stored frames after the equilibration, against their references.

Means are over frames, then over the replicas of a system; g(r) too, before it is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from ase.units import kB
from numpy.typing import NDArray

from tasks.datasets import pair_analyses as pairs
from tasks.datasets import protein_analyses as proteins
from tasks.datasets import simulated_systems as systems
from tasks.dynamics.curves import (
    Deviations,
    angular_deviations,
    backbone_of,
    spectral_deviations,
    trivial_spectral_deviation,
)
from tasks.dynamics.distributions import RANGES, distribution
from tasks.dynamics.pair_curves import PairCurve, at_points, curves, first_peak
from tasks.dynamics.simulate import DynamicsSettings
from tasks.structures.frames import Float, Frames
from tasks.trajectories.diffusion import diffusion_coefficient
from tasks.trajectories.dihedral_outliers import backbone_outlier_share, chi_outlier_share
from tasks.trajectories.hydrogen_drift import hydrogen_drift
from tasks.trajectories.internal_coordinates import bond_angles, bond_lengths, ring_planarities
from tasks.trajectories.secondary_structure import matching_shares, secondary_structure
from tasks.trajectories.superposition import radii_of_gyration, rmsd
from tasks.trajectories.thermodynamics import densities, energy_drift
from tasks.trajectories.tm_score import tm_scores
from tasks.trajectories.trajectory import Trajectory

PERCENT = 100.0
SI_DIFFUSION = 10.0  # one Å²/ps in 1e-9 m²/s


class SystemRuns(NamedTuple):
    """The runs of a system after the equilibration.

    Args:
        trajectories: by replica.
        total: (R, f) energies [eV], kinetic energy included.
        temperatures: (R, f) [K].
    """

    trajectories: Sequence[Trajectory]
    total: Float
    temperatures: Float
    target_k: float


class Analysed(NamedTuple):
    """The result of an analysis; NaN where the quantity does not exist.

    Args:
        predicted, reference: in the unit of the quantity.
        error: in the unit of the metric.
        trivial: the error of the trivial model; NaN: there is none.
        shares: (30,) see `tasks.dynamics.distributions.distribution`.
    """

    predicted: float
    reference: float
    error: float
    trivial: float = np.nan
    curve: PairCurve | None = None
    shares: Float | None = None


def analysed(analysis: systems.AnyAnalysis, runs: SystemRuns, label_set: str) -> Analysed:
    """The quantity, its reference of `label_set`, and the error.

    Raises:
        ValueError: atoms or settings that the quantity cannot be computed with.
    """
    match analysis:
        case pairs.RadialDistributionAnalysis():
            curve = curves(analysis, runs.trajectories, label_set)
            known = np.isfinite(curve.reference)
            off, trivial = np.abs(curve.g - curve.reference)[known], np.abs(1 - curve.reference)[known]
            return _deviating(Deviations(float(off.mean()), float(trivial.mean())))._replace(curve=curve)
        case pairs.RadialDistributionRmseAnalysis():
            curve = curves(analysis, runs.trajectories, label_set)
            compared = at_points(analysis, curve, label_set)
            off, trivial = compared.g - compared.reference, 1 - compared.reference
            result = _deviating(Deviations(_root_mean_square(off), _root_mean_square(trivial)))
            return result._replace(curve=curve)
        case pairs.FirstPeakAnalysis():
            return _absolute(first_peak(analysis, runs.trajectories), analysis.reference[label_set])
        case systems.DensityAnalysis():
            return _relative(_mean(runs, lambda t: _densities(analysis, t)), analysis.reference[label_set])
        case systems.BondLengthAnalysis():
            lengths = [bond_lengths(t, analysis.pairs) for t in runs.trajectories]
            deviations = [each - analysis.reference[label_set] for each in lengths]
            shares = distribution(deviations, RANGES["bond_length"])
            return _geometry(analysis, lengths, label_set)._replace(shares=shares)
        case systems.AngleAnalysis():
            return _geometry(analysis, [bond_angles(t, analysis.triples) for t in runs.trajectories], label_set)
        case systems.PlanarityAnalysis():
            planarities = [ring_planarities(t, analysis.ring) for t in runs.trajectories]
            result = _without_trivial(_mean_of(planarities), analysis.reference[label_set])
            return result._replace(shares=distribution(planarities, RANGES["planarity"]))
        case systems.DiffusionAnalysis():
            return _relative(_diffusion(analysis, runs), analysis.reference[label_set])
        case proteins.RmsdAnalysis():
            distances = [rmsd(*superposable(analysis, t, label_set)) for t in runs.trajectories]
            return _without_trivial(_mean_of(distances, np.min if analysis.of_best_frame else np.mean), 0.0)
        case proteins.TmScoreAnalysis():
            length = analysis.reference_length
            scores = [tm_scores(*superposable(analysis, t, label_set), length) for t in runs.trajectories]
            return _without_trivial(_mean_of(scores, np.max if analysis.of_best_frame else np.mean), 1.0)
        case systems.GyrationAnalysis():
            return _absolute(_mean(runs, lambda t: radii_of_gyration(t, analysis.atoms)), analysis.reference[label_set])
        case systems.HydrogenDriftAnalysis():
            return _without_trivial(PERCENT * _mean(runs, lambda t: share_after_drift(t, analysis, len(t) - 1)), 0.0)
        case systems.TemperatureAnalysis():
            return _absolute(float(runs.temperatures.mean()), runs.target_k)
        case systems.EnergyDriftAnalysis():
            return _without_trivial(_drift(runs), 0.0)
        case systems.DriftRatioAnalysis():
            return _without_trivial(_drift_ratio(runs), 0.0)
        case systems.AngularDistributionAnalysis():
            return _deviating(angular_deviations(analysis, runs.trajectories, label_set))
        case systems.VibrationalSpectrumAnalysis():
            return _deviating(spectral_deviations(analysis, runs.trajectories, label_set))
        case proteins.DihedralOutliersAnalysis():
            sets = {name: np.array(pairs) for name, pairs in analysis.reference[label_set].items()}
            share = _mean(runs, lambda t: _backbone_outliers(analysis, t, sets))
            return _without_trivial(PERCENT * share, 0.0)
        case proteins.SidechainOutliersAnalysis():
            points = np.array(analysis.reference[label_set])
            share = _mean(runs, lambda t: chi_outlier_share(t, analysis.residues, points))
            return _without_trivial(PERCENT * share, 0.0)
        case proteins.SecondaryStructureAnalysis():
            classes = np.array(list(analysis.reference[label_set].replace("-", " ")))
            return _without_trivial(PERCENT * _mean(runs, lambda t: _matching(analysis, t, classes)), PERCENT)


def unmeasured(analysis: systems.AnyAnalysis, start: Frames, label_set: str, target_k: float) -> Analysed:
    """The reference and the trivial model's error alone, for a system without sound runs.

    Args:
        start: the structure.
    """
    match analysis:
        case systems.EnergyDriftAnalysis() | systems.DriftRatioAnalysis():
            result = _without_trivial(np.nan, 0.0)
        case systems.VibrationalSpectrumAnalysis():
            result = _deviating(Deviations(np.nan, trivial_spectral_deviation(analysis, label_set)))
        case systems.DiffusionAnalysis():
            result = _relative(np.nan, analysis.reference[label_set])
        case _:
            result = analysed(analysis, start_alone(start, target_k), label_set)
    curve = result.curve and result.curve._replace(g=np.full(len(result.curve.g), np.nan))
    return result._replace(predicted=np.nan, error=np.nan, curve=curve, shares=None)


def superposable(
    analysis: proteins.ReferencePositions, trajectory: Trajectory, label_set: str
) -> tuple[NDArray[Any], Float]:
    """(f, n, 3) the positions of its atoms, and (n, 3) those of the reference [Å]."""
    return trajectory.positions[:, analysis.atoms], np.array(analysis.reference[label_set])


def share_after_drift(
    trajectory: Trajectory, analysis: systems.HydrogenDriftAnalysis, n_intervals: int, *, periodic: bool = True
) -> float:
    """The share of a run after a hydrogen has left for good.

    Args:
        n_intervals: between the stored frames of the whole run, which may be longer than the trajectory.
        periodic: whether images of atoms count.
    """
    drift = hydrogen_drift(trajectory, analysis.bonds, periodic=periodic)
    return 0.0 if drift is None else 1 - min(drift.frame / max(n_intervals, 1), 1.0)


def frames_after_equilibration(settings: DynamicsSettings) -> int:
    """The number of stored frames at or after the end of the equilibration."""
    return settings.n_stored - -(-settings.equilibration_steps // settings.store_every)


def start_alone(start: Frames, target_k: float) -> SystemRuns:
    """A run of one frame, the start."""
    trajectory = Trajectory(start.positions[None], start.cell, start.pbc[0], start.numbers, np.zeros(1))
    return SystemRuns([trajectory], np.zeros((1, 1)), np.zeros((1, 1)), target_k)


def _mean(runs: SystemRuns, quantity: Callable[[Trajectory], Float | float]) -> float:
    return _mean_of([quantity(trajectory) for trajectory in runs.trajectories])


def _mean_of(values: Sequence[Float | float], of_run: Callable[[Float | float], Any] = np.mean) -> float:
    """The mean over replicas of the means of their values, or of what `of_run` takes of these."""
    return float(np.mean([of_run(each) for each in values]))


def _absolute(predicted: float, reference: float) -> Analysed:
    """The trivial model answers zero."""
    return Analysed(predicted, reference, predicted - reference, abs(reference))


def _relative(predicted: float, reference: float) -> Analysed:
    """The error in percent; the trivial model answers zero."""
    return Analysed(predicted, reference, PERCENT * (predicted - reference) / reference, PERCENT)


def _without_trivial(predicted: float, reference: float) -> Analysed:
    return Analysed(predicted, reference, predicted - reference)


def _deviating(deviations: Deviations) -> Analysed:
    return Analysed(deviations.of_run, 0.0, deviations.of_run, deviations.of_trivial)


def _matching(
    analysis: proteins.SecondaryStructureAnalysis, trajectory: Trajectory, classes: NDArray[np.str_]
) -> Float:
    """(f,) the share of residues with these classes."""
    return matching_shares(secondary_structure(*backbone_of(trajectory, analysis.residues)), classes)


def _densities(analysis: systems.DensityAnalysis, trajectory: Trajectory) -> Float:
    """(f,) [g/cm³] of the frames that count."""
    n, mass = trajectory.n_atoms, analysis.mass_per_atom
    values = densities(trajectory, None if mass is None else np.full(n, mass))
    return values[int(analysis.skip_share * len(values) + 1e-9) :]


def _backbone_outliers(
    analysis: proteins.DihedralOutliersAnalysis, trajectory: Trajectory, sets: Mapping[str, Float]
) -> float:
    return backbone_outlier_share(*backbone_of(trajectory, analysis.residues), sets, analysis.counted)


def _geometry(
    analysis: systems.BondLengthAnalysis | systems.AngleAnalysis, values: Sequence[Float], label_set: str
) -> Analysed:
    reference = analysis.reference[label_set]
    result = _absolute(_mean_of(values), reference)
    if analysis.each_frame:
        return result._replace(error=_mean_of([np.abs(each - reference) for each in values]))
    return result


def _diffusion(analysis: systems.DiffusionAnalysis, runs: SystemRuns) -> float:
    """The drift of the centre of mass, which the heat bath causes, is left out."""
    coefficients = [
        diffusion_coefficient(t, analysis.atoms, analysis.from_ps, analysis.to_ps, analysis.n_blocks, True).value
        for t in runs.trajectories
    ]
    return SI_DIFFUSION * float(np.mean(coefficients))


def _drift(runs: SystemRuns) -> float:
    """The mean over replicas of |slope| [eV/atom/ps]."""
    pairs = zip(runs.trajectories, runs.total, strict=True)
    return float(np.mean([abs(energy_drift(t.times_ps, total).slope) / t.n_atoms for t, total in pairs]))


def _drift_ratio(runs: SystemRuns) -> float:
    """The mean over replicas of |slope| × duration over σ of the kinetic energy of 3N degrees of freedom at the target.

    The σ of a run contains its failure: a run that heats up without end fluctuates as much as it drifts.
    """
    sigma = kB * runs.target_k * float(np.sqrt(1.5 * runs.trajectories[0].n_atoms))
    pairs = zip(runs.trajectories, runs.total, strict=True)
    return float(np.mean([abs(energy_drift(t.times_ps, total).slope) * _duration(t) / sigma for t, total in pairs]))


def _duration(trajectory: Trajectory) -> float:
    """[ps]"""
    return float(trajectory.times_ps[-1] - trajectory.times_ps[0])


def _root_mean_square(values: Float) -> float:
    return float(np.sqrt(np.mean(values**2)))
