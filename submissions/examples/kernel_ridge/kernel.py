"""The energy as a sum of kernels between environments, and its forces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from environments import Described, Environments, Structure

MODEL = "model.npz"
WIDTH = 1.0  # of the kernel, by the spread of an element's environments


class SparseKernel(NamedTuple):
    """E = Σ_i (atomic energy + Σ_c w_c exp(−|d_i − d_c|² / 2σ²)), c over the centres of the atom's element.

    Args:
        environments: the descriptor d.
        atomic: (S,) energy of each element's atoms [eV].
        centres: of each element, (M_s, D) descriptors.
        spreads: (S,) standard deviation of each element's environments.
        weights: (M,) [eV], element by element.
    """

    environments: Environments
    atomic: np.ndarray
    centres: list[np.ndarray]
    spreads: np.ndarray
    weights: np.ndarray

    def arrays(self) -> dict[str, np.ndarray]:
        """All that makes this model, by name."""
        centres = {f"centres_{index}": centres for index, centres in enumerate(self.centres)}
        own = {"atomic": self.atomic, "spreads": self.spreads, "weights": self.weights}
        return {**self.environments.arrays(), **centres, **own}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> SparseKernel:
        """The model that `arrays` gave."""
        environments = Environments.from_arrays(arrays)
        centres = [arrays[f"centres_{index}"] for index in range(len(environments.elements))]
        return cls(environments, arrays["atomic"], centres, arrays["spreads"], arrays["weights"])

    def between_centres(self) -> np.ndarray:
        """(M, M): 0 between centres of two elements."""
        kernel = np.zeros((len(self.weights),) * 2)
        start = 0
        for centres, spread in zip(self.centres, self.spreads, strict=True):
            part = slice(start, start + len(centres))
            kernel[part, part] = gaussian(centres, centres, WIDTH * spread)
            start += len(centres)
        return kernel

    def evaluate(self, structure: Structure) -> tuple[float, np.ndarray]:
        """Energy [eV] and forces (N, 3) [eV/Å]."""
        described = self.environments.describe([structure])
        energy = float(composition(structure.numbers, self.environments.elements) @ self.atomic)
        gradient = np.zeros_like(described.values)
        start = 0
        for index, (centres, spread) in enumerate(zip(self.centres, self.spreads, strict=True)):
            mine, width = described.species == index, WIDTH * spread
            values = described.values[mine]
            weighted = gaussian(values, centres, width) * self.weights[start : start + len(centres)]
            energy += float(weighted.sum())
            gradient[mine] = (weighted @ centres - weighted.sum(axis=1)[:, None] * values) / width**2
            start += len(centres)
        return energy, forces_of(described, gradient)


def forces_of(described: Described, gradient: np.ndarray) -> np.ndarray:
    """Forces (N, 3) [eV/Å], from the derivatives (N, D) of the energy by the descriptors."""
    slopes = np.einsum("pdx,pd->px", described.slopes, gradient[described.centre])
    forces = np.zeros((len(gradient), 3))
    np.subtract.at(forces, described.neighbour, slopes)
    np.add.at(forces, described.centre, slopes)
    return forces


def composition(numbers: np.ndarray, elements: np.ndarray) -> np.ndarray:
    """(S,) atoms of each element."""
    return np.array([np.count_nonzero(numbers == element) for element in elements])


def gaussian(a: np.ndarray, b: np.ndarray, width: float) -> np.ndarray:
    """exp(−|a − b|² / 2 width²) for all rows of both."""
    squares = np.sum(a**2, axis=1)[:, None] + np.sum(b**2, axis=1) - 2 * a @ b.T
    return np.exp(-np.maximum(squares, 0) / (2 * width**2))


def rows(model: SparseKernel, structures: Sequence[Structure]) -> tuple[np.ndarray, np.ndarray]:
    """Energies (n, M) and forces (N, 3, M) of all structures, by weight."""
    described = model.environments.describe(structures)
    frame = np.repeat(np.arange(len(structures)), [len(s.numbers) for s in structures])
    energies = np.zeros((len(structures), len(model.weights)))
    forces = np.zeros((len(frame), 3, len(model.weights)))
    start = 0
    for index, (centres, spread) in enumerate(zip(model.centres, model.spreads, strict=True)):
        columns = slice(start, start + len(centres))
        start += len(centres)
        atoms = np.flatnonzero(described.species == index)
        values, width = described.values[atoms], WIDTH * spread
        kernel = gaussian(values, centres, width)
        np.add.at(energies[:, columns], frame[atoms], kernel)
        # dk/dx = k (d_c − d_i) · dd_i/dx / σ² for the neighbour's position x; the centre moves the other way.
        pairs = np.flatnonzero(described.species[described.centre] == index)
        centre, neighbour = described.centre[pairs], described.neighbour[pairs]
        slopes = described.slopes[pairs].swapaxes(1, 2)
        towards = slopes @ centres.T.astype(np.float32)
        towards -= np.einsum("pxd,pd->px", slopes, described.values[centre].astype(np.float32))[:, :, None]
        towards *= (kernel / width**2)[np.searchsorted(atoms, centre), None].astype(np.float32)
        add_rows(forces[:, :, columns], centre, towards)
        add_rows(forces[:, :, columns], neighbour, -towards)
    return energies, forces


def add_rows(total: np.ndarray, index: np.ndarray, values: np.ndarray) -> None:
    """Adds each of `values` to the row of `total` that `index` names."""
    if len(index):
        order = np.argsort(index, kind="stable")
        first = np.flatnonzero(np.diff(index[order], prepend=-1))
        total[index[order][first]] += np.add.reduceat(values[order], first)
