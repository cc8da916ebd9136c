"""Whether frames of a data set are among those of a public one: models may have learned from these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from judge.data.import_options import WITHIN
from tasks.datasets.dataset import Dataset, DatasetError
from tasks.structures.frames import Frames
from tasks.trajectories.equivalent_atoms import same_molecule_orders
from tasks.trajectories.frame_overlap import frame_overlap
from tasks.trajectories.pair_distances import MoleculeFrames, molecules_of


class PublicOverlap(NamedTuple):
    """The frames of a data set that a public one has, too.

    Args:
        public: name@version of the public one.
        within: RMSD [Å] within which two frames count as one.
        n_compared: by group of the data set, its frames of molecules that both have.
        n_other: of molecules that the public one does not have: nothing was compared.
        n_near: by group, those within `within` of a public frame.
        n_same_time: frames whose name, which states trajectory and time, is that of a public frame.
        n_frames: that overlap in either way.
        nearest: the two frames that are nearest of all that overlap, as words; empty if none do.
    """

    public: str
    within: float
    n_compared: dict[str, int]
    n_other: dict[str, int]
    n_near: dict[str, int]
    n_same_time: int
    n_frames: int
    nearest: str

    @property
    def line(self) -> str:
        """All in one line."""
        groups = ", ".join(f"{group} {self.n_near.get(group, 0)} of {n}" for group, n in self.n_compared.items())
        nearest = f"; nearest: {self.nearest}" if self.nearest else ""
        other = f"; not in {self.public}: {', '.join(self.n_other)}" if self.n_other else ""
        return (
            f"overlap with {self.public}: {self.n_frames} frames: within {self.within:g} Å: {groups}; at the same "
            f"time of the same trajectory: {self.n_same_time}{nearest}{other}"
        )


def public_overlap(dataset: Dataset, public: Dataset, within: float = WITHIN) -> PublicOverlap:
    """The frames of `dataset` that lie within an RMSD of `within` [Å] of a frame of `public`.

    The same molecules are compared, with any names of their groups and in any order of their atoms.

    Raises:
        DatasetError: the two have no molecule in common, so that nothing can be compared.
    """
    ids, public_ids = dataset.table.id, public.table.id
    same_time = np.isin(np.array(ids), np.array(public_ids))
    near, least, nearest = np.zeros(len(ids), np.bool_), np.inf, ""
    compared = np.zeros(len(ids), np.bool_)
    others = _molecules(public.frames)
    for molecule in _molecules(dataset.frames):
        for other in others:
            overlap = frame_overlap(molecule, other, within)
            if overlap is None:
                continue
            compared[molecule.indices] = True
            near[molecule.indices[overlap.frames]] = True
            if overlap.rmsd.min(initial=np.inf) < least:
                k = int(np.argmin(overlap.rmsd))
                least = float(overlap.rmsd[k])
                first, second = molecule.indices[overlap.frames[k]], other.indices[overlap.nearest[k]]
                nearest = f"{ids[first]} and {public_ids[second]}, {least:.3f} Å"
    if not compared.any():
        raise _nothing_compared(public)
    name = public.card.full_name
    groups = np.array(dataset.table.group)
    n_compared, n_other, n_near = (dict(Counter(groups[chosen].tolist())) for chosen in (compared, ~compared, near))
    n_same_time, n_frames = int(same_time.sum()), int((near | same_time).sum())
    return PublicOverlap(name, within, n_compared, n_other, n_near, n_same_time, n_frames, nearest)


def check_shared_molecule(starts: Sequence[Frames], public: Dataset) -> None:
    """At least one of the molecules `starts`, each a batch of one structure, is in `public`.

    Raises:
        DatasetError: none is, so that nothing can be compared.
    """
    others = _molecules(public.frames)
    ours = [molecule for frames in starts for molecule in _molecules(frames)]
    if not any(same_molecule_orders(molecule, other) for molecule in ours for other in others):
        raise _nothing_compared(public)


def _nothing_compared(public: Dataset) -> DatasetError:
    return DatasetError(
        f"--public: {public.card.full_name} has none of these molecules, so that nothing can be compared: name their "
        "public frames"
    )


def _molecules(frames: Frames) -> list[MoleculeFrames]:
    """The structures without a periodic direction, by molecule."""
    return molecules_of(frames, np.flatnonzero(~frames.pbc.any(axis=1)))
