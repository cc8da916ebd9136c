"""An unsound run never improves any measure of dynamics: exploded, not finite, frozen, or without an answer."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tasks.kind import Observation, Watch
from tasks.kinds.dynamics import MEASURES, Dynamics, DynamicsParameters
from tasks.metrics.measurement import Measurement
from tasks.structures.predictions import Cause
from tests.tasks.kinds.simulated import LABEL_SET, Bonds, dataset_of, diatomics

KIND, N_MOLECULES = Dynamics(), 8
START = diatomics(N_MOLECULES)
START.numbers[1::2] = 1
ALPHA = list(range(1, 2 * N_MOLECULES, 4))
RESIDUES = [{"name": "ALA", "n": k, "ca": k + 1, "c": k + 2, "o": k + 3} for k in range(0, 2 * N_MOLECULES, 4)]
CURVE = {"x": [1.0, 2.0, 4.0], "y": [0.0, 1.5, 1.0]}
POINTS = (1.1 * START.positions[ALPHA]).tolist()


def stated(measure: str, reference: Any = None, **fields: Any) -> dict[str, Any]:
    return {"measure": measure, **fields, **({} if reference is None else {"reference": {LABEL_SET: reference}})}


IN_ALL = (
    stated("rdf", CURVE, first=list(range(16)), r_max=5.0),
    stated("rdf_rmse", CURVE, first=list(range(16)), above=0.5, up_to=5.0),
    stated("first_peak", 1.2, first=list(range(16)), above=0.5, up_to=3.0),
    stated("bond_length", 1.1, pairs=[(0, 1)]),
    stated("angle", 60.0, triples=[(0, 1, 2)]),
    stated("planarity", 0.1, ring=[0, 1, 2, 3]),
    stated("angular_distribution", {"x": [0, 30, 180], "y": [3, 1, 0]}, centres=[0], partners=[1, 2], distance=9.0),
    stated("rmsd", POINTS, atoms=ALPHA),
    stated("lowest_rmsd", POINTS, atoms=ALPHA),
    stated("tm_score", POINTS, atoms=ALPHA),
    stated("highest_tm_score", POINTS, atoms=ALPHA),
    stated("radius_of_gyration", 3.0, atoms=ALPHA),
    stated("hydrogen_drift", bonds=[(0, 1)]),
    stated("dihedral_outliers", {"GENERAL": [(0.0, 0.0)]}, residues=RESIDUES),
    stated("sidechain_outliers", ((0.0,),), residues=[[(0, 1, 2, 3)]]),
    stated("secondary_structure", "----", residues=RESIDUES),
)
MOVING = (
    stated("diffusion", 1.0, atoms=ALPHA, from_ps=0.002, to_ps=0.008),
    stated("vibrational_spectrum", {"x": [0, 4000], "y": [1, 2]}, from_ps=0.0, to_ps=0.04, bin_width=2000.0),
)
ANALYSES: dict[str, Sequence[dict[str, Any]]] = {
    "nve": (*IN_ALL, *MOVING, stated("energy_drift"), stated("drift_ratio")),
    "nvt": (*IN_ALL, *MOVING, stated("temperature")),
    "npt": (*IN_ALL, MOVING[0], stated("density", 0.2), stated("temperature")),
}


def test_every_measure_is_among_them() -> None:
    assert {each["measure"] for part in ANALYSES.values() for each in part} | {"stability"} == set(MEASURES)


@pytest.mark.parametrize("ensemble", ANALYSES)
def test_an_unsound_run_never_improves_a_measure(ensemble: str) -> None:
    pytest.importorskip("mdtraj")
    dataset = dataset_of([START, START], [list(ANALYSES[ensemble])] * 2)
    parameters = DynamicsParameters.model_validate(
        {"ensemble": ensemble, "steps": 40, "store_every": 2, "timestep_fs": 1.0, "barostat_every": 10}
    )

    def measured(model: Bonds) -> tuple[Observation, Measurement]:
        observation = KIND.observe(dataset.structures, parameters, model, Watch(time.monotonic))
        return observation, KIND.measure(observation, dataset, parameters, None)

    observation, sound = measured(Bonds())
    assert not sound.items.failures()
    over_time = Observation({**observation.arrays, "failure": np.full(2, Cause.OVER_TIME, np.int8)})
    unsound = {
        "not finite": measured(Bonds(nan_at=9))[1],
        "exploded": measured(Bonds(kick_at=15))[1],
        "frozen": measured(Bonds(still=True))[1],
        "without an answer": KIND.measure(over_time, dataset, parameters, None),
    }
    for name, metric in sound.metrics.items():
        for how, worse in unsound.items():
            charged = worse.metrics[name].charged
            assert charged is not None
            assert metric.charged is not None
            # A sound run may be as bad as the worst.
            assert charged > metric.charged or charged == metric.failure_cost, (name, how)
