"""What the judge may ask of a guest beside energy, forces and stress, and what the guest reports unasked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, molecule

from sandbox.drivers.process_driver import ProcessDriver
from sandbox.verdict import Verdict
from sandbox.wire.remote import RemoteCalculator
from tasks.model.ase_loop import AseLoop
from tasks.model.calculator import InProcessCalculator
from tasks.model.call_costs import COLUMNS
from tasks.structures.frames import Frames
from tests.sandbox.guest.asking import asked_by_guest, through_the_guest
from tests.sandbox.guest.models.models import Committee, OfState, Small, StressMatrix

CRYSTALS = Frames.from_atoms([bulk("Cu"), bulk("NaCl", "rocksalt", a=5.6), bulk("Al")])
MIXED = Frames.from_atoms([molecule("CO"), Atoms("Cu"), molecule("H2O"), bulk("NaCl", "rocksalt", a=5.6)])
ALL = ("energy_std", "energy_members", "forces_members", "dipole", "charges", "magmoms")


def test_a_stress_matrix_is_averaged_and_its_asymmetry_reported(process_driver: ProcessDriver) -> None:
    def ask(remote: RemoteCalculator) -> Any:
        first = remote.compute(CRYSTALS.take([0]), remote.properties), remote.stress_asymmetry
        rest = remote.compute(CRYSTALS, remote.properties), remote.stress_asymmetry
        return first[1], rest[1], rest[0]

    outcome = through_the_guest(process_driver, "StressMatrix", ask)
    one_atom, two_atoms, answer = outcome.value
    here = InProcessCalculator(StressMatrix())
    for stress in (answer.stress, here.compute(CRYSTALS, here.properties).stress):
        np.testing.assert_allclose(stress, [[1.0, 2.0, 3.0, 0.6, 0.5, 0.4]] * 3, rtol=0, atol=1e-12)
    assert one_atom == pytest.approx(0.002)
    assert two_atoms == here.stress_asymmetry == pytest.approx(0.004)


def test_a_committee_gives_its_members(process_driver: ProcessDriver) -> None:
    moments = np.array([1.0, -1.0, np.nan, np.nan, np.nan, np.nan, 0.5, 0.25])

    def ask(remote: RemoteCalculator) -> Any:
        assert remote.hello is not None
        plain = remote.compute(MIXED, remote.properties)
        more = remote.compute_more(MIXED, remote.properties, remote.hello.further, initial_magmoms=moments)
        return remote.hello, plain, more

    outcome = through_the_guest(process_driver, "Committee", ask)
    assert outcome.verdict is Verdict.OK, outcome.sentence
    hello, plain, (answer, further) = outcome.value
    assert (hello.further, hello.members, hello.inputs, hello.costs) == (ALL, 3, ("initial_magmoms",), True)
    assert answer.errors == plain.errors == {}
    np.testing.assert_array_equal(answer.energy, plain.energy)
    # Water: the model fails if it is asked for a dipole, and is asked again without further outputs.
    missing = [False, False, True, False]
    for name, expected in (("energy_std", 2.0), ("energy_members", [1.0, 2.0, 6.0])):
        np.testing.assert_allclose(
            further[name], np.where(np.array(missing).reshape(-1, *[1] * (further[name].ndim - 1)), np.nan, expected)
        )
    np.testing.assert_allclose(further["dipole"][:, 0], [0.5, 0.5, np.nan, np.nan])
    np.testing.assert_allclose(further["charges"], [-1, 1, np.nan, np.nan, np.nan, np.nan, -1, 1])
    np.testing.assert_allclose(further["magmoms"], [2, -2, 0, np.nan, np.nan, np.nan, 1, 0.5])
    assert further["forces_members"].shape == (8, 3, 3)
    np.testing.assert_allclose(further["forces_members"][:2, :, 0], [[0, 1, 2], [1, 2, 3]])


def test_a_plain_model_states_nothing_further(process_driver: ProcessDriver) -> None:
    outcome = through_the_guest(process_driver, "OfState", lambda remote: remote.hello)
    assert (outcome.value.further, outcome.value.members) == ((), 0)


def test_names_and_shapes_of_further_outputs() -> None:
    class Gives(OfState):
        implemented_properties = ("energy", "energy_uncertainty", "forces_std", "energies", "magmoms")
        n_members = 2

        def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = ()) -> None:
            self.results = {
                "energy": 0.0,
                "energy_uncertainty": 0.5,
                "forces_std": np.full((len(atoms), 3), 0.25),
                "energies": np.zeros(2),  # of the atoms, since there is no forces_comm
                "magmoms": np.array(["a", "b"]),
            }

    loop = AseLoop(Gives())
    assert sorted(loop.offered) == ["energy_std", "forces_std", "magmoms"]
    frames = Frames.from_atoms([molecule("CO")]).arrays()
    result = loop.compute(frames, ("energy",), (*ALL, "forces_std"))
    assert result.failures == []
    assert result.further["energy_std"].tolist() == [0.5]
    assert result.further["forces_std"].tolist() == [[0.25] * 3] * 2
    for name in ("energy_members", "magmoms", "dipole"):
        assert np.isnan(result.further[name]).all()
    assert result.further["energy_members"].shape == (1, 2)


def test_moments_of_a_structure_are_part_of_what_tells_it_from_the_one_before() -> None:
    class Keeps(OfState):
        def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = ()) -> None:
            changes.append(system_changes)
            moments = atoms.get_initial_magnetic_moments()
            self.results = {"energy": float(moments.sum()), "forces": np.zeros((len(atoms), 3))}

    changes: list[Any] = []
    frames = Frames.from_atoms([bulk("Fe")] * 3).arrays() | {"initial_magmoms": np.array([2.0, 2.0, np.nan])}
    assert AseLoop(Keeps()).compute(frames, ("energy",)).energy.tolist() == [2.0, 2.0, 0.0]
    assert ["initial_magmoms" in each for each in changes] == [True, False, True]


def test_moments_of_frames_go_through_the_wire(process_driver: ProcessDriver) -> None:
    """Chains of four Cr atoms + - + -, whose bonds have 0.1 eV m_i m_j and springs; also in one batch with others."""
    order, bare = np.array([2.0, -2.0, 2.0, -2.0, 1.0, -1.0, 1.0, -1.0]), np.full(4, np.nan)
    atoms = Atoms("Cr4", [[2.5 * k, 0, 0] for k in range(4)], cell=[10.0, 9.0, 9.0], pbc=True)
    none = Frames.from_atoms([atoms] * 2)
    both = replace(none, initial_magmoms=order)
    mixed = replace(Frames.from_atoms([atoms] * 4), initial_magmoms=np.concatenate([bare, order, bare]))

    def ask(remote: RemoteCalculator) -> Any:
        answers = [remote.compute(frames, ("energy",)).energy for frames in (none, both, none, mixed)]
        return [*answers, remote.compute_more(mixed, ("energy",))[0].energy]

    outcome = through_the_guest(process_driver, "Exchange", ask)
    assert outcome.verdict is Verdict.OK, outcome.sentence
    strong, weak = (4 * ((0.01 * size**2) ** 2 - 0.1 * size**2) for size in (2.0, 1.0))
    expected = [[0.0] * 2, [strong, weak], [0.0] * 2, *[[0.0, strong, weak, 0.0]] * 2]
    for answer, energies in zip(outcome.value, expected, strict=True):
        np.testing.assert_allclose(answer, energies, rtol=0, atol=1e-12)


def test_each_structure_has_the_costs_of_its_call(process_driver: ProcessDriver) -> None:
    frames = Frames.from_atoms([molecule("C60"), molecule("C60"), molecule("H2O"), molecule("CH4")])

    def ask(remote: RemoteCalculator) -> Any:
        return [remote.compute_more(frames, remote.properties, costs=True)[1]["costs"] for _ in range(2)]

    first, second = through_the_guest(process_driver, "Small", ask).value
    assert COLUMNS == ("seconds", "structures", "atoms", "peak_memory_bytes", "split_for_memory")
    for costs in (first, second):
        assert (costs[:, 0] >= 0).all()
        assert (costs[:, 3] > 1e6).all()
    # 128 atoms do not fit: halved at first, and not tried again.
    assert first[:, 1].tolist() == [1, 3, 3, 3]
    assert first[:, 2].tolist() == [60, 68, 68, 68]
    assert first[:, 4].tolist() == [1, 1, 1, 1]
    assert second[:, 1].tolist() == [1, 2, 2, 1]
    assert second[:, 2].tolist() == [60, 63, 63, 5]
    assert second[:, 4].tolist() == [0, 0, 0, 0]
    alone = through_the_guest(process_driver, "OfState", ask).value[0]
    assert alone[:, 1].tolist() == [1, 1, 1, 1]
    assert alone[:, 2].tolist() == [60, 60, 3, 5]


def test_a_size_that_did_not_fit_is_not_tried_again() -> None:
    model = Small()
    loop = AseLoop(model)
    frames = Frames.from_atoms([molecule("C60")] * 2 + [molecule("CH4")] * 30).arrays()
    assert not loop.compute(frames, ("energy",)).status.any()
    assert [size for size in model.tried if size > 100] == model.tried[:2] == [270, 135]
    model.tried.clear()
    assert not loop.compute(frames, ("energy",)).status.any()
    assert max(model.tried) <= 135 // 2


def test_one_structure_that_never_fits_does_not_make_batches_small() -> None:
    model = Small()
    loop = AseLoop(model)
    frames = Frames.from_atoms([molecule("CH4")] * 7 + [Atoms("U")] + [molecule("CH4")] * 8)
    assert np.flatnonzero(loop.compute(frames.arrays(), ("energy",)).status).tolist() == [7]
    model.tried.clear()
    assert not loop.compute(frames.take(list(range(7))).arrays(), ("energy",)).status.any()
    assert model.tried == [35]


def test_what_is_not_asked_for_is_not_there() -> None:
    result = AseLoop(Committee()).compute(MIXED.arrays(), ("energy", "forces"))
    assert (result.further, result.costs) == ({}, None)


def test_the_guest_answers_a_plain_question_with_the_plain_arrays(process_driver: ProcessDriver) -> None:
    """The judge's guard refuses any other array."""
    assert asked_by_guest(process_driver, "Committee", MIXED).errors == {}
