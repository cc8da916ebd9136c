"""ASE overlooks a change of charge: no calculator, however it caches, may answer for another charge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ase.build import molecule
from ase.calculators.calculator import Calculator, all_changes
from ase.calculators.emt import EMT
from ase.calculators.mixing import SumCalculator

from tasks.model.calculator import AseCalculator, InProcessCalculator
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause


class CachesOnStructure(Calculator):
    """Computes nothing if ASE reports no change."""

    implemented_properties = ["energy", "forces"]  # noqa: RUF012

    def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
        super().calculate(atoms, properties, system_changes)
        if self.results and not system_changes:
            return
        energy = 10.0 * atoms.info.get("charge", 0) + atoms.info.get("spin", 0) + 1e-3 * atoms.positions.sum()
        self.results = {"energy": energy, "forces": np.zeros((len(atoms), 3))}


class CachesInGetProperty(CachesOnStructure):
    """Relies on `check_state`, as most calculators that are called through `get_property`."""

    def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
        if self.results and not self.check_state(atoms):
            return
        super().calculate(atoms, properties, all_changes)


def charged_and_neutral() -> Frames:
    structures = []
    for charge, spin in ((0, 0), (1, 2), (-1, 2), (0, 5), (0, 3)):
        atoms = molecule("H2O")
        atoms.info |= {"charge": charge, "spin": spin}
        structures.append(atoms)
    return Frames.from_atoms(structures)


@pytest.mark.parametrize(
    "make",
    [
        CachesOnStructure,
        CachesInGetProperty,
        lambda: SumCalculator([CachesOnStructure()]),
        lambda: SumCalculator([SumCalculator([CachesInGetProperty()])]),
    ],
)
def test_a_charged_frame_gets_its_own_energy(make: Any) -> None:
    frames = charged_and_neutral()
    together = InProcessCalculator(make()).compute(frames, ("energy",)).energy
    alone = [InProcessCalculator(make()).compute(frames.take([i]), ("energy",)).energy[0] for i in range(len(frames))]
    assert together.tolist() == alone
    assert len(set(alone)) == 5


def test_the_reverse_way_sees_charge_too() -> None:
    atoms = molecule("H2O")
    atoms.calc = AseCalculator(InProcessCalculator(CachesOnStructure()))
    neutral = atoms.get_potential_energy()
    atoms.info["charge"] = 1
    assert atoms.get_potential_energy() == pytest.approx(neutral + 10.0 + 1.0)  # 2S+1 of the cation is 2, not 1


def test_a_frame_that_fails_leaves_the_others_alone() -> None:
    frames = Frames.from_atoms([molecule("H2O"), molecule("SiH4"), molecule("CO")])
    answer = InProcessCalculator(EMT()).compute(frames, ("energy", "forces"))
    assert answer.failure.tolist() == [0, Cause.UNSUPPORTED, 0]
    for i in (0, 2):
        atoms = frames.atoms(i)
        atoms.calc = EMT()
        assert answer.energy[i] == atoms.get_potential_energy()
        np.testing.assert_array_equal(answer.forces[frames.atom_slice(i)], atoms.get_forces())
    assert np.isnan(answer.forces[frames.atom_slice(1)]).all()
