"""Structures and labels from files that ASE reads: extended XYZ, trajectories and databases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from ase import Atoms
from ase.io.formats import get_compression

from tasks.datasets.card import DatasetError
from tasks.importing.import_checks import COMMENT_LINE, check_multiplicity
from tasks.importing.label_units import ASE_UNITS, LabelUnits
from tasks.importing.labelled_import import Imported, with_multiplicity
from tasks.importing.reading.ase_frames import FrameSource, can_name, text_of
from tasks.importing.reading.plain_xyz import (
    Comment,
    NotPlain,
    TextFrame,
    form_of,
    plain_comment,
    plain_frames,
    text_frames,
)
from tasks.importing.reading.progress_report import Report, silent
from tasks.importing.reading.read_frames import READ, ReadFrames, in_order, joined
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
) -> Imported:
    """Structures and labels of a file that ASE can read.

    Energies, forces and stresses are those of the calculator that ASE attaches, else of `info` and `arrays`. Charge and
    2S+1 come from `info` (`charge`; `multiplicity` or `spin`), names from `name`, groups from `group`; those of a
    database from its key-value pairs. The file is read in blocks, which bounds the memory beyond that of the result.

    Args:
        units: of the file.
        format: as ASE names it; None: ASE decides by the file's name and content. Only a stated `extxyz` is read fast.
        named: whether each structure must have its own name, since a table refers to it.
        cluster_field: field of `info` whose text is the cluster of the structure, such as its trajectory; empty: none.
        needed_by: what needs that field, for the error about a frame without it; empty: the option `--cluster`.

    Raises:
        DatasetError: the file cannot be read, or a frame is at fault; the line names file, frame and field.
    """
    source = FrameSource(path, format, units.factor("length", str(path)), cluster_field, needed_by)
    whole = _read(source, report)
    if named:
        _check_names(whole.names, path)
    names = tuple(f"frame {i}" if name is None else name for i, name in enumerate(whole.names))
    if len(set(names)) < len(names):
        names = tuple(f"{name} #{i}" for i, name in enumerate(names))
    labels = Labels(**{name: array * units.factor(name, str(path)) for name, array in whole.labels.arrays.items()})
    unused = {name: n for name, n in sorted(whole.unused.items()) if name != cluster_field}
    state_in, clusters = STATE_IN.get(str(format), COMMENT_LINE), whole.clusters if cluster_field else None
    return Imported(whole.frames, labels, names, whole.groups, unused, state_in, clusters)


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
    blocks = plain_blocks(source, report) if source.format == "extxyz" else None
    blocks = list(ase_blocks(source)) if blocks is None else blocks
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


def plain_blocks(source: FrameSource, report: Report) -> list[ReadFrames] | None:
    """The frames of an extended XYZ file; None if it is not a sequence of frames as plain XYZ has them.

    Raises:
        DatasetError: as of `read_structures`.
    """
    if get_compression(str(source.path))[1] is not None or "@" in source.path.name:  # ASE gives these a meaning
        return None
    parts: list[ReadFrames] = []
    first, n_characters = 0, 0
    try:
        total = round(source.path.stat().st_size / MB)
        with source.path.open() as file:
            for block in _blocks_of(text_frames(file)):
                parts.append(_read_block(source, block, first))
                first += len(block)
                n_characters += sum(len(line) for frame in block for line in (frame.comment, *frame.rows))
                report(min(total, round(n_characters / MB)), total, "MB")
            source.check_end(file, first)
    except (OSError, NotPlain, UnicodeError):
        return None
    return parts


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
            comment = plain_comment(frame.comment)
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
        parts.append(source.frames_of_text([frame.text for frame in frames], of_ase))
        places.append(of_ase)
    return in_order(parts, places)


def _of_one_form(source: FrameSource, frames: Sequence[TextFrame], comments: Sequence[Comment]) -> ReadFrames:
    """Frames of one form.

    Raises:
        ValueError: one of them is not plain, or is at fault.
    """
    field, n = source.cluster_field, len(frames)
    plain = plain_frames(frames, comments, {"name", "group", field})
    clusters = plain.values.get(field, []) if field else []
    if field and not (clusters and all(map(can_name, clusters))):
        raise NotPlain(field)
    return ReadFrames(
        Frames(
            plain.n_atoms,
            plain.numbers,
            plain.positions * source.length,
            plain.cell * source.length,
            plain.pbc,
            plain.charge,
            plain.multiplicity,
        ),
        Labels(plain.energy, plain.forces, plain.stress),
        tuple(map(text_of, plain.values["name"])) if "name" in plain.values else (None,) * n,
        tuple(map(str, plain.values.get("group", ("",) * n))),
        tuple(map(text_of, clusters)),
        Counter({name: n_with for name, n_with in plain.numeric.items() if name not in READ}),
    )
