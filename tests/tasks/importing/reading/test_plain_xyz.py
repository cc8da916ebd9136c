"""Plain extended XYZ: the same bits as ASE's reader gives, and what is not plain is left to ASE."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase.io import read, write
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from tasks.datasets.card import DatasetError
from tasks.importing.importers import ase_blocks, read_structures, xyz_blocks
from tasks.importing.label_units import ASE_UNITS
from tasks.importing.reading.ase_frames import FrameSource
from tasks.importing.reading.frame_fields import FrameFields
from tasks.importing.reading.plain_xyz import NotPlain, plain_comment, plain_frames
from tasks.importing.reading.progress_report import silent
from tasks.importing.reading.read_frames import ReadFrames, joined
from tasks.importing.reading.text_frames import text_frames
from tests.tasks.importing.labelled_structures import structures, xyz
from tests.tasks.importing.reading.xyz_texts import XyzWriter

FIELDS = [
    FrameFields({"energy": "free_energy", "forces": "velo", "name": "run"}, frozenset({"stress"})),
    FrameFields({}, frozenset({"forces", "energy"})),
    FrameFields({"charge": "spin", "group": "uid"}),
]
PARTS = ("names", "groups", "clusters", "unused", "found")


def bits(part: ReadFrames) -> dict[str, object]:
    """All that was read, so that equal means equal in every bit."""
    arrays = {**part.frames.arrays(), **part.labels.arrays}
    as_bytes = {name: (array.dtype.str, array.shape, array.tobytes()) for name, array in arrays.items()}
    return as_bytes | {name: getattr(part, name) for name in PARTS}


def outcome(blocks: Any) -> dict[str, object] | str:
    """What was read, or the line of an error up to what a reader says of it."""
    try:
        return bits(joined(list(blocks)))
    except DatasetError as error:
        return str(error)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32), field=st.sampled_from(["", "", "run", "name", "step"]))
def test_every_file_is_read_as_by_ase(seed: int, field: str, tmp_path: Path) -> None:
    path = tmp_path / "any.xyz"
    path.write_bytes(XyzWriter(seed, field).file())
    source = FrameSource(path, "extxyz", 0.529177, field)
    expected = outcome(ase_blocks(source))
    if isinstance(expected, str):
        event("refused")
        with pytest.raises(DatasetError):  # perhaps for another frame
            read_structures(path, format="extxyz", cluster_field=field)
        return
    event("read")
    assert outcome(xyz_blocks(source, silent)) == expected
    try:
        whole = read(path, ":", format="extxyz")
    except Exception:  # noqa: BLE001 a field that the judge does not read is at fault
        event("not read by ASE")
        return
    frames = joined(list(ase_blocks(source))).frames
    assert frames.numbers.tolist() == [number for atoms in whole for number in atoms.numbers.tolist()]
    assert frames.pbc.tolist() == [atoms.pbc.tolist() for atoms in whole]
    cells = np.array([atoms.cell.array for atoms in whole]) * source.length
    positions = np.concatenate([atoms.positions for atoms in whole]) * source.length
    assert (frames.cell.tobytes(), frames.positions.tobytes()) == (cells.tobytes(), positions.tobytes())


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32), fields=st.sampled_from(FIELDS))
def test_named_and_left_out_fields_are_those_of_both_readers(seed: int, fields: FrameFields, tmp_path: Path) -> None:
    path = tmp_path / "any.xyz"
    path.write_bytes(XyzWriter(seed).file())
    source = FrameSource(path, "extxyz", 1.0, fields=fields)
    expected, fast = outcome(ase_blocks(source)), outcome(xyz_blocks(source, silent))
    assert isinstance(fast, str) if isinstance(expected, str) else fast == expected


def plain(path: Path) -> Any:
    """All frames of a file at once, which must be plain."""
    with path.open() as file:
        frames = list(text_frames(file, path, None))
    return plain_frames(frames, [plain_comment(frame.comment) for frame in frames], ["name"])


def test_what_ASE_writes_is_plain_and_has_the_bits_that_ASE_reads(tmp_path: Path) -> None:
    path, made = tmp_path / "mine.extxyz", structures(20)[::2]
    for i, atoms in enumerate(made):
        atoms.info |= {"name": f"cell {i}", "charge": i, "spin": 1 + i, "converged": True, "step": 10 * i, "T_K": 300.5}
        atoms.arrays["magnetic"] = np.arange(4.0)
    write(path, made)
    fast, atoms = plain(path), read(path, ":")
    for name, values in {
        "numbers": np.concatenate([a.numbers for a in atoms]),
        "positions": np.concatenate([a.positions for a in atoms]),
        "cell": np.array([a.cell.array for a in atoms]),
        "pbc": np.array([a.pbc for a in atoms]),
        "energy": np.array([a.get_potential_energy() for a in atoms]),
        "forces": np.concatenate([a.get_forces() for a in atoms]),
        "stress": np.array([a.get_stress() for a in atoms]),
    }.items():
        assert getattr(fast, name).tobytes() == values.tobytes(), name
    assert list(fast.values["name"]) == [f"cell {i}" for i in range(10)]
    assert fast.charge.tolist() == list(range(10))
    assert fast.multiplicity.tolist() == list(range(1, 11))
    assert set(fast.numeric) >= {"energy", "forces", "stress", "step", "T_K", "magnetic"}
    assert "converged" not in fast.numeric


@pytest.mark.parametrize(
    "line",
    [
        r"energy=1 note=a\ b", "energy=1 cell=[1 2 3]", "note='x y'", "energy = 1", 'note=""', "energy=1 energy=2",
        "a=b=c", 'note="x"y', "3 atoms",
    ],
)  # fmt: skip
def test_lines_that_only_ASE_understands_are_not_plain(line: str) -> None:
    with pytest.raises(NotPlain):
        plain_comment(line)


def test_frames_of_several_forms_keep_their_order(tmp_path: Path) -> None:
    """Plain frames of two forms, and frames that only ASE reads, one after another."""
    path = tmp_path / "mixed.extxyz"
    odd = xyz(info="energy=3.0 note=[1,2]")
    frames = [xyz(info=f"energy={i}.0 name=f{i}") if i % 3 else odd for i in range(60)]
    frames[10] = xyz(info="name=f10 energy=10.0", more=":forces:R:3", values=" 1 2 3")
    path.write_text("".join(frames))
    imported = read_structures(path, ASE_UNITS, "extxyz")
    energies = [10.0 if i == 10 else float(i) if i % 3 else 3.0 for i in range(60)]
    assert imported.labels.energy.tolist() == energies
    assert imported.id[9:12] == ("frame 9", "f10", "f11")
    assert np.flatnonzero(np.isfinite(imported.labels.forces[:, 0])).tolist() == [10]


def test_progress_is_reported_up_to_the_end(tmp_path: Path) -> None:
    path = tmp_path / "long.extxyz"
    path.write_text(xyz(info=f'energy=1.0 note="{"x" * 990}"') * 4200)
    reports: list[tuple[int, int, str]] = []
    read_structures(path, ASE_UNITS, "extxyz", report=lambda *done: reports.append(done))
    assert len(reports) > 10
    assert reports == sorted(reports)
    assert (reports[0], reports[-1]) == ((0, 4, "MB"), (4, 4, "MB"))


def test_a_file_in_another_encoding_and_a_broken_frame_have_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "bad.extxyz"
    path.write_bytes(xyz().encode() + b"1\nname=\xff\nH 0 0 0\n")
    with pytest.raises(DatasetError, match=r"bad\.extxyz: frame 1: is not text in UTF-8 \(byte 0xff\): save"):
        read_structures(path, ASE_UNITS, "extxyz")
    path.write_text(xyz() * 3000 + xyz(z="much"))
    with pytest.raises(DatasetError, match=r"bad\.extxyz: frame 3000: cannot be read by ASE as extxyz: could not conv"):
        read_structures(path, ASE_UNITS, "extxyz")
