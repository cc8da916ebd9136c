"""A world with a submission that the judge trains: one task of four trainings."""

from __future__ import annotations

from dataclasses import replace

from judge.records.attempts import read_histories
from sandbox.drivers.process_driver import ProcessDriver
from sandbox.events import Event
from sandbox.rundir import RunDir
from sandbox.verdict import Verdict
from tasks.datasets.dataset import save_dataset
from tests.judge.evaluation.kills.kill_world import KillWorld
from tests.judge.evaluation.test_trainings import HONEST
from tests.tasks import kind_examples

N_TRAININGS = 4
SUITE = """
name = "small"
version = "1"
title = "Learning among kills"
[[tasks]]
name = "learning"
kind = "sample_efficiency"
dataset = "learning@1"
domain = "Inorganic Materials"
time_limit_s = 60
parameters = { sizes = [5, 10], seeds = [1, 2], wall_s = 5, n_asked = 3 }
"""


class LearningWorld(KillWorld):
    """A world with one submission, which has a trainer, and one task of four trainings."""

    def prepare(self) -> None:
        """The data set, the suite, the settings and the submission."""
        dataset = kind_examples.sample_efficiency().dataset
        save_dataset(replace(dataset, card=dataset.card.model_copy(update={"name": "learning"})), self.root / "data")
        (self.root / "small.toml").write_text(SUITE)
        self.write_settings()
        folder = self.folder("learner", HONEST.format(first="pass", last="pass"))
        image = ProcessDriver(RunDir(self.root / "run")).resolve(f"{folder}?trainer=calculator:train")
        self.record("learner", image)

    def check_trainings(self, trained: int) -> None:
        """Checks that each training has one verdict, and that so many ran to their ends in all."""
        (submission,) = {key.split("/")[1] for key in self.store.list("submissions/")}
        histories = read_histories(self.store, [submission])
        assert len(histories) == N_TRAININGS + 1
        for history in histories.values():
            verdicts = [attempt.end.verdict for attempt in history.attempts if attempt.end]
            assert verdicts == [Verdict.OK]
        assert sum(history.end is not None and history.end.model is not None for history in histories.values()) == 4
        assert len([key for key in self.store.list("results/") if key.endswith(".json")]) == 1
        assert self.told(Event.TRAINED) == trained
        self.check_nothing_is_left()
