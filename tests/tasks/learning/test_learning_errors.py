"""Errors of trained models by hand: elements add up to the whole, energies have no shift, composition alone."""

from __future__ import annotations

import numpy as np
import pytest
from ase import Atoms

from tasks.datasets.dataset import Dataset
from tasks.kind import Observation
from tasks.learning.learning_errors import composition_energies, learned_errors
from tasks.learning.training import FailedTraining, Training, joined, training_frames
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import Cause, Labels, Predictions
from tests.tasks.made_up import make_dataset

N = 40


def training(molecules: tuple[str, ...] = (), asked: tuple[str, ...] = (), n: int = 9) -> Training:
    return Training(f"n{n}-s1", molecules, 0.0, 0.9, n, asked, 0, seed=1, wall_s=1.0)


def two_molecules() -> Dataset:
    """40 frames of H2O and of CH4, with random labels: the energy of an O atom is about −20 eV, and so on."""
    rng = np.random.default_rng(3)
    frames = [Atoms(formula, rng.normal(size=(len(Atoms(formula)), 3))) for formula in ("H2O", "CH4") for _ in range(N)]
    made = Frames.from_atoms(frames)
    energy = np.repeat([2 * -3.0 - 20.0, -10.0 + 4 * -3.0], N) + rng.normal(size=2 * N)
    dataset = make_dataset(made, Labels(energy, rng.normal(size=(len(made.numbers), 3))))
    table = dataset.table.model_copy(update={"group": ("water",) * N + ("methane",) * N})
    return Dataset(dataset.card, dataset.frames, table, dataset.label_arrays)


def answered(dataset: Dataset, chosen: Training, failed: tuple[int, ...] = (), shift: float = 0.0) -> Observation:
    """The labels with errors of forces, some frames without an answer, and energies that are shifted."""
    asked = training_frames(dataset, chosen).asked
    labels, rng = dataset.labels(), np.random.default_rng(8)
    energy = labels.energy[asked] + shift
    forces = labels.forces[dataset.frames.atom_indices(asked)]
    forces = forces + 0.1 * rng.normal(size=forces.shape)
    failure = np.zeros(len(asked), np.int8)
    frames = dataset.frames.take(asked)
    for index in failed:
        failure[index], energy[index], forces[frames.atom_slice(index)] = Cause.ERROR, np.nan, np.nan
    return Observation(Predictions(energy, forces, None, failure).arrays(("energy", "forces")))


def test_errors_of_elements_weighted_by_atoms_add_up_to_the_whole() -> None:
    dataset, chosen = two_molecules(), training()
    for failed in ((), (0, 5)):
        observation = joined({chosen.name: answered(dataset, chosen, failed)})
        (item,) = learned_errors(observation, dataset, [chosen], None)
        assert set(item.of_element) == {"H", "C", "O"}
        weighted = sum(each.mean * each.n_answered for each in item.of_element.values())
        assert weighted / item.force.n_answered == pytest.approx(item.force.mean, rel=1e-14)
        assert sum(each.n_answered for each in item.of_element.values()) == item.force.n_answered
        trivial = sum(each.baseline * each.counts.sum() for each in item.of_element.values())
        assert trivial / item.force.counts.sum() == pytest.approx(item.force.baseline, rel=1e-14)


def test_energies_are_compared_without_a_shift() -> None:
    dataset, chosen = two_molecules(), training(("water",), ("water",))
    (item,) = learned_errors(joined({chosen.name: answered(dataset, chosen, shift=0.6)}), dataset, [chosen], None)
    assert item.energy.mean == pytest.approx(0.2)  # of three atoms


def test_the_energy_of_composition_alone_is_the_mean_of_what_is_learned_from() -> None:
    dataset, chosen = two_molecules(), training(("methane",), ("methane",))
    learned, asked = training_frames(dataset, chosen)
    energy: Float = dataset.labels().energy
    of_composition = composition_energies(dataset, learned, asked, None)
    assert of_composition == pytest.approx(energy[learned].mean())
    (item,) = learned_errors(joined({chosen.name: answered(dataset, chosen)}), dataset, [chosen], None)
    by_hand = np.abs(energy[asked] - energy[learned].mean()).mean() / 5
    assert item.energy.baseline == pytest.approx(by_hand)
    forces = dataset.labels().forces[dataset.frames.atom_indices(asked)]
    assert item.force.baseline == pytest.approx(np.abs(forces).mean())


def test_constants_of_several_molecules_are_fitted_by_element() -> None:
    """Two molecules and three elements: each molecule has its own mean."""
    dataset, chosen = two_molecules(), training()
    learned, asked = training_frames(dataset, chosen)
    energy: Float = dataset.labels().energy
    means = [energy[learned[:9]].mean(), energy[learned[9:]].mean()]
    assert composition_energies(dataset, learned, asked, None) == pytest.approx(np.repeat(means, 4))


def test_each_molecule_that_is_asked_about_has_its_own_item() -> None:
    dataset, chosen = two_molecules(), training()
    observation = joined({chosen.name: answered(dataset, chosen, (5,))})
    water, methane = learned_errors(observation, dataset, [chosen], None, by_molecule=True)
    assert (water.id, methane.id) == ("n9-s1:water", "n9-s1:methane")
    assert (water.n_failed, methane.n_failed) == (0, 1)
    (whole,) = learned_errors(observation, dataset, [chosen], None)
    assert whole.id == "n9-s1"
    assert water.force.total + methane.force.total == pytest.approx(whole.force.total)
    assert set(water.of_element) == {"H", "O"}


def test_a_failed_frame_costs_ten_times_composition_alone_and_so_does_a_training() -> None:
    dataset, chosen = two_molecules(), training(("water",), ("water",))
    (item,) = learned_errors(joined({chosen.name: answered(dataset, chosen, (1,))}), dataset, [chosen], None)
    assert (item.cause, item.n_failed) == (Cause.NONE, 1)
    three = item.force.mean * 3 / 4
    assert item.force.penalised == pytest.approx(three + 10 * item.force.baseline / 4)
    nothing = joined({chosen.name: FailedTraining(Cause.OUT_OF_MEMORY, "Nothing lies in out_dir.")})
    (item,) = learned_errors(nothing, dataset, [chosen], None)
    assert (item.cause, item.n_failed) == (Cause.OUT_OF_MEMORY, 4)
    assert np.isnan(item.force.mean)
    assert item.force.penalised == pytest.approx(10 * item.force.baseline)
    assert item.energy.penalised == pytest.approx(10 * item.energy.baseline)


def test_a_model_without_forces_fails_in_forces_alone() -> None:
    dataset, chosen = two_molecules(), training(("water",), ("water",))
    arrays = dict(answered(dataset, chosen).arrays)
    del arrays["forces"]
    (item,) = learned_errors(joined({chosen.name: Observation(arrays)}), dataset, [chosen], None)
    assert item.force.penalised == pytest.approx(10 * item.force.baseline)
    assert item.energy.mean == pytest.approx(0.0, abs=1e-12)


def test_a_frame_without_a_label_is_refused() -> None:
    dataset, chosen = two_molecules(), training()
    energy = dataset.labels().energy.copy()
    energy[N - 1] = np.nan
    holed = Dataset(dataset.card, dataset.frames, dataset.table, {"PBE": Labels(energy, dataset.labels().forces)})
    with pytest.raises(ValueError, match="has no energy, or no forces"):
        learned_errors(joined({chosen.name: answered(dataset, chosen)}), holed, [chosen], None)
    with pytest.raises(ValueError, match="training n9-s1 is missing"):
        learned_errors(Observation({}), dataset, [chosen], None)
