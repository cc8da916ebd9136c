"""The errors of trained models on frames that they did not learn from, and those of composition alone.

Energies are compared without any shift, since the trainer saw labels. Composition alone knows no forces. Its energy is
a constant for each element, fitted by least squares to the labels that the model learned from; for a single molecule
that is their mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from ase.data import chemical_symbols

from tasks.datasets.dataset import Dataset
from tasks.kind import Observation
from tasks.learning.training import FailedTraining, Training, named_molecules, part_of, training_frames
from tasks.metrics.failure_cost import failure_cost, penalised_sums
from tasks.observing.frames_observation import read_frames
from tasks.structures.composition import composition, composition_energy
from tasks.structures.frames import Bool, Float, Frames, Int
from tasks.structures.predictions import Cause, Labels, Predictions


@dataclass(frozen=True, eq=False)
class AbsoluteErrors:
    """The absolute errors of one property on m frames.

    Args:
        name: of the property, for an error message.
        sums: (m,) over the components of each frame; NaN where it was not answered.
        counts: (m,) components of each frame.
        trivial: (m,) `sums` of composition alone.
    """

    name: str
    sums: Float
    counts: Float
    trivial: Float

    @property
    def total(self) -> float:
        """Over all components that were answered; NaN if there are none."""
        return float(np.nansum(self.sums)) if self.n_answered else np.nan

    @property
    def n_answered(self) -> float:
        """The number of components that were answered."""
        return float(self.counts[np.isfinite(self.sums)].sum())

    @property
    def mean(self) -> float:
        """Over the frames that were answered; NaN if none was."""
        return self.total / self.n_answered if self.n_answered else np.nan

    @property
    def baseline(self) -> float:
        """The mean of composition alone, over all frames."""
        return float(self.trivial.sum() / self.counts.sum())

    @property
    def cost(self) -> float:
        """What a failed frame costs, at which every frame is clipped.

        Raises:
            ValueError: composition alone has no error, so that none can be compared with it.
        """
        return failure_cost(self.name, self.baseline)

    @property
    def penalised(self) -> float:
        """The mean over all frames, each clipped at `cost`, which also stands for one that was not answered."""
        return float(penalised_sums(self.sums, self.counts, self.cost).sum() / self.counts.sum())


@dataclass(frozen=True, eq=False)
class LearnedErrors:
    """The errors of one trained model on the frames of one item.

    Args:
        molecule: the group that is asked about; empty: all that the training asks about.
        cause: why there is no answer to any of the frames.
        n_failed: frames without an answer.
        force: of components [eV/Å].
        of_element: by symbol, the same of the atoms of one element.
        energy: per atom [eV/atom].
    """

    training: Training
    molecule: str
    cause: Cause
    n_failed: int
    force: AbsoluteErrors
    of_element: Mapping[str, AbsoluteErrors]
    energy: AbsoluteErrors

    @property
    def id(self) -> str:
        """Name of the training, and of the molecule if the item is one of several."""
        return f"{self.training.name}:{self.molecule}" if self.molecule else self.training.name


def learned_errors(
    observation: Observation,
    dataset: Dataset,
    trainings: Sequence[Training],
    label_set: str | None,
    *,
    by_molecule: bool = False,
) -> list[LearnedErrors]:
    """The errors of all `trainings`, in their order.

    Args:
        by_molecule: a training has one item for each molecule that it asks about, and not one in all.

    Raises:
        ValueError: the observation, or a training, does not fit the data set; a frame has no energy or no forces.
    """
    molecules = named_molecules(dataset)
    items: list[LearnedErrors] = []
    for training in trainings:
        learned, asked = training_frames(dataset, training, molecules)
        asked_of = {name: asked[np.isin(asked, molecules[name])] for name in training.asked or molecules}
        answer = trained_answer(observation, training, dataset.frames.take(asked))
        trivial = composition_energies(dataset, learned, asked, label_set)
        for name, chosen in asked_of.items() if by_molecule else {"": asked}.items():
            start = int(np.flatnonzero(asked == chosen[0])[0])
            stop = start + len(chosen)
            frames = dataset.frames.take(chosen)
            atoms = int(dataset.frames.n_atoms[asked[:start]].sum())
            own = answer.between(start, stop, atoms, atoms + len(frames.numbers))
            labels = complete_labels(dataset, chosen, label_set)
            items.append(errors_of(training, name, frames, labels, own, trivial[start:stop]))
    return items


def trained_answer(observation: Observation, training: Training, frames: Frames) -> Predictions:
    """The answer of the model of `training` to `frames`; none to any of them if there is no model.

    Raises:
        ValueError: the observation is not of these frames.
    """
    part = part_of(observation, training.name)
    if isinstance(part, FailedTraining):
        return Predictions.unanswered(frames, ("energy", "forces"), part.cause)
    return read_frames(part, frames)


def complete_labels(dataset: Dataset, chosen: Int, label_set: str | None) -> Labels:
    """Energies and forces of the frames `chosen`.

    Raises:
        ValueError: one has none.
    """
    labels = dataset.labels(label_set)
    if labels.energy is not None and labels.forces is not None:
        taken = Labels(labels.energy[chosen], labels.forces[dataset.frames.atom_indices(chosen)])
        if all(np.isfinite(array).all() for array in taken.arrays.values()):
            return taken
    raise ValueError(f"{dataset.card.full_name}: labels: a frame that is asked about has no energy, or no forces")


def composition_energies(dataset: Dataset, learned: Int, asked: Int, label_set: str | None) -> Float:
    """(m,) the energies [eV] of the frames `asked` that composition alone tells from the frames `learned`."""
    counts = composition(dataset.frames.take(np.concatenate([learned, asked])))
    known = np.arange(len(counts)) < len(learned)
    energies = np.zeros(len(counts))
    energies[known] = complete_labels(dataset, learned, label_set).energy
    return composition_energy(counts, energies, known)[~known]


def errors_of(
    training: Training, molecule: str, frames: Frames, labels: Labels, answer: Predictions, trivial: Float
) -> LearnedErrors:
    """The errors of one item.

    Args:
        frames: the m that are asked about.
        trivial: (m,) energies [eV] from composition alone.
    """
    energy, forces = np.asarray(labels.energy), np.asarray(labels.forces)
    answered = np.full_like(forces, np.nan) if answer.forces is None else answer.forces
    of_atom, zero = np.abs(answered - forces).sum(axis=1), np.abs(forces).sum(axis=1)

    def over(atoms: Bool, name: str) -> AbsoluteErrors:
        def summed(values: Float) -> Float:
            return np.asarray(np.bincount(frames.frame_index[atoms], values[atoms], len(frames)), np.float64)

        return AbsoluteErrors(name, summed(of_atom), summed(np.full(len(of_atom), 3.0)), summed(zero))

    every = np.ones(len(frames.numbers), np.bool_)
    of_element = {
        chemical_symbols[z]: over(frames.numbers == z, f"forces on {chemical_symbols[z]}")
        for z in np.unique(frames.numbers).tolist()
    }
    per_atom = [np.abs(each - energy) / frames.n_atoms for each in (answer.energy, trivial)]
    by_energy = AbsoluteErrors("energy", per_atom[0], np.ones(len(frames)), per_atom[1])
    cause = Cause.NONE if answer.ok.any() else Cause(int(answer.failure.max()))
    n_failed = int((~answer.ok).sum())
    return LearnedErrors(training, molecule, cause, n_failed, over(every, "forces"), of_element, by_energy)
