"""The site of runs of a peptide whose dihedrals are chosen, frame by frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from ase import Atoms

from submissions.store.interface import Store
from tasks.kind import Observation
from tasks.kinds.dynamics import DynamicsParameters
from tasks.structures.frames import Float
from tasks.structures.predictions import Cause
from tests.judge.pages.simulated_site import SUITE, SimulatedSite, site_of
from tests.tasks.kinds.simulated import dataset_of

PARAMETERS = DynamicsParameters(steps=10, store_every=2, equilibration_steps=2, seed=1, temperature_k=300.0)
PEPTIDES = replace(SUITE, tasks=tuple(replace(each, parameters=PARAMETERS) for each in SUITE.tasks))
NAMES = ("GLY", "ALA", "GLY", "PRO", "ALA")
RESIDUES = [{"name": name, "n": 4 * k, "ca": 4 * k + 1, "c": 4 * k + 2, "o": 4 * k + 3} for k, name in enumerate(NAMES)]
POINTS = {
    "GENERAL": [[-60.0, -45.0], [-62.0, -44.0], [-121.0, 133.0]],
    "GLY": [[180.0, 180.0], [80.0, 5.0]],
    "PRO": [[-65.0, 150.0]],
}
# (φ, ψ) of ALA, GLY and PRO in each stored frame; the first one is of the equilibration.
ANGLES = [
    [(0, 0), (0, 0), (0, 0)],
    [(-60, -45), (-175, 174), (-65, 142)],
    [(-57, -41), (178, -179), (-65, 158)],
    [(-51, -40), (-170, 170), (-65, 161)],
    [(60, 40), (85, 10), (-70, 155)],
    [(-120, 130), (82, -3), (-66, 149)],
]
"""Outliers: ALA in two frames (10.3° and far), GLY in one (14.1°), PRO in one (11°)."""

LAST = 2  # stored frame of the run that broke


def placed(before: Sequence[Float], length: float, angle: float, dihedral: float) -> Float:
    """The atom bonded to the last of three others [Å], with its angle and its dihedral to them [°]."""
    a, b, c = before
    angle, dihedral = np.deg2rad([angle, dihedral])
    along = (c - b) / np.linalg.norm(c - b)
    normal = np.cross(b - a, along)
    normal /= np.linalg.norm(normal)
    aside = np.cos(dihedral) * np.cross(normal, along) + np.sin(dihedral) * normal
    return np.asarray(c + length * (np.sin(angle) * aside - np.cos(angle) * along))


def backbone(angles: Sequence[tuple[int, int]]) -> Float:
    """(20, 3) N, CA, C and O of five residues, the inner three with these (φ, ψ) [°], else stretched."""
    chain = [np.array([0.0, 0.0, 0.0]), np.array([1.46, 0.0, 0.0]), np.array([2.0, 1.42, 0.0])]
    turns = [(180, 180), *angles, (180, 180)]
    for (_, psi), (phi, _) in pairwise(turns):
        for length, angle, dihedral in ((1.33, 117.0, psi), (1.46, 122.0, 180), (1.52, 111.0, phi)):
            chain.append(placed(chain[-3:], length, angle, dihedral))
    atoms = []
    for k, (_, psi) in enumerate(turns):
        n, ca, c = chain[3 * k : 3 * k + 3]
        atoms += [n, ca, c, placed((n, ca, c), 1.23, 120.0, psi + 180)]
    return np.array(atoms)


def observation(n_frames: int) -> Observation:
    """The run of `ANGLES`, sound in so many stored frames."""
    positions = np.array([backbone(angles) for angles in ANGLES], np.float32)
    n_stored = len(positions)
    sound = np.where(np.arange(n_stored) < n_frames, 1.0, np.nan)[None]
    is_whole = n_frames == n_stored
    return Observation(
        {
            "positions": positions,
            "cells": np.zeros((n_stored, 1, 3, 3)),
            "completed_steps": np.array([PARAMETERS.store_every * (n_frames - 1)]),
            "failure": np.array([Cause.NONE if is_whole else Cause.EXPLODED], np.int8),
            **dict.fromkeys(("potential", "kinetic", "hottest", "largest_force"), sound),
        }
    )


def protein_site(store: Store, data: Path) -> SimulatedSite:
    """A sound run, and one that broke early, in a public and in a hidden task."""
    counted = [
        {"measure": "dihedral_outliers", "name": f"backbone {name}", "residues": RESIDUES, "counted": [k]}
        | {"reference": {"exact": {points: POINTS[points]}}}
        for k, name, points in ((1, "ALA", "GENERAL"), (2, "GLY", "GLY"), (3, "PRO", "PRO"))
    ]
    every = {"measure": "dihedral_outliers", "residues": RESIDUES, "reference": {"exact": POINTS}}
    peptide = Atoms("NCCO" * len(NAMES), backbone(ANGLES[0]))
    dataset = dataset_of([peptide], [[*counted, every]])
    runs = {"whole": observation(len(ANGLES)), "broken": observation(LAST + 1)}
    return site_of(store, data, dataset, runs, PEPTIDES)
