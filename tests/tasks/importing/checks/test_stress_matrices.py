"""Stresses that are no symmetric matrices: each importer averages both sides of the diagonal, and shows how far off.

The matrix is 1 2 3 on the diagonal, 6 3 2 above it and 60 30 20 below it: means of 33, 16.5 and 11.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from ase.calculators.singlepoint import SinglePointCalculator
from ase.io import write

from judge.data.import_options import ImportOptions, options_of
from judge.data.importing import ImportedDataset, prepare_import
from tasks.datasets.card import Card, LabelSet
from tasks.importing.import_summary import summarise
from tasks.importing.importers import read_structures
from tasks.importing.labelled_import import LabelSource, labelled_dataset
from tasks.importing.reading.progress_report import silent
from tasks.importing.reading.stress_matrices import doubtful_matrices
from tests.tasks.importing.reading.test_aselmdb import packed, row, write_lmdb
from tests.tasks.importing.test_deepmd import write_set

# xx xy xz, yx yy yz, zx zy zz; ASE's order is xx yy zz yz xz xy.
MATRIX = np.array([[1.0, 2.0, 3.0], [20.0, 2.0, 6.0], [30.0, 60.0, 3.0]]) * 1e-3
MEAN = np.array([1.0, 2.0, 3.0, 33.0, 16.5, 11.0]) * 1e-3
LINE = (
    "σ_ij and σ_ji differ by up to 0.054 eV/Å³ (8.652 GPa) (10 frames in all), and were averaged, but a stress is "
    "symmetric: correct it, or leave it out: --without stress"
)


def crystals() -> list[Atoms]:
    made = []
    for k in range(10):
        atoms = bulk("Cu", cubic=True)
        atoms.rattle(0.05, seed=k)
        atoms.calc = SinglePointCalculator(atoms, energy=-14.0 - 0.1 * k, forces=np.zeros((4, 3)), stress=MATRIX.copy())
        made.append(atoms)
    return made


def text(stress: str, **fields: str) -> str:
    lines = []
    for k in range(10):
        rows = [f"Cu {x + 0.01 * k:.3f} {y:.3f} {z:.3f}\n" for x, y, z in bulk("Cu", cubic=True).positions]
        more = "".join(f" {key}={value}" for key, value in fields.items())
        comment = f'Lattice="3.61 0 0 0 3.61 0 0 0 3.61" Properties=species:S:1:pos:R:3 energy={-14 - 0.1 * k:.1f}'
        lines.append(f"4\n{comment} {stress}{more}\n{''.join(rows)}")
    return "".join(lines)


NUMBERS = " ".join(f"{value:g}" for value in MATRIX.ravel())


def of_text(content: str, name: str = "a.extxyz") -> Callable[[Path], Path]:
    def made(folder: Path) -> Path:
        (folder / name).write_text(content)
        return folder / name

    return made


def of_ase(format: str) -> Callable[[Path], Path]:
    def made(folder: Path) -> Path:
        write(folder / f"a.{format}", crystals(), format=format)
        return folder / f"a.{format}"

    return made


def lmdb(folder: Path) -> Path:
    rows = {str(k).encode(): packed(row(atoms, k)) for k, atoms in enumerate(crystals(), 1)}
    write_lmdb(folder / "a.aselmdb", rows | {b"nextid": packed(11), b"metadata": packed({})})
    return folder / "a.aselmdb"


def deepmd(folder: Path) -> Path:
    made = crystals()
    for atoms in made:
        atoms.calc.results["stress"] = MEAN
    write_set(folder / "system" / "set.000", made)
    (folder / "system" / "type.raw").write_text("0\n" * 4)
    (folder / "system" / "type_map.raw").write_text("Cu\n")
    virial = np.array([-atoms.get_volume() * MATRIX.ravel() for atoms in made])
    np.save(folder / "system" / "set.000" / "virial.npy", virial)
    return folder


def imported(format: str, path: Path, **options: str) -> ImportedDataset:
    given: dict[str, object] = {field.name: "" if field.type == "str" else None for field in fields(ImportOptions)}
    given |= {"name": "s", "version": "1", "domain": "Inorganic Materials", "label_set": "PBE", "dispersion": False}
    return prepare_import(format, path, options_of(given | options), path.parent / "data")(silent)


@pytest.mark.parametrize(
    ("format", "make", "options"),
    [
        ("extxyz", of_text(text(f'stress="{NUMBERS}"')), {}),
        ("extxyz", of_text(text(f'stress="{NUMBERS}"', note="'not plain'")), {}),
        ("extxyz", of_text(text(f"stress={{{NUMBERS}}}")), {}),
        ("extxyz", of_text(text(f'REF_stress="{NUMBERS}"')), {"keys": "stress=REF_stress"}),
        ("extxyz", of_text(text(f"REF_stress={{{NUMBERS}}}")), {"keys": "stress=REF_stress"}),
        ("extxyz", of_ase("extxyz"), {}),
        ("traj", of_ase("traj"), {}),
        ("db", of_ase("db"), {}),
        ("db", lmdb, {}),
        ("deepmd", deepmd, {}),
    ],
)
def test_both_sides_of_the_diagonal_are_averaged(
    format: str, make: Callable[[Path], Path], options: dict[str, str], tmp_path: Path
) -> None:
    if format != "deepmd":
        options = {"units": "ase", **options}
    read = imported(format, make(tmp_path), **options)
    stress = read.dataset.labels("PBE").stress
    assert stress is not None
    np.testing.assert_allclose(stress, np.tile(MEAN, (10, 1)), rtol=1e-12)
    (line,) = [line for line in read.doubts if line.startswith("stress")]
    assert line.endswith(LINE)


def test_units_and_rounding(tmp_path: Path) -> None:
    """In kbar, positive in compression; and matrices that are symmetric to the digits that are printed."""
    kbar = MATRIX / 6.241509e-4
    path = of_text(text(f'stress="{" ".join(map(str, kbar.ravel()))}"'))(tmp_path)
    read = imported("extxyz", path, units="energy=eV,length=angstrom,stress=-kbar")
    stress = read.dataset.labels("PBE").stress
    assert stress is not None
    np.testing.assert_allclose(stress[0], -MEAN, rtol=1e-6)
    assert "differ by up to 0.054 eV/Å³ (8.652 GPa)" in read.doubts[0]
    rounded = of_text(text('stress="0.0012 0.003415 0.001 0.00342 0.001 0 0.001 0.000005 0.0012"'), "b.extxyz")(
        tmp_path
    )
    assert not imported("extxyz", rounded, units="ase").doubts
    left_out = imported("extxyz", path, units="energy=eV,length=angstrom", without="stress")
    assert not left_out.doubts


def test_another_label_set_is_named_with_its_doubts(tmp_path: Path) -> None:
    card = Card(
        name="s", version="1", title="S", domain="Inorganic Materials", periodic=True, default_label_set="PBE",
        label_sets={name: LabelSet(theory=name, dispersion=False) for name in ("PBE", "r2SCAN")},
    )  # fmt: skip
    fine = of_text(text('stress="1 0 0 0 1 0 0 0 1"'))(tmp_path)
    other = of_text(text(f'stress="{NUMBERS}"'), "b.extxyz")(tmp_path)
    also = {"r2SCAN": LabelSource(other, read_structures(other))}
    dataset = labelled_dataset(card, fine, read_structures(fine), also)
    assert dataset.doubts == (f"r2SCAN: stress: frame 0: {LINE}",)
    assert dataset.doubts[0] in summarise(dataset).doubtful


def test_the_worst_frame_is_named() -> None:
    stress = np.array([[0.1] * 6, [0.1] * 6, [np.nan] * 6])
    assert not doubtful_matrices(np.array([9e-5, 0.0, 0.0]), stress, "abc")
    (line,) = doubtful_matrices(np.array([2e-4, 3e-4, 0.0]), stress, "abc")
    assert line.startswith("stress: b: σ_ij and σ_ji differ by up to 0.0003 eV/Å³ (0.04807 GPa) (2 frames in all)")
