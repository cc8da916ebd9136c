"""Runs that end early: exploded, escaped, not finite, frozen. Each is charged, and its time is kept."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tasks.datasets.card import DatasetError
from tasks.dynamics.run_ends import RunEnds, escape_distance
from tasks.kind import Observation, Watch
from tasks.kinds.dynamics import Dynamics, DynamicsParameters
from tasks.metrics.measurement import Measurement
from tasks.metrics.metric import Metric
from tasks.observing import checkpoints
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause
from tests.tasks.kinds.simulated import LABEL_SET, Bonds, dataset_of, diatomics

KIND = Dynamics()
PARAMETERS = DynamicsParameters(steps=40, store_every=10, timestep_fs=1.0)
BOND = {"measure": "bond_length", "pairs": [(0, 1)], "reference": {LABEL_SET: 1.0}}
FIRST, SECOND = 0, 2  # the items of stability of the two systems


def two_systems(model: Bonds, parameters: DynamicsParameters = PARAMETERS) -> Measurement:
    dataset = dataset_of([diatomics(4), diatomics(5)], [[BOND], [BOND]])
    observation = KIND.observe(dataset.structures, parameters, model, Watch(time.monotonic))
    return KIND.measure(observation, dataset, parameters, None)


def assert_charged(result: Measurement, cause: Cause, ended_ps: float) -> None:
    """The first system is, and the second is not."""
    assert result.items.cause.tolist() == [cause, cause, 0, 0]
    ended = result.items.columns["ended_ps"]
    np.testing.assert_allclose(ended, [ended_ps, ended_ps, 0.04, 0.04], atol=1e-12)
    np.testing.assert_allclose(result.items.columns["progress"], ended / 0.04)
    unstable, bond = result.metrics["unstable_percent"], result.metrics["bond_length_mae"]
    assert unstable.value == unstable.charged == 50.0
    assert (bond.n_failed, bond.failure_cost) == (1, 10.0)
    assert bond.value is not None
    assert bond.charged == pytest.approx((10.0 + bond.value) / 2)
    assert result.notes["runs"] == f"of 2 runs 1 {cause.word}: charged"


def test_an_answer_that_is_not_finite_ends_the_run_at_that_step() -> None:
    assert_charged(two_systems(Bonds(nan_at=19)), Cause.NON_FINITE, 0.017)


def test_an_explosion_between_two_stored_frames_is_seen() -> None:
    assert_charged(two_systems(Bonds(kick_at=15)), Cause.EXPLODED, 0.013)


def test_a_hydrogen_that_left_before_an_explosion_that_is_not_seen_is_a_share_of_the_whole_run() -> None:
    molecules, parameters = diatomics(4), PARAMETERS.model_copy(update={"store_every": 4})
    molecules.numbers[:] = [6, 1] * 4
    dataset = dataset_of([molecules], [[{"measure": "hydrogen_drift", "bonds": [(0, 1)]}]])
    seen = KIND.observe(dataset.structures, parameters, Bonds(kick_at=25), Watch(time.monotonic))
    positions = seen.arrays["positions"].copy()
    positions[3:, 1] += 4.0
    result = KIND.measure(Observation({**seen.arrays, "positions": positions}), dataset, parameters, None)
    assert result.items.cause.tolist() == [Cause.UNSTABLE, Cause.UNSTABLE]
    assert np.isfinite(seen.arrays["potential"][0]).sum() == 6
    assert result.items.columns["stored_error"].tolist() == pytest.approx([1.0, 70.0])


def test_an_atom_that_leaves_all_others_is_seen_in_the_next_stored_frame() -> None:
    parameters = PARAMETERS.model_copy(update={"steps": 1000, "store_every": 100})
    result = two_systems(Bonds(loose=True), parameters)
    assert result.items.cause.tolist() == [Cause.UNSTABLE, Cause.UNSTABLE, 0, 0]
    assert round(result.items.columns["ended_ps"][FIRST], 9) in (0.2, 0.3, 0.4, 0.5, 0.6)
    assert result.metrics["unstable_percent"].value == 50.0


def test_an_atom_that_leaves_in_the_minimisation_ends_the_run_at_its_start() -> None:
    dataset, parameters = dataset_of([diatomics(1, side=40.0)], [[BOND]]), {"minimise_steps": 200}
    settings = PARAMETERS.model_copy(update=parameters)
    observation = KIND.observe(dataset.structures, settings, Bonds(length=8.0), Watch(time.monotonic))
    result = KIND.measure(observation, dataset, settings, None)
    assert result.items.cause.tolist() == [Cause.UNSTABLE] * 2
    assert result.items.columns["ended_ps"].tolist() == [0.0, 0.0]
    assert result.metrics["unstable_percent"].value == 100.0


@pytest.mark.parametrize("ensemble", ["nve", "nvt"])
def test_a_run_in_which_no_force_acts_is_charged(ensemble: str) -> None:
    parameters = PARAMETERS.model_copy(update={"ensemble": ensemble})
    result = two_systems(Bonds(still=True), parameters)
    assert result.items.cause.tolist() == [Cause.NO_FORCES] * 4
    assert result.metrics["unstable_percent"].value == 100.0
    assert result.metrics["unstable_percent"].baseline == 100.0
    assert result.metrics["bond_length_mae"].charged == 10.0
    assert result.items.columns["progress"].tolist() == result.items.columns["ended_ps"].tolist() == [0.0] * 4


def test_a_model_without_forces_does_not_survive() -> None:
    result = two_systems(Bonds(still=True), PARAMETERS.model_copy(update={"survival": True}))
    survival = result.metrics["survival_percent"]
    assert survival.value == survival.charged == 0.0
    assert survival.n_failed == 2


def test_one_unsound_replica_charges_its_system() -> None:
    result = two_systems(Bonds(nan_at=19), PARAMETERS.model_copy(update={"replicas": 4}))
    assert result.items.cause.tolist() == [Cause.NON_FINITE, Cause.NON_FINITE, 0, 0]
    assert result.items.columns["error"][FIRST] == 25.0
    assert result.items.columns["ended_ps"][FIRST] == pytest.approx(0.017)


def test_a_run_over_its_time_is_not_unstable_and_costs_as_much() -> None:
    dataset, model = dataset_of([diatomics(4)], [[BOND]]), Bonds()
    watch = Watch(lambda: float(len(model.batches)), deadline=20.0)
    observation = KIND.observe(dataset.structures, PARAMETERS, model, watch)
    result = KIND.measure(observation, dataset, PARAMETERS, None)
    assert result.items.cause.tolist() == [Cause.OVER_TIME] * 2
    assert result.metrics["unstable_percent"].value is None
    assert result.metrics["unstable_percent"].charged == 100.0
    assert 0 < result.items.columns["progress"][0] < 1


def test_runs_out_of_time_are_in_the_penalised_survival_alone() -> None:
    parameters = PARAMETERS.model_copy(update={"survival": True})
    dataset, model = dataset_of([diatomics(4), diatomics(5)], [[BOND], [BOND]]), Bonds()
    sound = KIND.observe(dataset.structures, parameters, model, Watch(time.monotonic))
    completed = np.array([10, 40])
    arrays = {**sound.arrays, "completed_steps": completed}
    for name in ("potential", "kinetic", "hottest", "largest_force"):
        arrays[name] = np.where(np.arange(5) * 10 <= completed[:, None], sound.arrays[name], np.nan)

    def survival(cause: Cause) -> Metric:
        observation = Observation({**arrays, "failure": np.array([cause, 0], np.int8)})
        return KIND.measure(observation, dataset, parameters, None).metrics["survival_percent"]

    exploded, late = survival(Cause.EXPLODED), survival(Cause.OVER_TIME)
    assert exploded.value == exploded.charged == late.charged == pytest.approx((25.0 + 100.0) / 2)
    assert late.value == 100.0
    assert (late.n_items, late.n_failed) == (2, 1)


def test_the_cause_of_a_system_is_that_of_its_first_run_to_end() -> None:
    ends = RunEnds(np.array([0, Cause.OVER_TIME, Cause.EXPLODED], np.int8), np.array([0.04, 0.02, 0.01]))
    assert ends.first_cause == Cause.EXPLODED
    assert RunEnds(np.zeros(2, np.int8), np.ones(2)).first_cause == 0


def test_atoms_of_a_sparse_structure_have_not_left() -> None:
    sparse = Frames.from_atoms([diatomics(8, side=40.0)[::2]])
    assert escape_distance(sparse, 0, None) == pytest.approx(30.0)
    assert escape_distance(Frames.from_atoms([diatomics(8)]), 0, None) == 2.5
    assert escape_distance(sparse, 0, 7.0) == 7.0
    assert escape_distance(Frames.from_atoms([diatomics(1)[:1]]), 0, None) == np.inf


class Memory:
    """A checkpoint in memory."""

    arrays: Mapping[str, NDArray[Any]] | None = None

    def load(self) -> Mapping[str, NDArray[Any]] | None:
        return self.arrays

    def save(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.arrays = {name: np.array(array) for name, array in arrays.items()}


class Killed(Bonds):
    """Springs whose judge is killed at some call."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self._at = at

    def compute(self, frames: Frames, properties: Any) -> Any:
        if len(self.batches) == self._at:
            raise KeyboardInterrupt
        return super().compute(frames, properties)


@pytest.mark.parametrize("at", [0, 3, 17, 35])
def test_an_observation_that_was_killed_ends_with_the_same_bytes(at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "SAVE_EVERY_S", 0.0)
    dataset = dataset_of([diatomics(4), diatomics(5)], [[BOND], [BOND]])
    parameters = PARAMETERS.model_copy(
        update={"ensemble": "npt", "molecules": "bonded", "replicas": 2, "barostat_every": 7}
    )

    def observe(model: Bonds, memory: Memory | None = None) -> Observation:
        return KIND.observe(dataset.structures, parameters, model, Watch(time.monotonic, checkpoint=memory))

    whole, memory = observe(Bonds()), Memory()
    with pytest.raises(KeyboardInterrupt):
        observe(Killed(at), memory)
    again = observe(Bonds(), memory)
    assert whole.arrays.keys() == again.arrays.keys()
    for name, array in whole.arrays.items():
        np.testing.assert_array_equal(again.arrays[name], array, strict=True, err_msg=name)


@pytest.mark.parametrize(
    ("analysis", "line"),
    [
        ({**BOND, "pairs": [(0, 99)]}, "bond_length: there is no atom 99: the structure has atoms 0 to 7"),
        ({**BOND, "reference": {}}, "reference: has none, but the card's label sets are exact"),
        (
            {
                "measure": "rdf",
                "first": [0, 1],
                "r_max": 6.5,
                "reference": {LABEL_SET: {"x": [0.0, 1.0], "y": [1.0, 1.0]}},
            },
            "rdf: r_max: 6.5 Å is more than half of the box (6.000 Å): make it smaller",
        ),
    ],
)
def test_a_system_that_does_not_fit_its_structure_is_refused_in_one_line(analysis: dict[str, Any], line: str) -> None:
    with pytest.raises(DatasetError, match=r"^table\.json: systems\.0 \(s0\): ") as error:
        dataset_of([diatomics(4)], [[analysis]])
    assert str(error.value).endswith(line)


def test_a_system_of_one_atom_and_an_escape_at_the_start_are_refused() -> None:
    with pytest.raises(DatasetError, match=r"systems\.0 \(s0\): structure 0 has one atom: take a larger cell$"):
        dataset_of([diatomics(1)[:1]], [[]])
    dataset = dataset_of([diatomics(4)], [[BOND]])
    observation = KIND.observe(dataset.structures, PARAMETERS, Bonds(), Watch(time.monotonic))
    near = [system.model_copy(update={"escape_distance": 0.9}) for system in dataset.table.systems]
    changed = replace(dataset, table=dataset.table.model_copy(update={"systems": tuple(near)}))
    with pytest.raises(DatasetError, match=r"s0: escape_distance: atom 0 has no other within 0\.9 Å at the start"):
        KIND.measure(observation, changed, PARAMETERS, None)
