"""The rows of the preflight about one structure: laws, forces and stress. They are reported, and refuse no image."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from ase import Atoms

from submissions.preflight.gradients import (
    STRAINS,
    GradientComparison,
    compare_forces,
    compare_stress,
    energy_noise,
    n_force_calls,
    n_stress_calls,
)
from submissions.preflight.lattice_vectors import lattice_check
from submissions.preflight.measured_properties import FORCES
from submissions.preflight.probes import N_INVARIANCE_CALLS, REPETITION, AnswerDifference, invariances, largest
from submissions.preflight.twice_the_size import twice_check
from submissions.records import Check
from tasks.model.calculator import BatchCalculator

STRESS = "stress = dE/dε"
N_DIRECTIONS = (1, 2, 4)
PHYSICS_S = 10.0  # for each of laws, forces and stress of a structure: the whole takes about a minute


class StructureFindings(NamedTuple):
    """The rows of one structure, and how much answers to the same question differ; None if that was not examined."""

    checks: tuple[Check, ...]
    noise: AnswerDifference | None


def physics_checks(model: BatchCalculator, name: str, atoms: Atoms, seconds: float) -> StructureFindings:
    """Examines one structure. A slow model is asked fewer questions about it, never about another structure.

    Args:
        seconds: of one call.
    """
    n_calls = int(PHYSICS_S / max(seconds, 1e-6))
    too_slow = f"not examined: one call takes {seconds:.1f} s"
    if n_calls < N_INVARIANCE_CALLS:
        return StructureFindings((_row(name, None, too_slow),), None)
    changes = invariances(model, atoms)
    noise = changes.pop(REPETITION)
    differs = "" if noise.is_small else "one question gets several answers: "
    repetition = _row(f"repetition, {name}", noise.is_small, f"{differs}{noise.words()}")
    checks = [repetition, _invariance_check(f"invariances, {name}", changes, noise)]
    checks.append(twice_check(model, name, atoms, noise.energy))
    if atoms.pbc.all():
        checks.append(lattice_check(model, name, atoms, noise))
    rows = {f"{FORCES}, {name}": "forces", **({f"{STRESS}, {name}": "stress"} if atoms.pbc.all() else {})}
    energy = energy_noise(model, atoms) if n_calls >= n_force_calls(1) else np.nan
    for row, gradient in rows.items():
        if gradient not in model.properties:
            checks.append(_row(row, None, f"not measured: the model offers no {gradient}"))
        elif comparison := _compared(model, atoms, gradient, energy, n_calls):
            checks.append(_row(row, comparison.agrees, comparison.words()))
        else:
            checks.append(_row(row, None, too_slow))
    return StructureFindings(tuple(checks), noise)


def _compared(
    model: BatchCalculator, atoms: Atoms, gradient: str, energy_noise: float, n_calls: int
) -> GradientComparison | None:
    """The comparison of forces or stress; None if it takes more than `n_calls`."""
    if gradient == "forces":
        directions = max((n for n in N_DIRECTIONS if n_force_calls(n) <= n_calls), default=0)
        return compare_forces(model, atoms, directions, energy_noise) if directions else None
    strains = next((some for some in (STRAINS, STRAINS[1:2]) if n_stress_calls(len(some)) <= n_calls), None)
    return compare_stress(model, atoms, energy_noise, strains) if strains else None


def _invariance_check(name: str, changes: dict[str, AnswerDifference], noise: AnswerDifference) -> Check:
    """Whether the answer is the same after a rotation, a translation and a permutation."""
    told = {law: change for law, change in changes.items() if not change.is_explained_by(noise)}
    if told:
        return _row(name, False, "; ".join(f"changed by {law}: {change.words()}" for law, change in told.items()))
    if not (noise.is_small and all(change.is_small for change in changes.values())):
        return _row(name, None, "not measured: answers to one question differ as much")
    return _row(name, True, f"{', '.join(changes)}: {largest(changes).words()}")


def _row(name: str, passed: bool | None, value: str) -> Check:
    return Check(name=name, passed=passed, value=value)
