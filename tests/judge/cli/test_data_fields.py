"""`judge data import`: which fields of a file are labels, and what is said of the others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from ase import Atoms
from ase.build import fcc111
from ase.calculators.singlepoint import SinglePointCalculator
from ase.db import connect
from ase.io import write

from tests.judge.cli.data_command import NAMED, crystals, mine, run
from tests.tasks.importing.labelled_structures import xyz
from tests.world.world import World

UNITS = ("--units", "ase")
KEYS = "energy=REF_energy,forces=REF_forces,stress=REF_stress"


def referenced(atoms: Atoms) -> Atoms:
    """The crystal with its labels under the names that MACE reads, and other numbers under ASE's."""
    copy: Atoms = atoms.copy()
    copy.info |= {"REF_energy": atoms.get_potential_energy(), "REF_stress": atoms.get_stress(voigt=False)}
    copy.arrays["REF_forces"] = atoms.get_forces()
    copy.calc = SinglePointCalculator(copy, energy=0.0, forces=np.zeros((len(copy), 3)))
    return copy


def stored(path: Path, format: str) -> None:
    if format == "db":
        with connect(path) as database:
            for atoms in map(referenced, crystals()):
                arrays = {"REF_forces": atoms.arrays["REF_forces"], "REF_stress": atoms.info["REF_stress"]}
                database.write(atoms, REF_energy=atoms.info["REF_energy"], data=arrays)
    else:
        write(path, list(map(referenced, crystals())), format=format)


@pytest.mark.parametrize("format", ["extxyz", "traj", "db"])
def test_labels_under_other_names(data_world: World, format: str) -> None:
    path = Path(f"mine.{format}")
    stored(path, format)
    keys = KEYS if format != "traj" else "energy=REF_energy,stress=REF_stress"  # which keeps no arrays of its own
    status, out, err = run("import", format, str(path), *NAMED, *UNITS, "--keys", keys)
    assert status == 0, err
    labels, right = mine(data_world).labels(), crystals()
    np.testing.assert_allclose(labels.energy, [a.get_potential_energy() for a in right], atol=1e-6)
    np.testing.assert_allclose(labels.stress, [a.get_stress() for a in right], atol=1e-7)
    assert "not used: energy (10 frames)" in out
    if format != "traj":
        np.testing.assert_allclose(labels.forces, np.concatenate([a.get_forces() for a in right]), atol=1e-6)
        assert "forces (10 frames)" in out


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ("energi=REF_energy", "--keys: 'energi' is nothing that is read: say energy, forces, stress, charge,"),
        ("energy", "--keys: 'energy' must be NAME=FIELD, as in --keys energy=REF_energy,forces=REF_forces"),
        ("energy=a,energy=b", "--keys: 'energy=b': energy is there twice"),
        (
            "energy=DFT_energy",
            "mine.extxyz: --keys energy=DFT_energy: no frame has DFT_energy, but REF_energy, ",
        ),
    ],
)
def test_keys_that_name_nothing_are_refused(data_world: World, keys: str, says: str) -> None:
    stored(Path("mine.extxyz"), "extxyz")
    status, _, err = run("import", "extxyz", "mine.extxyz", *NAMED, *UNITS, "--keys", keys)
    assert status == 2
    assert says in err
    assert "\n" not in err


def test_a_file_without_labels_is_told_how_to_name_them(data_world: World) -> None:
    made = list(map(referenced, crystals()))
    for atoms in made:
        atoms.calc = None
    write("mine.extxyz", made)
    status, _, err = run("import", "extxyz", "mine.extxyz", *NAMED, *UNITS)
    assert status == 2
    assert "no frame has any; it has REF_energy, REF_forces, REF_stress: rename what is meant, or say --keys " in err
    assert run("import", "extxyz", "mine.extxyz", *NAMED, *UNITS, "--keys", err.partition("--keys ")[2])[0] == 0


def test_two_levels_of_one_file(data_world: World) -> None:
    stored(Path("mine.extxyz"), "extxyz")
    also = ("--also", "zero=mine.extxyz", "--also-keys", "zero=energy=REF_energy")
    status, _, err = run("import", "extxyz", "mine.extxyz", *NAMED, *UNITS, *also, "--without", "stress")
    assert status == 0, err
    assert set(np.asarray(mine(data_world).labels("EMT").energy).tolist()) == {0.0}
    assert mine(data_world).labels("zero").energy == pytest.approx([a.get_potential_energy() for a in crystals()])


def slabs() -> list[Atoms]:
    made = []
    for i in range(10):
        atoms = fcc111("Pt", (1, 1, 3), vacuum=6.0)
        atoms.calc = SinglePointCalculator(atoms, energy=float(i), stress=np.ones(6))
        made.append(atoms)
    return made


def broken(label: str, text: str) -> str:
    values = {"forces": "0 0 0"} | {label: text}
    info = f'energy={values.get("energy", "1.0")} Lattice="5 0 0 0 5 0 0 0 5"'
    if label in ("stress", "virial"):
        info += f' {label}="{text}"'
    return xyz(info=info, more=":forces:R:3", values=f" {values['forces']}", pbc="T T T") * 12


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("energy", "nan"), ("energy", "much"), ("forces", "nan 0 0"), ("forces", "x 0 0"),
        ("stress", "nan 0 0 0 0 0 0 0 0"), ("stress", "1 2 3"), ("stress", "none"),
    ],
)  # fmt: skip
def test_a_label_that_is_left_out_is_not_read(data_world: World, label: str, text: str) -> None:
    Path("mine.extxyz").write_text(broken(label, text))
    command = ("import", "extxyz", "mine.extxyz", *NAMED, *UNITS)
    status, _, err = run(*command)
    assert status == 2
    assert err.startswith("judge: mine.extxyz: frame 0: ")
    if text != "none" and "x" not in text and text != "1 2 3":  # those are ASE's own lines
        assert f"leave these labels out: --without {label}" in err
    status, out, err = run(*command, "--without", label)
    assert status == 0, err
    assert "not used" not in out
    assert getattr(mine(data_world).labels(), label) is None


def test_stresses_of_slabs_are_left_out_of_every_format(data_world: World) -> None:
    for format in ("extxyz", "traj", "db"):
        path, name = Path(f"mine.{format}"), ("--name", f"mine-{format}")
        write(path, slabs(), format=format)
        status, _, err = run("import", format, str(path), *NAMED, *name, *UNITS)
        assert status == 2
        assert "frame 0: stress: the structure is not periodic and can have none: " in err
        assert run("import", format, str(path), *NAMED, *name, *UNITS, "--without", "stress")[0] == 0


def deepmd_molecules(folder: Path) -> None:
    (folder / "set.000").mkdir(parents=True)
    (folder / "nopbc").touch()
    (folder / "type_map.raw").write_text("H\nQq\n")
    (folder / "type.raw").write_text("0\n0\n")
    for name, array in (("coord", np.tile([0, 0, 0, 0, 0, 0.74], (12, 1))), ("energy", np.arange(12.0))):
        np.save(folder / "set.000" / f"{name}.npy", array)
    np.save(folder / "set.000" / "virial.npy", np.zeros((12, 9)))


def test_deepmd_leaves_files_unread_and_names_of_unused_types_alone(data_world: World) -> None:
    deepmd_molecules(Path("system"))
    command = ("import", "deepmd", "system", *NAMED, "--multiplicity", "1")
    status, _, err = run(*command)
    assert status == 2
    assert "virial.npy: the system is nopbc and can have none; remove the file, or say --without stress" in err
    np.save("system/set.000/virial.npy", np.full((12, 9), np.nan))
    status, _, err = run(*command, "--without", "stress")
    assert status == 0, err
    assert set(mine(data_world).frames.numbers.tolist()) == {1}


def with_free_energy(gap: Callable[[int], float], alone: bool = False) -> list[Atoms]:
    made = crystals()
    for i, atoms in enumerate(made):
        energy = atoms.calc.results["energy"]
        atoms.calc.results["free_energy"] = energy + gap(i)
        if alone:
            del atoms.calc.results["energy"]
    return made


@pytest.mark.parametrize("form", ["", "[1,2]"])
@pytest.mark.parametrize("format", ["extxyz", "traj", "db"])
def test_a_free_energy_is_a_repetition_only_if_it_is_equal(data_world: World, format: str, form: str) -> None:
    path = Path(f"mine.{format}")

    def outcome(made: list[Atoms], *options: str) -> str:
        for atoms in made:
            atoms.info |= {"note": form} if form else {}
        path.unlink(missing_ok=True)
        write(path, made, format=format)
        data_world_name = ("--name", f"n{len(list((data_world.root / 'data').glob('n*')))}")
        status, out, err = run("import", format, str(path), *NAMED, *data_world_name, *UNITS, *options)
        assert status == 0, err
        return out

    equal = outcome(with_free_energy(lambda i: 0.0))
    assert "free_energy" not in equal
    differs = outcome(with_free_energy(lambda i: -0.25 * (i == 7)))
    assert "not used: free_energy (1 frames)" in differs
    assert "DOUBTFUL  energy: frame 7: differs from free_energy by 0.25 eV (1 frames in all)" in differs
    alone = outcome(with_free_energy(lambda i: 0.0, alone=True))
    assert "not used: free_energy (10 frames)" in alone
    assert "if it is the label, say --keys energy=free_energy" in alone
    meant = outcome(with_free_energy(lambda i: -0.25 * (i == 7)), "--keys", "energy=free_energy")
    assert "not used: energy (10 frames)" in meant
    assert "DOUBTFUL  energy: frame 7" not in meant
