"""Phases: the curves of one group, whose minima have an order in energy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tasks.datasets.card import Curve, CurveReference
from tasks.metrics.averages import Average
from tasks.metrics.contributions import baseline_column, stored_column
from tasks.metrics.group_statistics import over_groups
from tasks.metrics.metric import Metric
from tasks.structures.frames import Float

PERCENT, MILLI = 100.0, 1000.0


def phase_columns(energy: Float, curves: Sequence[Curve], references: Sequence[CurveReference]) -> dict[str, Float]:
    """The fitted energies (k,) [eV/atom], and the errors [meV/atom] of those above the phase lowest at the reference.

    NaN where a phase or the lowest one failed; `phase_count` is 0 for that one, and for curves without phases. Empty if
    there are no phases.
    """
    error, trivial, count = (np.zeros(len(curves)) for _ in range(3))
    for rows, above in _phases(curves, references):
        lowest = int(rows[np.argmin(above)])
        error[rows] = MILLI * (energy[rows] - energy[lowest] - above)
        trivial[rows] = MILLI * above
        count[rows] = rows != lowest
    if not count.any():
        return {}
    return {
        "e0_per_atom": energy,
        "phase_energy_error": error,
        baseline_column("phase_energy_error"): trivial,
        "phase_count": count,
    }


def phase_metrics(
    columns: Mapping[str, Float],
    curves: Sequence[Curve],
    references: Sequence[CurveReference],
    stated: Mapping[str, float],
) -> dict[str, Metric]:
    """The errors and the order of phases; empty if there are none.

    Args:
        stated: by metric, the baseline that the card states in place of the computed one.
    """
    if "phase_count" not in columns:
        return {}
    energies = phase_energies(columns)
    members = energies.counts > 0
    assert energies.baseline is not None
    trivial = float(energies.baseline[members].mean())
    metrics = {energies.name: energies.metric(stated.get(energies.name, trivial))}
    groups = [(columns["e0_per_atom"][rows], above) for rows, above in _phases(curves, references)]
    order = over_groups(_pairs_in_order, groups, 0.0, PERCENT, "%")
    return metrics | ({} if order is None else {"phase_order_percent": order})


def phase_energies(columns: Mapping[str, Float]) -> Average:
    """The mean absolute error of the energies above the lowest phase."""
    error, trivial = (stored_column(columns, f"phase_energy_error{end}") for end in ("", baseline_column("")))
    count = stored_column(columns, "phase_count")
    return Average("phase_energy_mae", "meV/atom", np.abs(error), count, errors=error, baseline=np.abs(trivial))


def _phases(curves: Sequence[Curve], references: Sequence[CurveReference]) -> list[tuple[NDArray[np.int64], Float]]:
    """Of each group with at least two phases: its rows, and their reference energies above the lowest [eV/atom]."""
    groups: dict[str, list[int]] = {}
    for row, (curve, reference) in enumerate(zip(curves, references, strict=True)):
        if reference.e0_per_atom is not None:
            groups.setdefault(curve.group, []).append(row)
    phases = []
    for rows in groups.values():
        energies = np.array([references[row].e0_per_atom for row in rows], np.float64)
        if len(rows) > 1:
            phases.append((np.array(rows), energies - energies.min()))
    return phases


def _pairs_in_order(predicted: Float, reference: Float) -> float | None:
    """The share of pairs whose order is that of the reference; pairs without one there are left out."""
    first, second = np.triu_indices(len(reference), 1)
    order = np.sign(reference[first] - reference[second])
    ours = np.sign(predicted[first] - predicted[second])
    return float((ours == order)[order != 0].mean()) if order.any() else None
