"""The end of a relaxation: its last structure, whatever may move, converged or not."""

from __future__ import annotations

import numpy as np
import pytest
from ase import Atoms, units
from ase.build import bulk
from ase.constraints import FixAtoms
from ase.optimize import LBFGS

from tasks.model.calculator import AseCalculator, InProcessCalculator
from tasks.simulation.relaxation import Freedom, Relaxation, last_iterate
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import Predictions, Properties
from tests.tasks.made_up_crystals import silicon

TIGHT = Relaxation(optimizer="BFGS", fmax=1e-5, max_steps=300)


class Bowl:
    """Springs [1 eV/Å²] to the sites where the atoms belong."""

    properties: Properties = ("energy", "forces")
    max_atoms_per_batch = 100_000

    def __init__(self, sites: Float) -> None:
        self.sites = sites

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        away = frames.positions - self.sites
        return Predictions.checked(frames, np.array([0.5 * (away**2).sum()]), -away, None, {})


def displaced(n: int, distance: float) -> tuple[Atoms, Bowl]:
    """n atoms, each displaced by `distance` [Å] from its site: the RMSD is `distance`."""
    sites = np.arange(3.0 * n).reshape(n, 3)
    return Atoms(f"H{n}", positions=sites + np.array([distance, 0.0, 0.0])), Bowl(sites)


def rmsd(atoms: Atoms, model: Bowl) -> float:
    return float(np.sqrt(((atoms.positions - model.sites) ** 2).sum(axis=1).mean()))


def test_the_end_is_the_last_structure_also_if_it_has_not_converged() -> None:
    start, model = displaced(4, 0.5)
    settings = Relaxation(optimizer="BFGS", fmax=1e-6, max_steps=1)
    end = last_iterate(start, model, settings, Freedom("fixed"))
    # The first step of BFGS is the force over 70 eV/Å².
    assert rmsd(end.atoms, model) == pytest.approx(0.5 * (1 - 1 / 70), abs=1e-12)
    assert end.energy == pytest.approx(4 * 0.5 * rmsd(end.atoms, model) ** 2, abs=1e-12)
    assert end.largest_force == pytest.approx(rmsd(end.atoms, model), abs=1e-12)
    assert (end.steps, end.converged) == (1, False)
    end = last_iterate(start, model, Relaxation(optimizer="BFGS", fmax=1e-6), Freedom("fixed"))
    assert end.converged
    assert rmsd(end.atoms, model) < 1e-6


def test_fixed_atoms_do_not_move_and_their_forces_do_not_count() -> None:
    start, model = displaced(4, 0.5)
    end = last_iterate(start, model, TIGHT, Freedom("fixed", fixed=(0, 3)))
    assert end.converged
    moved = np.abs(end.atoms.positions - start.positions).max(axis=1)
    np.testing.assert_allclose(moved, [0.0, 0.5, 0.5, 0.0], atol=1e-5)
    assert moved[0] == moved[3] == 0.0
    assert end.largest_force < 1e-5
    assert not end.atoms.constraints
    with pytest.raises(ValueError, match="relaxation: fixed: 4: the structure has the atoms 0 to 3"):
        last_iterate(start, model, TIGHT, Freedom("fixed", fixed=(4,)))


def test_a_hydrostatic_cell_keeps_its_shape_and_reaches_the_pressure() -> None:
    start = bulk("Si", a=5.6)
    start.set_cell(start.cell.array @ np.diag([1.0, 1.0, 1.03]), scale_atoms=True)
    end = last_iterate(start, InProcessCalculator(silicon()), TIGHT, Freedom("hydrostatic"), 2.0)
    stretch = np.linalg.solve(start.cell.array, end.atoms.cell.array)
    np.testing.assert_allclose(stretch, stretch[0, 0] * np.eye(3), atol=1e-9)
    end.atoms.calc = silicon()
    assert -end.atoms.get_stress()[:3].mean() == pytest.approx(2.0 * units.GPa, abs=1e-5)


def test_a_strain_that_may_not_change_does_not() -> None:
    start = bulk("Si", a=5.6, cubic=True)
    end = last_iterate(
        start, InProcessCalculator(silicon()), TIGHT, Freedom(strains=(True, True, False, False, False, False))
    )
    assert end.atoms.cell[2, 2] == pytest.approx(5.6, abs=1e-9)
    assert end.atoms.cell[0, 0] < 5.5
    end.atoms.calc = silicon()
    stress = end.atoms.get_stress()
    assert np.abs(stress[:2]).max() < 1e-4
    assert abs(stress[2]) > 0.01


def test_more_than_a_thousand_atoms_need_no_square_matrix() -> None:
    start, model = displaced(1001, 0.01)
    end = last_iterate(
        start, model, Relaxation(optimizer="BFGS", fmax=1e-3, max_steps=20), Freedom("fixed", fixed=(0,))
    )
    plain = start.copy()
    plain.set_constraint(FixAtoms([0]))  # type: ignore[no-untyped-call]
    plain.calc = AseCalculator(model, ("energy", "forces"))
    LBFGS(plain, logfile=None).run(fmax=1e-5, steps=20)
    np.testing.assert_array_equal(end.atoms.positions, plain.positions)
