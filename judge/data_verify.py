"""`judge data verify --with IMAGE`: the labels of data sets against a model's answers, for units and signs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from judge.config import JudgeSettings, UsageError
from sandbox.driver import Driver, DriverName, Image, Question
from sandbox.drivers import open_driver
from sandbox.remote import RemoteCalculator
from sandbox.session import run_session
from sandbox.verdict import SubmissionFault, Verdict
from submissions.progress import Report, Reporter
from tasks.calculator import compute_in_batches
from tasks.comparison import Comparison, compare
from tasks.dataset import Dataset
from tasks.frames import Float, Frames, Int
from tasks.import_checks import too_few_for_energy
from tasks.predictions import ALL_PROPERTIES, Labels, Predictions, Properties


class Line(NamedTuple):
    """What is said, and whether it names something wrong."""

    text: str
    is_finding: bool


def few_frames(dataset: Dataset) -> list[str]:
    """A line for each label set with too few energies for the fit of a constant per element."""
    complaints = {
        name: too_few_for_energy(dataset.frames, labels.energy)
        for name, labels in dataset.label_arrays.items()
        if labels.energy is not None
    }
    return [f"{name}: {complaint}" for name, complaint in complaints.items() if complaint]


def verify_against(
    image: str,
    driver_name: DriverName | None,
    settings: JudgeSettings,
    datasets: Sequence[Dataset],
    n_frames: int,
    seed: int,
    reporter: Reporter,
) -> Iterator[Line]:
    """For each label set of `datasets`: how the labels of at most `n_frames` frames compare with the model's answers.

    Raises:
        UsageError: there is no such image, or it cannot be run.
        JudgeFault: this machine cannot run it.
    """
    driver = open_driver(driver_name or settings.driver, settings.run_dir)
    try:
        resolved = driver.resolve(image)
    except SubmissionFault as fault:
        raise UsageError(f"--with {image}: {fault.sentence}") from None
    for dataset in datasets:
        for name, labels in dataset.label_arrays.items():
            where = f"{dataset.card.full_name} [{name}]"
            chosen = choose(dataset.frames, labels, n_frames, seed)
            frames, part = dataset.frames.take(chosen), part_of(labels, dataset.frames, chosen)
            question = Question(domain=dataset.card.domain, label_set=name)
            with reporter.unit(where) as progress:
                answer = _answer(driver, resolved, settings, question, frames, progress)
            if isinstance(answer, str):
                yield Line(f"{where}: {image}: {answer}", True)
                continue
            for comparison in compare(part, answer, frames):
                yield from _lines(where, comparison)


def _answer(
    driver: Driver, image: Image, settings: JudgeSettings, question: Question, frames: Frames, report: Report
) -> Predictions | str:
    """What the model answers to `frames`, or why it did not."""
    outcome = run_session(driver, image, settings.limits, question, partial(_ask, frames, report))
    if outcome.verdict is Verdict.OK and outcome.value is not None:
        return outcome.value
    return f"{outcome.verdict}: {outcome.sentence}"


def _ask(frames: Frames, report: Report, model: RemoteCalculator) -> Predictions:
    wanted: Properties = tuple(
        p for p in ALL_PROPERTIES if p in model.properties and (p != "stress" or bool(frames.periodic.any()))
    )
    return compute_in_batches(model, frames, wanted, lambda done: report(done, len(frames), "frames"))


def choose(frames: Frames, labels: Labels, n_frames: int, seed: int) -> Int:
    """At most `n_frames` of the structures that have any label, in order, by a seeded choice."""
    has = np.zeros(len(frames), np.bool_)
    for name in ALL_PROPERTIES:
        array: Float | None = getattr(labels, name)
        if array is not None:
            finite = np.isfinite(array.reshape(len(array), -1)).all(axis=1)
            has[frames.frame_index[finite] if name == "forces" else finite] = True
    there = np.flatnonzero(has)
    if len(there) > n_frames:
        there = np.sort(np.random.default_rng(seed).choice(there, n_frames, replace=False))
    return there


def part_of(labels: Labels, frames: Frames, chosen: Int) -> Labels:
    """The labels of the structures at `chosen`."""
    atoms = np.concatenate([np.arange(len(frames.numbers))[frames.atom_slice(int(i))] for i in chosen])
    rows = {"energy": chosen, "forces": atoms, "stress": chosen}
    arrays = {name: getattr(labels, name) for name in ALL_PROPERTIES}
    return replace(labels, **{name: None if a is None else a[rows[name]] for name, a in arrays.items()})


def _lines(where: str, found: Comparison) -> Iterator[Line]:
    begin = f"{where} {found.property}"
    counted = f"{found.n_frames} of {found.n_labelled} frames"
    if np.isfinite(found.correlation):
        yield Line(f"{begin}: correlation {found.correlation:.4f}, slope {found.slope:.4g} ({counted})", False)
    elif not found.findings:
        yield Line(f"{begin}: not compared: the model does not give it", False)
    for finding in found.findings:
        yield Line(f"NOT  {begin}: {finding}", True)
