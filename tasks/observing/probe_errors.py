"""The errors of the answers to transformed copies (`tasks.observing.memorisation_probes`).

    probe_rotation_max, probe_translation_max, probe_permutation_max    |E' − E| / n                  eV/atom
    probe_displacement_max    |E(x + δ) − E(x) + ½ (F(x) + F(x + δ)) · δ| / n                         eV/atom
    probe_rotation_force_max, probe_translation_force_max, probe_permutation_force_max
                              root mean square of F' − F over the components of a structure           eV/Å

each the largest over the structures that were sent again. The trapezoidal rule leaves an error of the third order in δ:
at 0.01 Å below 0.1 meV/atom, also for the stiffest bonds. Without forces, only the part of |E(x + δ) − E(x)| / n beyond
100 meV/atom counts: forces of 10 eV/Å give as much along displacements of 0.01 Å, and forces on structures far from
equilibrium reach a few eV/Å. So a look-up of the nearest structure, up to rotation and order, has 0 in all four. It is
detected in another way: displaced structures with exactly the same energy are counted, with forces and without, since
no model that sees positions gives them. Forces are asked for in the copies only if they are asked for everywhere: a
difference would mark the copies.

The probes are for the reader: they refuse no model and enter no score, and have no baseline and no failure cost. A
structure without an answer takes no part. A structure whose copy alone has no answer counts as failed.

**Notes** name a change beyond 1 meV/atom, ten times the rounding of single precision at energies of 1000 eV/atom; of
rotations beyond 10 meV/atom, since models that are not equivariant by construction are off by a few (M. F. Langer,
S. N. Pozdnyakov, M. Ceriotti, arXiv:2406.17747; `tasks.timing.consistency_check` has the same bound); forces that are
off by more than 50 meV/Å and a fifth of their size; and an energy that is the same to 1e-12 eV/atom after several atoms
moved against each other: it was looked up, or the model is blind to the displacement (a cutoff between them).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from tasks.kind import Observation
from tasks.metrics.kind_metric import KindMetric
from tasks.metrics.metric import Metric
from tasks.observing.memorisation_probes import (
    ROW,
    CopyAnswers,
    Probe,
    TransformedCopies,
    stored_answers,
    stored_copies,
)
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
_PREFIX = "probe_"  # of the metrics
# Causes that only the judge states: the task was stopped, or its time was over.
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


class ProbeResults(NamedTuple):
    """Metrics, and a sentence for each probe with a finding; both empty if no copies were sent."""

    metrics: Mapping[str, Metric]
    notes: Mapping[str, str]


class _Changes(NamedTuple):
    """The changes that one probe shows, (k,) each, NaN where there is nothing to compare.

    Args:
        energy: [eV/atom].
        force: [eV/Å]; None without forces, and for displacements.
        force_tolerance: [eV/Å].
        checked: whether the structure was answered and its copy was sent.
        same: whether the energy is exactly the same although it must differ; for displacements only.
    """

    energy: Float
    force: Float | None
    force_tolerance: Float
    checked: Bool
    same: Bool


def is_probe(metric: str) -> bool:
    """Whether a metric compares a model with itself, on structures that were sent again."""
    return metric.startswith(_PREFIX)


def probe_results(observation: Observation, frames: Frames, answer: Predictions) -> ProbeResults:
    """The comparison of the answers to copies with `answer`, which is to `frames` themselves.

    Raises:
        ValueError: the observation is not of these structures.
    """
    copies = stored_copies(observation, frames)
    metrics: dict[str, Metric] = {}
    notes: dict[str, str] = {}
    if copies is None:
        return ProbeResults(metrics, notes)
    for probe, changes in _changes(frames, answer, copies, stored_answers(observation, copies)).items():
        metrics[f"{_PREFIX}{probe}_max"] = _largest(changes.energy, changes.checked, "eV/atom")
        if changes.force is not None:
            metrics[f"{_PREFIX}{probe}_force_max"] = _largest(changes.force, changes.checked, "eV/Å")
        note = _sentence(probe, changes, answer.forces is not None)
        if note:
            notes[f"{probe} probe"] = note
    return ProbeResults(metrics, notes)


def _changes(
    frames: Frames, answer: Predictions, copies: TransformedCopies, answers: CopyAnswers
) -> dict[Probe, _Changes]:
    n_atoms = frames.n_atoms[copies.original]
    checked = answer.ok[copies.original] & ~np.isin(answers.failure, NOT_ASKED)
    change = answers.energy - answer.energy[copies.original]
    change[answers.failure != 0] = np.nan
    displaced = ROW[Probe.DISPLACEMENT]
    same = np.zeros(change.shape, bool)
    # Displacing a single atom only translates it.
    same[displaced] = (np.abs(change[displaced]) <= SAME * n_atoms) & (n_atoms > 1)
    forces: dict[Probe, Float] = {}
    tolerance = np.full(len(copies), np.inf)
    if answer.forces is None or answers.forces is None:
        change[displaced] = np.maximum(np.abs(change[displaced]) - WITHOUT_FORCES * n_atoms, 0.0)  # NaN stays NaN
    else:
        before = answer.forces[frames.atom_indices(copies.original)]
        work = (before + answers.forces[displaced]) / 2.0 * copies.displacement
        change[displaced] += np.add.reduceat(work.sum(axis=1), np.cumsum(n_atoms) - n_atoms)
        forces = _force_changes(before, answers.forces, copies, n_atoms)
        tolerance = FORCE_TOLERANCE + RELATIVE_TOLERANCE * _root_mean_square(before, n_atoms)
    return {
        probe: _Changes(np.abs(change[row]) / n_atoms, forces.get(probe), tolerance, checked[row], same[row])
        for probe, row in ROW.items()
    }


def _force_changes(before: Float, after: Float, copies: TransformedCopies, n_atoms: Int) -> dict[Probe, Float]:
    """(k,) each [eV/Å]: the difference of forces that must be the same, rotated back and in one order.

    Args:
        before: (K, 3) [eV/Å] on the structures themselves, of `n_atoms` (k,).
        after: (4, K, 3) [eV/Å] on the copies.
    """
    rotation = np.repeat(copies.rotation, n_atoms, axis=0)
    difference = {
        Probe.ROTATION: np.einsum("aij,ai->aj", rotation, after[ROW[Probe.ROTATION]]) - before,
        Probe.TRANSLATION: after[ROW[Probe.TRANSLATION]] - before,
        Probe.PERMUTATION: after[ROW[Probe.PERMUTATION]] - before[copies.atom],
    }
    return {probe: _root_mean_square(vectors, n_atoms) for probe, vectors in difference.items()}


def _root_mean_square(vectors: Float, n_atoms: Int) -> Float:
    """(k,) over the components of the vectors (K, 3) of each structure."""
    starts = np.cumsum(n_atoms) - n_atoms
    return np.asarray(np.sqrt(np.add.reduceat((vectors**2).sum(axis=1), starts) / (3 * n_atoms)))


def _largest(changes: Float, checked: Bool, unit: str) -> Metric:
    compared = checked & np.isfinite(changes)
    value = float(changes[compared].max()) if compared.any() else None
    return Metric(value, unit, int(checked.sum()), int(checked.sum() - compared.sum()))


def _sentence(probe: Probe, changes: _Changes, with_forces: bool) -> str:
    """The finding of a probe, in words; empty if a model's usual errors explain it."""
    checked, energy = changes.checked, changes.energy[changes.checked]
    clauses = []
    if (energy > ENERGY_TOLERANCE[probe]).any():
        clauses.append(f"the energy changed by up to {np.nanmax(energy):.2g} eV/atom")
        if probe is Probe.DISPLACEMENT:
            clauses[-1] += " more than " + ("the forces explain" if with_forces else "so small a step explains")
    force = np.zeros(len(energy)) if changes.force is None else changes.force[checked]
    if (force > changes.force_tolerance[checked]).any():
        clauses.append(f"the forces changed by up to {np.nanmax(force):.2g} eV/Å")
    if same := int(changes.same[checked].sum()):
        clauses.append(f"{same} had the very same energy, as if looked up")
    if failed := int((~np.isfinite(energy)).sum()):
        clauses.append(f"{failed} {'was' if failed == 1 else 'were'} not answered")
    n = int(checked.sum())
    return f"Asked again about {n} structure{'s'[: n > 1]}, {SENT[probe]}: {', '.join(clauses)}." if clauses else ""
