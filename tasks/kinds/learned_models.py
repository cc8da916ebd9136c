"""What the kinds whose models are trained by the judge share: questions, and measurements.

A model with a trainer is trained several times (`tasks.learning.training`), and each trained model is asked about
frames of the last tenth of the trajectory, whose labels it never saw. A model without a trainer is asked about the same
frames as it is. Its errors have names of their own (`zero_shot_…`), and it has no score of learning.

**Failures.** A frame that fails costs W in its training, ten times the error of composition alone over the frames of
that training, at which every frame is clipped. A training that leaves no model costs W for each frame.

There are no intervals: the trainings of a task are few, and none is drawn from many. The standard error over seeds is a
metric (`…_se`), of the ratio without failure costs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveFloat, field_validator

from tasks.datasets.dataset import Dataset, Structures
from tasks.kind import KindBaseline, Observation, Parameters, Watch, Work
from tasks.kinds.labelled_frames import averages, composition_only, energy_sums, frame_errors
from tasks.learning.learning_curve import RATIO, SPREAD, LearningScore, learning_score
from tasks.learning.learning_errors import AbsoluteErrors, LearnedErrors, complete_labels
from tasks.learning.training import asked_frames, molecule_indices
from tasks.metrics.contributions import baseline_column
from tasks.metrics.failure_cost import COST_IN_BASELINES
from tasks.metrics.kind_metric import Better, KindMetric
from tasks.metrics.measurement import Items, Measurement
from tasks.metrics.metric import Metric, MetricPart
from tasks.model.calculator import BatchCalculator
from tasks.observing.frames_observation import observe_frames, read_frames
from tasks.structures.composition import composition
from tasks.structures.frames import Float, Frames, Int
from tasks.structures.predictions import Properties

ASKS_FOR: Properties = ("energy", "forces")
FORCE, ENERGY = "force", "energy"
UNITS = {FORCE: "eV/Å", ENERGY: "eV/atom"}
LEARNED = {FORCE: "learned_force_mae", ENERGY: "learned_energy_mae"}
ZERO_SHOT = {FORCE: "zero_shot_force_mae", ENERGY: "zero_shot_energy_mae"}
NO_TRAINER = "The model has no trainer. It was asked about the same frames as it is, and has no score of learning."
BASELINE = KindBaseline(
    "Composition only",
    "A trivial model without forces, whose energies are what the composition alone tells from the frames learned from.",
)


class LearningParameters(Parameters):
    """What all trainings of a task have in common.

    Args:
        seeds: of the trainer; every training runs once with each.
        wall_s: time that a trainer has [s].
        n_asked: frames of the last tenth that a model is asked about, of each molecule; 0: all of them.
    """

    seeds: tuple[NonNegativeInt, ...] = Field((1, 2, 3), min_length=1)
    wall_s: PositiveFloat = 600.0
    n_asked: NonNegativeInt = 1000

    @field_validator("seeds")
    @classmethod
    def _are_distinct(cls, seeds: tuple[int, ...]) -> tuple[int, ...]:
        if len(set(seeds)) < len(seeds):
            raise ValueError("one is there twice")
        return seeds


class AsksTrainedModels:
    """The shared part of kinds whose models are trained: `observe` asks a model that has no trainer."""

    def observe(
        self, structures: Structures, parameters: LearningParameters, model: BatchCalculator, watch: Watch
    ) -> Observation:
        """The answers to the frames that trained models are asked about, of every molecule, zero-shot."""
        return observe_frames(structures.frames.take(_asked(structures, parameters)), ASKS_FOR, model, watch)

    def work(self, structures: Structures, parameters: LearningParameters) -> Work:
        """That of the zero-shot questions."""
        return Work.of(structures.frames.take(_asked(structures, parameters)))


def _asked(structures: Structures, parameters: LearningParameters) -> Int:
    try:
        return zero_shot_frames(structures.frames, parameters.n_asked)
    except ValueError as error:
        raise ValueError(f"{structures.name}: n_asked: {error}") from None


def zero_shot_frames(frames: Frames, n_asked: int) -> Int:
    """The frames that a model without a trainer is asked about, molecule by molecule.

    Raises:
        ValueError: the last tenth of a molecule has fewer than `n_asked`.
    """
    return np.concatenate([asked_frames(indices, n_asked) for indices in molecule_indices(frames).values()])


def is_zero_shot(observation: Observation) -> bool:
    """Whether the answers are those of a model without a trainer, not of trained models."""
    return "energy" in observation.arrays


def zero_shot_measurement(
    observation: Observation, dataset: Dataset, parameters: LearningParameters, label_set: str | None
) -> Measurement:
    """The errors of a model without a trainer, with energies shifted as labelled frames are; one item a frame.

    Raises:
        ValueError: the observation does not fit the data set; there are no labels.
    """
    asked = zero_shot_frames(dataset.frames, parameters.n_asked)
    frames, labels = dataset.frames.take(asked), complete_labels(dataset, asked, label_set)
    answer, counts = read_frames(observation, frames), composition(frames)
    errors = frame_errors(frames, counts, labels, answer)
    trivial = frame_errors(frames, counts, labels, composition_only(frames))
    metrics: dict[str, Metric] = {}
    columns: dict[str, Float] = {"n_atoms": frames.n_atoms.astype(np.float64)}
    for stem, name in ZERO_SHOT.items():
        own, base = errors[stem], trivial[stem]
        average = averages(stem, own)[1]._replace(name=name)
        metric = average.metric(float(base.absolute.sum() / base.count.sum()))
        if stem == ENERGY:
            sums = energy_sums(counts, np.asarray(labels.energy), answer.energy, average, metric.failure_cost or np.nan)
            if sums is not None:
                metric = replace(metric, charged=average._replace(sums=sums).metric(metric.baseline).charged)
        metrics[name] = metric
        columns |= {f"{stem}_count": own.count, f"{stem}_abs": own.absolute}
        columns[baseline_column(f"{stem}_abs")] = base.absolute
    table, chosen = dataset.table, asked.tolist()
    ids, groups, clusters = ([each[i] for i in chosen] for each in (table.id, table.group, dataset.clusters))
    return Measurement(metrics, Items(ids, groups, clusters, answer.failure, columns), {"trainer": NO_TRAINER})


def learned_measurement(
    items: Sequence[LearnedErrors], weights: Float, notes: Mapping[str, str], stems: Sequence[str] = (FORCE, ENERGY)
) -> Measurement:
    """The measurement of all trainings of a task.

    Args:
        items: k of them.
        weights: (k,) that add up to 1 for each seed.
        stems: what is measured: forces, energies, or both.
    """
    metrics: dict[str, Metric] = {}
    parts: list[MetricPart] = []
    for stem in stems:
        scores = score_of(items, stem, weights)
        metrics |= metrics_of(items, stem, scores)
        parts += parts_by_training(items, stem)
    parts += parts_by_element(items)
    names = [item.id for item in items]
    groups, clusters = [group_of(item) for item in items], [f"seed {item.training.seed}" for item in items]
    causes = np.array([item.cause for item in items], np.int8)
    table = Items(names, groups, clusters, causes, columns_of(items, stems))
    failed, asked = sum(item.n_failed for item in items), sum(len(item.force.counts) for item in items)
    more = {"failed frames": f"{failed} of {asked}: each has the failure cost"} if failed else {}
    return Measurement(metrics, table, {**notes, **more}, parts)


def group_of(item: LearnedErrors) -> str:
    """The name that an item shares with those of the other seeds."""
    name = item.training.name.removesuffix(f"-s{item.training.seed}")
    return f"{name}:{item.molecule}" if item.molecule else name


def _property(item: LearnedErrors, stem: str) -> AbsoluteErrors:
    return item.force if stem == FORCE else item.energy


def score_of(items: Sequence[LearnedErrors], stem: str, weights: Float) -> LearningScore:
    """The score of learning of one property."""
    errors = [_property(item, stem) for item in items]
    means, penalised = np.array([e.mean for e in errors]), np.array([e.penalised for e in errors])
    baselines = np.array([e.baseline for e in errors])
    return learning_score(means, penalised, baselines, weights, [item.training.seed for item in items])


def metrics_of(items: Sequence[LearnedErrors], stem: str, score: LearningScore) -> dict[str, Metric]:
    """The ratio, its standard error over seeds, and the mean error over all items."""
    errors = [_property(item, stem) for item in items]
    means = np.array([e.mean for e in errors])
    value = float(np.nanmean(means)) if np.isfinite(means).any() else None
    charged, baseline = (float(np.mean([getattr(e, name) for e in errors])) for name in ("penalised", "baseline"))
    n, n_failed = len(items), score.n_failed
    metrics = {
        RATIO.format(stem): Metric(score.value, "", n, n_failed, score.charged, 1.0, COST_IN_BASELINES),
        LEARNED[stem]: Metric(value, UNITS[stem], n, n_failed, charged, baseline, COST_IN_BASELINES * baseline),
    }
    if score.spread is not None:
        metrics[SPREAD.format(stem)] = Metric(score.spread, "", len({item.training.seed for item in items}))
    return metrics


def parts_by_training(items: Sequence[LearnedErrors], stem: str) -> list[MetricPart]:
    """Of each training over its seeds: the mean error, its standard error, and the geometric mean of the ratio."""
    parts = []
    for group in dict.fromkeys(map(group_of, items)):
        errors = [_property(item, stem) for item in items if group_of(item) == group]
        means = np.array([e.mean for e in errors if np.isfinite(e.mean)])
        n, failed = len(errors), len(errors) - len(means)
        seeds = score_of([item for item in items if group_of(item) == group], stem, np.ones(n))
        name, unit = LEARNED[stem], UNITS[stem]
        parts.append(MetricPart("training", group, name, float(means.mean()) if len(means) else None, unit, n, failed))
        if len(means) > 1:
            spread = float(means.std(ddof=1) / np.sqrt(len(means)))
            parts.append(MetricPart("training", group, f"{name}_se", spread, unit, n, failed))
        parts.append(MetricPart("training", group, RATIO.format(stem), seeds.value, "", n, failed))
    return parts


def parts_by_element(items: Sequence[LearnedErrors]) -> list[MetricPart]:
    """The force error on the atoms of each element, the mean over the items that have such atoms."""
    parts = []
    for symbol in elements_of(items):
        means = [item.of_element[symbol].mean for item in items if symbol in item.of_element]
        known = [mean for mean in means if np.isfinite(mean)]
        value = float(np.mean(known)) if known else None
        n_failed = len(means) - len(known)
        parts.append(MetricPart("element", symbol, LEARNED[FORCE], value, UNITS[FORCE], len(means), n_failed))
    return parts


def elements_of(items: Sequence[LearnedErrors]) -> list[str]:
    """The elements of all items, in alphabetical order."""
    return sorted({symbol for item in items for symbol in item.of_element})


def columns_of(items: Sequence[LearnedErrors], stems: Sequence[str]) -> dict[str, Float]:
    """The columns of the items, (k,) each.

    `force_abs` is the sum over `force_count` components that were answered, likewise `force_H_abs` of the atoms of an
    element and `energy_abs` of frames; `…_baseline` is the mean of composition alone, `…_penalised` the mean with
    failure costs.
    """

    def column(values: Sequence[Any]) -> Float:
        return np.array(values, np.float64)

    columns = {
        "seed": column([item.training.seed for item in items]),
        "n_learned": column([item.training.n_frames for item in items]),
        "start": column([item.training.start for item in items]),
        "stop": column([item.training.stop for item in items]),
        "n_failed": column([item.n_failed for item in items]),
    }
    for stem in stems:
        errors = [_property(item, stem) for item in items]
        columns[f"{stem}_abs"] = column([e.total for e in errors])
        columns[f"{stem}_count"] = column([e.n_answered for e in errors])
        columns[baseline_column(stem)] = column([e.baseline for e in errors])
        columns[f"{stem}_penalised"] = column([e.penalised for e in errors])
    for symbol in elements_of(items):
        of_element = [item.of_element.get(symbol) for item in items]
        columns[f"force_{symbol}_abs"] = column([0.0 if e is None else e.total for e in of_element])
        columns[f"force_{symbol}_count"] = column([0.0 if e is None else e.n_answered for e in of_element])
        columns[baseline_column(f"force_{symbol}")] = column([0.0 if e is None else e.baseline for e in of_element])
    return columns


def learned_metrics(stems: Sequence[str] = (FORCE, ENERGY)) -> tuple[KindMetric, ...]:
    """The metrics of a kind that measures `stems` of trained models, and both of others."""
    words = {FORCE: "Force", ENERGY: "Energy"}
    return (
        *(
            KindMetric(RATIO.format(s), f"{words[s]} error after learning / composition only", "", scored=True)
            for s in stems
        ),
        *(
            KindMetric(
                SPREAD.format(s), f"{words[s]} error after learning, standard error over seeds", "", Better.NEITHER
            )
            for s in stems
        ),
        *(KindMetric(LEARNED[s], f"{words[s]} MAE of trained models", UNITS[s]) for s in stems),
        *(KindMetric(ZERO_SHOT[s], f"{words[s]} MAE, zero-shot", UNITS[s]) for s in (FORCE, ENERGY)),
    )
