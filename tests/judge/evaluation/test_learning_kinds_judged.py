"""The kinds that train, through the judge: trained, joined, measured; a model without a trainer apart."""

from __future__ import annotations

import pytest

from judge.evaluation.unit_report import Did
from judge.records.attempts import read_history
from judge.records.records import Result
from sandbox.drivers.process_driver import ProcessDriver
from sandbox.rundir import RunDir
from sandbox.verdict import Verdict
from tasks.kinds.registry import KINDS
from tests.judge.evaluation.test_trainings import HONEST
from tests.world.small_data import save_frames
from tests.world.world import World

SAMPLES = {"sizes": (5, 20), "seeds": (1, 2), "wall_s": 5.0, "n_asked": 3}
STRETCHES = {"starts": (0, 30), "lengths": (30,), "sizes": (5,), "seeds": (1,), "wall_s": 5.0, "n_asked": 3}


@pytest.fixture
def forty(world: World) -> World:
    """A world with a data set of forty frames."""
    save_frames(world.settings.data, "Cu", "copper", n_frames=40)
    return world


def result(world: World, kind: str, parameters: dict, first: str = "pass", trainer: bool = True) -> Result:
    driver = ProcessDriver(RunDir(world.root / "run"))
    folder = world.folder("learner", HONEST.format(first=first, last="pass").replace("(model_dir)", "(model_dir='')"))
    address = f"{folder}?trainer=calculator:train" if trainer else str(folder)
    unit = world.unit(
        world.record("learner", driver.resolve(address)),
        KINDS[kind],
        parameters=KINDS[kind].parameters.model_validate(parameters),
    )
    report = world.run_unit(unit)
    assert (report.did, report.verdict) == (Did.OBSERVED, Verdict.OK)
    end = read_history(world.store, unit.prefix).end
    assert end is not None
    return Result.read(world.store.get(f"results/{unit.submission.id}/{unit.task.name}/{unit.result_key(end)}.json"))


def test_a_trainer_that_knows_the_mean_is_as_good_as_composition_alone(forty: World) -> None:
    """It has no forces, and its energy is the mean of the labels that it learned from."""
    measured = result(forty, "sample_efficiency", SAMPLES)
    for name in ("force_learning_ratio", "energy_learning_ratio"):
        assert measured.metrics[name].value == pytest.approx(1.0, abs=1e-9)
        assert measured.metrics[name].charged == pytest.approx(1.0, abs=1e-9)
    assert measured.metrics["force_learning_area"].value == pytest.approx(0.0, abs=1e-9)
    assert measured.metrics["learned_force_mae"].n_items == 4
    assert not measured.failures
    by = {part.by for part in measured.parts}
    assert by == {"training", "element"}


def test_a_seed_that_fails_costs_ten_times_as_much(forty: World) -> None:
    measured = result(forty, "sample_efficiency", SAMPLES, first="if seed == 2: raise MemoryError")
    assert measured.metrics["force_learning_ratio"].value == pytest.approx(1.0, abs=1e-9)
    assert measured.metrics["force_learning_ratio"].charged == pytest.approx(10**0.5)
    assert measured.failures == {"ERROR": 2}
    assert "Nothing lies in out_dir" in measured.notes["training n20-s2"]


def test_stretches_are_trained_and_their_similarity_is_stored(forty: World) -> None:
    measured = result(forty, "time_extrapolation", STRETCHES)
    assert measured.metrics["force_learning_ratio"].charged == pytest.approx(1.0, abs=1e-9)
    assert [part.name for part in measured.parts if part.by == "window"] == ["0–30 %", "30–60 %"]


def test_without_a_trainer_there_is_no_score_of_learning(forty: World) -> None:
    measured = result(forty, "sample_efficiency", SAMPLES, trainer=False)
    assert set(measured.metrics) == {"zero_shot_force_mae", "zero_shot_energy_mae"}
    assert measured.metrics["zero_shot_force_mae"].n_items == 3
