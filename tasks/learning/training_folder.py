"""The folder that a trainer gets: frames with labels, and a description. It holds what is learned and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from ase.data import chemical_symbols

from tasks.datasets.dataset import Dataset
from tasks.structures.frames import Frames, Int
from tasks.structures.predictions import Labels, Predictions

DESCRIPTION, XYZ, ARRAYS = "training.json", "frames.xyz", "frames.npz"
UNITS = {"energy": "eV", "forces": "eV/Å", "positions": "Å", "cell": "Å"}


def write_training_folder(dataset: Dataset, learned: Int, label_set: str | None, folder: Path) -> None:
    """Writes the frames `learned` with their labels of `label_set` (None: the default one) into `folder`.

    Raises:
        ValueError: they have no energies or no forces.
        OSError: the folder cannot be written.
    """
    name = dataset.label_set(label_set)
    labels = labels_of(dataset.frames, dataset.labels(name), learned)
    write_frames(dataset.frames.take(learned), labels, dataset.card.label_sets[name].theory, folder)


def labels_of(frames: Frames, labels: Labels, chosen: Int) -> Labels:
    """Energies and forces of the frames `chosen`.

    Raises:
        ValueError: one has none.
    """
    if labels.energy is None or labels.forces is None:
        raise ValueError("labels: a trainer needs energies and forces")
    taken = Labels(labels.energy[chosen], labels.forces[frames.atom_indices(chosen)])
    if not all(np.isfinite(array).all() for array in taken.arrays.values()):
        raise ValueError("labels: a frame that is learned from has no energy, or no forces")
    return taken


def write_frames(frames: Frames, labels: Labels | Predictions, theory: str, folder: Path) -> None:
    """Writes `frames` with their energies and forces into `folder`, as a description, extended XYZ and npz."""
    energy, forces = np.asarray(labels.energy), np.asarray(labels.forces)
    molecules = [{"numbers": numbers, "frames": n} for numbers, n in _molecules(frames)]
    description = {
        "frames": len(frames),
        "molecules": molecules,
        "properties": ["energy", "forces"],
        "units": UNITS,
        "theory": theory,
        "order": "molecule by molecule, in the order of time",
        "files": {"arrays": ARRAYS, "extended XYZ": XYZ},
    }
    (folder / DESCRIPTION).write_text(json.dumps(description, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    arrays: dict[str, Any] = {"energy": energy, "forces": forces, **frames.arrays()}
    np.savez(folder / ARRAYS, **arrays)
    with (folder / XYZ).open("w", encoding="utf-8") as file:
        file.writelines(_xyz(frames, energy, forces, index) for index in range(len(frames)))


def _molecules(frames: Frames) -> list[tuple[list[int], int]]:
    counts: dict[tuple[int, ...], int] = {}
    for start, stop in zip(frames.offsets[:-1], frames.offsets[1:], strict=True):
        numbers = tuple(frames.numbers[start:stop].tolist())
        counts[numbers] = counts.get(numbers, 0) + 1
    return [(list(numbers), n) for numbers, n in counts.items()]


def _xyz(frames: Frames, energy: np.ndarray, forces: np.ndarray, index: int) -> str:
    """One frame as extended XYZ, with all digits."""
    start, stop = frames.offsets[index], frames.offsets[index + 1]
    pbc = " ".join("FT"[int(periodic)] for periodic in frames.pbc[index])
    lattice = " ".join(map(repr, frames.cell[index].ravel().tolist()))
    lattice = f'Lattice="{lattice}" ' if frames.pbc[index].any() else ""
    lines = [
        str(stop - start),
        f'{lattice}Properties=species:S:1:pos:R:3:forces:R:3 energy={energy[index].item()!r} pbc="{pbc}"',
    ]
    rows = np.concatenate([frames.positions[start:stop], forces[start:stop]], axis=1).tolist()
    symbols = [chemical_symbols[z] for z in frames.numbers[start:stop]]
    lines += [f"{symbol} {' '.join(map(repr, row))}" for symbol, row in zip(symbols, rows, strict=True)]
    return "\n".join(lines) + "\n"
