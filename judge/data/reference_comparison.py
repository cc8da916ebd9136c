"""`judge data verify --with IMAGE`: compares labels with a model's answers, to find wrong units and signs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
from tasks.importing.checks.set_faults import imbalance
from tasks.importing.import_checks import too_few_for_energy
from tasks.importing.references.item_comparison import (
    NOT_COMPARED,
    UNBALANCED,
    compare_items,
    compared_items,
    structures_of,
)
from tasks.importing.references.reference_comparison import LabelComparison, compare
from tasks.model.calculator import compute_in_batches, offered
from tasks.structures.frames import Float, Frames, Int
from tasks.structures.predictions import ALL_PROPERTIES, Labels, Predictions, Properties


class VerificationLine(NamedTuple):
    """A line of the output, and whether it reports a mistake."""

    text: str
    is_finding: bool


def few_frames(dataset: Dataset) -> list[str]:
    """A line for each label set with too few energies for the fit of a constant per element."""
    findings = {
        name: too_few_for_energy(dataset.frames, labels.energy)
        for name, labels in dataset.label_arrays.items()
        if labels.energy is not None
    }
    return [f"{name}: {finding}" for name, finding in findings.items() if finding]


def is_comparable(dataset: Dataset) -> bool:
    """Whether `verify_against` compares anything of it: labels of structures, energy differences or scans."""
    return bool(dataset.label_arrays or dataset.table.differences or dataset.table.scans)


def verify_against(
    image: str,
    driver_name: DriverName | None,
    settings: JudgeSettings,
    datasets: Sequence[Dataset],
    n_frames: int,
    seed: int,
    reporter: Reporter,
) -> Iterator[VerificationLine]:
    """The comparison of labels and references with the model's answers, for each label set of `datasets`.

    Args:
        n_frames: the largest number of structures that the model answers, for each label set and for its items.

    Raises:
        UsageError: the image does not exist, or cannot be run.
        JudgeFault: this machine cannot run it.
    """
    driver = open_driver(driver_name or settings.driver, settings.run_dir, settings.runtime, settings.cold_start)
    try:
        resolved = driver.resolve(image)
    except SubmissionFault as fault:
        raise UsageError(f"--with {image}: {fault.sentence}") from None
    for dataset in datasets:
        part = compared_items(dataset.table, dataset.frames, n_frames, seed)
        model = ReferenceModel(driver, resolved, image, settings, reporter, dataset)
        for name in dataset.card.label_sets:
            if name in dataset.label_arrays:
                yield from model.label_lines(name, choose(dataset.frames, dataset.labels(name), n_frames, seed))
            if part.differences or part.scans:
                yield from model.item_lines(name, part)
        yield from (VerificationLine(f"{dataset.card.full_name} {line}", False) for line in not_compared(dataset, part))


class ReferenceModel(NamedTuple):
    """The model that is compared with the labels and references of a data set."""

    driver: Driver
    image: Image
    name: str
    settings: JudgeSettings
    reporter: Reporter
    dataset: Dataset

    def lines(
        self,
        label_set: str,
        frames: Frames,
        properties: Properties,
        compared: Callable[[Predictions], list[LabelComparison]],
        counted_in: str,
    ) -> Iterator[VerificationLine]:
        """The lines of the comparisons with the model's answers to `frames`, or one line if it did not answer."""
        where = f"{self.dataset.card.full_name} [{label_set}]"
        question = Question(domain=self.dataset.card.domain, label_set=label_set)
        with self.reporter.unit(where) as report:
            ask = partial(_ask, frames, properties, report)
            outcome = run_session(self.driver, self.image, self.settings.limits, question, ask)
        if outcome.verdict is not Verdict.OK or outcome.value is None:
            yield VerificationLine(f"{where}: {self.name}: {outcome.verdict}: {outcome.sentence}", True)
            return
        for comparison in compared(outcome.value):
            yield from _lines(where, comparison, counted_in)

    def label_lines(self, label_set: str, chosen: Int) -> Iterator[VerificationLine]:
        """The comparison with the labels of the structures at `chosen`."""
        frames = self.dataset.frames.take(chosen)
        labels = labels_of(self.dataset.labels(label_set), self.dataset.frames, chosen)
        return self.lines(label_set, frames, ALL_PROPERTIES, lambda answer: compare(labels, answer, frames), "frames")

    def item_lines(self, label_set: str, part: Table) -> Iterator[VerificationLine]:
        """The comparison with the references of the items of `part`."""
        chosen, n = structures_of(part), len(self.dataset.frames)

        def compared(answer: Predictions) -> list[LabelComparison]:
            energy = np.full(n, np.nan)
            energy[chosen] = answer.energy
            return compare_items(part, label_set, energy, self.dataset.frames.n_atoms)

        return self.lines(label_set, self.dataset.frames.take(chosen), ("energy",), compared, "items")


def _ask(frames: Frames, properties: Properties, report: Report, model: RemoteCalculator) -> Predictions:
    supported = offered(model, frames, properties)
    return compute_in_batches(model, frames, supported, lambda done: report(done, len(frames), "frames"))


def not_compared(dataset: Dataset, part: Table) -> list[str]:
    """A line with the reason for each sort of items that is not compared, and for structures alone."""
    table, lines = dataset.table, []
    unbalanced = sum(imbalance(item, dataset.frames) is not None for item in table.differences)
    if unbalanced:
        lines.append(f"differences: not compared: {unbalanced} of {len(table.differences)}: {UNBALANCED}")
    lines += [f"{sort}: not compared: {why}" for sort, why in NOT_COMPARED.items() if table.items[sort]]
    if dataset.geometries:
        lines.append("geometries: not compared: they take relaxations: evaluate their task")
    if not dataset.card.label_sets:
        lines.append("structures: not compared: they have neither labels nor references")
    return lines


def choose(frames: Frames, labels: Labels, n_frames: int, seed: int) -> Int:
    """(k,) the indices of at most `n_frames` structures with a label, in order, by a seeded choice."""
    labelled = np.zeros(len(frames), np.bool_)
    for name in ALL_PROPERTIES:
        array: Float | None = getattr(labels, name)
        if array is not None:
            finite = np.isfinite(array.reshape(len(array), -1)).all(axis=1)
            labelled[frames.frame_index[finite] if name == "forces" else finite] = True
    chosen = np.flatnonzero(labelled)
    if len(chosen) > n_frames:
        chosen = np.sort(np.random.default_rng(seed).choice(chosen, n_frames, replace=False))
    return chosen


def labels_of(labels: Labels, frames: Frames, chosen: Int) -> Labels:
    """The labels of the structures of `frames` at `chosen`."""
    rows = {"energy": chosen, "forces": frames.atom_indices(chosen), "stress": chosen}
    arrays = {name: getattr(labels, name) for name in ALL_PROPERTIES}
    return replace(labels, **{name: None if a is None else a[rows[name]] for name, a in arrays.items()})


def _lines(where: str, comparison: LabelComparison, counted_in: str) -> Iterator[VerificationLine]:
    begin = f"{where} {comparison.property}"
    counted = f"{comparison.n_frames} of {comparison.n_labelled} {counted_in}"
    if np.isfinite(comparison.correlation):
        numbers = f"correlation {comparison.correlation:.4f}, slope {comparison.slope:.4g} ({counted})"
        yield VerificationLine(f"{begin}: {numbers}", False)
    elif not comparison.findings:
        yield VerificationLine(f"{begin}: not compared: the model does not give it", False)
    for finding in comparison.findings:
        yield VerificationLine(f"NOT  {begin}: {finding}", True)
