"""ASE databases in LMDB files: rows as their library writes them, and one line for damaged and foreign files."""

from __future__ import annotations

import random
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import lmdb
import numpy as np
import pytest
from ase.db.row import AtomsRow
from ase.io.jsonio import encode

from tasks.datasets.card import DatasetError
from tasks.importing.importers import read_atoms, read_structures
from tasks.importing.label_units import ASE_UNITS
from tasks.importing.reading.lmdb_pages import LmdbError, open_lmdb
from tests.tasks.importing.labelled_structures import structures

MIB = 1 << 20


def write_lmdb(path: Path, entries: dict[bytes, bytes]) -> None:
    with lmdb.open(str(path), subdir=False, map_size=256 * MIB, lock=False) as file, file.begin(write=True) as changes:
        for key, value in entries.items():
            changes.put(key, value)


def packed(content: object) -> bytes:
    return zlib.compress(encode(content).encode())


def row(atoms: Any, number: int) -> dict[str, Any]:
    """The fields of a row as ase-db-backends stores them."""
    stored = AtomsRow(atoms)
    fields = {key: stored[key] for key in stored if key != "id"} | {"cell": np.asarray(stored.cell)}
    data = {"charge": number % 3, "spin": 1, "source": "made"}
    return {**fields, "mtime": 0.0, "key_value_pairs": {"name": f"0{number}"}, "data": data}


def write_rows(path: Path, n: int = 30, deleted: tuple[int, ...] = ()) -> list[Any]:
    """Labelled structures, of which some are deleted."""
    made = structures(n)
    for atoms in made:
        atoms.info = {}
    entries = {str(i).encode(): packed(row(atoms, i)) for i, atoms in enumerate(made, 1) if i not in deleted}
    write_lmdb(
        path, entries | {b"nextid": packed(n + 1), b"deleted_ids": packed(list(deleted)), b"metadata": packed({})}
    )
    return [atoms for i, atoms in enumerate(made, 1) if i not in deleted]


@pytest.mark.parametrize("format", ["db", None])
def test_rows_have_their_labels_states_and_names(format: str | None, tmp_path: Path) -> None:
    path = tmp_path / "mine.aselmdb"
    made = write_rows(path, deleted=(2, 17))
    imported = read_structures(path, ASE_UNITS, format)
    assert imported.id[:2] == ("01", "03")
    assert imported.frames.charge.tolist()[:3] == [1, 0, 1]
    assert set(imported.frames.multiplicity.tolist()) == {1}
    assert imported.frames.n_atoms.tolist() == [len(atoms) for atoms in made]
    np.testing.assert_allclose(imported.labels.energy, [atoms.get_potential_energy() for atoms in made])
    np.testing.assert_allclose(imported.labels.forces, np.concatenate([atoms.get_forces() for atoms in made]))
    assert [atoms.info["source"] for atoms in read_atoms(path)] == ["made"] * 28


def test_the_files_of_a_folder_are_one_set(tmp_path: Path) -> None:
    for name in ("data0001.aselmdb", "data0000.aselmdb"):
        write_rows(tmp_path / name, 3)
    assert len(read_structures(tmp_path, ASE_UNITS, "db").frames) == 6


def test_all_entries_are_found_as_the_library_finds_them(tmp_path: Path) -> None:
    path, rng = tmp_path / "any.lmdb", random.Random(0)
    entries = {
        str(rng.randrange(10**5)).encode(): rng.randbytes(rng.choice([0, 3, 300, 2100, 9000])) for _ in range(900)
    }
    write_lmdb(path, entries)
    gone = rng.sample(sorted(entries), 200)
    with lmdb.open(str(path), subdir=False, map_size=256 * MIB, lock=False) as file, file.begin(write=True) as changes:
        for key in gone:
            changes.delete(key)
    read = open_lmdb(path)
    left = {key: value for key, value in entries.items() if key not in gone}
    assert {key: read.value(place) for key, place in read.places().items()} == left
    assert list(read.places()) == sorted(left)
    write_lmdb(tmp_path / "empty.lmdb", {})
    assert open_lmdb(tmp_path / "empty.lmdb").places() == {}


def test_a_truncated_file_is_one_line(tmp_path: Path) -> None:
    """LMDB's own library ends the process with SIGBUS over such a file."""
    path = tmp_path / "cut.aselmdb"
    write_rows(path, 200)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(DatasetError, match=r"cut\.aselmdb: is no intact file of LMDB \(.*\): fetch it again, or conv"):
        read_structures(path, ASE_UNITS, "db")


def test_damage_anywhere_is_one_line_or_a_row_that_is_still_whole(tmp_path: Path) -> None:
    path, rng = tmp_path / "damaged.aselmdb", random.Random(1)
    write_rows(path, 12)
    whole = path.read_bytes()
    for _ in range(150):
        content = bytearray(whole)
        for _ in range(rng.choice([1, 5, 50])):
            content[rng.randrange(len(content))] = rng.randrange(256)
        path.write_bytes(content[: rng.choice([len(content), rng.randrange(len(content))])])
        with suppress(DatasetError):
            read_structures(path, ASE_UNITS, "db")


def test_a_page_that_leads_to_itself_ends(tmp_path: Path) -> None:
    path = tmp_path / "loop.lmdb"
    write_lmdb(path, {str(i).encode(): b"x" * 300 for i in range(300)})
    file, content = open_lmdb(path), bytearray(path.read_bytes())
    assert file.root is not None
    begin = file.root * file.page_size
    n_children = (int.from_bytes(content[begin + 12 : begin + 14], "little") - 16) // 2
    for child in range(n_children):
        at = begin + 16 + 2 * child
        place = begin + int.from_bytes(content[at : at + 2], "little")
        content[place : place + 6] = file.root.to_bytes(6, "little")
    path.write_bytes(content)
    with pytest.raises(LmdbError, match="is no page of entries"):
        open_lmdb(path).places()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (
            random.Random(0).randbytes(20_000),
            r"is no intact file of LMDB \(does not begin as a file of LMDB\): fetch",
        ),
        (b"", r"is no intact file of LMDB \(is too short\)"),
        (b"SQLite format 3\0" * 2000, "does not begin as a file of LMDB"),
    ],
    ids=["random", "empty", "sqlite"],
)
def test_foreign_files_are_named(content: bytes, says: str, tmp_path: Path) -> None:
    path = tmp_path / "foreign.aselmdb"
    path.write_bytes(content)
    with pytest.raises(DatasetError, match=rf"foreign\.aselmdb: .*{says}"):
        read_structures(path, ASE_UNITS, "db")


def test_pickled_objects_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "old.lmdb"
    write_lmdb(path, {b"0": b"\x80\x04\x95pickled", b"length": b"\x80\x04K\x01."})
    with pytest.raises(DatasetError, match=r"old\.lmdb: row 0: is no JSON in zlib, .*: pickled objects are not read; "):
        read_structures(path, ASE_UNITS, "db")


def test_a_row_without_positions_is_named(tmp_path: Path) -> None:
    path = tmp_path / "short.aselmdb"
    write_lmdb(path, {b"7": packed({"numbers": [1]}), b"nextid": packed(8)})
    with pytest.raises(DatasetError, match=r"short\.aselmdb: row 7: cannot be read \(AttributeError: "):
        read_structures(path, ASE_UNITS, "db")
