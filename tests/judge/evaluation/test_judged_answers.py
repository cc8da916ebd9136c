"""A timing is compared with the stored answers of tasks with labels, in whatever order they are judged."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from ase.build import bulk
from rich.console import Console

from judge.evaluation.request import Request
from judge.evaluation.unit_report import Did
from judge.evaluation.work_plan import plan_work
from judge.records.attempts import read_histories
from judge.records.observation_file import observation_path, read_observation, store_observation
from judge.records.records import End, Result
from sandbox.verdict import Verdict
from submissions.progress import Reporter
from tasks.datasets.card import Card, LabelSet
from tasks.datasets.dataset import Dataset, load_dataset, save_dataset
from tasks.kind import Observation
from tasks.structures.frames import Frames
from tests.tasks.made_up import make_dataset
from tests.world.small_data import SUITE
from tests.world.world import World

pytestmark = pytest.mark.slow
NOTE = "compared with tasks with labels"
# Before the tasks with labels: the judge takes it last.
TIMING = """
[[tasks]]
name = "speed"
kind = "efficiency"
dataset = "cells@1"
domain = "Inorganic Materials"
time_limit_s = 120
parameters = { n_frames = 3, max_atoms = 40, n_batches = 0, max_noise = 1e9 }
"""
WHEN_TIMED = """
import numpy as np
from ase.calculators.emt import EMT
from ase.calculators.lj import LennardJones

class WhenTimed(EMT):
    timed = False

    def calculate(self, atoms, *args, **kwargs):
        super().calculate(atoms, *args, **kwargs)
        self.timed |= len(atoms) != 8
        if self.timed:
            copy = atoms.copy()
            copy.calc = LennardJones(sigma=2.4, epsilon=0.3, rc=5.0)
            self.results = {name: copy.calc.get_property(name, copy) for name in ("energy", "forces", "stress")}

def make_calculator():
    return WhenTimed()
"""
ENDS_IN_OTHER_TASKS = """
import os
from ase.calculators.emt import EMT

class Ends(EMT):
    def calculate(self, atoms, *args, **kwargs):
        if len(atoms) == 8:
            os._exit(3)
        super().calculate(atoms, *args, **kwargs)

def make_calculator():
    return Ends()
"""


@pytest.fixture
def timing_world(world: World) -> World:
    """A world with a timing before two tasks with labels, whose frames have 8 atoms."""
    cells = make_dataset(Frames.from_atoms([bulk("Cu", cubic=True), bulk("Al", cubic=True)]), None)
    card = Card(
        name="cells", version="1", title="Cells", domain="Inorganic Materials", periodic=True, public_since="2026"
    )
    save_dataset(replace(cells, card=card), world.settings.data)
    head, *tasks = SUITE.partition("\n[[tasks]]")
    Path(world.settings.suite).write_text(head + TIMING + "".join(tasks))
    return world


def results(world: World) -> dict[str, Result]:
    return {result.task: result for result in world.results()}


def compared(world: World) -> set[str]:
    """The tasks that a timing would be compared with."""
    work = plan_work(world.workspace, Request(), Reporter(Console(file=StringIO())))
    return {other.task.name for planned in work.plan for other in planned.unit.labelled}


def changed(world: World, name: str, **card: object) -> None:
    """Changes fields of the card of a data set."""
    data: Dataset = load_dataset(world.settings.data / f"{name}@1")
    with_card = replace(data, card=data.card.model_copy(update=card))
    for file in (world.settings.data / f"{name}@1").iterdir():
        file.unlink()
    (world.settings.data / f"{name}@1").rmdir()
    save_dataset(with_card, world.settings.data)


def test_a_timing_comes_last_and_states_what_it_was_compared_with(timing_world: World) -> None:
    world = timing_world
    world.submit("honest")
    world.submit("cheat", WHEN_TIMED)
    world.write_settings()
    status, out, err = world.run_here("evaluate", "--all")
    assert status == 0, out + err
    for name, verdict in (("honest", Verdict.OK), ("cheat", Verdict.TOO_MANY_FAILURES)):
        of_model = {r.task: r for r in world.results() if r.submission.startswith(name)}
        labelled, speed = {task: of_model[task] for task in ("copper", "nickel")}, of_model["speed"]
        assert [r.verdict for r in labelled.values()] == [Verdict.OK] * 2
        assert speed.verdict is verdict
        observation = str(speed.provenance.observation)
        stated = {f"{task} {result.provenance.observation}" for task, result in labelled.items()}
        assert set(read_observation(world.store, observation).notes["judged"].split("\n")) == stated
        for task, result in labelled.items():
            assert f"{task} ({str(result.provenance.observation)[:12]})" in speed.notes[NOTE]
        differed = 0 if verdict is Verdict.OK else 8
        assert f": {differed} differed" in speed.notes[NOTE]
        assert (speed.metrics["time_mean"].value is None) == (differed > 0)
    status, out, err = world.run_here("verify", "--all")
    assert status == 0, out + err


def test_answers_that_were_not_those_of_the_task_are_found_though_the_result_is_signed(timing_world: World) -> None:
    world = timing_world
    submission = world.submit("honest")
    world.evaluate()
    world.write_settings()
    speed = results(world)["speed"]
    seen = read_observation(world.store, str(speed.provenance.observation))
    arrays = dict(seen.arrays)
    for name in ("stored", "early", "late"):
        arrays[f"judged_{name}_energy"] = arrays[f"judged_{name}_energy"] + 1e-3
    digest = store_observation(world.store, Observation(arrays, seen.notes))
    (prefix,) = [p for p in read_histories(world.store, [submission.id]) if "/speed/" in p]
    end = End.read(world.store.get(f"{prefix}1/end.json")).model_copy(update={"observation": digest})
    world.store.put(f"{prefix}1/end.json", end.model_dump_json().encode())
    world.evaluate()
    assert results(world)["speed"].provenance.observation == digest
    status, out, _ = world.run_here("verify", "--all")
    assert status == 1
    (line,) = {line for line in out.splitlines() if "compared with" in line and "copper" not in line}
    assert "are not those of observation" in line


def test_a_damaged_observation_that_a_timing_was_compared_with_hides_no_other_row(timing_world: World) -> None:
    world = timing_world
    world.submit("honest")
    world.evaluate()
    world.write_settings()
    path = observation_path(str(results(world)["copper"].provenance.observation))
    world.store.put(path, world.store.get(path)[:-1] + b"!")
    status, out, err = world.run_here("verify", "--all", "--json")
    assert (status, err) == (1, "")
    damaged = [row["what"].split("/")[2] for row in json.loads(out)["broken"] if f"{path} is damaged" in row["why"]]
    assert sorted(damaged) == ["copper", "speed"]


def test_a_timing_waits_for_one_task_with_labels(timing_world: World) -> None:
    world = timing_world
    world.submit("honest")
    summary, output = world.evaluate(tasks=("speed",))
    assert [unit.did for unit in summary.units] == [Did.WAITS]
    assert "judge one of these first: copper, nickel" in output
    assert summary.exit_status == 0
    assert not world.results()
    world.evaluate(tasks=("nickel",))
    summary, _ = world.evaluate(tasks=("speed",))
    assert [unit.did for unit in summary.units] == [Did.OBSERVED]
    note = results(world)["speed"].notes[NOTE]
    assert note.startswith("6 frames of nickel (")
    assert "0 differed" in note


def test_a_model_that_ends_in_all_tasks_with_labels_is_timed(timing_world: World) -> None:
    world = timing_world
    world.submit("ends", ENDS_IN_OTHER_TASKS)
    world.evaluate()
    judged = results(world)
    assert [judged[task].verdict for task in ("copper", "nickel")] == [Verdict.CRASHED] * 2
    assert judged["speed"].verdict is Verdict.OK
    assert judged["speed"].notes[NOTE].startswith("no frame")


def test_no_hidden_structure_is_asked_about_in_a_public_task(timing_world: World) -> None:
    """What a model says there may be published."""
    world = timing_world
    world.submit("honest")
    assert compared(world) == {"copper", "nickel"}
    changed(world, "nickel", public_since="")
    assert compared(world) == {"copper"}
    changed(world, "nickel", public_since="2999-01-01")
    assert compared(world) == {"copper"}
    changed(world, "cells", public_since="2999-01-01")
    assert compared(world) == {"copper", "nickel"}
    changed(world, "cells", public_since="2999")  # maybe before the other
    assert compared(world) == {"copper"}
    changed(world, "cells", public_since="")
    changed(world, "nickel", public_since="")
    assert compared(world) == {"copper", "nickel"}


def test_tasks_of_the_same_label_set_are_preferred(timing_world: World) -> None:
    """A model with several heads answers as the label set says, which each start is told."""
    world = timing_world
    world.submit("honest")
    data = load_dataset(world.settings.data / "nickel@1")
    other = {"PBE": LabelSet(theory="PBE", dispersion=False)}
    labels = {"PBE": data.label_arrays["EMT"]}
    card = data.card.model_copy(update={"default_label_set": "PBE", "label_sets": other})
    folder = world.settings.data / "nickel@1"
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    save_dataset(replace(data, card=card, label_arrays=labels), world.settings.data)
    assert compared(world) == {"copper"}
    suite = Path(world.settings.suite)
    head, copper, nickel = suite.read_text().partition('[[tasks]]\nname = "copper"')
    suite.write_text(head + "[[tasks]]" + (copper + nickel).partition("\n\n[[tasks]]")[2])
    assert compared(world) == {"nickel"}
