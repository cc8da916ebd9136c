"""A store with trained models and one without a trainer in tasks of the three kinds that train.

No model is trained: the answers of a trained model are the labels with noise of a stated size. The kinds measure them.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from ase import Atoms
from ase.formula import Formula

from judge.disclosure.public_leaderboard import public_board
from judge.publishing.site_sources import StoredItems
from judge.ranking.leaderboard import Leaderboard
from judge.ranking.load import read_board
from judge.records.items_file import items_path, pack_items
from judge.records.observation_file import store_observation
from judge.records.records import Result
from judge.view.page_context import Frame, frame
from judge.view.sources import Sources
from submissions.records import Submission
from submissions.store.interface import Store
from tasks.datasets.card import Table
from tasks.datasets.dataset import Dataset, save_dataset
from tasks.kind import Kind, Observation, Parameters
from tasks.kinds.cross_molecule import MOLECULES, CrossMoleculeParameters
from tasks.kinds.learned_models import zero_shot_frames
from tasks.kinds.registry import KINDS
from tasks.kinds.sample_efficiency import SampleEfficiencyParameters
from tasks.kinds.time_extrapolation import TimeExtrapolationParameters
from tasks.learning.training import FailedTraining, Learning, Training, joined, training_frames
from tasks.metrics.measurement import Measurement
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause, Labels, Predictions
from tasks.suites.suite import Suite, Task
from tests.tasks.made_up import make_dataset
from tests.world.board_records import result, save, submission, task

SENTENCE = "Nothing lies in out_dir at the end; its time was over."
NAMED = "A calculator of class LEAKWORD answered wrong shapes (exit status 37)."
N_ASKED = 20
SEEDS = (1, 2, 3)
CURVES = SampleEfficiencyParameters(sizes=(200, 400, 600, 800, 1000), seeds=SEEDS, n_asked=N_ASKED)
WINDOWS = TimeExtrapolationParameters(sizes=(200, 1000), seeds=SEEDS, n_asked=N_ASKED)
SETS = CrossMoleculeParameters(n_frames=100, seeds=SEEDS, n_asked=N_ASKED)
Noise = Callable[[Training], float]
"""The size of the errors of forces [eV/Å] that a training leaves."""


class LearningKind(Learning, Kind, Protocol):
    """A kind whose models are trained."""


class MadeModel(NamedTuple):
    """A model whose errors are made.

    Args:
        noise: None: it has no trainer.
        fails: the names of trainings that leave no model, by their sentence.
        hardware: class of the machine that trained it.
    """

    name: str
    noise: Noise | None
    fails: dict[str, str] = {}  # noqa: RUF012
    hardware: str = "1 × H100"


def learned_noise(training: Training) -> float:
    """Falls with the number of frames, and with the end and the length of the stretch."""
    window = 1.6 - 0.5 * training.stop - 0.5 * (training.stop - training.start)
    return float(0.5 * (200 / training.n_frames) ** 0.6 * window)


MODELS = (
    MadeModel("careful", learned_noise),
    MadeModel("hasty", lambda t: 3 * learned_noise(t), {"n1000-s2": SENTENCE, "n800-s2": SENTENCE, "n800-s1": NAMED}),
    MadeModel("zero-shot", None),
)


def trajectory(n_frames: int, *shorts: str) -> Dataset:
    """Frames of the molecules with these short names, with labels; they are no chemistry."""
    rng, atoms, groups = np.random.default_rng(3), [], []
    for short in shorts:
        symbols = [symbol for symbol, n in Formula(MOLECULES[short].formula).count().items() for _ in range(n)]
        grid = 1.3 * np.array([(i % 3, i // 3 % 3, i // 9) for i in range(len(symbols))], float)
        moved = grid + 0.1 * rng.normal(size=(n_frames, len(symbols), 3))
        atoms += [Atoms(symbols, positions) for positions in moved]
        groups += [MOLECULES[short].group] * n_frames
    frames = Frames.from_atoms(atoms)
    labels = Labels(rng.normal(size=len(frames)), rng.normal(size=(len(frames.numbers), 3)))
    dataset = make_dataset(frames, labels)
    ids = dataset.table.id
    return replace(dataset, table=Table(id=ids, group=tuple(groups), cluster=ids))


def measured(model: MadeModel, kind: LearningKind, dataset: Dataset, parameters: Parameters) -> Measurement:
    """What the kind measures of a made model."""
    energies, truth = dataset.labels().energy, dataset.labels().forces
    assert energies is not None
    assert truth is not None

    def answer(chosen: np.ndarray, noise: float, seed: int) -> Observation:
        rng, atoms = np.random.default_rng(seed), dataset.frames.atom_indices(chosen)
        light = np.where(dataset.frames.numbers[atoms] == 1, 0.5, 1.0)[:, None]  # errors on hydrogen are smaller
        forces = truth[atoms] + noise * light * rng.normal(size=(len(atoms), 3))
        energy = energies[chosen] + noise * rng.normal(size=len(chosen))
        answers = Predictions(energy, forces, None, np.zeros(len(chosen), np.int8))
        return Observation(answers.arrays(("energy", "forces")))

    if model.noise is None:
        asked = zero_shot_frames(dataset.frames, N_ASKED)
        return kind.measure(answer(asked, 0.3, 0), dataset, parameters, None)
    parts: dict[str, Observation | FailedTraining] = {}
    for training in kind.trainings(parameters):
        asked, seed = training_frames(dataset, training).asked, zlib.crc32(training.name.encode())
        parts[training.name] = answer(asked, model.noise(training) * (1 + 0.05 * training.seed), seed)
        if training.name in model.fails:
            parts[training.name] = FailedTraining(Cause.ERROR, model.fails[training.name])
    return kind.measure(joined(parts), dataset, parameters, None)


def learning_tasks() -> list[tuple[Task, Dataset]]:
    """A task of each kind, with its data set."""
    return [
        (replace(task("curves", "sample_efficiency", "Molecules"), parameters=CURVES), trajectory(1200, "b")),
        (replace(task("stretches", "time_extrapolation", "Molecules"), parameters=WINDOWS), trajectory(3400, "b")),
        (replace(task("molecules", "cross_molecule", "Molecules"), parameters=SETS), trajectory(240, *MOLECULES)),
    ]


def make_learning_store(
    store: Store, models: tuple[MadeModel, ...] = MODELS, tasks: Sequence[tuple[Task, Dataset]] = ()
) -> Suite:
    """Writes the models and their results into a store; the suite of the tasks."""
    tasks = tasks or learning_tasks()
    for model in models:
        made = submission(model.name, elements=("H", "C", "N", "O"))
        trainer = "" if model.noise is None else "calculator:train"
        made = made.model_copy(update={"image": made.image.model_copy(update={"trainer": trainer})})
        for each, dataset in tasks:
            _save(store, made, each, measured(model, KINDS[each.kind], dataset, each.parameters), model.hardware)  # type: ignore[arg-type]
    return Suite(name="learning", version="1", title="Learning", tasks=tuple(each for each, _ in tasks))


def _save(store: Store, made: Submission, each: Task, found: Measurement, hardware: str) -> None:
    kept = result(made, each, found.metrics, parts=tuple(found.parts), notes=found.notes, n_items=len(found.items))
    failures = {cause.name: n for cause, n in found.items.failures().items()}
    origin = kept.provenance.origin.model_copy(update={"hardware": hardware})
    digest = store_observation(store, Observation({"made": np.zeros(1)}))
    provenance = kept.provenance.model_copy(update={"origin": origin, "observation": digest})
    kept = kept.model_copy(update={"provenance": provenance, "failures": failures})
    save(store, [made], [kept])
    store.put(items_path(kept.submission, kept.task, kept.result_key), pack_items(found.items))


def learning_frame(store: Store, suite: Suite, *, hidden: bool = False, with_items: bool = True) -> Frame:
    """The frame of the pages; all data sets are hidden or public."""
    board = read_board(store, suite, lambda line: None)
    sources = sources_of(store, board, hidden=hidden, with_items=with_items)
    return frame(public_board(board, sources.public), sources)


def sources_of(store: Store, board: Leaderboard, *, hidden: bool, with_items: bool = True) -> Sources:
    """What the pages read beside the board."""
    public = () if hidden else frozenset(each.dataset for each in board.suite.tasks)
    results: dict[tuple[str, str], Result] = {
        (row.submission.id, line.task.name): line.result for row in board.rows for line in row.tasks if line.result
    }
    return Sources(public=public, items=StoredItems(store, results) if with_items else {})


def save_learning_data(data: Path) -> None:
    """Writes the data sets of the tasks."""
    for each, dataset in learning_tasks():
        card = dataset.card.model_copy(update={"name": each.name, "public_since": "2020"})
        save_dataset(replace(dataset, card=card), data)
