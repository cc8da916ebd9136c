"""Trainings as units: each is trained once, all are joined, models are kept by hash, no test label can be read."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from judge.evaluation.plan import Unit
from judge.evaluation.unit_report import Did
from judge.records.attempts import read_history
from judge.records.model_file import model_path, read_model
from judge.records.observation_file import read_observation
from judge.records.records import End, Result
from judge.upkeep.gc import unreferred_observations
from sandbox.drivers.process_driver import ProcessDriver
from sandbox.rundir import RunDir
from sandbox.verdict import Verdict
from submissions.store.interface import StoreError
from tasks.datasets.dataset import Dataset, load_dataset
from tasks.learning.training import FailedTraining, Training, part_of, training_frames
from tasks.structures.predictions import Cause
from tests.judge.evaluation.stand_in_kinds import LearningKind
from tests.world.small_data import save_frames
from tests.world.world import World

KIND = LearningKind()
HONEST = """
import os, pathlib
import numpy as np
from ase.calculators.calculator import Calculator, all_changes

def train(data_dir, out_dir, wall_s, seed):
    {first}
    data = np.load(os.path.join(data_dir, "frames.npz"))
    np.savez(os.path.join(out_dir, "mean.npz"), mean=data["energy"].mean(), seed=seed, n=len(data["energy"]))
    {last}

class Mean(Calculator):
    implemented_properties = ["energy", "forces"]
    def __init__(self, mean):
        super().__init__()
        self.mean = mean
    def calculate(self, atoms=None, properties=("energy",), system_changes=all_changes):
        super().calculate(atoms, properties, system_changes)
        self.results = {{"energy": self.mean, "forces": np.zeros((len(atoms), 3))}}

def make_calculator(model_dir):
    file = os.path.join(model_dir, "mean.npz")
    return Mean(float(np.load(file)["mean"]) if os.path.exists(file) else 0.0)
"""


@pytest.fixture
def forty(world: World) -> World:
    """A world with a data set of forty frames."""
    save_frames(world.settings.data, "Cu", "copper", n_frames=40)
    return world


def trained(world: World, first: str = "pass", last: str = "pass") -> Unit:
    """The unit of a submission whose trainer has these lines at its begin and at its end."""
    driver = ProcessDriver(RunDir(world.root / "run"))
    folder = world.folder("learner", HONEST.format(first=first, last=last))
    return world.unit(world.record("learner", driver.resolve(f"{folder}?trainer=calculator:train")), KIND)


def ends(world: World, unit: Unit) -> list[End]:
    found = [read_history(world.store, part.prefix).end for part in unit.parts]
    return [end for end in found if end is not None]


def result_of(world: World, unit: Unit) -> Result:
    end = read_history(world.store, unit.prefix).end
    assert end is not None
    return Result.read(world.store.get(f"results/{unit.submission.id}/{unit.task.name}/{unit.result_key(end)}.json"))


def dataset_of(world: World) -> Dataset:
    return load_dataset(world.settings.data / "copper@1")


def test_each_training_is_a_unit_and_all_are_joined(forty: World) -> None:
    unit = trained(forty)
    assert [part.name for part in unit.parts] == ["learning n10-s1", "learning n20-s1", "learning n10-s2"]
    assert len({part.prefix for part in (*unit.parts, unit)}) == 4
    assert forty.run_unit(unit).did is Did.OBSERVED
    assert [end.verdict for end in ends(forty, unit)] == [Verdict.OK] * 3
    assert [end.sentence for end in ends(forty, unit)] == ["Trained: the trainer returned."] * 3
    energy = dataset_of(forty).labels().energy
    assert energy is not None
    joined_end = read_history(forty.store, unit.prefix).end
    assert joined_end.parts == tuple(part.observation_key for part in unit.parts)
    joined = read_observation(forty.store, joined_end.observation)
    for part, end in zip(unit.parts, ends(forty, unit), strict=True):
        frames = training_frames(dataset_of(forty), part.training)
        answer = part_of(joined, part.training.name)
        assert not isinstance(answer, FailedTraining)
        assert answer.arrays["energy"] == pytest.approx([energy[frames.learned].mean()] * 3, abs=1e-12)
        (name,) = read_model(forty.store, end.model).files
        assert name == "mean.npz"
    assert result_of(forty, unit).metrics["answered"].value == 3


def test_nothing_is_trained_twice(forty: World) -> None:
    unit = trained(forty)
    forty.run_unit(unit)
    before = sorted(forty.store.list(""))
    assert forty.run_unit(unit).did is Did.NOTHING
    assert sorted(forty.store.list("")) == before


def test_one_more_training_leaves_the_others_as_they_are(forty: World, monkeypatch: pytest.MonkeyPatch) -> None:
    unit = trained(forty)
    known = KIND.trainings(unit.parameters)
    more = [*known, replace(known[-1], name="n20-s2", n_frames=20)]
    monkeypatch.setattr(LearningKind, "trainings", lambda self, parameters: more)
    grown = forty.unit(unit.submission, KIND)
    assert [part.prefix for part in grown.parts[:3]] == [part.prefix for part in unit.parts]
    assert grown.prefix != unit.prefix


def test_the_folder_holds_what_is_learned_and_nothing_else(forty: World, tmp_path: Path) -> None:
    """Not the labels of any other frame, in none of the forms in which they could be written."""
    copies = tmp_path / "seen"
    unit = trained(forty, f"import shutil; shutil.copytree(data_dir, f'{copies}-{{seed}}-{{len(os.listdir(\"/\"))}}')")
    unit = replace(unit, parts=unit.parts[1:2])
    forty.run_unit(unit)
    (seen,) = tmp_path.iterdir()
    assert sorted(path.name for path in seen.iterdir()) == ["frames.npz", "frames.xyz", "training.json"]
    dataset = dataset_of(forty)
    frames = training_frames(dataset, unit.parts[0].training)
    stated = json.loads((seen / "training.json").read_text())
    assert stated["frames"] == 20
    assert stated["units"]["forces"] == "eV/Å"
    arrays = np.load(seen / "frames.npz")
    labels = dataset.labels()
    assert arrays["energy"] == pytest.approx(labels.energy[frames.learned], abs=0)
    assert (arrays["forces"] == labels.forces[dataset.frames.atom_indices(frames.learned)]).all()
    content = b"".join(path.read_bytes() for path in seen.iterdir())
    assert repr(labels.energy[frames.learned[0]].item()).encode() in content
    for index in set(range(40)) - set(frames.learned.tolist()):
        energy = labels.energy[index]
        assert repr(energy.item()).encode() not in content
        assert energy.tobytes() not in content


@pytest.mark.parametrize(
    ("first", "last", "verdict", "cause", "clue"),
    [
        ("return", "", Verdict.CRASHED, Cause.ERROR, "Nothing lies in out_dir at the end; the trainer returned."),
        (
            "raise ValueError(1)",
            "",
            Verdict.CRASHED,
            Cause.ERROR,
            "Nothing lies in out_dir at the end; the trainer rai",
        ),
        ("import time; time.sleep(60)", "", Verdict.CRASHED, Cause.ERROR, "; its time was over."),
        # Beside its model: a write through the link would change the file of whoever runs this test.
        ("os.symlink('/etc/passwd', out_dir + '/link')", "", Verdict.POLICY_VIOLATION, Cause.ERROR, "a link lies"),
        ("os.mkfifo(out_dir + '/pipe')", "", Verdict.POLICY_VIOLATION, Cause.ERROR, "a device, a pipe or a socket"),
        (
            "pass",
            "[open(f'{out_dir}/{i}', 'w') for i in range(1001)]",
            Verdict.OUTPUT_LIMIT,
            Cause.ERROR,
            "1,000 files",
        ),
        (
            "open(out_dir + '/mean.npz', 'w').write('broken'); return",
            "",
            Verdict.STARTUP_FAILED,
            Cause.ERROR,
            "Its mod",
        ),
        ("open(out_dir + '/\\033[2J', 'w')", "", Verdict.POLICY_VIOLATION, Cause.ERROR, "a name that cannot be kept"),
        ("os.makedirs(out_dir + '/a' * 12)", "", Verdict.OUTPUT_LIMIT, Cause.ERROR, "nested too deep"),
    ],
)
def test_a_model_that_cannot_be_used_is_a_verdict_with_one_line(
    forty: World, first: str, last: str, verdict: Verdict, cause: Cause, clue: str
) -> None:
    unit = trained(forty, first, last)
    unit = replace(unit, parts=unit.parts[:1])
    forty.run_unit(unit)
    (end,) = ends(forty, unit)
    assert (end.verdict, end.observation) == (verdict, None)
    assert clue in end.sentence
    assert "\n" not in end.sentence
    joined = read_observation(forty.store, read_history(forty.store, unit.prefix).end.observation)
    failed = part_of(joined, "n10-s1")
    assert failed == FailedTraining(cause, end.sentence)


def test_a_trainer_that_runs_on_is_judged_by_what_it_left(forty: World) -> None:
    unit = trained(forty, last="import time; time.sleep(60)")
    unit = replace(unit, parts=unit.parts[:1])
    forty.run_unit(unit)
    (end,) = ends(forty, unit)
    assert (end.verdict, end.sentence) == (Verdict.OK, "Trained: its time was over.")
    assert end.observation is not None


def test_a_trainer_that_returned_is_not_ended_by_the_warning(forty: World) -> None:
    """While Python itself ends, which may take long, nothing handles the signal at 95 % of the time."""
    unit = trained(forty, last="import atexit, time; atexit.register(time.sleep, 60)")
    unit = replace(unit, parts=unit.parts[:1])
    forty.run_unit(unit)
    assert [end.sentence for end in ends(forty, unit)] == ["Trained: the trainer returned."]


def test_failed_trainings_are_counted_and_the_rest_is_measured(forty: World) -> None:
    unit = trained(forty, "if seed == 2: raise MemoryError")
    assert forty.run_unit(unit).verdict is Verdict.OK
    result = result_of(forty, unit)
    assert (result.metrics["answered"].value, result.failures) == (2, {"ERROR": 1})
    assert "Nothing lies in out_dir" in result.notes["training n10-s2"]


def test_a_model_without_a_trainer_is_asked_as_it_is(forty: World) -> None:
    unit = forty.unit(forty.submit("emt"), KIND)
    assert not unit.parts
    assert forty.run_unit(unit).did is Did.OBSERVED
    assert "energy" in result_of(forty, unit).metrics


def test_a_model_that_no_end_names_is_garbage(forty: World) -> None:
    unit = trained(forty)
    unit = replace(unit, parts=unit.parts[:1])
    forty.run_unit(unit)
    (end,) = ends(forty, unit)
    assert unreferred_observations(forty.store)[0] == ()
    forty.store.delete(f"{unit.parts[0].prefix}1/end.json")
    forty.store.delete(f"{unit.parts[0].prefix}1/claim.json")
    names = [garbage.name for garbage in unreferred_observations(forty.store)[0]]
    assert model_path(end.model or "") in names


def test_a_model_that_was_changed_is_refused_by_its_hash(forty: World) -> None:
    unit = trained(forty)
    unit = replace(unit, parts=unit.parts[:1])
    forty.run_unit(unit)
    (end,) = ends(forty, unit)
    key = model_path(end.model or "")
    forty.store.put(key, forty.store.get(key)[:-1] + b"x")
    with pytest.raises(StoreError, match="is damaged"):
        read_model(forty.store, end.model or "")


def test_the_task_waits_for_its_trainings(forty: World) -> None:
    unit = trained(forty)
    forty.run_unit(unit.parts[0])
    report = forty.run_unit(unit, with_parts=False)
    assert (report.did, report.sentence) == (Did.WAITS, "2 of its 3 trainings have no end yet")
    assert forty.run_unit(unit).did is Did.OBSERVED
    assert [len(read_history(forty.store, part.prefix).attempts) for part in unit.parts] == [1, 1, 1]


def test_frames_that_are_asked_are_never_learned(forty: World) -> None:
    for training in KIND.trainings(None):
        frames = training_frames(dataset_of(forty), training)
        assert not set(frames.learned.tolist()) & set(frames.asked.tolist())
        assert frames.asked.min() >= 36
        assert frames.learned.max() < 36


def test_what_would_be_learned_from_the_last_tenth_is_refused(forty: World) -> None:
    late = Training("late", (), 0.2, 0.95, 5, (), 3, 1, 1.0)
    with pytest.raises(ValueError, match=r"training late: stop: what is learned must end at 0.9"):
        training_frames(dataset_of(forty), late)


def test_no_word_of_a_trainer_is_kept(forty: World) -> None:
    """What it prints, raises and names its files would be labels that it learned from."""
    word = "canary-4711"
    first = f"print('{word}'); open(out_dir + '/{word}', 'w').close(); import sys; print('{word}', file=sys.stderr)"
    unit = trained(forty, first, f"raise RuntimeError('{word}')")
    forty.run_unit(unit)
    with_word = [key for key in forty.store.list("") if word.encode() in forty.store.get(key)]
    assert [key.split("/")[0] for key in with_word] == ["models"] * 3
    assert [end.sentence for end in ends(forty, unit)] == ["Trained: the trainer raised an error or was killed."] * 3
