"""Distributions and backbones of runs that are known exactly, and one line for what cannot be measured."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from ase import Atoms
from pydantic import ValidationError

from tasks.dynamics.analyses import analysed, unmeasured
from tasks.dynamics.analysis_checks import check_analysis
from tasks.dynamics.simulate import DynamicsSettings
from tasks.structures.frames import Float, Frames
from tests.tasks.dynamics.test_analyses import analysis, runs_of

FLAT = {"x": [0.0, 4000.0], "y": [7.0, 7.0]}
WATER = Atoms("OH2", [(0, 0, 0), (1, 0, 0), (0, 1, 0)])
# φ = ψ = 180°: a stretched chain of three residues, in a plane.
ZIGZAG = [(1.2 * i, 0.8 * (i % 2), 0.0) for i in range(9)]
OXYGENS = [(1.2 * i, 2.0 * (i % 2) - 1.2 * (1 - i % 2), 0.0) for i in (2, 5, 8)]
STRETCHED = Atoms("NCC" * 3 + "OOO", ZIGZAG + OXYGENS)
RESIDUES = [{"name": "ALA", "n": 3 * k, "ca": 3 * k + 1, "c": 3 * k + 2, "o": 9 + k} for k in range(3)]


def still(atoms: Atoms, n_frames: int = 3) -> Float:
    return np.repeat(atoms.positions[None], n_frames, axis=0)


def settings(**other: Any) -> DynamicsSettings:
    return DynamicsSettings(
        **{"ensemble": "nvt", "steps": 4000, "store_every": 2, "equilibration_steps": 1000, **other}
    )


def spectrum(reference: Any = FLAT, **fields: Any) -> Any:
    return analysis("vibrational_spectrum", reference, **{"from_ps": 1.0, "to_ps": 4.0, **fields})


def test_angles_against_a_curve_and_against_that_of_an_ideal_gas() -> None:
    """A right angle alone: the same as a peak at 90°, without overlap with one at 45°, half with both."""
    peak = {"x": [89.0, 91.0, 93.0], "y": [0.0, 5.0, 0.0]}
    stated: dict[str, Any] = {"centres": [0], "partners": [1, 2], "distance": 1.2, "n_bins": 90}
    far = {"x": [0.0, 40.0, 45.0, 50.0, 180.0], "y": [0.0, 0.0, 3.0, 0.0, 0.0]}
    run = runs_of(still(WATER), atoms=WATER)
    assert analysed(analysis("angular_distribution", peak, **stated), run, "exact").error == pytest.approx(0.0)
    assert analysed(analysis("angular_distribution", far, **stated), run, "exact").error == pytest.approx(2.0)
    angles = np.arange(1.0, 180.0, 2.0)
    gas = {"x": angles.tolist(), "y": np.sin(np.deg2rad(angles)).tolist()}
    assert analysed(analysis("angular_distribution", gas, **stated), run, "exact").trivial == pytest.approx(0.0)
    gone = WATER.copy()
    gone.positions[2] *= 3
    lost = analysed(analysis("angular_distribution", far, **stated), runs_of(still(gone), atoms=WATER), "exact")
    assert np.isnan(lost.error)
    with pytest.raises(ValueError, match=r"here: distance: no centre has two partners within 1\.2 Å"):
        check_analysis("here", analysis("angular_distribution", far, **stated), Frames.from_atoms([gone]), settings())


def test_the_spectrum_of_two_oscillators_by_their_masses() -> None:
    """¹H at 90 THz and O at 30 THz with equal energy: m a² ω² is equal, so both lines have half of the area."""
    times = 0.002 * np.arange(2001)
    positions = np.zeros((2001, 2, 3))
    for atom, (frequency, mass) in enumerate(((90.0, 1.008), (30.0, 15.999))):
        positions[:, atom, 0] = 0.1 / (frequency * np.sqrt(mass)) * np.sin(2 * np.pi * frequency * times)
    pair = Atoms("HO", np.zeros((2, 3)))
    run = runs_of(positions, atoms=pair)
    run = run._replace(trajectories=[replace(run.trajectories[0], times_ps=times)])
    lines = {}
    for thz in (30.0, 60.0, 90.0):
        top = thz * 33.35641
        lines[thz] = {"x": [0.0, top - 60, top, top + 60, 4000.0], "y": [0.0, 0.0, 1.0, 0.0, 0.0]}
    # The same half of the area is missing whichever line is the reference; between the lines there is none.
    errors = {thz: analysed(spectrum(line, bin_width=40.0), run, "exact").error for thz, line in lines.items()}
    assert errors[60.0] == pytest.approx(2.0, abs=0.01)
    assert errors[30.0] == pytest.approx(errors[90.0], abs=0.1)
    assert 1.0 <= errors[30.0] < 1.3
    alone = analysed(spectrum(lines[90.0], bin_width=40.0, atoms=[0]), run, "exact")
    assert alone.error < 0.4
    nothing = unmeasured(spectrum(), Frames.from_atoms([pair]), "exact", 300.0)
    assert np.isnan(nothing.error)
    assert nothing.trivial == pytest.approx(0.0)
    assert unmeasured(spectrum(lines[30.0]), Frames.from_atoms([pair]), "exact", 300.0).trivial > 1.8


@pytest.mark.parametrize(
    ("stated", "run", "line"),
    [
        (spectrum(), {"ensemble": "npt"}, "the barostat moves molecules in npt: run it in nve or nvt"),
        (spectrum(from_ps=0.5), {}, "must be within 1 to 4 ps, the run after the equilibration"),
        (spectrum(to_ps=4.5), {}, "must be within 1 to 4 ps"),
        (spectrum(bin_width=1.0), {}, "bin_width: 1 cm⁻¹ is too fine for the segment"),
        (spectrum(), {"store_every": 5}, "goes beyond 3336 cm⁻¹, half the rate of the frames: store more often"),
    ],
)
def test_a_spectrum_that_the_run_cannot_give_is_named(stated: Any, run: dict[str, Any], line: str) -> None:
    with pytest.raises(ValueError, match=line):
        check_analysis("here", stated, Frames.from_atoms([WATER]), settings(**run))


def test_backbone_outliers_of_a_stretched_chain() -> None:
    """One residue has φ and ψ, both 180°: (−179°, 171°) is within 10°, (165°, 180°) is not."""
    run = runs_of(still(STRETCHED), atoms=STRETCHED)
    near = {"GENERAL": [[-179.0, 171.0], [0.0, 0.0]]}
    far = {"GENERAL": [[165.0, 180.0]]}
    assert analysed(analysis("dihedral_outliers", near, residues=RESIDUES), run, "exact").error == 0.0
    assert analysed(analysis("dihedral_outliers", far, residues=RESIDUES), run, "exact").error == 100.0
    start = Frames.from_atoms([STRETCHED])
    with pytest.raises(ValueError, match="here: references: there are no points for ALA"):
        check_analysis("here", analysis("dihedral_outliers", {"GLY": [[0, 0]]}, residues=RESIDUES), start, settings())
    apart = [residue | {"chain": k} for k, residue in enumerate(RESIDUES)]
    with pytest.raises(ValueError, match="residues: none is between two others of its chain"):
        check_analysis("here", analysis("dihedral_outliers", near, residues=apart), start, settings())


def test_secondary_structure_against_stated_classes() -> None:
    pytest.importorskip("mdtraj")
    run = runs_of(still(STRETCHED), atoms=STRETCHED)
    same = analysed(analysis("secondary_structure", "---", residues=RESIDUES), run, "exact")
    assert (same.predicted, same.reference, same.error) == (100.0, 100.0, 0.0)
    other = analysed(analysis("secondary_structure", "-HE", residues=RESIDUES), run, "exact")
    assert other.error == pytest.approx(-200 / 3)
    with pytest.raises(ValidationError, match="has 2 letters for 3 residues"):
        analysis("secondary_structure", "-H", residues=RESIDUES)


def test_without_mdtraj_nothing_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mdtraj", None)
    stated = analysis("secondary_structure", "---", residues=RESIDUES)
    with pytest.raises(ValueError, match="here: secondary structure needs mdtraj, which is not installed: pip install"):
        check_analysis("here", stated, Frames.from_atoms([STRETCHED]), settings())
