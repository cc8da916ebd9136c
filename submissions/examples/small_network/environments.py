"""Descriptors of atoms' environments that do not change under rotation, translation or exchange of like atoms.

An environment is described by the moments of its neighbours' density,

    c[s, n, abc] = Σ_j g_n(r_j) x_j^a y_j^b z_j^c / r_j^(a+b+c),   j of element s within the cutoff,

whose elements and radial functions are mixed into a few channels (doi:10.1063/5.0057229), and by the products of any
two channels, summed over the moments of one degree l = a + b + c. Such a product is a sum over pairs of neighbours of
g g' cos^l θ: a power spectrum as in SOAP (doi:10.1103/PhysRevB.87.184115), without spherical harmonics. Principal
components of each element's descriptors keep the number of columns small.

kernel_ridge and small_network hold the same copy of this file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import factorial
from typing import NamedTuple

import numpy as np
from ase.neighborlist import primitive_neighbor_list

CUTOFF = 4.5  # Å
N_RADIAL = 8
N_CHANNELS = 12
MAX_DEGREE = 4
N_LEARNED = 1500  # environments from which channels and components are computed
DENSE_ATOMS = 400  # in a molecule of at most so many atoms, all distances are computed
CENTRES, WIDTH = np.linspace(0.8, 3.8, N_RADIAL), 0.25  # of the radial functions [Å]

# The exponents (a, b, c) of the moments, by degree, and the square roots of their multinomial coefficients.
EXPONENTS = np.array(
    [(a, b, n - a - b) for n in range(MAX_DEGREE + 1) for a in range(n, -1, -1) for b in range(n - a, -1, -1)]
)
DEGREES = EXPONENTS.sum(axis=1)
ROOTS = np.sqrt([factorial(sum(e)) / np.prod([factorial(k) for k in e]) for e in EXPONENTS.tolist()])
BY_DEGREE = [np.flatnonzero(degree == DEGREES) for degree in range(MAX_DEGREE + 1)]


class Structure(NamedTuple):
    """Atomic numbers (N,), positions (N, 3) [Å], cell (3, 3) [Å] and periodic directions (3,)."""

    numbers: np.ndarray
    positions: np.ndarray
    cell: np.ndarray
    pbc: np.ndarray


class Described(NamedTuple):
    """Environments of N atoms in one or several structures, with P pairs of neighbours.

    Args:
        species: (N,) index of each atom's element.
        values: (N, D) descriptors.
        centre, neighbour: (P,) indices of atoms; each pair is there from both of its atoms.
        slopes: (P, D, 3) derivatives of the centre's descriptor by the neighbour's position [1/Å], float32.
    """

    species: np.ndarray
    values: np.ndarray
    centre: np.ndarray
    neighbour: np.ndarray
    slopes: np.ndarray


class Environments:
    """A descriptor for the elements of the structures that it was computed from."""

    def __init__(self, elements: np.ndarray, mixing: np.ndarray, means: np.ndarray, components: np.ndarray) -> None:
        """Takes the arrays that `arrays` gives: for S elements of n radial functions, K channels and D columns.

        Args:
            elements: (S,) atomic numbers in ascending order.
            mixing: (degrees, S, n, K).
            means: (S, degrees · K · K).
            components: (S, degrees · K · K, D).
        """
        self.elements, self.mixing, self.means, self.components = elements, mixing, means, components

    @classmethod
    def learn(cls, structures: Sequence[Structure], n_columns: int) -> Environments:
        """The descriptor whose channels and columns keep most of the variance in the first of these structures."""
        elements = np.unique(np.concatenate([structure.numbers for structure in structures]))
        enough = 1 + int(np.searchsorted(np.cumsum([len(s.numbers) for s in structures]), N_LEARNED))
        pairs = _pairs(structures[:enough], elements)
        values, _ = _moments(pairs.vectors)
        unmixed = np.eye(len(elements) * N_RADIAL).reshape(len(elements), N_RADIAL, -1)
        mixing = []
        for moments in _density(pairs, values, [unmixed] * len(BY_DEGREE)):
            channels = np.linalg.eigh(np.einsum("ima,imb->ab", moments, moments))[1][:, ::-1]
            mixing.append(channels[:, :N_CHANNELS].reshape(len(elements), N_RADIAL, -1))
        spectra = _spectra(_density(pairs, values, mixing))
        means, components = [], []
        for index in range(len(elements)):
            mine = spectra[pairs.species == index]
            means.append(mine.mean(axis=0) if len(mine) else np.zeros(spectra.shape[1]))
            difference = mine - means[-1]
            components.append(_symmetric(np.linalg.eigh(difference.T @ difference)[1][:, ::-1][:, :n_columns]))
        return cls(elements, np.stack(mixing), np.stack(means), np.stack(components))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Environments:
        """The descriptor that `arrays` gave."""
        return cls(arrays["elements"], arrays["mixing"], arrays["means"], arrays["components"])

    def arrays(self) -> dict[str, np.ndarray]:
        """All that makes this descriptor, by name."""
        names = ("elements", "mixing", "means", "components")
        return {name: getattr(self, name) for name in names}

    def knows(self, numbers: np.ndarray) -> bool:
        """Whether all these atomic numbers were learned."""
        return bool(np.isin(numbers, self.elements).all())

    def describe(self, structures: Sequence[Structure]) -> Described:
        """The environments of all atoms, structure by structure. All elements must be known."""
        pairs = _pairs(structures, self.elements)
        moments, derivatives = _moments(pairs.vectors)
        density = _density(pairs, moments, self.mixing)
        spectra = _spectra(density)
        values = np.empty((len(pairs.species), self.components.shape[2]))
        for index in range(len(self.elements)):
            mine = pairs.species == index
            values[mine] = (spectra[mine] - self.means[index]) @ self.components[index]
        slopes = self._slopes(pairs, density, derivatives)
        return Described(pairs.species, values, pairs.centre, pairs.neighbour, slopes)

    def _slopes(self, pairs: Pairs, density: Sequence[np.ndarray], derivatives: np.ndarray) -> np.ndarray:
        """By the chain rule: the products by the density, and the density by the neighbour's position."""
        components = 2 * self.components.astype(np.float32)  # a product changes with either factor
        slopes = np.empty((len(pairs.centre), components.shape[2], 3), np.float32)
        species, near = pairs.species[pairs.centre], pairs.species[pairs.neighbour]
        for index, element in np.ndindex(len(self.elements), len(self.elements)):
            chosen = np.flatnonzero((species == index) & (near == element))
            factors = derivatives[chosen]
            products = np.empty((len(chosen), 3, len(BY_DEGREE), *density[0].shape[2:] * 2), np.float32)
            for degree, columns in enumerate(BY_DEGREE):
                mixed = factors[:, :, columns] @ self.mixing[degree, element].astype(np.float32)
                other = density[degree][pairs.centre[chosen]].astype(np.float32)
                np.matmul(mixed.swapaxes(2, 3), other[:, None], out=products[:, :, degree])
            rows = products.reshape(-1, components.shape[1]) @ components[index]
            slopes[chosen] = rows.reshape(len(chosen), 3, components.shape[2]).swapaxes(1, 2)
        return slopes


class Pairs(NamedTuple):
    """Atoms (N,) by the index of their element, and pairs (P,) of neighbours with vectors (P, 3) [Å]."""

    species: np.ndarray
    centre: np.ndarray
    neighbour: np.ndarray
    vectors: np.ndarray


def _pairs(structures: Sequence[Structure], elements: np.ndarray) -> Pairs:
    parts, start = [], 0
    for structure in structures:
        i, j, vectors = _neighbours(structure)
        parts.append((np.searchsorted(elements, structure.numbers), i + start, j + start, vectors))
        start += len(structure.numbers)
    return Pairs(*map(np.concatenate, zip(*parts, strict=True)))


def _neighbours(structure: Structure) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each pair within the cutoff, from both of its atoms: two indices, and the vector between them [Å]."""
    positions = structure.positions
    if structure.pbc.any() or len(positions) > DENSE_ATOMS:
        i, j, vectors = primitive_neighbor_list("ijD", structure.pbc, structure.cell, positions, CUTOFF)
        return i, j, vectors
    vectors = positions[None] - positions[:, None]
    near = np.linalg.norm(vectors, axis=2) < CUTOFF
    np.fill_diagonal(near, False)
    i, j = np.nonzero(near)
    return i, j, vectors[i, j]


def _radial(r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Radial functions (P, n) at the distances r (P,), larger for closer atoms, and their derivatives [1/Å]."""
    x = np.pi * r / CUTOFF
    scale = 0.5 * (np.cos(x) + 1) / r**2
    slope = -0.5 * np.pi / CUTOFF * np.sin(x) / r**2 - 2 * scale / r
    distance = r[:, None] - CENTRES
    gaussian = np.exp(-0.5 * (distance / WIDTH) ** 2)
    return gaussian * scale[:, None], gaussian * (slope[:, None] - scale[:, None] * distance / WIDTH**2)


def _moments(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What one neighbour adds to the moments (P, m, n), and its derivatives (P, 3, m, n), float32."""
    r = np.linalg.norm(vectors, axis=1)
    u = (vectors / r[:, None]).T
    powers = np.stack([u**k for k in range(MAX_DEGREE + 1)])
    factors = [powers[EXPONENTS[:, axis], axis] for axis in range(3)]
    lowered = [EXPONENTS[:, axis, None] * powers[EXPONENTS[:, axis] - 1, axis] for axis in range(3)]
    angular = (factors[0] * factors[1] * factors[2]).T * ROOTS  # (P, m)
    slope = (
        np.stack(
            [
                lowered[0] * factors[1] * factors[2],
                factors[0] * lowered[1] * factors[2],
                factors[0] * factors[1] * lowered[2],
            ]
        ).transpose(2, 0, 1)
        * ROOTS
    )
    # r changes only along u, and u only across it; along u, a monomial's derivative is its degree times itself.
    along = u.T[:, :, None] * angular[:, None]
    across = (slope - DEGREES * along) / r[:, None, None]
    radial, radial_slope = _radial(r)
    derivatives = across[..., None].astype(np.float32) * radial[:, None, None].astype(np.float32)
    derivatives += along[..., None].astype(np.float32) * radial_slope[:, None, None].astype(np.float32)
    return angular[:, :, None] * radial[:, None], derivatives


def _density(pairs: Pairs, moments: np.ndarray, mixing: Sequence[np.ndarray]) -> list[np.ndarray]:
    """By degree, the moments (N, m, K) of all neighbours of each atom, in mixed channels."""
    n_species = mixing[0].shape[0]
    sums = np.zeros((len(pairs.species) * n_species, *moments.shape[1:]))
    keys = pairs.centre * n_species + pairs.species[pairs.neighbour]
    order = np.argsort(keys, kind="stable")
    first = np.flatnonzero(np.diff(keys[order], prepend=-1))
    if len(keys):
        sums[keys[order][first]] = np.add.reduceat(moments[order], first)
    sums = sums.reshape(len(pairs.species), n_species, *moments.shape[1:])
    return [
        np.einsum("ismn,snk->imk", sums[:, :, m], mix, optimize=True) for m, mix in zip(BY_DEGREE, mixing, strict=True)
    ]


def _spectra(density: Sequence[np.ndarray]) -> np.ndarray:
    """(N, degrees · K · K): the products of any two channels, summed over the moments of a degree."""
    products = [moments.swapaxes(1, 2) @ moments for moments in density]
    return np.stack(products, axis=1).reshape(len(density[0]), -1)


def _symmetric(components: np.ndarray) -> np.ndarray:
    """Columns (degrees · K · K, D) without what exchanges two channels: of products that are always 0."""
    k = round((len(components) / len(BY_DEGREE)) ** 0.5)
    blocks = components.reshape(len(BY_DEGREE), k, k, -1)
    return (0.5 * (blocks + blocks.swapaxes(1, 2))).reshape(components.shape)
