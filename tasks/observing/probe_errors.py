"""How far answers about structures in other guises (`tasks.observing.memorisation_probes`) are from what they must be.

    probe_rotation_max, probe_translation_max, probe_permutation_max    |E' − E| / n                  eV/atom
    probe_displacement_max    |E(x + δ) − E(x) + ½ (F(x) + F(x + δ)) · δ| / n                         eV/atom
    probe_rotation_force_max, probe_translation_force_max, probe_permutation_force_max
                              root mean square of F' − F over the components of a structure           eV/Å

each the largest over the structures that were sent again. The trapezoidal rule leaves an error of the third order in δ:
at 0.01 Å below 0.1 meV/atom, also for the stiffest bonds. Without forces, of |E(x + δ) − E(x)| / n only what is more
than 100 meV/atom counts: as much as forces of 10 eV/Å do along displacements of 0.01 Å, and forces on structures far
from equilibrium reach a few eV/Å. So a look-up of the nearest structure, up to rotation and order, has 0 in all four.
It is found by what no model does that sees positions: displaced structures of the very same energy are counted, with
forces and without. Forces of guises alone are not asked for, since that would tell guises from the others.

They refuse nobody and enter no score: without baseline and charge they are for the reader. A structure that was itself
not answered has no part in them, one that was answered in its own guise alone is counted as failed.

**What is said**, in a note: a change beyond 1 meV/atom, ten times what single precision makes of energies of 1000
eV/atom; of rotations beyond 10 meV/atom, since models that are not equivariant by construction are off by a few
(M. F. Langer, S. N. Pozdnyakov, M. Ceriotti, arXiv:2406.17747; `tasks.timing.consistency_check` has the same bound);
forces that are off by more than 50 meV/Å and a fifth of their own size; and an energy that is the same to 1e-12 eV/atom
after a displacement of several atoms against each other: looked up, or of a model that is blind to it (a cutoff between
them).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from tasks.kind import Observation
from tasks.metrics.kind_metric import KindMetric
from tasks.metrics.measurement import Metric
from tasks.observing.memorisation_probes import ROW, GuiseAnswers, Guises, Probe, stored_answers, stored_guises
from tasks.observing.question_order import atoms_of
from tasks.structures.frames import Bool, Float, Frames, Int
from tasks.structures.predictions import Cause, Predictions

WITHOUT_FORCES = 0.100  # eV/atom
ENERGY_TOLERANCE = {
    Probe.ROTATION: 0.010,
    Probe.TRANSLATION: 0.001,
    Probe.PERMUTATION: 0.001,
    Probe.DISPLACEMENT: 0.001,
}  # eV/atom
SAME = 1e-12  # eV/atom
FORCE_TOLERANCE = 0.050  # eV/Å
RELATIVE_TOLERANCE = 0.2
# Nobody asked: a task that was stopped, or whose time was over. The judge alone states these causes.
_PREFIX = "probe_"  # of the metrics
NOT_ASKED = (Cause.OVER_TIME, Cause.MISSING)
SENT = {
    Probe.ROTATION: "rotated",
    Probe.TRANSLATION: "moved",
    Probe.PERMUTATION: "with their atoms in another order",
    Probe.DISPLACEMENT: "with their atoms displaced by 0.01 Å",
}
ENERGY_PROBES = (
    KindMetric("probe_rotation_max", "Energy changed by rotation, at most", "eV/atom"),
    KindMetric("probe_translation_max", "Energy changed by translation, at most", "eV/atom"),
    KindMetric("probe_permutation_max", "Energy changed by the order of atoms, at most", "eV/atom"),
    KindMetric(
        "probe_displacement_max", "Energy changed by a small step beyond what forces explain, at most", "eV/atom"
    ),
)
FORCE_PROBES = (
    KindMetric("probe_rotation_force_max", "Forces changed by rotation, at most", "eV/Å"),
    KindMetric("probe_translation_force_max", "Forces changed by translation, at most", "eV/Å"),
    KindMetric("probe_permutation_force_max", "Forces changed by the order of atoms, at most", "eV/Å"),
)


class Probed(NamedTuple):
    """Metrics, and a sentence on each probe that found something; nothing where nothing was sent again."""

    metrics: Mapping[str, Metric]
    notes: Mapping[str, str]


class _Sizes(NamedTuple):
    """Of one probe, (k,) each, NaN where there is nothing to compare.

    Args:
        energy: [eV/atom].
        force: [eV/Å]; None where there are none, and of displacements.
        force_tolerance: [eV/Å].
        asked: whether the structure was answered, and asked about in this guise.
        same: whether the energy is the very same, where it cannot be; of displacements alone.
    """

    energy: Float
    force: Float | None
    force_tolerance: Float
    asked: Bool
    same: Bool


def is_probe(metric: str) -> bool:
    """Whether a metric compares a model with itself, on structures that were sent again."""
    return metric.startswith(_PREFIX)


def probed(observation: Observation, frames: Frames, answer: Predictions) -> Probed:
    """What came of sending some of `frames` again; `answer` is that about `frames` themselves.

    Raises:
        ValueError: the observation is not of these structures.
    """
    guises = stored_guises(observation, frames)
    if guises is None:
        return Probed({}, {})
    metrics: dict[str, Metric] = {}
    notes: dict[str, str] = {}
    for probe, sizes in _sizes(frames, answer, guises, stored_answers(observation, guises)).items():
        metrics[f"{_PREFIX}{probe}_max"] = _largest(sizes.energy, sizes.asked, "eV/atom")
        if sizes.force is not None:
            metrics[f"{_PREFIX}{probe}_force_max"] = _largest(sizes.force, sizes.asked, "eV/Å")
        said = _sentence(probe, sizes, answer.forces is not None)
        if said:
            notes[f"{probe} probe"] = said
    return Probed(metrics, notes)


def _sizes(frames: Frames, answer: Predictions, guises: Guises, found: GuiseAnswers) -> dict[Probe, _Sizes]:
    own = frames.n_atoms[guises.original]
    asked = answer.ok[guises.original] & ~np.isin(found.failure, NOT_ASKED)
    change = found.energy - answer.energy[guises.original]
    change[found.failure != 0] = np.nan
    displaced = ROW[Probe.DISPLACEMENT]
    same = np.zeros(change.shape, bool)
    same[displaced] = (np.abs(change[displaced]) <= SAME * own) & (own > 1)  # a single atom is but moved
    forces: dict[Probe, Float] = {}
    tolerance = np.full(len(guises), np.inf)
    if answer.forces is None or found.forces is None:
        change[displaced] = np.maximum(np.abs(change[displaced]) - WITHOUT_FORCES * own, 0.0)  # NaN stays NaN
    else:
        before = answer.forces[atoms_of(frames, guises.original)]
        work = (before + found.forces[displaced]) / 2.0 * guises.displacement
        change[displaced] += np.add.reduceat(work.sum(axis=1), np.cumsum(own) - own)
        forces = _force_changes(before, found.forces, guises, own)
        tolerance = FORCE_TOLERANCE + RELATIVE_TOLERANCE * _root_mean_square(before, own)
    return {
        probe: _Sizes(np.abs(change[row]) / own, forces.get(probe), tolerance, asked[row], same[row])
        for probe, row in ROW.items()
    }


def _force_changes(before: Float, found: Float, guises: Guises, own: Int) -> dict[Probe, Float]:
    """(k,) each [eV/Å]: of what should be the same forces, turned back and compared in one order.

    Args:
        before: (K, 3) [eV/Å] on the structures themselves, of `own` (k,) atoms.
        found: (4, K, 3) [eV/Å] in the guises.
    """
    rotation = np.repeat(guises.rotation, own, axis=0)
    difference = {
        Probe.ROTATION: np.einsum("aij,ai->aj", rotation, found[ROW[Probe.ROTATION]]) - before,
        Probe.TRANSLATION: found[ROW[Probe.TRANSLATION]] - before,
        Probe.PERMUTATION: found[ROW[Probe.PERMUTATION]] - before[guises.atom],
    }
    return {probe: _root_mean_square(vectors, own) for probe, vectors in difference.items()}


def _root_mean_square(vectors: Float, own: Int) -> Float:
    """(k,) over the components of the vectors (K, 3) of each structure."""
    return np.asarray(np.sqrt(np.add.reduceat((vectors**2).sum(axis=1), np.cumsum(own) - own) / (3 * own)))


def _largest(sizes: Float, asked: Bool, unit: str) -> Metric:
    compared = asked & np.isfinite(sizes)
    value = float(sizes[compared].max()) if compared.any() else None
    return Metric(value, unit, int(asked.sum()), int(asked.sum() - compared.sum()))


def _sentence(probe: Probe, sizes: _Sizes, with_forces: bool) -> str:
    """What a probe found, in words; empty where nothing is beyond what a model's own errors explain."""
    asked, energy = sizes.asked, sizes.energy[sizes.asked]
    said = []
    if (energy > ENERGY_TOLERANCE[probe]).any():
        said.append(f"the energy changed by up to {np.nanmax(energy):.2g} eV/atom")
        if probe is Probe.DISPLACEMENT:
            said[-1] += " more than " + ("the forces explain" if with_forces else "so small a step explains")
    force = np.zeros(len(energy)) if sizes.force is None else sizes.force[asked]
    if (force > sizes.force_tolerance[asked]).any():
        said.append(f"the forces changed by up to {np.nanmax(force):.2g} eV/Å")
    if same := int(sizes.same[asked].sum()):
        said.append(f"{same} had the very same energy, as if looked up")
    if failed := int((~np.isfinite(energy)).sum()):
        said.append(f"{failed} {'was' if failed == 1 else 'were'} not answered")
    n = int(asked.sum())
    return f"Asked again about {n} structure{'s'[: n > 1]}, {SENT[probe]}: {', '.join(said)}." if said else ""
