"""Distributions of runs against those of references, both with area 1, and backbones of proteins.

The deviation of two distributions is the integral of their absolute difference: 0 for the same, 2 without overlap. It
is taken over the range of the reference's points, between which lines are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tasks.datasets import simulated_systems as systems
from tasks.datasets.analysis import DistributionLabel
from tasks.datasets.protein_analyses import BackboneResidue
from tasks.structures.frames import Float
from tasks.trajectories.angular_distribution import angular_distribution
from tasks.trajectories.proteins import ProteinTopology
from tasks.trajectories.trajectory import Trajectory
from tasks.trajectories.vibrational_spectrum import spectrum_of_positions

BACKBONE_NAMES = ("N", "CA", "C", "O")


class Deviations(NamedTuple):
    """Of a run and of the trivial model; NaN for a run without any value."""

    of_run: float
    of_trivial: float


def angular_deviations(
    analysis: systems.AngularDistributionAnalysis, trajectories: Sequence[Trajectory], label_set: str
) -> Deviations:
    """The trivial model is an ideal gas, in which the density of angles is sin(θ)/2.

    Raises:
        ValueError: the reference has no area between 0 and 180°, or an atom is given twice.
    """
    each = [
        angular_distribution(t, analysis.centres, analysis.partners, analysis.distance, analysis.n_bins)
        for t in trajectories
    ]
    angles = each[0].angle
    density = np.mean([distribution.density for distribution in each], axis=0)
    return _deviations(angles, density, np.sin(np.deg2rad(angles)), analysis.reference[label_set])


def spectral_deviations(
    analysis: systems.VibrationalSpectrumAnalysis, trajectories: Sequence[Trajectory], label_set: str
) -> Deviations:
    """The trivial model is a flat spectrum.

    Raises:
        ValueError: the segment is too short for the bins, the stored frames too far apart for the reference, or nothing
            moves.
    """
    edges = spectral_edges(analysis, label_set)
    densities = []
    for trajectory in trajectories:
        spectrum = spectrum_of_positions(trajectory, analysis.from_ps, analysis.to_ps, analysis.atoms)
        n_lines = np.histogram(spectrum.wavenumber, edges)[0]
        densities.append(np.histogram(spectrum.wavenumber, edges, weights=spectrum.density)[0] / n_lines)
    return _against(edges, np.mean(densities, axis=0), analysis.reference[label_set])


def trivial_spectral_deviation(analysis: systems.VibrationalSpectrumAnalysis, label_set: str) -> float:
    """Of the flat spectrum."""
    edges = spectral_edges(analysis, label_set)
    return _against(edges, np.ones(len(edges) - 1), analysis.reference[label_set]).of_trivial


def spectral_edges(analysis: systems.VibrationalSpectrumAnalysis, label_set: str) -> Float:
    """(k + 1,) edges [cm⁻¹] of the bins, from 0 to the end of the reference.

    Raises:
        ValueError: the reference ends before the first bin.
    """
    end = analysis.reference[label_set].x[-1]
    n_bins = int(end / analysis.bin_width + 1e-9)
    if n_bins < 2:
        raise ValueError(f"reference: ends at {end:g} cm⁻¹, before two bins of {analysis.bin_width:g} cm⁻¹")
    return np.asarray(np.arange(n_bins + 1) * analysis.bin_width)


def backbone_of(trajectory: Trajectory, residues: Sequence[BackboneResidue]) -> tuple[Trajectory, ProteinTopology]:
    """The atoms of the backbone alone, four a residue, and their topology.

    Raises:
        ValueError: an atom does not exist.
    """
    atoms = [atom for residue in residues for atom in (residue.n, residue.ca, residue.c, residue.o)]
    chains = np.array([residue.chain for residue in residues])
    topology = ProteinTopology(
        BACKBONE_NAMES * len(residues),
        np.repeat(np.arange(len(residues)), len(BACKBONE_NAMES)),
        tuple(residue.name for residue in residues),
        chains,
    )
    return trajectory.of_atoms(atoms), topology


def _against(edges: Float, density: Float, label: DistributionLabel) -> Deviations:
    middles = (edges[1:] + edges[:-1]) / 2
    return _deviations(middles, density, np.ones(len(middles)), label)


def _deviations(x: Float, density: Float, trivial: Float, label: DistributionLabel) -> Deviations:
    """Of densities (k,) at equally spaced `x` (k,), on any scale."""
    known = (x >= label.x[0]) & (x <= label.x[-1])
    reference = np.interp(x[known], label.x, label.y)
    if not reference.sum() > 0:
        raise ValueError(f"reference: has no area from {x[0]:g} to {x[-1]:g}: give points there")
    return Deviations(_difference(density[known], reference), _difference(trivial[known], reference))


def _difference(density: Float, reference: Float) -> float:
    """∫|p − q| of two distributions at the same points; 2, no overlap, if the first has no area there."""
    if np.isnan(density).any():
        return float("nan")
    if not density.sum() > 0:
        return 2.0
    return float(np.abs(density / density.sum() - reference / reference.sum()).sum())
