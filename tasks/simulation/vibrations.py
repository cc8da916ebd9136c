"""Harmonic vibrations of a crystal from the forces on its displaced supercells: highest frequency, S, F and C_V.

The force constants are those of phonopy's finite differences (A. Togo, J. Phys. Soc. Jpn. 92, 012001 (2023),
doi:10.7566/JPSJ.92.012001), then made symmetric under exchange of the two atoms and to obey the acoustic sum rule. No
non-analytical correction at Γ: a potential has no Born charges, so references are made without it as well.

- Frequencies are those at the wave vectors that are commensurate with the supercell: there they follow from the forces
  alone, without interpolation. The highest frequency is one of these; so is the lowest, by which a crystal is unstable,
  without the three acoustic modes at Γ (the sum rule puts them at zero, rounding a little above or below).
- Entropy, free energy and heat capacity are sums over a Γ-centred mesh of interpolated frequencies ν, again without the
  three acoustic modes at Γ, and without imaginary modes (in a crystal within the tolerance some are artefacts of the
  interpolation). They are per mole of primitive cells, as in phonopy. By default phonopy 4.10.0 includes each acoustic
  mode at Γ that rounding puts above zero, and LAMBench (phonon.py at commit 53663f0) uses that default.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from ase import Atoms
from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt
from spglib import SpglibError

from tasks.kind import Parameters
from tasks.structures.frames import Float, Int

if TYPE_CHECKING:
    from phonopy import Phonopy
    from phonopy.structure.atoms import PhonopyAtoms

# The SI defines these constants exactly; phonopy 4.10.0 has those of CODATA 2006, so that its sums differ in the sixth
# digit.
PLANCK, BOLTZMANN, AVOGADRO = 6.62607015e-34, 1.380649e-23, 6.02214076e23  # J s, J/K, 1/mol
THZ_IN_K = PLANCK * 1e12 / BOLTZMANN  # hν/k_B of 1 THz
GAS_CONSTANT = AVOGADRO * BOLTZMANN  # J/mol/K


class VibrationSettings(Parameters):
    """How vibrations are summed. A reference must have been summed in the same way.

    Args:
        temperature_k: of entropy, free energy and heat capacity.
        mesh: of wave vectors: three numbers, or a length l [Å], which makes round(l |b_i|) along the reciprocal vector
            b_i (no 2π), at least 1. 100 Å is phonopy's own default.
        imaginary_tolerance_thz: a crystal with a commensurate frequency below minus this is unstable.
    """

    temperature_k: PositiveFloat = 300.0
    mesh: PositiveFloat | tuple[PositiveInt, PositiveInt, PositiveInt] = 100.0
    imaginary_tolerance_thz: NonNegativeFloat = 0.05


class Vibrations(NamedTuple):
    """The vibrations of a crystal. Imaginary frequencies are negative numbers, as in phonopy.

    Args:
        lowest_frequency_thz: of the commensurate ones without the acoustic modes at Γ.
        max_frequency_k: the highest commensurate frequency as hν/k_B [K].
        entropy_j_per_mol_k, free_energy_kj_per_mol, heat_capacity_j_per_mol_k: per mole of primitive cells; the free
            energy contains the zero-point energy.
        mean_frequency_k: over the mesh, without the acoustic modes at Γ [K].
        min_frequency_k: `lowest_frequency_thz` as hν/k_B [K].
    """

    lowest_frequency_thz: float
    max_frequency_k: float
    entropy_j_per_mol_k: float
    free_energy_kj_per_mol: float
    heat_capacity_j_per_mol_k: float
    mean_frequency_k: float
    min_frequency_k: float

    def is_stable(self, tolerance_thz: float) -> bool:
        """Whether no frequency is imaginary beyond the tolerance; NaN is not stable."""
        return self.lowest_frequency_thz >= -tolerance_thz


class MeshFrequencies(NamedTuple):
    """Frequencies over a mesh.

    Args:
        qpoints: (q, 3) irreducible wave vectors, in reciprocal vectors of the primitive cell.
        weights: (q,) of how many wave vectors of the mesh each stands for.
        frequencies: (q, b) [THz], in ascending order.
    """

    qpoints: list[list[float]]
    weights: list[int]
    frequencies: list[list[float]]


class PhonopyPanicked(FloatingPointError, ValueError):
    """Numbers over which phonopy's compiled part panics."""


@contextmanager
def phonopy_panics() -> Iterator[None]:
    """Turns a panic of phonopy's Rust code (over denormal numbers), which is no `Exception`, into one.

    Raises:
        PhonopyPanicked: in its place.
    """
    try:
        yield
    except (Exception, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001 - a panic has no class that could be imported
        raise PhonopyPanicked(str(error).partition("\n")[0]) from None


def crystal(atoms: Atoms | PhonopyAtoms, supercell: Int, primitive: Float, *, with_symmetry: bool = True) -> Phonopy:
    """`atoms` with supercell and primitive cell, ready to be displaced; masses are the elements' standard ones.

    Args:
        with_symmetry: False: without the symmetry, whose search takes nearly all of the time.
        supercell: (3, 3), its columns are the supercell's vectors in those of the cell (phonopy's convention).
        primitive: (3, 3), its columns are the primitive vectors in those of the cell.

    Raises:
        ValueError: the matrices do not fit the structure, or atoms lie on each other.
    """
    from phonopy import Phonopy  # it takes long to import, and most commands compute no phonons
    from phonopy.structure.atoms import PhonopyAtoms

    cell = PhonopyAtoms(
        numbers=atoms.numbers,
        cell=np.asarray(atoms.cell),
        positions=atoms.positions,
        magnetic_moments=atoms.magnetic_moments if isinstance(atoms, PhonopyAtoms) else None,
    )
    try:
        with phonopy_panics():
            return Phonopy(cell, supercell_matrix=supercell, primitive_matrix=primitive, is_symmetry=with_symmetry)
    except (RuntimeError, ValueError, SpglibError) as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(f"supercell and primitive: do not fit the structure: {reason}") from None


def displace(phonon: Phonopy, atom: Int, displacement: Float, forces: Float) -> None:
    """Gives `phonon` force constants from the forces on its displaced supercells.

    Args:
        atom: (d,) which atom of the supercell is displaced.
        displacement: (d, 3) [Å].
        forces: (d, s, 3) [eV/Å] on the s atoms of the supercell, less those without a displacement.

    Raises:
        ValueError: the displacements do not determine the force constants.
    """
    if not _determine(phonon, atom, displacement):
        raise ValueError("with the crystal's symmetry they do not move every atom in all three directions")
    first_atoms: Any = [
        {"number": int(a), "displacement": u, "forces": f} for a, u, f in zip(atom, displacement, forces, strict=True)
    ]
    phonon.dataset = {"natom": len(phonon.supercell), "first_atoms": first_atoms}
    with phonopy_panics():
        # Compact: only the rows of the primitive cell's atoms.
        phonon.produce_force_constants(calculate_full_force_constants=False, show_drift=False)
        phonon.symmetrize_force_constants(show_drift=False)


def _determine(phonon: Phonopy, atom: Int, displacement: Float) -> bool:
    """Whether the displacements and the symmetry move every atom in three directions (phonopy does not check this)."""
    symmetry = phonon.symmetry
    representative = np.asarray(symmetry.get_map_atoms())
    lattice = phonon.supercell.cell.T
    moved: dict[int, list[Float]] = {int(a): [] for a in np.unique(representative)}
    for a, u in zip(atom, displacement, strict=True):
        rotations = symmetry.get_site_symmetry(int(a)).astype(np.float64)
        moved[int(representative[a])].append(rotations @ np.linalg.solve(lattice, u))
    return all(parts and np.linalg.matrix_rank(np.vstack(parts), rtol=1e-3) == 3 for parts in moved.values())


def vibrations(phonon: Phonopy, settings: VibrationSettings) -> Vibrations:
    """The vibrations of `phonon` from its force constants.

    Raises:
        PhonopyPanicked: phonopy cannot compute with these force constants.
    """
    with phonopy_panics():
        commensurate = commensurate_frequencies(phonon)
        phonon.run_mesh(settings.mesh, is_gamma_center=True)
    mesh: Any = phonon.mesh
    frequencies = _without_acoustic(mesh.qpoints, mesh.frequencies)
    weights = mesh.weights / mesh.weights.sum()
    entropy, free_energy, heat_capacity = (
        float(weights @ part) for part in _thermal(frequencies, settings.temperature_k)
    )
    lowest, modes = float(np.fmin.reduce(commensurate, axis=None)), np.isfinite(frequencies)
    mean = float(weights @ np.where(modes, frequencies, 0.0).sum(axis=1) / (weights @ modes.sum(axis=1)))
    return Vibrations(
        lowest_frequency_thz=lowest,
        max_frequency_k=float(np.fmax.reduce(commensurate, axis=None)) * THZ_IN_K,
        entropy_j_per_mol_k=entropy,
        free_energy_kj_per_mol=free_energy / 1e3,
        heat_capacity_j_per_mol_k=heat_capacity,
        mean_frequency_k=mean * THZ_IN_K,
        min_frequency_k=lowest * THZ_IN_K,
    )


def mesh_frequencies(phonon: Phonopy, settings: VibrationSettings) -> MeshFrequencies:
    """The frequencies over the mesh of `settings`, with the acoustic ones at Γ.

    Raises:
        PhonopyPanicked: phonopy cannot compute with the force constants.
    """
    with phonopy_panics():
        phonon.run_mesh(settings.mesh, is_gamma_center=True)
    mesh: Any = phonon.mesh
    return MeshFrequencies(
        np.asarray(mesh.qpoints).tolist(),
        np.asarray(mesh.weights).tolist(),
        np.sort(np.asarray(mesh.frequencies, np.float64), axis=1).tolist(),
    )


def frequencies_at(phonon: Phonopy, qpoints: Float) -> Float:
    """(q, b) [THz] at wave vectors (q, 3) of the primitive cell, in ascending order.

    Raises:
        PhonopyPanicked: phonopy cannot compute with the force constants.
    """
    with phonopy_panics():
        phonon.run_qpoints(qpoints)
    found: Any = phonon.qpoints
    return np.sort(np.asarray(found.frequencies, np.float64), axis=1)


def commensurate_frequencies(phonon: Phonopy) -> Float:
    """(q, b) [THz] at the wave vectors commensurate with the supercell; the three acoustic ones at Γ are NaN.

    Where the cell is not primitive, LAMBench (phonon.py at commit 53663f0) reads the coordinates of the cell's
    commensurate wave vectors as if they were the primitive cell's: fewer points, of which some are not commensurate if
    the supercell repeats the cell unequally.
    """
    from phonopy.harmonic.dynmat_to_fc import get_commensurate_points

    per_primitive = np.rint(np.linalg.solve(phonon.primitive_matrix, phonon.supercell_matrix)).astype(np.int64)
    points = get_commensurate_points(per_primitive)
    phonon.run_qpoints(points)
    qpoints: Any = phonon.qpoints
    return _without_acoustic(points, qpoints.frequencies)


def _without_acoustic(points: Float, frequencies: Float) -> Float:
    """`frequencies` (q, b) with NaN for the three that are nearest to zero at Γ."""
    kept = np.array(frequencies, np.float64)
    for row in np.flatnonzero(np.abs(points - np.rint(points)).max(axis=1) < 1e-9):
        kept[row, np.argsort(np.abs(kept[row]))[:3]] = np.nan
    return kept


def _thermal(frequencies: Float, temperature_k: float) -> tuple[Float, Float, Float]:
    """(q,) each: entropy [J/mol/K], free energy [J/mol] and heat capacity [J/mol/K] of the modes at each wave vector.

    Harmonic oscillators with x = hν/k_B T: F = k_B T (x/2 + ln(1 − e⁻ˣ)), S = −∂F/∂T, C_V = T ∂S/∂T.
    """
    real = frequencies > 0
    x = np.where(real, frequencies, np.inf) * THZ_IN_K / temperature_k
    ground = np.where(real, x, 0.0) / 2
    occupation = 1 / np.expm1(np.minimum(x, 700.0))  # e⁷⁰⁰ is nearly the largest number there is
    logarithm = np.log1p(-np.exp(-x))
    entropy = 2 * ground * occupation - logarithm
    capacity = (2 * ground) ** 2 * occupation * (1 + occupation)
    energy = temperature_k * (ground + logarithm)
    return (
        GAS_CONSTANT * entropy.sum(axis=1),
        GAS_CONSTANT * energy.sum(axis=1),
        GAS_CONSTANT * capacity.sum(axis=1),
    )
