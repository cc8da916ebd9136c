"""A kind's traits say which properties a model must offer, and which further ones a task uses."""

from __future__ import annotations

import math

import pytest
from ase.calculators.emt import EMT

from tasks.kind import Watch
from tasks.kinds.registry import KINDS
from tasks.metrics.measurement import Measurement
from tasks.model.calculator import InProcessCalculator
from tasks.structures.predictions import ALL_PROPERTIES, Properties
from tests.tasks.kind_examples import EXAMPLES, PBE, Failing, KindExample, answers, relaxed_structures


class Offering(Failing):
    """EMT that offers some properties alone."""

    def __init__(self, properties: Properties) -> None:
        super().__init__({})
        self._properties = properties
        calculator = EMT()
        calculator.implemented_properties = list(properties)
        InProcessCalculator.__init__(self, calculator, max_atoms_per_batch=100)

    @property
    def properties(self) -> Properties:
        return self._properties


def measured(example: KindExample, properties: Properties) -> Measurement:
    model = Offering(properties)
    observation = answers(example, model, Watch(clock=model.clock))
    label_set = PBE if example.dataset.card.label_sets else None
    return example.kind.measure(observation, example.dataset, example.parameters, label_set)


def n_numbers(measurement: Measurement) -> int:
    """The numbers in the items that did not fail."""
    answered = measurement.items.cause == 0
    return sum(sum(map(math.isfinite, column[answered])) for column in measurement.items.columns.values())


@pytest.mark.parametrize("name", list(EXAMPLES))
def test_without_a_needed_property_nothing_has_a_number_and_without_a_further_one_less_has(name: str) -> None:
    traits = KINDS[name].traits
    assert not set(traits.needs) & set(traits.also_uses)
    whole = n_numbers(measured(EXAMPLES[name](), ALL_PROPERTIES))
    for without in ("forces", "stress"):
        count = n_numbers(measured(EXAMPLES[name](), tuple(p for p in ALL_PROPERTIES if p != without)))
        if without in traits.needs:
            assert count == 0, without
        elif without in traits.also_uses:
            assert count < whole, without
            assert (count > 0) is (name != "relaxed_structures"), without  # whose example has free cells alone
        else:
            assert count == whole, without


def test_structures_are_relaxed_without_stress_where_the_cell_is_fixed() -> None:
    example = relaxed_structures()
    fixed = example._replace(parameters=example.parameters.model_copy(update={"cell": "fixed"}))
    assert n_numbers(measured(fixed, ("energy", "forces"))) > 0
