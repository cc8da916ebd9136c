"""Structures and labels from files that ASE reads: extended XYZ, trajectories and databases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
from ase import Atoms

from tasks.datasets.card import DatasetError
from tasks.importing.import_checks import COMMENT_LINE, check_multiplicity
from tasks.importing.label_units import ASE_UNITS, LabelUnits
from tasks.importing.labelled_import import Imported, with_multiplicity
from tasks.importing.reading.ase_frames import FrameSource, can_name
from tasks.importing.reading.frame_fields import EVERY_FIELD, FrameFields
from tasks.importing.reading.plain_xyz import Comment, NotPlain, form_of, plain_comment, plain_frames, renamed
from tasks.importing.reading.progress_report import Report, silent
from tasks.importing.reading.read_frames import ReadFrames, in_order, joined
from tasks.importing.reading.repeated_fields import doubtful_free_energies, not_repeated
from tasks.importing.reading.stress_matrices import doubtful_matrices
from tasks.importing.reading.text_frames import TextFrame
from tasks.structures.frames import Frames
from tasks.structures.predictions import Labels

# By format other than extended XYZ: how 2S+1 is stated.
STATE_IN: Mapping[str, str] = {
    "traj": "set info['multiplicity'] before writing",
    "db": "write multiplicity= as a key-value pair of its row",
}
# A block is read at once: it ends with the frame that reaches one of these. Larger ones keep Python's collector busy.
BLOCK_FRAMES, BLOCK_ATOMS = 200, 20_000
MB = 1e6


def read_structures(
    path: Path,
    units: LabelUnits = ASE_UNITS,
    format: str | None = None,
    named: bool = False,
    cluster_field: str = "",
    needed_by: str = "",
    report: Report = silent,
    fields: FrameFields = EVERY_FIELD,
) -> Imported:
    """Structures and labels of a file that ASE can read.

    Energies, forces and stresses are those of the calculator that ASE attaches, else of `info` and `arrays`. Charge and
    2S+1 come from `info` (`charge`; `multiplicity` or `spin`), names from `name`, groups from `group`; those of a
    database from its key-value pairs. Initial magnetic moments are ASE's array `initial_magmoms`. The file is read in
    blocks, which bounds the memory beyond that of the result.

    Args:
        units: of the file.
        format: as ASE names it; None: the file's name and content decide.
        named: whether each structure must have its own name, since a table refers to it.
        cluster_field: field of `info` whose text is the cluster of the structure, such as its trajectory; empty: none.
        needed_by: what needs that field, for the error about a frame without it; empty: the option `--cluster`.
        fields: which labels are read, and under which names.

    Raises:
        DatasetError: the file cannot be read, or a frame is at fault; the line names file, frame and field.
    """
    source = FrameSource(path, format, units.factor("length", str(path)), cluster_field, needed_by, fields)
    whole = _read(source, report)
    for name, key in fields.keys.items():
        if name not in whole.found:
            others = f", but {', '.join(sorted(whole.unused))}" if whole.unused else ""
            raise DatasetError(f"{path}: --keys {name}={key}: no frame has {key}{others}")
    if named:
        _check_names(whole.names, path)
    names = tuple(f"frame {i}" if name is None else name for i, name in enumerate(whole.names))
    if len(set(names)) < len(names):
        names = tuple(f"{name} #{i}" for i, name in enumerate(names))
    labels = Labels(**{name: array * units.factor(name, str(path)) for name, array in whole.labels.arrays.items()})
    if labels.energy is not None and units.energy_per_atom:
        labels = replace(labels, energy=labels.energy * whole.frames.n_atoms)
    unused = dict(sorted(whole.unused.items()))
    state_in, clusters = STATE_IN.get(str(format), COMMENT_LINE), whole.clusters if cluster_field else None
    stress_unit = abs(units.stress or 1.0)
    doubts = doubtful_matrices(whole.stress_asymmetry * stress_unit, labels.stress, names)
    if "energy" not in fields.left_out:
        energy = np.full(len(names), np.nan) if whole.labels.energy is None else whole.labels.energy
        doubts += doubtful_free_energies(whole.free_energy, energy, names, units.energy or 1.0)
    return Imported(
        without_zero_moments(whole.frames),
        labels,
        names,
        whole.groups,
        unused,
        state_in,
        clusters,
        tuple(doubts),
        fields.may_leave_out,
    )


def without_zero_moments(frames: Frames) -> Frames:
    """`frames`, without moments if all are zero: ASE gives a structure that states none the same ones."""
    moments = frames.initial_magmoms
    return frames if moments is None or np.nan_to_num(moments).any() else replace(frames, initial_magmoms=None)


def read_molecules(path: Path, multiplicity: int | None = None, named: bool = False) -> Imported:
    """The same, of structures in which each molecule states its 2S+1.

    Args:
        multiplicity: 2S+1 of every molecule that states none.
    """
    structures = read_structures(path, named=named)
    frames = with_multiplicity(structures.frames, multiplicity)
    check_multiplicity(frames, structures.id, path)
    return replace(structures, frames=frames)


def read_atoms(path: Path, format: str | None = None) -> list[Atoms]:
    """The structures of a file as ASE reads them.

    Raises:
        DatasetError: the file cannot be read, or has no structures; the line names it.
    """
    structures = list(FrameSource(path, format, 1.0).atoms())
    if not structures:
        raise DatasetError(f"{path}: has no structures")
    return structures


def _read(source: FrameSource, report: Report) -> ReadFrames:
    """The frames of the file; the blocks that they were read in are forgotten.

    Raises:
        DatasetError: as of `read_structures`.
    """
    blocks = list(xyz_blocks(source, report) if source.is_xyz else ase_blocks(source))
    if not blocks:
        raise DatasetError(f"{source.path}: has no structures")
    return joined(blocks)


def _check_names(names: Sequence[str | None], path: Path) -> None:
    first: dict[str, int] = {}
    for i, name in enumerate(names):
        if not name:
            raise DatasetError(f"{path}: frame {i}: name: is missing: write name= in its comment line")
        if name in first:
            raise DatasetError(
                f"{path}: frame {i}: name: two frames are called {name}, this one and frame {first[name]}"
            )
        first[name] = i


def ase_blocks(source: FrameSource) -> Iterator[ReadFrames]:
    """The frames of the file as ASE reads them, a block at a time."""
    structures, first = source.atoms(), 0
    while block := list(islice(structures, BLOCK_FRAMES)):
        yield source.frames_of(block, range(first, first + len(block)))
        first += len(block)


def xyz_blocks(source: FrameSource, report: Report) -> Iterator[ReadFrames]:
    """The frames of an extended XYZ file, a block at a time: plain ones at once, the others by ASE.

    Raises:
        DatasetError: as of `read_structures`.
    """
    total, first = round(source.path.stat().st_size / MB), 0
    with source.open_frames() as opened:
        for block in _blocks_of(opened.frames):
            yield _read_block(source, block, first)
            first += len(block)
            report(min(total, round(opened.raw.tell() / MB)), total, "MB")


def _blocks_of(frames: Iterator[TextFrame]) -> Iterator[list[TextFrame]]:
    block: list[TextFrame] = []
    n_atoms = 0
    for frame in frames:
        block.append(frame)
        n_atoms += frame.n_atoms
        if len(block) >= BLOCK_FRAMES or n_atoms >= BLOCK_ATOMS:
            yield block
            block, n_atoms = [], 0
    if block:
        yield block


def _read_block(source: FrameSource, block: Sequence[TextFrame], first: int) -> ReadFrames:
    """The frames of a block, which begins with frame `first`: those of one form at once, those of no form by ASE."""
    forms: dict[tuple[str, ...], list[tuple[int, TextFrame, Comment]]] = {}
    by_ase: list[tuple[int, TextFrame]] = []
    for place, frame in enumerate(block, first):
        try:
            if frame.vectors:
                raise NotPlain("a cell after the atoms")
            comment = renamed(plain_comment(frame.comment), source.fields)
        except NotPlain:
            by_ase.append((place, frame))
        else:
            forms.setdefault(form_of(comment), []).append((place, frame, comment))
    parts, places = list[ReadFrames](), list[tuple[int, ...]]()
    for members in forms.values():
        of_form, frames, comments = zip(*members, strict=True)
        try:
            parts.append(_of_one_form(source, frames, comments))
            places.append(of_form)
        except ValueError:  # also of `Frames`: ASE finds the frame at fault
            by_ase += zip(of_form, frames, strict=True)
    if by_ase:
        of_ase, frames = zip(*sorted(by_ase), strict=True)
        parts.append(source.frames_of_texts(frames, of_ase))
        places.append(of_ase)
    return in_order(parts, places)


def _of_one_form(source: FrameSource, frames: Sequence[TextFrame], comments: Sequence[Comment]) -> ReadFrames:
    """Frames of one form.

    Raises:
        ValueError: one of them is not plain, or is at fault.
    """
    field, n = source.cluster_field, len(frames)
    plain = plain_frames(frames, comments, {"name", "group", field})
    clusters = plain.values.get(field, ()) if field else ()
    if field and not (clusters and all(map(can_name, clusters))):
        raise NotPlain(field)
    unread = {key: source.fields.unread_name(key) for key in plain.numeric}
    unused = Counter({name: plain.numeric[key] for key, name in unread.items() if name not in ("", field)})
    missing = np.full(n, np.nan)
    free_energy = missing if plain.free_energy is None else plain.free_energy
    unused += not_repeated(
        missing if plain.energy is None else plain.energy,
        free_energy,
        missing if plain.sum_of_energies is None else plain.sum_of_energies,
        stress_missing=plain.has_stresses and plain.stress is None,
    )
    if plain.n_other_spins:
        unused["spin"] += plain.n_other_spins
    return ReadFrames(
        Frames(
            plain.n_atoms,
            plain.numbers,
            plain.positions * source.length,
            plain.cell * source.length,
            plain.pbc,
            plain.charge,
            plain.multiplicity,
            plain.initial_magmoms,
        ),
        Labels(plain.energy, plain.forces, plain.stress),
        tuple(name if name.strip() else None for name in plain.values.get("name", ("",) * n)),
        tuple(plain.values.get("group", ("",) * n)),
        tuple(clusters),
        unused,
        free_energy,
        plain.stress_asymmetry,
        frozenset(source.fields.keys) & plain.fields,
    )
