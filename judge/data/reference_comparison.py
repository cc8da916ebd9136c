"""`judge data verify --with IMAGE`: the labels of data sets against a model's answers, for units and signs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from judge.config import JudgeSettings, UsageError
from sandbox.driver import Driver, DriverName, Image, Question
from sandbox.drivers.open_driver import open_driver
from sandbox.verdict import SubmissionFault, Verdict
from sandbox.wire.remote import RemoteCalculator
from sandbox.wire.session import run_session
from submissions.progress import Report, Reporter
from tasks.datasets.card import Table
from tasks.datasets.dataset import Dataset
from tasks.importing.import_checks import too_few_for_energy
from tasks.importing.item_comparison import NOT_COMPARED, UNBALANCED, compare_items, compared_items, structures_of
from tasks.importing.reactions import imbalance
from tasks.importing.reference_comparison import Comparison, compare
from tasks.model.calculator import compute_in_batches
from tasks.structures.frames import Float, Frames, Int
from tasks.structures.predictions import ALL_PROPERTIES, Labels, Predictions, Properties


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
    """For each label set of `datasets`: how labels and references compare with the model's answers, or why they do not.

    Args:
        n_frames: of each label set, and of the structures of its items, at most so many are asked.

    Raises:
        UsageError: there is no such image, or it cannot be run.
        JudgeFault: this machine cannot run it.
    """
    driver = open_driver(driver_name or settings.driver, settings.run_dir, settings.runtime)
    try:
        resolved = driver.resolve(image)
    except SubmissionFault as fault:
        raise UsageError(f"--with {image}: {fault.sentence}") from None
    for dataset in datasets:
        part = compared_items(dataset.table, dataset.frames, n_frames, seed)
        asking = _Asking(driver, resolved, image, settings, reporter, dataset)
        for name in dataset.card.label_sets:
            if name in dataset.label_arrays:
                yield from _labels_against(asking, name, choose(dataset.frames, dataset.labels(name), n_frames, seed))
            if part.differences or part.scans:
                yield from _items_against(asking, name, part)
        yield from (Line(f"{dataset.card.full_name} {line}", False) for line in not_compared(dataset, part))


class _Asking(NamedTuple):
    """Who is asked about which data set."""

    driver: Driver
    image: Image
    name: str
    settings: JudgeSettings
    reporter: Reporter
    dataset: Dataset

    def where(self, label_set: str) -> str:
        return f"{self.dataset.card.full_name} [{label_set}]"

    def answer(self, label_set: str, frames: Frames, wanted: Properties) -> Predictions | str:
        """What the model answers to `frames`, or why it did not."""
        question = Question(domain=self.dataset.card.domain, label_set=label_set)
        with self.reporter.unit(self.where(label_set)) as report:
            ask = partial(_ask, frames, wanted, report)
            outcome = run_session(self.driver, self.image, self.settings.limits, question, ask)
        if outcome.verdict is Verdict.OK and outcome.value is not None:
            return outcome.value
        return f"{outcome.verdict}: {outcome.sentence}"


def _ask(frames: Frames, wanted: Properties, report: Report, model: RemoteCalculator) -> Predictions:
    given: Properties = tuple(
        p for p in wanted if p in model.properties and (p != "stress" or bool(frames.periodic.any()))
    )
    return compute_in_batches(model, frames, given, lambda done: report(done, len(frames), "frames"))


def _labels_against(asking: _Asking, label_set: str, chosen: Int) -> Iterator[Line]:
    """The labels of the structures at `chosen`."""
    dataset = asking.dataset
    frames, part = dataset.frames.take(chosen), part_of(dataset.labels(label_set), dataset.frames, chosen)
    answer = asking.answer(label_set, frames, ALL_PROPERTIES)
    if isinstance(answer, str):
        yield Line(f"{asking.where(label_set)}: {asking.name}: {answer}", True)
        return
    for comparison in compare(part, answer, frames):
        yield from _lines(asking.where(label_set), comparison, "frames")


def _items_against(asking: _Asking, label_set: str, part: Table) -> Iterator[Line]:
    """The references of the items of `part`."""
    chosen = structures_of(part)
    answer = asking.answer(label_set, asking.dataset.frames.take(chosen), ("energy",))
    if isinstance(answer, str):
        yield Line(f"{asking.where(label_set)}: {asking.name}: {answer}", True)
        return
    if answer.energy is None:
        yield Line(f"{asking.where(label_set)}: not compared: the model gives no energy", False)
        return
    energy = np.full(len(asking.dataset.frames), np.nan)
    energy[chosen] = answer.energy
    for comparison in compare_items(part, label_set, energy):
        yield from _lines(asking.where(label_set), comparison, "items")


def not_compared(dataset: Dataset, part: Table) -> list[str]:
    """A line for each sort of items, and for structures alone, that no energy of `part` is compared for, and why."""
    table, lines = dataset.table, []
    unbalanced = sum(imbalance(item, dataset.frames) is not None for item in table.differences)
    if unbalanced:
        lines.append(f"differences: not compared: {unbalanced} of {len(table.differences)}: {UNBALANCED}")
    lines += [f"{sort}: not compared: {why}" for sort, why in NOT_COMPARED.items() if table.items[sort]]
    if not dataset.card.label_sets:
        lines.append("structures: not compared: they have neither labels nor references")
    return lines


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


def _lines(where: str, found: Comparison, counted_in: str) -> Iterator[Line]:
    begin = f"{where} {found.property}"
    counted = f"{found.n_frames} of {found.n_labelled} {counted_in}"
    if np.isfinite(found.correlation):
        yield Line(f"{begin}: correlation {found.correlation:.4f}, slope {found.slope:.4g} ({counted})", False)
    elif not found.findings:
        yield Line(f"{begin}: not compared: the model does not give it", False)
    for finding in found.findings:
        yield Line(f"NOT  {begin}: {finding}", True)
