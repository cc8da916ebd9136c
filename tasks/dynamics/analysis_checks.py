"""Whether runs of some settings can be analysed, which is checked before they are measured."""

from __future__ import annotations

from typing import get_args

import numpy as np

from tasks.datasets import simulated_systems as systems
from tasks.dynamics.analyses import analysed, frames_after_equilibration, start_alone
from tasks.dynamics.curves import spectral_edges
from tasks.dynamics.simulate import DynamicsSettings
from tasks.structures.frames import Frames
from tasks.trajectories.stability import isolated_atoms
from tasks.trajectories.vibrational_spectrum import WAVENUMBERS_PER_THZ

DRIFTS = systems.EnergyDriftAnalysis | systems.DriftRatioAnalysis
START_TEMPERATURE_K = 300.0  # no analysis of a start depends on it
FEWEST_FIT = 3  # frames or lags through which a line is fitted


def check_analysis(where: str, analysis: systems.AnyAnalysis, start: Frames, settings: DynamicsSettings) -> None:
    """Checks that runs of `settings` from the structure `start` can be analysed.

    Raises:
        ValueError: they cannot; one line, which begins with `where`.
    """
    step_ps = settings.store_every * settings.timestep_fs / 1000
    n_frames = frames_after_equilibration(settings)
    try:
        _check_ensemble(analysis, settings)
        if isinstance(analysis, DRIFTS) and n_frames < FEWEST_FIT:
            raise ValueError(f"{n_frames} stored frames, at least {FEWEST_FIT} are needed: set store_every smaller")
        if isinstance(analysis, systems.DiffusionAnalysis):
            _check_lags(analysis, n_frames, step_ps)
        elif isinstance(analysis, systems.VibrationalSpectrumAnalysis):
            _check_segment(analysis, settings, step_ps)
        elif not isinstance(analysis, DRIFTS):
            _check_start(analysis, start, settings.temperature_k)
    except (ValueError, ModuleNotFoundError) as error:
        raise ValueError(f"{where}: {error}") from None


def check_start(analysis: systems.AnyAnalysis, start: Frames) -> None:
    """Checks that the structure `start` can be analysed, whatever the settings of a run.

    Raises:
        ValueError: it cannot; one line.
        ModuleNotFoundError: an optional package that the analysis needs is not installed.
    """
    if isinstance(analysis, systems.VibrationalSpectrumAnalysis):
        for label_set in analysis.reference:
            spectral_edges(analysis, label_set)
    elif not isinstance(analysis, (systems.DiffusionAnalysis, *get_args(DRIFTS))):
        _check_start(analysis, start, START_TEMPERATURE_K)


def _check_start(analysis: systems.AnyAnalysis, start: Frames, temperature_k: float) -> None:
    for label_set in analysis.references or {"": None}:
        result = analysed(analysis, start_alone(start, temperature_k), label_set)
        if isinstance(analysis, systems.AngularDistributionAnalysis) and np.isnan(result.error):
            raise ValueError(f"distance: no centre has two partners within {analysis.distance:g} Å: state more")


def check_escape_distance(distance: float | None, start: Frames) -> None:
    """Checks that no atom of the one structure `start` has left the others before the run begins.

    Args:
        distance: as a data set states it; None: it follows from the structure.

    Raises:
        ValueError: one has; one line.
    """
    if distance is None:
        return
    alone = isolated_atoms(start.positions, start.cell[0], start.pbc[0], distance)
    if alone.any():
        fault = f"atom {int(np.argmax(alone))} has no other within {distance:g} Å at the start"
        raise ValueError(f"escape_distance: {fault}: state a larger one")


def _check_ensemble(analysis: systems.AnyAnalysis, settings: DynamicsSettings) -> None:
    if isinstance(analysis, systems.DensityAnalysis) and settings.ensemble != "npt":
        raise ValueError(f"the volume is constant in {settings.ensemble}: run it in npt")
    if isinstance(analysis, systems.TemperatureAnalysis) and settings.ensemble == "nve":
        raise ValueError("there is no heat bath in nve: run it in nvt or npt")
    if isinstance(analysis, DRIFTS) and settings.ensemble != "nve":
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
