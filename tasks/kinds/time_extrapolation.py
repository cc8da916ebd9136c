"""Extrapolation in time: errors on the end of a trajectory of models that learned from a stretch of it.

The protocol is that of SAIBench (arXiv:2308.05999, section 4.2): stretches of 30, 45, 60, 75 and 90 % of a trajectory,
starting at 0, 15, 30, 45 and 60 %, of which 15 end before the last tenth; from each 1000 and 15000 frames at even
distances are learned. The last tenth is asked about.

    force_learning_ratio            geometric mean over stretches, sizes and seeds of error / error of composition
                                    alone; 10 for a trainer that always fails; likewise energy_learning_ratio
    …_learning_ratio_se             its standard error over seeds
    learned_force_mae [eV/Å]        mean over all trainings of the MAE of force components
    learned_energy_mae [eV/atom]    the same of the energy per atom, without any shift
    zero_shot_force_mae             of a model without a trainer
    zero_shot_energy_mae            the same, with energies shifted as those of labelled frames

Failure cost: see `tasks.kinds.learned_models`. Items and parts tell each training, and force errors by element. Parts
of the shortest stretches tell how similar these are to the frames that are asked about (`tasks.learning.similarity`),
which says nothing about the model.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Self

import numpy as np
from pydantic import Field, PositiveInt, model_validator

from tasks.datasets.dataset import Dataset
from tasks.kind import DatasetPart, Observation, Parameters, ScoreFamily, Traits
from tasks.kinds.learned_models import (
    BASELINE,
    AsksTrainedModels,
    LearningParameters,
    is_zero_shot,
    learned_measurement,
    learned_metrics,
    zero_shot_measurement,
)
from tasks.learning.learning_errors import learned_errors
from tasks.learning.similarity import similarities, similarity_settings, thinned
from tasks.learning.training import Training, asked_frames, named_molecules, stretch
from tasks.learning.windows import LEARNED_PERCENT, Window, windows_of
from tasks.metrics.measurement import Measurement
from tasks.metrics.metric import MetricPart

SIMILARITY = "soap_similarity"
Start = Annotated[int, Field(ge=0, lt=LEARNED_PERCENT)]
Length = Annotated[int, Field(gt=0, le=LEARNED_PERCENT)]


class TimeExtrapolationParameters(LearningParameters):
    """The stretches of time, and what all trainings have in common.

    Args:
        starts: of stretches [% of each molecule's frames], increasing.
        lengths: of stretches [%], increasing; each starts at each of `starts` where it ends at 90 % or before.
        sizes: numbers of frames that are learned from, of each molecule, increasing.
        similarity: whether the similarity of the shortest stretches is computed, which needs dscribe.
    """

    starts: tuple[Start, ...] = Field((0, 15, 30, 45, 60), min_length=1)
    lengths: tuple[Length, ...] = Field((30, 45, 60, 75, 90), min_length=1)
    sizes: tuple[PositiveInt, ...] = Field((1000, 15000), min_length=1)
    similarity: bool = True

    @model_validator(mode="after")
    def _are_consistent(self) -> Self:
        for name in ("starts", "lengths", "sizes"):
            values = getattr(self, name)
            if list(values) != sorted(set(values)):
                raise ValueError(f"{name}: must increase")
        if not self.windows:
            raise ValueError(f"lengths: every stretch ends after {LEARNED_PERCENT} %: state a shorter one")
        return self

    @property
    def windows(self) -> tuple[Window, ...]:
        """The stretches of time."""
        return windows_of(self.starts, self.lengths)


class TimeExtrapolation(AsksTrainedModels):
    """Errors of models that learned from a stretch of time."""

    name: str = "time_extrapolation"
    observe_version: int = 1
    measure_version: int = 2  # since 2 the energy shift without a trainer is fitted without each frame, too
    parameters: type[Parameters] = TimeExtrapolationParameters
    traits: Traits = Traits(
        title="extrapolation in time",
        about="errors at the end of a trajectory of models that learned from a stretch of it",
        also_uses=("forces",),
        measures=DatasetPart.LABELS,
        import_format="rmd17",
        score=ScoreFamily.PROPERTY,
        metrics=learned_metrics(),
        baseline=BASELINE,
    )

    def trainings(self, parameters: TimeExtrapolationParameters) -> list[Training]:
        """One of each stretch for each size, for one seed after the other."""
        return [
            Training(
                name=f"t{window.start}-{window.stop}-n{size}-s{seed}",
                molecules=(),
                start=window.shares[0],
                stop=window.shares[1],
                n_frames=size,
                asked=(),
                n_asked=parameters.n_asked,
                seed=seed,
                wall_s=parameters.wall_s,
            )
            for seed in parameters.seeds
            for size in parameters.sizes
            for window in parameters.windows
        ]

    def measure(
        self,
        observation: Observation,
        dataset: Dataset,
        parameters: TimeExtrapolationParameters,
        label_set: str | None,
    ) -> Measurement:
        """The errors of each training, one item each. Of a model without a trainer, its errors; one item a frame.

        Raises:
            ValueError: the observation, or a training, does not fit the data set; a label is missing; dscribe is not
                installed.
        """
        if is_zero_shot(observation):
            return zero_shot_measurement(observation, dataset, parameters, label_set)
        items = learned_errors(observation, dataset, self.trainings(parameters), label_set)
        weights = np.full(len(items), len(parameters.seeds) / len(items))
        measurement = learned_measurement(items, weights, dict(observation.notes))
        if not parameters.similarity:
            return measurement
        parts = window_similarities(dataset, parameters)
        notes = {**measurement.notes, SIMILARITY: similarity_settings()}
        return replace(measurement, parts=[*measurement.parts, *parts], notes=notes)


def window_similarities(dataset: Dataset, parameters: TimeExtrapolationParameters) -> list[MetricPart]:
    """The similarity of each of the shortest stretches to the frames that are asked about.

    Raises:
        ValueError: dscribe is not installed; the last tenth has too few frames.
    """
    molecules = named_molecules(dataset).values()
    shortest = min(window.stop - window.start for window in parameters.windows)
    windows = [window for window in parameters.windows if window.stop - window.start == shortest]
    sets = {
        window.label: np.concatenate([thinned(stretch(indices, *window.shares)) for indices in molecules])
        for window in windows
    }
    asked = np.concatenate([thinned(asked_frames(indices, parameters.n_asked)) for indices in molecules])
    values = similarities(dataset.frames, sets, asked)
    return [
        MetricPart("window", label, SIMILARITY, value, "", len(thinned(sets[label]))) for label, value in values.items()
    ]
