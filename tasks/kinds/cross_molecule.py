"""Learning across molecules: errors of forces on molecules that a model did not learn from.

The protocol is that of SAIBench (arXiv:2308.05999, section 4.3): 15 sets of molecules, and from each molecule of a set
1000 frames at even distances. Each trained model is asked about the last tenth of every molecule that it did not learn
from, if the set has all of the molecule's elements. SAIBench names molecules by letters without a key; these are
deduced from its examples: the molecules of MD17 but benzene, in alphabetical order. "1000 samples each" is read as of
each molecule; SAIBench does not say so.

    force_learning_ratio            geometric mean over sets, unseen molecules and seeds of the force MAE / that of
                                    composition alone; 10 for a trainer that always fails
    force_learning_ratio_se         its standard error over seeds
    learned_force_mae [eV/Å]        mean over sets, unseen molecules and seeds of the MAE of force components
    zero_shot_force_mae             of a model without a trainer, over all molecules
    zero_shot_energy_mae            the same, with energies shifted as those of labelled frames

Energies of unseen molecules are not judged: their zero is not known to the trainer.

Failure cost: see `tasks.kinds.learned_models`. An item is one unseen molecule of a training; parts tell each set and
unseen molecule (`abd-n1000:ethanol`), and force errors by element.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Self

import numpy as np
from ase.formula import Formula
from pydantic import Field, PositiveInt, field_validator, model_validator

from tasks.datasets.card_parts import CardPart
from tasks.datasets.dataset import Dataset
from tasks.kind import DatasetPart, Observation, Parameters, ScoreFamily, Traits
from tasks.kinds.learned_models import (
    BASELINE,
    FORCE,
    AsksTrainedModels,
    LearningParameters,
    is_zero_shot,
    learned_measurement,
    learned_metrics,
    zero_shot_measurement,
)
from tasks.learning.learning_errors import learned_errors
from tasks.learning.training import LEARNED_SHARE, Training, named_molecules
from tasks.metrics.measurement import Measurement

ShortName = Annotated[str, Field(pattern=r"^[a-z]$")]
SetOfMolecules = Annotated[str, Field(pattern=r"^[a-z]+$")]


class Molecule(CardPart):
    """A molecule of a data set.

    Args:
        group: of its frames in the data set's table.
        formula: such as C9H8O4.
    """

    group: str = Field(min_length=1)
    formula: str = Field(min_length=1)

    @field_validator("formula")
    @classmethod
    def _is_a_formula(cls, formula: str) -> str:
        try:
            Formula(formula, strict=True)
        except ValueError:
            raise ValueError(f"{formula!r} is no formula such as C9H8O4") from None
        return formula

    @property
    def atoms(self) -> Mapping[str, int]:
        """By element, how many atoms."""
        return Formula(self.formula).count()


# SAIBench's, by the names that the files of rMD17 have.
MOLECULES = {
    "a": Molecule(group="aspirin", formula="C9H8O4"),
    "b": Molecule(group="ethanol", formula="C2H6O"),
    "c": Molecule(group="malonaldehyde", formula="C3H4O2"),
    "d": Molecule(group="naphthalene", formula="C10H8"),
    "e": Molecule(group="salicylic", formula="C7H6O3"),
    "f": Molecule(group="toluene", formula="C7H8"),
    "g": Molecule(group="uracil", formula="C4H4N2O2"),
}
SETS = (
    *("f", "b", "a"),
    *("ab", "bc", "de"),
    *("abg", "abd", "cef"),
    *("abeg", "bcdf", "abce"),
    *("abceg", "abcde", "bcdef"),
)


class CrossMoleculeParameters(LearningParameters):
    """The molecules and their sets, and what all trainings have in common.

    Args:
        molecules: by letter.
        sets: of molecules that a model learns from, as their letters in alphabetical order.
        n_frames: that are learned from, of each molecule of a set.
    """

    molecules: dict[ShortName, Molecule] = Field(default_factory=lambda: dict(MOLECULES), min_length=2)
    sets: tuple[SetOfMolecules, ...] = Field(SETS, min_length=1)
    n_frames: PositiveInt = 1000

    @model_validator(mode="after")
    def _are_consistent(self) -> Self:
        groups = [molecule.group for molecule in self.molecules.values()]
        if len(set(groups)) < len(groups):
            raise ValueError("molecules: two have the same group")
        if len(set(self.sets)) < len(self.sets):
            raise ValueError("sets: one is there twice")
        for each in self.sets:
            if list(each) != sorted(set(each)):
                raise ValueError(f"sets: {each}: must be in alphabetical order, none twice")
            if unknown := [one for one in each if one not in self.molecules]:
                raise ValueError(f"sets: {each}: there is no molecule {unknown[0]}, but {', '.join(self.molecules)}")
            if not self.unseen(each):
                raise ValueError(
                    f"sets: {each}: has the elements of no other molecule, so that none can be asked about"
                )
        return self

    def groups(self, members: str) -> tuple[str, ...]:
        """The groups of the molecules with the letters `members`."""
        return tuple(self.molecules[each].group for each in members)

    def unseen(self, members: str) -> str:
        """The letters of the molecules that a model that learned from `members` is asked about."""
        known = {element for each in members for element in self.molecules[each].atoms}
        return "".join(
            each
            for each in sorted(self.molecules)
            if each not in members and self.molecules[each].atoms.keys() <= known
        )


class CrossMolecule(AsksTrainedModels):
    """Errors of forces on molecules that a model did not learn from."""

    name: str = "cross_molecule"
    observe_version: int = 1
    measure_version: int = 2  # since 2 the energy shift without a trainer is fitted without each frame, too
    parameters: type[Parameters] = CrossMoleculeParameters
    traits: Traits = Traits(
        title="learning across molecules",
        about="errors of forces on molecules that a model did not learn from",
        also_uses=("forces",),
        measures=DatasetPart.LABELS,
        import_format="rmd17",
        score=ScoreFamily.PROPERTY,
        metrics=learned_metrics((FORCE,)),
        baseline=BASELINE,
    )

    def trainings(self, parameters: CrossMoleculeParameters) -> list[Training]:
        """One of each set, for one seed after the other."""
        return [
            Training(
                name=f"{members}-n{parameters.n_frames}-s{seed}",
                molecules=parameters.groups(members),
                start=0.0,
                stop=LEARNED_SHARE,
                n_frames=parameters.n_frames,
                asked=parameters.groups(parameters.unseen(members)),
                n_asked=parameters.n_asked,
                seed=seed,
                wall_s=parameters.wall_s,
            )
            for seed in parameters.seeds
            for members in parameters.sets
        ]

    def measure(
        self,
        observation: Observation,
        dataset: Dataset,
        parameters: CrossMoleculeParameters,
        label_set: str | None,
    ) -> Measurement:
        """The errors on each unseen molecule of each training. Of a model without a trainer, one item a frame.

        Raises:
            ValueError: the observation, a molecule or a training does not fit the data set; a label is missing.
        """
        check_molecules(dataset, parameters.molecules)
        if is_zero_shot(observation):
            return zero_shot_measurement(observation, dataset, parameters, label_set)
        items = learned_errors(observation, dataset, self.trainings(parameters), label_set, by_molecule=True)
        weights = np.full(len(items), len(parameters.seeds) / len(items))
        return learned_measurement(items, weights, dict(observation.notes), (FORCE,))


def check_molecules(dataset: Dataset, molecules: Mapping[str, Molecule]) -> None:
    """Returns if the data set has all `molecules`, each with its formula.

    Raises:
        ValueError: it has not; one line.
    """
    groups = named_molecules(dataset)
    for short, molecule in molecules.items():
        where = f"{dataset.card.full_name}: molecules.{short}"
        if molecule.group not in groups:
            raise ValueError(f"{where}.group: {molecule.group!r} is no group of the data set: {', '.join(groups)}")
        symbols = dataset.frames.atoms(int(groups[molecule.group][0])).symbols
        if symbols.formula.count() != molecule.atoms:
            raise ValueError(
                f"{where}.formula: {molecule.formula}, but its frames are of {symbols.formula.format('hill')}"
            )
