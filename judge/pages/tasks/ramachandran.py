"""The files of Ramachandran plots, which a task's page loads."""

from __future__ import annotations

import json
from collections.abc import Sequence

from judge.disclosure.public_backbones import CELL, PublicBackbone, public_backbones
from judge.disclosure.public_runs import PublicRun
from judge.pages.tasks.run_files import RunFileFormat
from judge.ranking.leaderboard import TaskLine
from judge.view.sources import Sources
from tasks.trajectories.dihedral_outliers import OUTLIER_DISTANCE


def _file(sources: Sources, line: TaskLine, run: PublicRun) -> bytes | None:
    if not run.has_backbone:  # then nothing is read
        return None
    backbones = public_backbones(line, run.name, run.ended_ps, sources.backbones, sources.public)
    return packed(backbones) if backbones else None


RAMACHANDRAN = RunFileFormat("ramachandran/", 1, _file)


def packed(backbones: Sequence[PublicBackbone]) -> bytes:
    """The file: of each plot its numbers and its points [°]."""
    plots = [
        {
            "title": each.title,
            "residues": each.n_residues,
            "angles": each.n_angles,
            "outliers": each.n_outliers,
            "reference": each.n_reference,
            "near": each.near.tolist(),
            "far": each.far.tolist(),
            "cells": each.cells.tolist(),
        }
        for each in backbones
    ]
    return json.dumps({"cell": CELL, "distance": OUTLIER_DISTANCE, "plots": plots}, separators=(",", ":")).encode()
