"""The files of trajectories, which the viewer of a task's page loads."""

from __future__ import annotations

import json

from ase.data import atomic_numbers, covalent_radii
from ase.data.colors import jmol_colors

from judge.disclosure.public_runs import PublicRun
from judge.disclosure.public_trajectories import PER_ANGSTROM, PublicTrajectory, public_trajectory
from judge.pages.tasks.run_files import RunFileFormat
from judge.ranking.leaderboard import TaskLine
from judge.view.sources import Sources


def _file(sources: Sources, line: TaskLine, run: PublicRun) -> bytes | None:
    trajectory = public_trajectory(line, run.name, run.ended_ps, sources.trajectories, sources.public)
    return None if trajectory is None else packed(trajectory)


TRAJECTORIES = RunFileFormat("trajectories/", 1, _file)


def packed(trajectory: PublicTrajectory) -> bytes:
    """The file: symbols, radius [Å] and colour of each element, times, and flat lists of positions and cells."""
    n_frames = len(trajectory.times_ps)
    content = {
        "per_angstrom": PER_ANGSTROM,
        "elements": {symbol: element_look(symbol) for symbol in sorted(set(trajectory.symbols))},
        "symbols": trajectory.symbols,
        "times_ps": trajectory.times_ps,
        "cells": trajectory.cells.reshape(n_frames, -1).tolist(),
        "positions": trajectory.positions.reshape(n_frames, -1).tolist(),
    }
    return json.dumps(content, separators=(",", ":")).encode()


def element_look(symbol: str) -> dict[str, object]:
    """The covalent radius [Å] of an element, and its usual colour."""
    number = atomic_numbers[symbol]
    colours = jmol_colors[min(number, len(jmol_colors) - 1)]
    red, green, blue = (round(255 * float(part)) for part in colours)
    return {"radius": round(float(covalent_radii[number]), 2), "colour": f"#{red:02x}{green:02x}{blue:02x}"}
