"""Every structure has charge and spin in `atoms.info`, the same in the guest and in this process."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, fcc111, molecule

from sandbox.drivers.process_driver import ProcessDriver
from tasks.datasets.dataset import Dataset
from tasks.quickstart.molecules import build_dbh24, build_s22
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause
from tests.sandbox.guest.asking import Ask, asked_by_guest, asked_here


def with_state(atoms: Atoms, **info: int) -> Atoms:
    atoms.info |= info
    return atoms


def in_box(atoms: Atoms) -> Atoms:
    atoms.set_cell([9.0, 9.0, 9.0])
    atoms.pbc = True
    return atoms


# Structures, and charge and spin that a calculator reads.
STRUCTURES = {
    "water": (molecule("H2O"), (0, 1)),
    "oxygen as a triplet": (with_state(molecule("O2"), spin=3), (0, 3)),
    "oxygen, of which nothing is stated": (molecule("O2"), (0, 1)),
    "hydronium": (with_state(Atoms("OH3", np.eye(4)[:, :3]), charge=1), (1, 1)),
    "a radical": (molecule("CH3"), (0, 2)),
    "its anion": (with_state(molecule("CH3"), charge=-1), (-1, 1)),
    "a stated singlet": (with_state(molecule("OH"), charge=-1, spin=1), (-1, 1)),
    "copper": (bulk("Cu"), (0, 0)),
    "a charged crystal": (with_state(bulk("Cu"), charge=1), (1, 0)),
    "iron of known spin": (with_state(bulk("Fe"), spin=3), (0, 3)),
    "a slab": (fcc111("Al", (1, 1, 2), vacuum=5.0), (0, 0)),
    "water in a box": (in_box(molecule("H2O")), (0, 0)),
}


@pytest.fixture(params=["here", "guest"])
def ask(request: pytest.FixtureRequest, process_driver: ProcessDriver) -> Ask:
    return asked_here if request.param == "here" else partial(asked_by_guest, process_driver)


@pytest.mark.parametrize("model", ["OfState", "InBatches"])
def test_every_structure_has_charge_and_spin_as_integers(ask: Ask, model: str) -> None:
    frames = Frames.from_atoms([atoms for atoms, _ in STRUCTURES.values()])
    answer = ask(model, frames)
    states = [100.0 * charge + spin + 0.1 * len(atoms) for atoms, (charge, spin) in STRUCTURES.values()]
    assert answer.errors == {}
    assert dict(zip(STRUCTURES, answer.energy, strict=True)) == pytest.approx(
        dict(zip(STRUCTURES, states, strict=True))
    )


@pytest.mark.parametrize("build", [build_s22, build_dbh24])
def test_a_model_that_demands_both_answers_all_of_a_packaged_set(ask: Ask, build: Callable[[], Dataset]) -> None:
    """S22 has neutral singlets, DBH24 radicals and ions."""
    frames = build().frames
    answer = ask("OfState", frames, "Molecules")
    assert answer.errors == {}
    assert answer.ok.all()
    states = answer.energy - 0.1 * frames.n_atoms - 100.0 * frames.charge
    assert states == pytest.approx(frames.multiplicity)


def test_in_the_domain_molecules_a_periodic_box_has_a_spin(ask: Ask) -> None:
    frames = Frames.from_atoms([in_box(molecule(name)) for name in ("H2O", "CH3")])
    assert ask("OfState", frames, "Molecules").energy == pytest.approx([1.3, 2.4])
    assert ask("OfState", frames, "Inorganic Materials").energy == pytest.approx([0.3, 0.4])


def test_a_model_that_ignores_states_is_not_disturbed_and_one_that_refuses_them_is_named(ask: Ask) -> None:
    frames = Frames.from_atoms([molecule("H2O"), bulk("Cu")])
    assert ask("WithoutState", frames).energy == pytest.approx([0.3, 0.1])
    refused = ask("AgainstState", frames)
    assert refused.failure.tolist() == [Cause.ERROR] * 2
    assert {error.text for error in refused.errors.values()} == {"unexpected keys in atoms.info: charge, spin"}


def test_another_state_of_the_same_atoms_gets_an_answer_of_its_own(ask: Ask) -> None:
    """`OfState` keeps its results where ASE sees no change, as many calculators do."""
    states = [{}, {"charge": 1}, {"charge": 1, "spin": 4}, {"spin": 3}, {}]
    frames = Frames.from_atoms([with_state(molecule("H2O"), **state) for state in states])
    assert ask("OfState", frames).energy == pytest.approx([1.3, 102.3, 104.3, 3.3, 1.3])


def test_the_spin_changes_with_the_periodicity_alone(ask: Ask) -> None:
    frames = Frames.from_atoms([in_box(molecule("CH3")), molecule("CH3")])
    assert ask("OfState", frames).energy == pytest.approx([0.4, 2.4])
