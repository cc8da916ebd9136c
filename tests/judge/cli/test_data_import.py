"""`judge data import extxyz`: units, label sets and clusters as stated, and one line for each refusal."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ase import units
from ase.build import molecule
from ase.calculators.singlepoint import SinglePointCalculator
from ase.io import write

from tests.judge.cli.data_command import MOLECULES, NAMED, crystals, mine, run
from tests.tasks.importing.ml_peg.layouts import MADE
from tests.world.world import World


def test_stated_units_are_those_of_the_data_set(data_world: World) -> None:
    made = crystals(energy=1 / units.Hartree, forces=units.Bohr / units.Hartree, stress=-10 / units.GPa)
    write("mine.extxyz", made)
    stated = "energy=hartree,length=angstrom,forces=hartree/bohr,stress=-kbar"
    status, out, err = run("import", "extxyz", "mine.extxyz", *NAMED, "--units", stated, "--cluster", "composition")
    assert status == 0, err
    labels, right = mine(data_world).labels(), crystals()
    np.testing.assert_allclose(labels.energy, [a.get_potential_energy() for a in right], atol=1e-6)
    np.testing.assert_allclose(labels.forces, np.concatenate([a.get_forces() for a in right]), atol=1e-6)
    np.testing.assert_allclose(labels.stress, [a.get_stress() for a in right], atol=1e-7)
    assert set(mine(data_world).clusters) == {"Pt8"}
    assert mine(data_world).card.cluster_column == "composition"
    assert "clusters of frames (by composition): 1, median 10 frames, largest 10" in out.splitlines()
    alone = "DOUBTFUL  clusters: there is only one: it cannot be resampled, and intervals will be too narrow"
    assert alone in out.splitlines()
    largest = max(np.abs(a.get_stress()).max() for a in right) / units.GPa
    assert "10 structures of 8 atoms, 80 in all" in out
    assert "Next: judge data verify mine@1 --with IMAGE" in out
    assert "charge: 0 × 10; 2S+1: not stated × 10" in out
    assert f" to {largest:.4g}, median" in out.partition("size of a stress component [GPa]: ")[2].splitlines()[0]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "--units: is missing: extxyz does not state its units; say ase, or energy="),
        (
            ("--units", "ase", "--fparam", "charge"),
            "--fparam: is not for extxyz, which has no use for it",
        ),
        (("--units", "ase", "--without", "charges"), "--without: 'charges' is no label: say energy, forces, stress"),
        (("--units", "ase", "--name", "My set"), "--name: must be lower-case letters, digits and dashes, not 'My set'"),
        (("--units", "ase", "--d3", "pbe-bj"), "--d3: the labels then contain dispersion: say --dispersion"),
        (
            ("--units", "ase", "--dispersion", "--d3", "pbe"),
            "--d3: 'pbe' must be a functional and bj or zero, as",
        ),
        (("--units", "ase", "--also", "PBE"), "--also: 'PBE' must be LABELSET=…, each label set once"),
        (("--units", "ase", "--also-theory", "PBE=words"), '--also: is missing for PBE; say --also "PBE=PATH"'),
        (("--units", "ase", "--also", "EMT=x.xyz"), "--also…: EMT is --label-set itself; name another label set"),
        (("--units", "ase", "--also", "PBE=nowhere.xyz"), "nowhere.xyz: is not there"),
        (
            ("--units", "ase", "--cluster", "trajectory"),
            "--cluster: 'trajectory' must be composition, group, none or info:FIELD, as in info:trajectory",
        ),
        (
            ("--units", "ase", "--cluster", "info:run"),
            "mine.extxyz: frame 0: run: is missing: write run= in its comment line, as --cluster info:run needs it of",
        ),
    ],
)
def test_options_that_make_no_sense_are_refused(data_world: World, arguments: tuple[str, ...], says: str) -> None:
    write("mine.extxyz", crystals())
    status, _, err = run("import", "extxyz", "mine.extxyz", *NAMED, *arguments)
    assert status == 2
    assert says in err
    assert "\n" not in err
    assert not (data_world.root / "data" / "mine@1").exists()


def test_several_label_sets_each_with_its_own_theory_and_units(data_world: World) -> None:
    write("one.extxyz", crystals())
    write("two.extxyz", crystals(energy=2 / units.Hartree, forces=2 * units.Bohr / units.Hartree))
    also = ("--also", "r2SCAN=two.extxyz", "--also-theory", "r2SCAN=r2SCAN-D4, k = 8", "--also-dispersion", "r2SCAN")
    d3 = ("--theory", "PBE-D3(BJ)", "--dispersion", "--d3", "pbe-bj", "--units", "ase")
    units_of = "r2SCAN=energy=hartree,length=angstrom,forces=hartree/bohr,stress="
    status, _, err = run("import", "extxyz", "one.extxyz", *NAMED, *d3, *also, "--also-units", f"{units_of}ase")
    assert status == 2
    assert "--units: stress: 'ase' is no unit of it" in err
    status, out, err = run("import", "extxyz", "one.extxyz", *NAMED, *d3, *also, "--also-units", f"{units_of}eV/Å^3")
    assert status == 0, err
    card = mine(data_world).card
    assert card.label_sets["EMT"].theory == "PBE-D3(BJ)"
    assert card.label_sets["EMT"].d3 is not None
    assert (card.label_sets["EMT"].d3.functional, card.label_sets["EMT"].d3.damping) == ("pbe", "bj")
    assert (card.label_sets["r2SCAN"].theory, card.label_sets["r2SCAN"].dispersion) == ("r2SCAN-D4, k = 8", True)
    first, second = mine(data_world).labels("EMT"), mine(data_world).labels("r2SCAN")
    np.testing.assert_allclose(second.energy, 2 * np.asarray(first.energy), atol=1e-6)
    assert "label set EMT" in out
    assert "label set r2SCAN" in out


def test_impossible_numbers_are_shown_and_refused_unless_trusted(data_world: World) -> None:
    write("mine.extxyz", crystals(stress=1e5, forces=1e4))
    status, out, err = run("import", "extxyz", "mine.extxyz", *NAMED, "--units", "ase")
    assert status == 2
    assert out.count("IMPOSSIBLE") == 2
    assert "IMPOSSIBLE  EMT: stress: frame " in out
    assert "mine.extxyz: EMT: forces: frame " in err
    assert "meV/Å or kcal/mol/Å taken for eV/Å" in err
    assert "(and 1 more, above) Correct it, or say --trust-ranges if it is meant" in err
    status, _, err = run("import", "extxyz", "mine.extxyz", *NAMED, "--units", "ase", "--trust-ranges")
    assert status == 0, err
    assert mine(data_world).labels().stress is not None


def test_a_multiplicity_for_all_molecules(data_world: World) -> None:
    waters = []
    for i in range(20):
        atoms = molecule("H2O")
        atoms.calc = SinglePointCalculator(atoms, energy=-14.0 - 0.01 * i)
        waters.append(atoms)
    write("water.extxyz", waters)
    command = ("import", "extxyz", "water.extxyz", *MOLECULES, "--units", "ase")
    status, _, err = run(*command)
    assert status == 2
    assert "water.extxyz: frame 0: multiplicity: 2S+1 of this molecule (and of 19 more) is not stated" in err
    assert "--multiplicity 1 for all" in err
    assert run(*command, "--multiplicity", "1")[0] == 0
    assert set(mine(data_world).frames.multiplicity.tolist()) == {1}


def test_fields_that_were_not_read_are_shown(data_world: World) -> None:
    made = crystals()
    for i, atoms in enumerate(made):
        atoms.info["enrgy"] = 1.0 * i
        atoms.calc.results.pop("energy")
    write("mine.extxyz", made)
    status, out, err = run("import", "extxyz", "mine.extxyz", *NAMED, "--units", "ase")
    assert status == 0, err
    assert "not used: enrgy (10 frames)" in out.splitlines()
    assert mine(data_world).labels().energy is None


def test_a_field_names_the_trajectories_and_few_of_them_are_doubtful(data_world: World) -> None:
    made = crystals()
    for i, atoms in enumerate(made):
        atoms.info["run"] = f"at {100 * (i // 4)} K"  # of 4, 4 and 2 frames
    write("mine.extxyz", made)
    write("other.extxyz", crystals())  # labels of another level need not say it again
    also = ("--also", "PBE=other.extxyz")
    status, out, err = run("import", "extxyz", "mine.extxyz", *NAMED, "--units", "ase", *also, "--cluster", "info:run")
    assert status == 0, err
    assert "clusters of frames (by info:run): 3, median 4 frames, largest 4" in out.splitlines()
    assert "DOUBTFUL  clusters: 3 are fewer than 10: intervals will be wide" in out.splitlines()
    assert mine(data_world).card.cluster_column == "info:run"
    assert mine(data_world).clusters == ("at 0 K",) * 4 + ("at 100 K",) * 4 + ("at 200 K",) * 2


def test_ten_clusters_are_not_called_few(data_world: World) -> None:
    write("mine.extxyz", crystals())
    status, out, err = run("import", "extxyz", "mine.extxyz", *NAMED, "--units", "ase")
    assert status == 0, err
    assert "clusters of frames: 10, each its own" in out.splitlines()
    assert "DOUBTFUL  clusters" not in out


def test_the_layouts_of_ml_peg_become_data_sets_of_their_own(data_world: World) -> None:
    for name in ("X23", "Wiggle150", "LNCI16"):
        MADE[name](Path("peg") / name)
    (Path("peg") / "LNCI16" / "references.json").unlink()
    status, out, err = run("import", "ml-peg", "peg")
    assert status == 1, err
    assert "ml-peg-x23@1: 2 structures, 1 items" in out.splitlines()
    assert "ml-peg-wiggle150@1: 4 structures, 2 items" in out.splitlines()
    assert "NOT  peg/LNCI16/references.json: is not there" in out
    assert run("import", "ml-peg", "peg", "--only", "X23")[0] == 0
    for options, says in (
        (("--only", "X24"), "--only: 'X24' cannot be imported"),
        (("--name", "mine"), "--name: is not for ml-peg, which states it"),
        (("--mode", "dev"), "--mode: is not for ml-peg"),
    ):
        status, _, err = run("import", "ml-peg", "peg", *options)
        assert status == 2
        assert says in err
