"""The trajectories of a public task: a table of links, and a file for each run, which the page loads on demand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from ase.data import atomic_numbers, covalent_radii
from ase.data.colors import jmol_colors

from judge.disclosure.public_runs import PublicRun, public_runs
from judge.disclosure.public_trajectories import PER_ANGSTROM, PublicTrajectory, public_trajectory
from judge.figures.chosen_models import ChosenModel
from judge.figures.small_plots import MOST_PLOTS
from judge.view.page_context import Frame

FOLDER = "trajectories/"
_FORMAT = 1  # part of the name of a file, so that files of an earlier form are not used again


@dataclass(frozen=True)
class RunLink:
    """The link to the file of a run.

    Args:
        path: in the site.
        title: names model, system and end.
    """

    path: str
    title: str


@dataclass(frozen=True)
class Trajectories:
    """The trajectories of a task.

    Args:
        models: their names.
        links: by system, then by model.
        files: content by path.
    """

    models: tuple[str, ...] = ()
    links: dict[str, dict[str, RunLink]] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)


def trajectories(frame: Frame, models: Sequence[ChosenModel]) -> Trajectories:
    """The trajectories of these models in a task, of its first systems; none if the data set is hidden."""
    shown = Trajectories(tuple(model.name for model in models))
    for model in models:
        if model.line.task.traits.first_run is None:
            continue
        runs = public_runs(model.line, model.items, frame.sources.public)
        for run in runs.each[:MOST_PLOTS] if runs else ():
            path = _path(model, run)
            content = _file(frame, model, run, path)
            if content is not None:
                shown.files[path] = content
                title = f"{model.name}: {run.name}, {run.end}"
                shown.links.setdefault(run.name, {})[model.name] = RunLink(path, title)
    return shown


def _path(model: ChosenModel, run: PublicRun) -> str:
    """The path of the file; it changes with everything that the file is made from."""
    result = model.line.result
    keys = (result.observation_key, result.provenance.observation) if result else ()
    made_from = json.dumps([_FORMAT, *keys, run.name, run.ended_ps])
    return f"{FOLDER}{model.line.task.name}/{sha256(made_from.encode()).hexdigest()[:16]}.json"


def _file(frame: Frame, model: ChosenModel, run: PublicRun, path: str) -> bytes | None:
    """The file of a run, that of the last build if it has one: observations are large."""
    earlier = frame.earlier.read(path) if frame.earlier else None
    if earlier is not None:
        return earlier
    sources = frame.sources
    trajectory = public_trajectory(model.line, run.name, run.ended_ps, sources.trajectories, sources.public)
    return None if trajectory is None else packed(trajectory)


def packed(trajectory: PublicTrajectory) -> bytes:
    """The file: symbols, radius [Å] and colour of each element, times, and flat lists of positions and cells."""
    n_frames = len(trajectory.times_ps)
    content = {
        "per_angstrom": PER_ANGSTROM,
        "elements": {symbol: _look(symbol) for symbol in sorted(set(trajectory.symbols))},
        "symbols": trajectory.symbols,
        "times_ps": trajectory.times_ps,
        "cells": trajectory.cells.reshape(n_frames, -1).tolist(),
        "positions": trajectory.positions.reshape(n_frames, -1).tolist(),
    }
    return json.dumps(content, separators=(",", ":")).encode()


def _look(symbol: str) -> dict[str, object]:
    """The covalent radius [Å] of an element, and its usual colour."""
    number = atomic_numbers[symbol]
    colours = jmol_colors[min(number, len(jmol_colors) - 1)]
    red, green, blue = (round(255 * float(part)) for part in colours)
    return {"radius": round(float(covalent_radii[number]), 2), "colour": f"#{red:02x}{green:02x}{blue:02x}"}
