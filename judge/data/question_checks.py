"""`judge data verify`: whether the questions of a data set give its answers away.

Models without chemistry (`tasks.adversaries`) are asked in the tasks that the data set serves: those of the packaged
suites that name it, else those of each kind that it fits, with usual parameters. None may get below the baseline. The
data set is sampled, so that this takes seconds; a kind that asks much of each structure is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import NamedTuple

from tasks.adversaries.family import ADVERSARIES
from tasks.adversaries.question_table import LAW, PUBLISHED, cells_of, is_judged_by_baseline
from tasks.adversaries.run_adversary import AdversaryTask, measured, public_facts
from tasks.datasets.dataset import Dataset
from tasks.datasets.some_items import some_items
from tasks.kind import DatasetPart, Kind
from tasks.kinds.registry import KINDS
from tasks.learning.training import Learning
from tasks.simulation.relaxation import Relaxation
from tasks.suites.rehearsal import rehearse
from tasks.suites.suite import Task, load_suite, packaged_suites

SECRETS = (b"first", b"second", b"third")
# Kinds that take minutes also of few items.
SLOW = frozenset({"phonons", "thermal_conductivity", "dynamics", "reaction_paths"})
# Structures of a sample, as a model is asked about them: a relaxation counts as its usual steps.
MOST_ASKED, MOST_ATOMS = 200, 10_000
# Of the sample: a model whose answers depend on what it was asked before may never converge.
QUICK = Relaxation(optimizer="BFGS", fmax=0.01, max_steps=60)
ROUNDING = 1e-6
ITEMS = (100, 50, 25, 12, 6, 3)  # sizes of samples, the first that is small enough counts
BELOW = 0.99  # of the baseline: what lies above is rounding, or the luck of a sample
NO_FORCES = "ideal gas"
REMEDIES: Mapping[DatasetPart, str] = {
    DatasetPart.CURVES: "draw the volumes",
    DatasetPart.GEOMETRIES: "draw the starts: state rattle and strain in the task's parameters",
    DatasetPart.LABELS: "nothing is drawn of labelled structures: add some that no rule orders, as of dynamics",
    DatasetPart.DIFFERENCES: "nothing is drawn of energies: add items, or state a smaller baseline in card.toml",
    DatasetPart.SCANS: "nothing is drawn of energies: add items, or state a smaller baseline in card.toml",
    DatasetPart.SYSTEMS: 'draw the starts: state start = "drawn" in the task\'s parameters, with ensemble = "npt"',
    DatasetPart.PAIRS: "nothing is drawn of energies: add pairs, or state a smaller baseline in card.toml",
}
OTHER_REMEDY = "add items that differ more, or state a smaller baseline in card.toml"


class QuestionFindings(NamedTuple):
    """What the questions of a data set tell.

    Args:
        doubtful: a line for each adversary below a baseline.
        refused: a line for each stated baseline that is larger than the error of the starts.
        about: what was asked of how much, and what was not.
    """

    doubtful: tuple[str, ...]
    refused: tuple[str, ...]
    about: tuple[str, ...]


class NamedTask(NamedTuple):
    """A task over a data set, and the words for it."""

    words: str
    task: AdversaryTask


def question_findings(
    dataset: Dataset, whole: bool = False, progress: Callable[[int, int, str], None] = lambda done, total, unit: None
) -> QuestionFindings:
    """What models without chemistry get in the tasks that `dataset` serves.

    Args:
        whole: of the whole data set, whatever it takes.
        progress: as of `tasks.kind.Watch`.
    """
    doubtful, refused, about = list[str](), list[str](), list[str]()
    tasks = list(tasks_of(dataset))
    n, n_models = len(dataset.frames), len(ADVERSARIES)
    for k, (words, task) in enumerate(tasks):
        asked = task if whole else sampled(task)
        if asked is None:
            about.append(f"{words}: not asked of models without chemistry, since it takes long: --all-questions asks")
            continue
        try:
            for done, line in _doubts(asked):
                doubtful += [f"{words}: {line}"] if line else []
                progress(k * n_models + done, len(tasks) * n_models, "models")
            refused += stated_too_large(asked)
        except ValueError as error:
            about.append(f"{words}: not asked of models without chemistry: {' '.join(str(error).split())}")
            continue
        part = len(asked.dataset.frames)
        of_all = f"{part} structures" if part == n else f"{part} of {n} structures"
        about.append(f"{words}: {n_models} models without chemistry were asked about {of_all}")
    return QuestionFindings(tuple(doubtful), tuple(dict.fromkeys(refused)), tuple(about))


def tasks_of(dataset: Dataset) -> Iterator[NamedTask]:
    """The tasks of packaged suites over a data set; if there is none, those of the kinds that it fits."""
    named = [task for task in _packaged_tasks() if task.dataset == dataset.card.full_name]
    for task in named:
        if is_judged_by_baseline(KINDS[task.kind]) and not isinstance(KINDS[task.kind], Learning):
            yield NamedTask(task.label, AdversaryTask(KINDS[task.kind], dataset, task.parameters))
    for kind in () if named else KINDS.values():
        if is_judged_by_baseline(kind) and not isinstance(kind, Learning) and has_part(dataset, kind):
            try:
                parameters = kind.parameters()
                rehearse(kind, dataset, parameters)
            except ValueError:
                continue  # it needs parameters, or is of other items of the same sort
            yield NamedTask(kind.traits.title, AdversaryTask(kind, dataset, parameters))


@cache
def _packaged_tasks() -> tuple[Task, ...]:
    tasks = (task for name in packaged_suites() for task in load_suite(name).tasks)
    return tuple({(task.kind, task.dataset, repr(task.parameters)): task for task in tasks}.values())


def has_part(dataset: Dataset, kind: Kind) -> bool:
    """Whether a data set has the references that a kind needs."""
    part = kind.traits.measures
    if part.is_in_table:
        return bool(dataset.table.items[part.value])
    return bool({DatasetPart.LABELS: dataset.label_arrays, DatasetPart.GEOMETRIES: dataset.geometries}.get(part))


def sampled(task: AdversaryTask) -> AdversaryTask | None:
    """The task over so many items that it takes seconds; None if three items are too many, and of kinds in `SLOW`."""
    quick = task.parameters
    if hasattr(quick, "relaxation"):
        quick = quick.model_copy(update={"relaxation": QUICK})
    for n_items in () if task.kind.name in SLOW else ITEMS:
        part = some_items(task.dataset, n_items)
        work = task.kind.work(part.structures, quick)
        if work.frames <= MOST_ASKED and float((work.n_atoms * work.times).sum()) <= MOST_ATOMS:
            return AdversaryTask(task.kind, part, quick)
    return None


def _doubts(task: AdversaryTask) -> Iterator[tuple[int, str]]:
    """By adversary its number, and a line about the metric in which it comes off best; empty if none is below 1."""
    facts = public_facts(task)
    for k, (name, adversary) in enumerate(ADVERSARIES.items(), 1):
        cells = cells_of(task, name, SECRETS, facts)
        below = [cell for cell in cells if cell.interval.high < BELOW and cell.mark != LAW]
        if not below:
            yield k, ""
            continue
        best = min(below, key=lambda cell: cell.interval.mean)
        remedy = REMEDIES.get(task.kind.traits.measures, OTHER_REMEDY)
        if best.mark == PUBLISHED:
            remedy = "the protocol is the published one, which the note beside the number says"
        share = f"{best.interval.mean:.2f} of the baseline in {best.metric}"
        yield k, f"a model that knows nothing ({adversary.about}) would get {share}: {remedy}"


def stated_too_large(task: AdversaryTask) -> Iterator[str]:
    """A line for each baseline of the card that is larger than what the starts achieve."""
    dataset = task.dataset
    stated = dataset.baselines()
    if not stated or task.kind.traits.measures is not DatasetPart.GEOMETRIES:
        return
    found = measured(task, NO_FORCES, SECRETS[0])
    for name, baseline in stated.items():
        metric = found.metrics.get(name)
        if metric is None or metric.value is None or metric.n_failed or baseline <= metric.value * (1 + ROUNDING):
            continue
        yield (
            f"card.toml: baselines.{dataset.card.default_label_set}.{name}: {baseline:g} is larger than the "
            f"{metric.value:.3g} {metric.unit} that the starts achieve: state that at most, or leave it out"
        )
