"""Invented runs of simulated systems, relaxations and paths."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tasks.datasets.card import Table
from tasks.datasets.simulated_systems import BondLengthAnalysis, DensityAnalysis, SimulatedSystem
from tasks.kind import Observation, Parameters
from tasks.kinds.dynamics import DynamicsParameters
from tasks.kinds.reaction_paths import ReactionPathsParameters
from tasks.structures.frames import Float, Frames
from tasks.trajectories.thermodynamics import G_PER_CM3

RUN = 'parameters = { ensemble = "npt", steps = 100, store_every = 10 }\n'


def systems(frames: Frames, names: list[str], sets: tuple[str, ...], rng: np.random.Generator) -> Table:
    """The table of a system for each structure, with a density and a bond length."""
    rows = []
    for i, name in enumerate(names):
        atoms = frames.atoms(i)
        density = float(atoms.get_masses().sum() * G_PER_CM3 / atoms.get_volume() * rng.uniform(0.95, 1.05))
        length = float(atoms.get_distance(0, 1, mic=True) * rng.uniform(0.95, 1.05))
        analyses = (
            DensityAnalysis(measure="density", reference=dict.fromkeys(sets, density)),
            BondLengthAnalysis(measure="bond_length", pairs=((0, 1),), reference=dict.fromkeys(sets, length)),
        )
        rows.append(SimulatedSystem(id=name, structure=i, analyses=analyses))
    empty = ("",) * len(names)
    return Table(id=tuple(names), group=empty, cluster=empty, systems=tuple(rows))


def runs(frames: Frames, parameters: Parameters, errors: Float, failure: NDArray[np.int8]) -> Observation:
    """Runs whose volumes are off by `errors` (n,), relative to the volume; those with a `failure` (n,) end half way."""
    assert isinstance(parameters, DynamicsParameters)
    n, f = len(frames), parameters.n_stored
    scale = np.cbrt(1 + np.clip(0.1 * errors, -0.5, 2.0))
    positions = np.repeat((frames.positions * scale[frames.frame_index, None])[None], f, axis=0)
    cells = np.repeat((frames.cell * scale[:, None, None])[None], f, axis=0)
    energies = {name: np.ones((n, f)) for name in ("potential", "kinetic", "hottest", "largest_force")}
    failed = failure != 0
    positions[f // 2 :, failed[frames.frame_index]] = np.nan
    cells[f // 2 :, failed] = np.nan
    for values in energies.values():
        values[failed, f // 2 :] = np.nan
    completed = np.where(failed, parameters.steps // 2 - 1, parameters.steps)
    arrays = {"positions": positions.astype(np.float32), "cells": cells, "completed_steps": completed}
    return Observation({**arrays, **energies, "failure": failure})


def relaxed(frames: Frames, energy: Float, failure: NDArray[np.int8]) -> Observation:
    """Relaxations that end where they began, at energies (n,) [eV]."""
    failed, by_atom = failure != 0, failure[frames.frame_index] != 0
    arrays = {
        "positions": np.where(by_atom[:, None], np.nan, frames.positions),
        "cell": np.where(failed[:, None, None], np.nan, frames.cell),
        "energy": np.where(failed, np.nan, energy),
        "largest_force": np.where(failed, np.nan, 1e-3),
        "steps": np.full(len(frames), 20),
        "converged": ~failed,
    }
    return Observation({**arrays, "failure": failure})


def bands(n_atoms: int, barriers: Float, failure: NDArray[np.int8], parameters: Parameters) -> Observation:
    """Paths with `barriers` (r,) [eV] of r reactions with so many atoms in all; each ends 0.3 of it above its start."""
    assert isinstance(parameters, ReactionPathsParameters)
    m, failed = parameters.band.n_images, failure != 0
    share = np.linspace(0.0, 1.0, m)
    energies = barriers[:, None] * np.where(share < 0.5, 2 * share, 1.4 * (1 - share) + 0.3)
    arrays = {
        "positions": np.zeros((m, n_atoms, 3)),
        "energies": np.where(failed[:, None], np.nan, energies),
        "residual": np.where(failed, np.nan, 0.04),
        "steps": np.full(len(failed), 50),
        "converged": ~failed,
        "first_positions": np.zeros((m, n_atoms, 3)),
    }
    return Observation({**arrays, "failure": failure})
