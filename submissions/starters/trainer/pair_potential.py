"""The model: an energy of each atom, and for each two elements a sum of Gaussians of the distance."""

import numpy as np

MODEL = "model.npz"
CENTRES, WIDTH = np.linspace(0.8, 5.0, 15), 0.3  # Å


def derivatives(numbers, positions, elements):
    """The row (M,) of the energy, and rows (3N, M) of the forces: times the weights (M,), they are eV and eV/Å."""
    kinds, n = np.searchsorted(elements, numbers), len(elements)
    i, j = np.triu_indices(len(numbers), 1)
    vectors = positions[j] - positions[i]
    distances = np.linalg.norm(vectors, axis=1)
    pair = np.minimum(kinds[i], kinds[j]) * n + np.maximum(kinds[i], kinds[j])
    gaussians = np.exp(-0.5 * ((distances[:, None] - CENTRES) / WIDTH) ** 2)
    slopes = -gaussians * (distances[:, None] - CENTRES) / WIDTH**2
    energy = np.zeros((n * n, len(CENTRES)))
    np.add.at(energy, pair, gaussians)
    forces = np.zeros((len(numbers), n * n, 3, len(CENTRES)))
    push = slopes[:, None] * (vectors / distances[:, None])[:, :, None]
    np.add.at(forces, (i, pair), push)
    np.add.at(forces, (j, pair), -push)
    rows = forces.swapaxes(1, 2).reshape(3 * len(numbers), -1)
    atoms = np.bincount(kinds, minlength=n)
    return np.append(atoms, energy), np.hstack([np.zeros((len(rows), n)), rows])
