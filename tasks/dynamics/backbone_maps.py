"""The backbones of one run, against the reference points of its data set, for Ramachandran plots."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tasks.datasets.dataset import Dataset
from tasks.datasets.protein_analyses import DihedralOutliersAnalysis
from tasks.dynamics.curves import backbone_of
from tasks.dynamics.first_run import first_run
from tasks.dynamics.simulate import DynamicsSettings
from tasks.kind import Observation
from tasks.trajectories.dihedral_outliers import BackboneMap, backbone_outliers, backbone_set
from tasks.trajectories.trajectory import Trajectory


def backbone_maps(
    observation: Observation, dataset: Dataset, settings: DynamicsSettings, system: str, label_set: str | None
) -> list[BackboneMap]:
    """A map for each analysis of backbones and each set of its reference points.

    The frames are those of the first replica after the equilibration, until the engine stopped it.

    Args:
        label_set: of the reference points; None: the default.

    Raises:
        ValueError: the data set has no such system or label set, or the observation is not of its structures and
            settings.
    """
    trajectory = first_run(observation, dataset, settings, system)
    start_ps = settings.equilibration_steps * settings.timestep_fs / 1000
    if trajectory is None or trajectory.times_ps[-1] < start_ps:
        return []
    run = trajectory.segment(start_ps, float(trajectory.times_ps[-1]))
    analyses = next(each.analyses for each in dataset.table.systems if each.id == system)
    chosen = dataset.label_set(label_set)
    return [
        backbone_map
        for analysis in analyses
        if isinstance(analysis, DihedralOutliersAnalysis)
        for backbone_map in _maps(analysis, run, chosen)
    ]


def _maps(analysis: DihedralOutliersAnalysis, run: Trajectory, label_set: str) -> Iterator[BackboneMap]:
    """One for each set of reference points; the title names the set if there are several."""
    references = {name: np.array(points) for name, points in analysis.reference[label_set].items()}
    outliers = backbone_outliers(*backbone_of(run, analysis.residues), references, analysis.counted)
    sets = np.array([backbone_set(name) for name in outliers.names.tolist()])
    title = analysis.name or analysis.measure
    for name in (names := sorted(set(sets.tolist()))):
        yield BackboneMap(
            title if len(names) == 1 else f"{title}, {name}",
            run.times_ps,
            outliers.angles[:, sets == name],
            outliers.is_outlier[:, sets == name],
            references[name],
        )
