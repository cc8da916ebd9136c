"""Frames of extended XYZ before ASE reads them: headers, species, encodings and compression."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
import zstandard
from ase import Atoms
from ase.io import read, write

from tasks.datasets.card import DatasetError
from tasks.importing.importers import read_atoms, read_structures
from tests.tasks.importing.labelled_structures import xyz

PACKED: Mapping[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}


def line_of(path: Path, content: str | bytes) -> str:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DatasetError) as refused:
        read_structures(path, format="extxyz")
    line = str(refused.value)
    assert line.startswith(f"{path}: ")
    assert "\n" not in line
    return line.removeprefix(f"{path}: ")


@pytest.mark.parametrize("n", [10**11, 10**30])
@pytest.mark.parametrize("name", ["long.xyz", "long.xyz.gz"])
def test_a_header_of_more_atoms_than_the_file_can_have_ends_at_once(n: int, name: str, tmp_path: Path) -> None:
    """ASE's reader would count to that number."""
    content = f"{xyz()}{n}\n\nH 0 0 0\n".encode()
    line = line_of(tmp_path / name, gzip.compress(content) if name.endswith("gz") else content)
    assert line.startswith(f"frame 1: cannot be read: states {n} atoms, ")


def test_more_columns_than_a_line_has_are_named(tmp_path: Path) -> None:
    """ASE makes 10^11 columns before it reads the first line."""
    path = tmp_path / "wide.xyz"
    line = line_of(path, f"{xyz()}1\nProperties=species:S:1:pos:R:{10**11}\nH 0 0 0\n")
    assert line.startswith("frame 1: Properties: states 100000000001 columns, and the line of atom 0 has 4: correct it")
    assert line_of(path, xyz(more=":forces:R:3")).startswith(
        "frame 0: Properties: states 7 columns, and the line of at"
    )


def test_frames_without_their_lines_are_named(tmp_path: Path) -> None:
    path = tmp_path / "bad.xyz"
    assert line_of(path, xyz() + "2\n\nH 0 0 0\n").startswith(
        "frame 1: cannot be read: states 2 atoms, and the file ends"
    )
    assert line_of(path, "-3\n\n").startswith("frame 0: cannot be read: states -3 atoms")
    assert line_of(path, xyz() + "H 0 0 0\n").startswith("frame 1: cannot be read: begins with 'H 0 0 0', not with its")
    assert line_of(path, "9" * 5000).startswith("frame 0: cannot be read: begins with '999")


@pytest.mark.parametrize(
    ("species", "says"),
    [
        ("D", "'D' of atom 1 is no element: write H for an isotope of hydrogen"),
        ("Cu1", "'Cu1' of atom 1 is no element: write Cu alone, if it is meant"),
        ("C_a", "'C_a' of atom 1 is no element: write C alone, if it is meant"),
        ("119", "'119' of atom 1 is no element: write the element's symbol, as H or Cu, or its atomic number"),
        ("Qq", "'Qq' of atom 1 is no element: write the element's symbol"),
        ("0", "'0' of atom 1 is no element"),
    ],
)
@pytest.mark.parametrize("properties", ["", "Properties=species:S:1:pos:R:3", "Properties=pos:R:3:species:S:1"])
def test_species_that_are_no_elements_are_named(properties: str, species: str, says: str, tmp_path: Path) -> None:
    rows = [f"{each} 0 0 {z}" for z, each in enumerate(("H", species))]
    if properties.endswith("species:S:1"):
        rows = [f"0 0 {z} {each}" for z, each in enumerate(("H", species))]
    text = "\n".join(["2", properties, *rows]) + "\n"
    assert line_of(tmp_path / "bad.xyz", xyz() + text).startswith(f"frame 1: species: {says}")


@pytest.mark.parametrize("form", ["", "note=[1,2]"])
@pytest.mark.parametrize("column", ["species:S:1", "species:I:1"])
def test_whole_numbers_are_atomic_numbers(column: str, form: str, tmp_path: Path) -> None:
    path = tmp_path / "numbers.xyz"
    path.write_text(f"2\nProperties={column}:pos:R:3 {form}\n29 0 0 0\n8 0 0 1.5\n")
    assert read_structures(path, format="extxyz").frames.numbers.tolist() == [29, 8]
    assert read_atoms(path)[0].get_chemical_formula() == "CuO"


@pytest.mark.parametrize("form", ["energy=1.0", "energy=1.0 note=[1,2]"])
def test_a_byte_order_mark_is_as_if_it_were_not_there(form: str, tmp_path: Path) -> None:
    path = tmp_path / "mark.xyz"
    path.write_bytes(b"\xef\xbb\xbf" + xyz(info=form).encode())
    assert read_structures(path, format="extxyz").labels.energy == pytest.approx([1.0])
    assert len(read_atoms(path)) == 1
    assert "is text in UTF-16: save it as UTF-8" in line_of(path, xyz().encode("utf-16"))
    assert "is text in UTF-16: save it as UTF-8" in line_of(path, xyz().encode("utf-16-le"))
    assert line_of(path, xyz().encode() + xyz(info="name=é").encode("latin-1")).startswith(
        "frame 1: is not text in UTF-8 (byte 0xe9): save the file as UTF-8"
    )


@pytest.mark.parametrize("suffix", PACKED)
def test_compressed_files_have_the_content_of_plain_ones(suffix: str, tmp_path: Path) -> None:
    atoms = Atoms("CuO", [[0, 0, 0], [0, 0, 1.9]], cell=[4, 4, 4], pbc=True, info={"name": "01"})
    plain, packed = tmp_path / "a.extxyz", tmp_path / f"a.extxyz.{suffix}"
    write(plain, [atoms] * 500)
    packed.write_bytes(PACKED[suffix](plain.read_bytes()))
    whole, read_packed = read_structures(plain), read_structures(packed)
    assert read_packed.frames.positions.tolist() == whole.frames.positions.tolist()
    assert read_packed.id == whole.id
    packed.write_bytes(packed.read_bytes()[:-20])
    with pytest.raises(DatasetError, match=r"a\.extxyz\.\w+: is incomplete or damaged: fetch it again$"):
        read_structures(packed)


def test_several_frames_of_zstandard_are_one_file(tmp_path: Path) -> None:
    path = tmp_path / "parts.xyz.zst"
    path.write_bytes(PACKED["zst"](xyz().encode()) + PACKED["zst"](xyz(info="energy=2.0").encode()))
    assert read_structures(path).labels.energy == pytest.approx([1.0, 2.0])


def test_cells_after_the_atoms_are_read_as_by_ase(tmp_path: Path) -> None:
    path = tmp_path / "vectors.xyz"
    path.write_text("1\nfirst\nH 0 0 0\nVEC1 3 0 0\nVEC2 0 3 0\nVEC3 0 0 4\n" + xyz())
    cells = [atoms.cell.array for atoms in read(path, ":", format="extxyz")]
    np.testing.assert_allclose(read_structures(path, format="extxyz").frames.cell, cells)


def test_a_species_that_a_reader_of_ase_does_not_know_is_no_bare_key(tmp_path: Path) -> None:
    path = tmp_path / "POSCAR"
    path.write_text("x\n1.0\n3 0 0\n0 3 0\n0 0 3\nQq\n1\nDirect\n0 0 0\n")
    with pytest.raises(DatasetError, match=r"POSCAR: cannot be read by ASE: it has 'Qq' in place of an element"):
        read_atoms(path)
