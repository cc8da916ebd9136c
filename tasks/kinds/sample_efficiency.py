"""Sample efficiency: how the errors of a trained model fall with the number of frames that it learned from.

The protocol is that of SAIBench (arXiv:2308.05999, section 4.1): n frames at even distances of the first nine tenths of
a trajectory are learned from, and the last tenth is asked about. All trainings have the same time. SAIBench states
neither that time nor how frames are chosen, nor how several seeds become one number.

    force_learning_ratio            10^(area / width), mean over seeds: 1 for composition alone, 10 for a trainer that
                                    always fails; likewise energy_learning_ratio
    force_learning_area             by the trapezoid rule, of log₁₀(error / error of composition alone) over log₁₀ n;
                                    likewise energy_learning_area
    …_learning_ratio_se             standard error of the ratio over seeds
    learned_force_mae [eV/Å]        mean over all trainings of the MAE of force components
    learned_energy_mae [eV/atom]    the same of the energy per atom, without any shift
    zero_shot_force_mae             of a model without a trainer
    zero_shot_energy_mae            the same, with energies shifted as those of labelled frames

Failure cost: see `tasks.kinds.learned_models`. Items and parts tell each training, and force errors by element.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Self

import numpy as np
from pydantic import Field, PositiveInt, model_validator

from tasks.datasets.dataset import Dataset
from tasks.kind import DatasetPart, Observation, Parameters, ScoreFamily, Traits
from tasks.kinds.learned_models import (
    BASELINE,
    ENERGY,
    FORCE,
    AsksTrainedModels,
    LearningParameters,
    is_zero_shot,
    learned_measurement,
    learned_metrics,
    zero_shot_measurement,
)
from tasks.learning.learning_curve import AREA, RATIO, trapezoid_weights, width
from tasks.learning.learning_errors import learned_errors
from tasks.learning.training import LEARNED_SHARE, Training
from tasks.metrics.kind_metric import KindMetric
from tasks.metrics.measurement import Measurement
from tasks.metrics.metric import Metric


class SampleEfficiencyParameters(LearningParameters):
    """The numbers of frames, and what all trainings have in common.

    Args:
        sizes: increasing numbers of frames that are learned from, of each molecule.
    """

    sizes: tuple[PositiveInt, ...] = Field((200, 400, 600, 800, 1000, 15000, 50000), min_length=2)

    @model_validator(mode="after")
    def _increase(self) -> Self:
        if list(self.sizes) != sorted(set(self.sizes)):
            raise ValueError("sizes: must increase")
        return self


class SampleEfficiency(AsksTrainedModels):
    """Errors of trained models over the number of frames that they learned from."""

    name: str = "sample_efficiency"
    observe_version: int = 1
    measure_version: int = 2  # since 2 the energy shift without a trainer is fitted without each frame, too
    parameters: type[Parameters] = SampleEfficiencyParameters
    traits: Traits = Traits(
        title="sample efficiency",
        about="how fast a model learns: its errors over the number of frames that it learned from",
        also_uses=("forces",),
        measures=DatasetPart.LABELS,
        import_format="rmd17",
        score=ScoreFamily.PROPERTY,
        metrics=(
            *learned_metrics(),
            KindMetric(AREA.format(FORCE), "Area below the learning curve of forces", ""),
            KindMetric(AREA.format(ENERGY), "Area below the learning curve of energies", ""),
        ),
        baseline=BASELINE,
    )

    def trainings(self, parameters: SampleEfficiencyParameters) -> list[Training]:
        """One of each size, for one seed after the other."""
        return [
            Training(
                name=f"n{size}-s{seed}",
                molecules=(),
                start=0.0,
                stop=LEARNED_SHARE,
                n_frames=size,
                asked=(),
                n_asked=parameters.n_asked,
                seed=seed,
                wall_s=parameters.wall_s,
            )
            for seed in parameters.seeds
            for size in parameters.sizes
        ]

    def measure(
        self,
        observation: Observation,
        dataset: Dataset,
        parameters: SampleEfficiencyParameters,
        label_set: str | None,
    ) -> Measurement:
        """The learning curves; one item a training. Of a model without a trainer, its errors; one item a frame.

        Raises:
            ValueError: the observation, or a training, does not fit the data set; a label is missing.
        """
        if is_zero_shot(observation):
            return zero_shot_measurement(observation, dataset, parameters, label_set)
        items = learned_errors(observation, dataset, self.trainings(parameters), label_set)
        weights = np.tile(trapezoid_weights(parameters.sizes), len(parameters.seeds))
        measurement = learned_measurement(items, weights, dict(observation.notes))
        areas = {
            AREA.format(stem): area_of(measurement.metrics[RATIO.format(stem)], width(parameters.sizes))
            for stem in (FORCE, ENERGY)
        }
        return replace(measurement, metrics={**measurement.metrics, **areas})


def area_of(ratio: Metric, width: float) -> Metric:
    """The area below the curve whose ratio is 10^(area / width); composition alone has 0."""

    def area(value: float | None) -> float | None:
        return None if value is None else width * math.log10(value)

    return replace(
        ratio,
        value=area(ratio.value),
        charged=area(ratio.charged),
        baseline=None,
        failure_cost=area(ratio.failure_cost),
    )
