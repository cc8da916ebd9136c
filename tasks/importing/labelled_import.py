"""The common end of all imports of labelled structures: structures, one or more label sets, and their data set."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from ase.symbols import Symbols
from numpy.typing import NDArray

from tasks.datasets.card import Card, DatasetError, Difference, Table
from tasks.datasets.dataset import Dataset
from tasks.importing.checks.copies import find_copies
from tasks.importing.import_checks import COMMENT_LINE, check_multiplicity, too_few_for_energy
from tasks.importing.reading.frame_fields import keys_remedy
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import ALL_PROPERTIES, Labels, Properties, property_shapes

# Structures of two label sets are the same within this [Å].
SAME_WITHIN = 1e-6
MAX_ORDERED = 1000  # atoms of a structure that are compared with all of them, to find their order
# The cluster column of a card whose frames are correlated only where they are copies.
COPIES = "cluster"
CLUSTER_BY = ("composition", "group", "none")


@dataclass(frozen=True, eq=False)
class Imported:
    """The structures of a file or folder, with names, groups and labels.

    Args:
        unused: by numeric field that was not read, how many frames have it.
        state_in: how the format states 2S+1; empty if it cannot.
        cluster: by structure, the text of the cluster field; None without such a field.
        doubts: a line each about fields that are no repetition of a label.
        takes_keys: whether the option `--keys` names fields of the format.
    """

    frames: Frames
    labels: Labels
    id: tuple[str, ...]
    group: tuple[str, ...]
    unused: Mapping[str, int] = field(default_factory=dict)
    state_in: str = COMMENT_LINE
    cluster: tuple[str, ...] | None = None
    doubts: tuple[str, ...] = ()
    takes_keys: bool = False

    def table(self, differences: Sequence[Difference] = ()) -> Table:
        """The names, groups and clusters; without a cluster field each structure is its own cluster."""
        cluster = self.id if self.cluster is None else self.cluster
        return Table(id=self.id, group=self.group, cluster=cluster, differences=tuple(differences))

    @property
    def has_labels(self) -> bool:
        """Whether any frame has any label."""
        return bool(self.labels.arrays)


def joined_labels(parts: Sequence[tuple[Frames, Labels]]) -> Labels:
    """The labels of all parts, in order; a label that only some of them have is NaN in the others."""
    joined: dict[str, Float] = {}
    for name in ALL_PROPERTIES:
        arrays = [getattr(labels, name) for _, labels in parts]
        if any(array is not None for array in arrays):
            shapes = [property_shapes(frames)[name] for frames, _ in parts]
            pairs = zip(arrays, shapes, strict=True)
            joined[name] = np.concatenate([np.full(shape, np.nan) if a is None else a for a, shape in pairs])
    return Labels(**joined)


class LabelSource(NamedTuple):
    """A file or folder, with its structures and labels."""

    path: Path
    imported: Imported


def labelled_dataset(
    card: Card,
    path: Path,
    imported: Imported,
    also: Mapping[str, LabelSource] | None = None,
    without: Properties = (),
    multiplicity: int | None = None,
    cluster: str = "none",
) -> Dataset:
    """A data set of labelled frames: the default label set of the card from `imported`, further ones from `also`.

    Args:
        path: of `imported`, for errors.
        also: by label set, labels of the same structures in the same order.
        without: labels that are left out of every label set.
        multiplicity: 2S+1 of every molecule that states none.
        cluster: which frames are correlated: those of one `composition`, of one `group`, of one value of the field
            with which `imported` was read (`info:FIELD`), or `none`, except copies of one structure.

    Raises:
        DatasetError: a label set without labels; fewer than ten energies per element; a molecule without 2S+1;
            structures that differ between label sets; clusters by a field that was not read. The line names file,
            frame and field.
    """
    imported = replace(imported, frames=with_multiplicity(imported.frames, multiplicity))
    if card.default_label_set is None:
        raise DatasetError(f"{path}: default_label_set: the card names no label set for the labels")
    sources = {card.default_label_set: LabelSource(path, imported)}
    for name, source in (also or {}).items():
        check_same_structures(source, sources[card.default_label_set])
        sources[name] = source
    labels = {name: _labels(source, without) for name, source in sources.items()}
    check_multiplicity(imported.frames, imported.id, path, imported.state_in)
    if cluster_field(cluster) and imported.cluster is None:
        raise DatasetError(f"{path}: --cluster {cluster}: the field was not read; say composition, group or none")
    column = None if cluster == "none" else cluster
    table = imported.table()
    if cluster == "composition":
        table = table.model_copy(update={"cluster": formulas(imported.frames)})
    if cluster == "none" and (copies := find_copies(imported.frames)).later.size:
        column = COPIES
        table = table.model_copy(update={"cluster": tuple(imported.id[i] for i in copies.first.tolist())})
    changes = {"periodic": bool(imported.frames.periodic.all()), "cluster_column": column}
    doubts = tuple(f"{name}: {line}" for name, each in (also or {}).items() for line in each.imported.doubts)
    return Dataset(card.model_copy(update=changes), imported.frames, table, labels, doubts=doubts)


def cluster_field(cluster: str) -> str:
    """The field that `cluster` names as `info:FIELD`; empty for `composition`, `group` and `none`.

    Raises:
        DatasetError: it is none of these.
    """
    named = re.fullmatch(r"info:(\S.*)", cluster)
    if named is None and cluster not in CLUSTER_BY:
        raise DatasetError(
            f"--cluster: {cluster!r} must be {', '.join(CLUSTER_BY)} or info:FIELD, as in info:trajectory"
        )
    return "" if named is None else named[1]


def _labels(source: LabelSource, without: Properties) -> Labels:
    """The labels of `source`, except those in `without`."""
    labels = replace(source.imported.labels, **dict.fromkeys(without))
    if not source.imported.has_labels:
        unused = ", ".join(source.imported.unused)
        remedy = keys_remedy(source.imported.unused) if source.imported.takes_keys else "rename what is meant"
        others = f"; it has {unused}: {remedy}" if unused else ""
        left_out = f" but those of --without {', '.join(without)}" if without else ""
        raise DatasetError(f"{source.path}: energy, forces, stress: no frame has any{left_out}{others}")
    if not labels.arrays:
        raise DatasetError(f"{source.path}: --without {', '.join(without)}: no label is left")
    complaint = None if labels.energy is None else too_few_for_energy(source.imported.frames, labels.energy)
    if complaint is not None:
        raise DatasetError(f"{source.path}: {complaint}; add frames, or drop the energies with --without energy")
    return labels


def check_same_structures(source: LabelSource, main: LabelSource) -> None:
    """Checks that `source` has the structures of `main` in the same order, within 1e-6 Å.

    Raises:
        DatasetError: one line that names the file, and the first frame and field that differ.
    """
    ours, theirs = main.imported.frames, source.imported.frames
    where = f"{source.path}: is not of the structures of {main.path}"
    if len(ours) != len(theirs):
        raise DatasetError(f"{where}: it has {len(theirs)} frames, not {len(ours)}")
    _same(ours.n_atoms == theirs.n_atoms, "n_atoms", where)
    rows = {
        "numbers": ours.numbers == theirs.numbers,
        "positions": (np.abs(ours.positions - theirs.positions) <= SAME_WITHIN).all(axis=1),
    }
    for name, same in rows.items():
        by_frame = np.logical_and.reduceat(same, ours.offsets[:-1])
        if name == "positions" and not by_frame.all():
            _check_order(ours, theirs, int(np.argmin(by_frame)), where)
        _same(by_frame, name, where)
    _same((np.abs(ours.cell - theirs.cell) <= SAME_WITHIN).all(axis=(1, 2)), "cell", where)
    _same((ours.pbc == theirs.pbc).all(axis=1), "pbc", where)
    _same(ours.charge == theirs.charge, "charge", where)
    stated = (ours.multiplicity > 0) & (theirs.multiplicity > 0)
    _same(~stated | (ours.multiplicity == theirs.multiplicity), "multiplicity", where)


def _check_order(ours: Frames, theirs: Frames, index: int, where: str) -> None:
    """The atoms of one frame, which has the same elements in both, are not merely in another order."""
    atoms = ours.atom_slice(index)
    here, there, numbers = ours.positions[atoms], theirs.positions[atoms], ours.numbers[atoms]
    moved = np.flatnonzero((np.abs(here - there) > SAME_WITHIN).any(axis=1))[:MAX_ORDERED]
    apart = np.abs(here[moved][:, None] - there[moved][None]).max(axis=2)
    found = (apart <= SAME_WITHIN) & (numbers[moved][:, None] == numbers[moved][None])
    if found.any(axis=0).all() and found.any(axis=1).all():
        listed = " and ".join(map(str, moved[:2])) + (" and others" if len(moved) > 2 else "")
        raise DatasetError(
            f"{where}: frame {index}: positions: atoms {listed} are exchanged; bring the atoms into the same order"
        )


def _same(same: NDArray[Any] | np.bool_, field: str, where: str) -> None:
    different = np.flatnonzero(~same)
    if different.size:
        raise DatasetError(f"{where}: frame {different[0]}: {field}: differs; bring the frames into the same order")


def with_multiplicity(frames: Frames, multiplicity: int | None) -> Frames:
    """`frames` with this 2S+1 for every one that has no periodic direction and states none."""
    if multiplicity is None:
        return frames
    silent = ~frames.pbc.any(axis=1) & (frames.multiplicity == 0)
    return replace(frames, multiplicity=np.where(silent, multiplicity, frames.multiplicity))


def formulas(frames: Frames) -> tuple[str, ...]:
    """By structure, its formula in Hill's order."""
    known: dict[bytes, str] = {}
    names = []
    for numbers in np.split(frames.numbers, frames.offsets[1:-1]):
        key = numbers.tobytes()
        if key not in known:
            known[key] = str(Symbols(numbers).get_chemical_formula())
        names.append(known[key])
    return tuple(names)


def with_periodicity(card: Card, frames: Frames) -> Card:
    """`card` with `periodic` as it is true of the structures."""
    return card.model_copy(update={"periodic": bool(frames.periodic.all())})
