"""The quantities of runs, from stored frames after the equilibration, against their references.

Means are over frames, then over the replicas of a system; g(r) too, before it is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tasks.datasets import simulated_systems as systems
from tasks.dynamics.curves import (
    Deviations,
    angular_deviations,
    backbone_of,
    spectral_deviations,
    spectral_edges,
    trivial_spectral_deviation,
)
from tasks.dynamics.distributions import RANGES, distribution
from tasks.dynamics.simulate import DynamicsSettings
from tasks.structures.frames import Float, Frames
from tasks.trajectories.diffusion import diffusion_coefficient
from tasks.trajectories.dihedral_outliers import backbone_outlier_share
from tasks.trajectories.hydrogen_drift import hydrogen_drift
from tasks.trajectories.internal_coordinates import bond_angles, bond_lengths, ring_planarities
from tasks.trajectories.radial_distribution import RadialBins, RadialDistribution, highest_peak, radial_distribution
from tasks.trajectories.secondary_structure import matching_shares, secondary_structure
from tasks.trajectories.superposition import radii_of_gyration, rmsd
from tasks.trajectories.thermodynamics import densities, energy_drift
from tasks.trajectories.tm_score import tm_scores
from tasks.trajectories.trajectory import Trajectory
from tasks.trajectories.vibrational_spectrum import WAVENUMBERS_PER_THZ

PERCENT = 100.0
SI_DIFFUSION = 10.0  # one Å²/ps in 1e-9 m²/s
FEWEST_FIT = 3  # frames or lags through which a line is fitted


class SystemRuns(NamedTuple):
    """The runs of a system after the equilibration.

    Args:
        trajectories: by replica.
        total: (R, f) energies [eV].
        temperatures: (R, f) [K].
    """

    trajectories: Sequence[Trajectory]
    total: Float
    temperatures: Float
    target_k: float


class PairCurve(NamedTuple):
    """(k,) each: distances [Å], g(r) of the model and of the reference, NaN where there is none."""

    r: Float
    g: Float
    reference: Float


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
        case systems.RadialDistributionAnalysis():
            return _against_curve(analysis, runs, analysis.reference[label_set])
        case systems.FirstPeakAnalysis():
            return _absolute(_first_peak(analysis, runs), analysis.reference[label_set])
        case systems.DensityAnalysis():
            return _relative(_mean(runs, densities), analysis.reference[label_set])
        case systems.BondLengthAnalysis():
            lengths = [bond_lengths(t, analysis.pairs) for t in runs.trajectories]
            off = [each - analysis.reference[label_set] for each in lengths]
            return _geometry(analysis, lengths, label_set)._replace(shares=distribution(off, RANGES["bond_length"]))
        case systems.AngleAnalysis():
            return _geometry(analysis, [bond_angles(t, analysis.triples) for t in runs.trajectories], label_set)
        case systems.PlanarityAnalysis():
            planarities = [ring_planarities(t, analysis.ring) for t in runs.trajectories]
            result = _without_trivial(_mean_of(planarities), analysis.reference[label_set])
            return result._replace(shares=distribution(planarities, RANGES["planarity"]))
        case systems.DiffusionAnalysis():
            return _relative(_diffusion(analysis, runs), analysis.reference[label_set])
        case systems.RmsdAnalysis():
            points = np.array(analysis.reference[label_set])
            return _without_trivial(_mean(runs, lambda t: rmsd(t.positions[:, analysis.atoms], points)), 0.0)
        case systems.TmScoreAnalysis():
            points = np.array(analysis.reference[label_set])
            length = analysis.reference_length
            score = _mean(runs, lambda t: tm_scores(t.positions[:, analysis.atoms], points, length))
            return _without_trivial(score, 1.0)
        case systems.GyrationAnalysis():
            return _absolute(_mean(runs, lambda t: radii_of_gyration(t, analysis.atoms)), analysis.reference[label_set])
        case systems.HydrogenDriftAnalysis():
            return _without_trivial(PERCENT * _mean(runs, lambda t: _share_after_drift(analysis, t)), 0.0)
        case systems.TemperatureAnalysis():
            return _absolute(float(runs.temperatures.mean()), runs.target_k)
        case systems.EnergyDriftAnalysis():
            return _without_trivial(_drift(runs), 0.0)
        case systems.AngularDistributionAnalysis():
            return _deviating(angular_deviations(analysis, runs.trajectories, label_set))
        case systems.VibrationalSpectrumAnalysis():
            return _deviating(spectral_deviations(analysis, runs.trajectories, label_set))
        case systems.DihedralOutliersAnalysis():
            sets = {name: np.array(pairs) for name, pairs in analysis.reference[label_set].items()}
            return _without_trivial(
                PERCENT * _mean(runs, lambda t: backbone_outlier_share(*backbone_of(t, analysis.residues), sets)), 0.0
            )
        case systems.SecondaryStructureAnalysis():
            classes = np.array(list(analysis.reference[label_set].replace("-", " ")))
            return _without_trivial(PERCENT * _mean(runs, lambda t: _matching(analysis, t, classes)), PERCENT)


def unmeasured(analysis: systems.AnyAnalysis, start: Frames, label_set: str, target_k: float) -> Analysed:
    """The reference and the trivial model's error alone, for a system without sound runs.

    Args:
        start: the structure.
    """
    match analysis:
        case systems.EnergyDriftAnalysis():
            result = _without_trivial(np.nan, 0.0)
        case systems.VibrationalSpectrumAnalysis():
            result = _deviating(Deviations(np.nan, trivial_spectral_deviation(analysis, label_set)))
        case systems.DiffusionAnalysis():
            result = _relative(np.nan, analysis.reference[label_set])
        case _:
            result = analysed(analysis, _start_alone(start, target_k), label_set)
    curve = result.curve and result.curve._replace(g=np.full(len(result.curve.g), np.nan))
    return result._replace(predicted=np.nan, error=np.nan, curve=curve, shares=None)


def check_analysis(where: str, analysis: systems.AnyAnalysis, start: Frames, settings: DynamicsSettings) -> None:
    """Checks that runs of `settings` from the structure `start` can be analysed.

    Raises:
        ValueError: they cannot; one line, which begins with `where`.
    """
    step_ps = settings.store_every * settings.timestep_fs / 1000
    n_frames = frames_after_equilibration(settings)
    try:
        _check_ensemble(analysis, settings)
        if isinstance(analysis, systems.EnergyDriftAnalysis) and n_frames < FEWEST_FIT:
            raise ValueError(f"{n_frames} stored frames, at least {FEWEST_FIT} are needed: set store_every smaller")
        if isinstance(analysis, systems.DiffusionAnalysis):
            _check_lags(analysis, n_frames, step_ps)
        elif isinstance(analysis, systems.VibrationalSpectrumAnalysis):
            _check_segment(analysis, settings, step_ps)
        elif not isinstance(analysis, systems.EnergyDriftAnalysis):
            label_set = next(iter(analysis.references or {}), "")
            result = analysed(analysis, _start_alone(start, settings.temperature_k), label_set)
            if isinstance(analysis, systems.AngularDistributionAnalysis) and np.isnan(result.error):
                raise ValueError(f"distance: no centre has two partners within {analysis.distance:g} Å: state more")
    except (ValueError, ModuleNotFoundError) as error:
        raise ValueError(f"{where}: {error}") from None


def frames_after_equilibration(settings: DynamicsSettings) -> int:
    """The number of stored frames at or after the end of the equilibration."""
    return settings.n_stored - -(-settings.equilibration_steps // settings.store_every)


def _check_ensemble(analysis: systems.AnyAnalysis, settings: DynamicsSettings) -> None:
    if isinstance(analysis, systems.DensityAnalysis) and settings.ensemble != "npt":
        raise ValueError(f"the volume is constant in {settings.ensemble}: run it in npt")
    if isinstance(analysis, systems.TemperatureAnalysis) and settings.ensemble == "nve":
        raise ValueError("there is no heat bath in nve: run it in nvt or npt")
    if isinstance(analysis, systems.EnergyDriftAnalysis) and settings.ensemble != "nve":
        raise ValueError(f"the energy is not conserved in {settings.ensemble}: run it in nve")
    if isinstance(analysis, systems.VibrationalSpectrumAnalysis) and settings.ensemble == "npt":
        raise ValueError("the barostat moves molecules in npt: run it in nve or nvt")


def _check_lags(analysis: systems.DiffusionAnalysis, n_frames: int, step_ps: float) -> None:
    block_ps = (n_frames // analysis.n_blocks - 1) * step_ps
    if block_ps < analysis.to_ps * (1 - 1e-9):
        raise ValueError(
            f"to_ps: {analysis.to_ps:g} ps, but each of {analysis.n_blocks} blocks has {max(block_ps, 0.0):g} ps: "
            "run longer"
        )
    if (analysis.to_ps - analysis.from_ps) / step_ps < FEWEST_FIT - 1 + 1e-9:
        raise ValueError(f"from_ps, to_ps: fewer than {FEWEST_FIT} stored frames in between: set store_every smaller")


def _check_segment(analysis: systems.VibrationalSpectrumAnalysis, settings: DynamicsSettings, step_ps: float) -> None:
    """The segment is in the run, resolves the bins, and its frames resolve the fastest motion of the references."""
    begin, end = settings.equilibration_steps * settings.timestep_fs / 1000, (settings.n_stored - 1) * step_ps
    if analysis.from_ps < begin * (1 - 1e-9) or analysis.to_ps > end * (1 + 1e-9):
        raise ValueError(f"from_ps, to_ps: must be within {begin:g} to {end:g} ps, the run after the equilibration")
    resolved = WAVENUMBERS_PER_THZ / (2 * (analysis.to_ps - analysis.from_ps - 2 * step_ps))
    if not 0 < resolved <= analysis.bin_width:
        raise ValueError(f"bin_width: {analysis.bin_width:g} cm⁻¹ is too fine for the segment: make one of them longer")
    fastest = WAVENUMBERS_PER_THZ / (2 * step_ps)
    for label_set in analysis.reference:
        if spectral_edges(analysis, label_set)[-1] > fastest:
            raise ValueError(
                f"reference: goes beyond {fastest:.0f} cm⁻¹, half the rate of the frames: store more often"
            )


def _start_alone(start: Frames, target_k: float) -> SystemRuns:
    """A run of one frame, the start."""
    trajectory = Trajectory(start.positions[None], start.cell, start.pbc[0], start.numbers, np.zeros(1))
    return SystemRuns([trajectory], np.zeros((1, 1)), np.zeros((1, 1)), target_k)


def _mean(runs: SystemRuns, quantity: Callable[[Trajectory], Float | float]) -> float:
    return _mean_of([quantity(trajectory) for trajectory in runs.trajectories])


def _mean_of(values: Sequence[Float | float]) -> float:
    """The mean over replicas of the means of their values."""
    return float(np.mean([np.mean(each) for each in values]))


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


def _matching(analysis: systems.SecondaryStructureAnalysis, trajectory: Trajectory, classes: NDArray[np.str_]) -> Float:
    """(f,) the share of residues with these classes."""
    return matching_shares(secondary_structure(*backbone_of(trajectory, analysis.residues)), classes)


def _geometry(
    analysis: systems.BondLengthAnalysis | systems.AngleAnalysis, values: Sequence[Float], label_set: str
) -> Analysed:
    reference = analysis.reference[label_set]
    result = _absolute(_mean_of(values), reference)
    if analysis.each_frame:
        return result._replace(error=_mean_of([np.abs(each - reference) for each in values]))
    return result


def _distribution(analysis: systems.PairAnalysis, r_max: float, runs: SystemRuns) -> RadialDistribution:
    """g(r) averaged over replicas; 1, that of an ideal gas, beyond half of the smallest box of the runs."""
    n_bins = max(1, int(r_max / analysis.bin_width + 1e-9))
    bins = RadialBins(0.0, n_bins * analysis.bin_width, n_bins)
    each = [
        radial_distribution(trajectory, analysis.first, analysis.second, bins, beyond_half_cell=True)
        for trajectory in runs.trajectories
    ]
    right = min(distribution.largest_right for distribution in each)
    g = np.mean([distribution.g for distribution in each], axis=0)
    beyond = each[0].r + analysis.bin_width / 2 > right * (1 + 1e-9)
    return each[0]._replace(g=np.where(beyond, 1.0, g), largest_right=right)


def _first_peak(analysis: systems.FirstPeakAnalysis, runs: SystemRuns) -> float:
    distribution = _distribution(analysis, analysis.up_to, runs)
    inside = (distribution.r > analysis.above) & (distribution.r <= analysis.up_to)
    if not inside.any():
        raise ValueError(f"no bin of {analysis.bin_width:g} Å between above and up_to: widen them")
    if not distribution.g[inside].max() > 0:
        return np.nan
    return highest_peak(distribution, analysis.above, analysis.up_to)


def _against_curve(
    analysis: systems.RadialDistributionAnalysis, runs: SystemRuns, label: systems.CurveLabel
) -> Analysed:
    distribution = _distribution(analysis, analysis.r_max, runs)
    r, g = distribution.r, distribution.g
    reference = np.interp(r, label.x, label.y, left=np.nan, right=np.nan)
    known = np.isfinite(reference)
    if not known.any():
        raise ValueError(f"reference: has no point up to r_max, {analysis.r_max:g} Å")
    error = float(np.abs(g - reference)[known].mean())
    trivial = float(np.abs(1 - reference)[known].mean())
    return Analysed(error, 0.0, error, trivial, PairCurve(r, g, reference))


def _diffusion(analysis: systems.DiffusionAnalysis, runs: SystemRuns) -> float:
    """The drift of the centre of mass, which the heat bath causes, is left out."""
    coefficients = [
        diffusion_coefficient(t, analysis.atoms, analysis.from_ps, analysis.to_ps, analysis.n_blocks, True).value
        for t in runs.trajectories
    ]
    return SI_DIFFUSION * float(np.mean(coefficients))


def _share_after_drift(analysis: systems.HydrogenDriftAnalysis, trajectory: Trajectory) -> float:
    """The share of the frames from the first on in which a hydrogen has left for good."""
    drift = hydrogen_drift(trajectory, analysis.bonds)
    return 0.0 if drift is None else 1 - drift.frame / len(trajectory)


def _drift(runs: SystemRuns) -> float:
    """The mean over replicas of |slope| [eV/atom/ps]."""
    pairs = zip(runs.trajectories, runs.total, strict=True)
    return float(np.mean([abs(energy_drift(t.times_ps, total).slope) / t.n_atoms for t, total in pairs]))
