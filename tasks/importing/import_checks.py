"""Checks of imported numbers: impossible ones are refused, doubtful ones are shown.

The bounds are wide: beyond them is a mistake of unit, order or file, never chemistry. They cannot show a wrong sign or
a factor near one: `tasks.importing.references.reference_comparison` does, with a model.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from ase.units import GPa, Hartree

from tasks.datasets.card import DatasetError
from tasks.structures.composition import RCOND, composition, composition_energy
from tasks.structures.frames import Float, Frames, Int
from tasks.structures.predictions import Labels

# Constants of elements are fitted to the energies: with fewer frames than this for each, the fit hides the errors.
FRAMES_PER_CONSTANT = 10
# Three times the cohesive energy of tungsten (8.9 eV/atom, Kittel), the most tightly bound solid.
MAX_ENERGY_SPREAD = 27.0
MAX_FORCE = 1000.0  # eV/Å
MAX_STRESS = 10.0  # eV/Å³: 1602 GPa
# eV/Å³: 160 GPa. A chosen bound: few data sets have matter under such a pressure.
HIGH_STRESS = 1.0
# eV/atom, for crystals. A chosen bound: energies with pseudopotentials are seldom lower than -100 eV/atom.
LOW_ENERGY = -500.0
# eV: the energy of an atom with all its electrons by Thomas and Fermi is THOMAS_FERMI Z^(7/3), where 0.7687 is
# (3/7) 1.5881 / 0.88534, from the slope of their function at 0. It is the limit for large Z (E. H. Lieb and B. Simon,
# Adv. Math. 23, 22 (1977), doi:10.1016/0001-8708(77)90108-6). That no atom has a lower energy is tested on noble gases.
THOMAS_FERMI = -0.7687 * Hartree
# Energies per atom are those that a mean over the atoms fits better than a sum by this factor, beyond this spread [eV].
MUCH_BETTER, SMALLEST_SPREAD = 0.5, 1e-6
MIN_DISTANCE = 0.5  # Å; H2 has 0.74
# Å³ per atom: solid hydrogen at 500 GPa has about 1; an atom alone in a box of 46 Å has 100,000.
MIN_VOLUME, MAX_VOLUME = 0.8, 1e5
# A frame's net force is far from zero beyond this share of Σ|F|, and beyond this [eV/Å] altogether.
NET_FORCE_SHARE, NET_FORCE = 0.05, 0.05
# How extended XYZ states 2S+1.
COMMENT_LINE = "write multiplicity= in its comment line"


def check_multiplicity(frames: Frames, ids: Sequence[str], path: Path, state_in: str = COMMENT_LINE) -> None:
    """Each frame with no periodic direction states a 2S+1 that its number of electrons allows.

    Args:
        ids: by frame, its name.
        path: of the file or folder at fault.
        state_in: how the format states 2S+1; empty where it cannot.

    Raises:
        DatasetError: one line that names the file and the first such frame, with the remedy.
    """
    molecules = ~frames.pbc.any(axis=1)
    silent = np.flatnonzero(molecules & (frames.multiplicity == 0))
    if silent.size:
        first, more = int(silent[0]), f" (and of {silent.size - 1} more)" if silent.size > 1 else ""
        give = "give --multiplicity 1 for all molecules that state none"
        raise DatasetError(
            f"{path}: {ids[first]}: multiplicity: 2S+1 of this molecule{more} is not stated; "
            + (f"{state_in}, or {give}" if state_in else give)
        )
    if wrong := impossible_multiplicity(frames, ids):
        raise DatasetError(f"{path}: {wrong}" + (f": {state_in}" if state_in else ""))


def impossible_multiplicity(frames: Frames, ids: Sequence[str]) -> str:
    """A line about the first molecule whose 2S+1 does not fit its number of electrons; empty if there is none."""
    electrons = np.add.reduceat(frames.numbers, frames.offsets[:-1]) - frames.charge
    # 2S+1 is odd where the number of electrons is even.
    odd = (electrons + frames.multiplicity) % 2 == 0
    wrong = np.flatnonzero(~frames.pbc.any(axis=1) & (frames.multiplicity > 0) & odd)
    if not wrong.size:
        return ""
    first, more = int(wrong[0]), f" ({wrong.size} such molecules in all)" if wrong.size > 1 else ""
    return (
        f"{ids[first]}: multiplicity: 2S+1 = {frames.multiplicity[first]} is impossible with {electrons[first]} "
        f"electrons (charge {frames.charge[first]:+d}){more}; state its own charge and multiplicity"
    )


def too_few_for_energy(frames: Frames, energy: Float) -> str | None:
    """Why these energies are too few for a fit of one constant per element; None if they are enough.

    Frames of one composition determine one constant, the sum over their atoms, however many elements they have. So the
    constants are as many as there are linearly independent compositions.

    Args:
        energy: (n,) [eV], NaN where there is none.
    """
    labelled = np.flatnonzero(np.isfinite(energy))
    if not labelled.size:
        return None
    counts = np.unique(composition(frames.take(labelled)), axis=0)
    n_constants = int(np.linalg.matrix_rank(counts, rtol=RCOND))
    if len(labelled) >= FRAMES_PER_CONSTANT * n_constants:
        return None
    fitted = f"{n_constants} independent composition{'s' if n_constants > 1 else ''}"
    return f"energy: {len(labelled)} frames with energy for {fitted} are fewer than {FRAMES_PER_CONSTANT} each"


def energy_spread(frames: Frames, energy: Float) -> Float:
    """(n,) energy per atom after the fit of a constant per element [eV/atom]; NaN where there is no energy."""
    residual = energy - composition_energy(composition(frames), energy, np.isfinite(energy))
    return np.asarray(residual / frames.n_atoms)


def impossible_structures(frames: Frames, ids: Sequence[str], distances: Float) -> list[str]:
    """Impossible structures, each a line with field, frame, value, bound and the likely mistake.

    Args:
        distances: (n,) as from `tasks.importing.reading.nearest_atoms`.
    """
    shortest = f"less than {MIN_DISTANCE} Å: fractional coordinates, or nm taken for Å?"
    dense = f"less than {MIN_VOLUME} Å³: nm taken for Å, or a cell of other structures?"
    dilute = f"more than {MAX_VOLUME:g} Å³: pm taken for Å, or a cell of other structures?"
    volumes = frames.volumes / frames.n_atoms
    by_frame = np.arange(len(frames))
    lines = [
        _beyond("positions", "a shortest distance of", "Å", -distances, -MIN_DISTANCE, by_frame, ids, shortest),
        _beyond("cell", "a volume per atom of", "Å³", -volumes, -MIN_VOLUME, by_frame, ids, dense),
        _beyond("cell", "a volume per atom of", "Å³", volumes, MAX_VOLUME, by_frame, ids, dilute),
    ]
    return [line for line in lines if line]


def impossible_labels(frames: Frames, ids: Sequence[str], labels: Labels) -> list[str]:
    """Impossible labels, each a line with field, frame, value, bound and the likely mistake."""
    lines = []
    by_frame = np.arange(len(frames))
    if labels.energy is not None:
        spread = np.abs(energy_spread(frames, labels.energy))
        why = (
            f"more than {MAX_ENERGY_SPREAD:g} eV/atom after the fit of a constant per element: kcal/mol, kJ/mol or meV "
            "taken for eV, or energies of several codes?"
        )
        lines.append(_beyond("energy", "off by", "eV/atom", spread, MAX_ENERGY_SPREAD, by_frame, ids, why))
    if labels.forces is not None:
        size = np.linalg.norm(labels.forces, axis=1)
        why = f"more than {MAX_FORCE:g} eV/Å: meV/Å or kcal/mol/Å taken for eV/Å, or two atoms in one place?"
        lines.append(_beyond("forces", "a force of", "eV/Å", size, MAX_FORCE, frames.frame_index, ids, why))
    if labels.stress is not None:
        size = np.abs(labels.stress).max(axis=1)
        gpa = MAX_STRESS / GPa
        why = f"more than {MAX_STRESS:g} eV/Å³ ({gpa:.0f} GPa): GPa, kbar or a virial in eV taken for eV/Å³?"
        lines.append(_beyond("stress", "a component of", "eV/Å³", size, MAX_STRESS, by_frame, ids, why))
    return [line for line in lines if line]


def _beyond(
    field: str, what: str, unit: str, values: Float, bound: float, frame_of: Int, ids: Sequence[str], why: str
) -> str:
    """The value that is farthest beyond `bound`, as a line; empty if none is. Missing values (NaN) take no part."""
    beyond = values > bound
    if not beyond.any():
        return ""
    worst = int(np.nanargmax(values))
    n_frames = len(np.unique(frame_of[beyond]))
    more = f" ({n_frames} frames in all)" if n_frames > 1 else ""
    return f"{field}: {ids[frame_of[worst]]}: {what} {abs(values[worst]):.4g} {unit}{more} is {why}"


def doubtful_labels(frames: Frames, ids: Sequence[str], labels: Labels) -> list[str]:
    """Doubtful labels, as lines of the same form: energies, forces that do not sum to zero, and stresses."""
    lines = [_doubtful_forces(frames, ids, labels.forces)] if labels.forces is not None else []
    by_frame = np.arange(len(frames))
    if labels.energy is not None:
        lines += [*_doubtful_energies(frames, ids, labels.energy / frames.n_atoms), _per_atom(frames, labels.energy)]
    if labels.stress is not None:
        size = np.abs(labels.stress).max(axis=1)
        doubtful = np.where(size <= MAX_STRESS, size, np.nan) / GPa
        why = f"more than {HIGH_STRESS / GPa:.0f} GPa: kbar taken for GPa, a virial, or matter under such a pressure?"
        lines.append(_beyond("stress", "a component of", "GPa", doubtful, HIGH_STRESS / GPa, by_frame, ids, why))
    return [line for line in lines if line]


def _doubtful_energies(frames: Frames, ids: Sequence[str], energy: Float) -> list[str]:
    """Lines for energies per atom (n,) [eV/atom] that are high above zero, or too low."""
    by_frame = np.arange(len(frames))
    high = (
        f"more than {MAX_ENERGY_SPREAD:g} eV/atom above zero, where total energies are not: another unit, a wrong "
        "sign, or an energy of another quantity?"
    )
    all_electrons = THOMAS_FERMI * np.add.reduceat(frames.numbers ** (7 / 3), frames.offsets[:-1]) / frames.n_atoms
    molecules = ~frames.pbc.any(axis=1)
    below_atoms = np.where(molecules & (energy < all_electrons), -energy, np.nan)
    below_crystals = np.where(~molecules, -energy, np.nan)
    low = "lower than that of free atoms with all their electrons: kcal/mol, kJ/mol or meV taken for eV?"
    deep = f"lower than {LOW_ENERGY:g} eV/atom: kJ/mol or meV taken for eV, or an energy of all electrons?"
    return [
        _beyond("energy", "an energy of", "eV/atom", energy, MAX_ENERGY_SPREAD, by_frame, ids, high),
        _beyond("energy", "an energy of minus", "eV/atom", below_atoms, 0.0, by_frame, ids, low),
        _beyond("energy", "an energy of minus", "eV/atom", below_crystals, -LOW_ENERGY, by_frame, ids, deep),
    ]


def _per_atom(frames: Frames, energy: Float) -> str:
    """A line if energies (n,) [eV] are those per atom, which do not grow with the number of atoms.

    Constants of the elements are fitted to the energies as a sum over the atoms, and as a mean over them.
    """
    used = np.isfinite(energy)
    counts = composition(frames)
    shares = counts / frames.n_atoms[:, None]
    total, mean = (float(np.std((energy - composition_energy(c, energy, used))[used])) for c in (counts, shares))
    n_constants = np.linalg.matrix_rank(counts[used], rtol=RCOND)
    if used.sum() < 2 * n_constants or mean >= MUCH_BETTER * total or total < SMALLEST_SPREAD:
        return ""
    return (
        f"energy: a constant per element fits the energies as means over the atoms within {mean:.3g} eV, and as sums "
        f"within {total:.3g} eV: energies per atom taken for totals: say energy=eV/atom in --units, or multiply them "
        "by the numbers of atoms"
    )


def _doubtful_forces(frames: Frames, ids: Sequence[str], forces: Float) -> str:
    """A line for frames whose forces (N, 3) [eV/Å] do not sum to zero."""
    starts = frames.offsets[:-1]
    net = np.linalg.norm(np.add.reduceat(forces, starts), axis=1)
    share = net / np.maximum(np.add.reduceat(np.linalg.norm(forces, axis=1), starts), np.finfo(float).tiny)
    doubtful = (net > NET_FORCE) & (share > NET_FORCE_SHARE)
    why = (
        f"more than {NET_FORCE_SHARE:.0%} of the sum of their sizes: forces of other atoms, those of fixed atoms "
        "set to zero, or an external field?"
    )
    values = np.where(doubtful, net, np.nan)
    return _beyond("forces", "a net force of", "eV/Å", values, NET_FORCE, np.arange(len(frames)), ids, why)
