"""The items of the kind *thermal conductivity*: conductivities solved from stored forces, and their errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tasks.datasets.card import Conductivity, ConductivityReference
from tasks.metrics.averages import Average, parts_by_group
from tasks.metrics.constant_baseline import FEWEST_REFERENCES
from tasks.metrics.contributions import baseline_column, stored_column
from tasks.metrics.measurement import Measurement, items_of
from tasks.metrics.metric import Metric
from tasks.simulation.force_sets import ORDERS, CrystalForces, SymmetryEnd
from tasks.simulation.heat_transport import (
    ModeConductivity,
    SupercellMatrices,
    is_imaginary,
    mode_conductivity,
    set_second_order,
    set_third_order,
)
from tasks.simulation.solution_cache import Solution, solution
from tasks.simulation.vibrations import PhonopyPanicked
from tasks.structures.frames import Float, Int, hash_arrays
from tasks.structures.predictions import Cause

WORST = 2.0  # of both symmetric relative errors
PERCENT = 100.0
ERRORS = ("srme", "sre")
HAS_MODES = "has_modes"
SHARES = ("failed", "imaginary", "broken")
# Conductivities of the trivial model, in steps of 10 % [W/m/K].
CONSTANTS = np.geomspace(0.01, 1e4, 146)
# Of the solution from forces: it goes up when the same forces give other numbers, so that none is read that was kept.
SOLUTION_VERSION = 1


def solved(
    forces: CrystalForces, numbers: Int, matrices: SupercellMatrices, temperature_k: float
) -> ModeConductivity | SymmetryEnd:
    """The conductivity; or why there is none: COMPLETE if it is negative, not finite, or cannot be computed.

    Args:
        numbers: (n,) elements of the crystal.
    """
    import phono3py

    arrays: dict[str, NDArray[np.generic]] = {
        **{name: np.asarray(array) for name, array in matrices._asdict().items()},
        **{f"{order}_{name}": a for order in ORDERS for name, a in getattr(forces, order)._asdict().items()},
        "cell": forces.cell,
        "positions": forces.positions,
        "end": np.array(forces.end, np.int64),
        "numbers": numbers,
        "temperature_k": np.array(temperature_k),
        "versions": np.frombuffer(f"{SOLUTION_VERSION} {phono3py.__version__}".encode(), np.uint8),
    }
    kept = solution(hash_arrays(arrays), lambda: _solution(forces, numbers, matrices, temperature_k))
    if "kappa" in kept:
        return ModeConductivity(float(kept["kappa"]), kept["weights"], kept["modes"])
    return SymmetryEnd(int(kept["end"]))


def _solution(forces: CrystalForces, numbers: Int, matrices: SupercellMatrices, temperature_k: float) -> Solution:
    """The conductivity as arrays; or `end`, if there is none."""
    end = forces.end
    if end is SymmetryEnd.BROKEN:
        return {"end": np.array(end, np.int64)}
    try:
        crystal = forces.crystal(numbers, matrices)
        set_second_order(crystal)
        if is_imaginary(crystal):
            end = SymmetryEnd.IMAGINARY
        if end is SymmetryEnd.COMPLETE:
            set_third_order(crystal)
            found = mode_conductivity(crystal, temperature_k)
            if found.kappa >= 0 and np.isfinite(found.modes).all():
                return {"kappa": np.array(found.kappa), "weights": found.weights, "modes": found.modes}
    except PhonopyPanicked:
        end = SymmetryEnd.COMPLETE
    return {"end": np.array(end, np.int64)}


def measured_errors(
    rows: Sequence[Conductivity],
    label_set: str,
    ends: Mapping[int, ModeConductivity | SymmetryEnd],
    failure: NDArray[np.int8],
) -> Measurement:
    """The metrics and items of what was solved; arguments as for `item_columns`."""
    cause, columns = item_columns(rows, label_set, ends, failure)
    items = items_of(rows, cause, columns)
    averages = mean_errors(columns)
    metrics = {average.name: metric_of(average) for average in averages}
    metrics["srd"] = mean_difference(columns)
    return Measurement(metrics, items, {}, parts_by_group(averages, items.group))


def item_columns(
    rows: Sequence[Conductivity],
    label_set: str,
    ends: Mapping[int, ModeConductivity | SymmetryEnd],
    failure: NDArray[np.int8],
) -> tuple[NDArray[np.int8], dict[str, Float]]:
    """(k,) the causes of k items, and their columns, NaN where there is no number.

    `kappa` and `kappa_reference` [W/m/K], `srd`, `sre` and `srme`; `has_modes`, of the reference, `failed`, `imaginary`
    and `broken` are 1 or 0.
    Whether a crystal with a broken space group has imaginary frequencies is not known.

    Args:
        ends: by structure, of those that were answered.
        failure: (n,) causes by structure.
    """
    cause = failure[[row.structure for row in rows]].copy()
    names = ("kappa", "kappa_reference", "srd", *ERRORS, HAS_MODES, *SHARES)
    columns = {name: np.full(len(rows), np.nan) for name in names}
    for k, row in enumerate(rows):
        reference, end = row.reference[label_set], ends.get(row.structure)
        columns["kappa_reference"][k] = reference.kappa
        columns[HAS_MODES][k] = float(bool(reference.modes))
        if end is None:
            continue
        errors = conductivity_errors(end, reference) if isinstance(end, ModeConductivity) else {}
        if not errors:
            cause[k] = Cause.UNSTABLE
        for name, value in {**errors, **_shares(end, not errors)}.items():
            columns[name][k] = value
    stated = [row.reference[label_set] for row in rows]
    return cause, columns | trivial_columns(stated)


def trivial_columns(references: Sequence[ConductivityReference]) -> dict[str, Float]:
    """(k,) `srme` and `sre` of the best trivial model, NaN where the reference has no modes.

    It has one conductivity for all crystals, to which all modes contribute alike. Of fewer than four references it is
    zero.
    """
    constants = CONSTANTS if len(references) >= FEWEST_REFERENCES else np.zeros(1)
    errors = {name: np.full((len(references), len(constants)), np.nan) for name in ERRORS}
    for row, reference in enumerate(references):
        mean = (constants + reference.kappa) / 2
        errors["sre"][row] = np.abs(constants - reference.kappa) / mean
        if reference.modes:
            modes, weights = np.array(reference.modes), np.array(reference.weights)
            even = constants[:, None, None] * weights[:, None] / modes.shape[1]
            errors["srme"][row] = np.abs(even - modes).sum(axis=(1, 2)) / weights.sum() / mean
    columns = {}
    for name, values in errors.items():
        known = np.isfinite(values).all(axis=1)
        best = int(np.argmin(values[known].mean(axis=0))) if known.any() else 0
        columns[baseline_column(name)] = values[:, best]
    return columns


def conductivity_errors(found: ModeConductivity, reference: ConductivityReference) -> dict[str, float]:
    """`kappa`, `srd`, `sre`, and `srme` if the reference has modes; empty if the crystal has others than these."""
    mean = (found.kappa + reference.kappa) / 2
    difference = (found.kappa - reference.kappa) / mean
    errors = {"kappa": found.kappa, "srd": difference, "sre": abs(difference)}
    if not reference.modes:
        return errors
    modes, weights = np.array(reference.modes), np.array(reference.weights)
    if found.modes.shape != modes.shape or not np.array_equal(found.weights, weights):
        return {}
    return {**errors, "srme": float(np.abs(found.modes - modes).sum() / weights.sum()) / mean}


def _shares(end: ModeConductivity | SymmetryEnd, failed: bool) -> dict[str, float]:
    broken = end is SymmetryEnd.BROKEN
    imaginary = np.nan if broken else float(end is SymmetryEnd.IMAGINARY)
    return {"failed": float(failed), "imaginary": imaginary, "broken": float(broken)}


def mean_errors(columns: Mapping[str, Float]) -> list[Average]:
    """The metrics that are means over items; `srme` is that over references with modes."""
    every = np.ones(len(stored_column(columns, "kappa")))
    counts = {"srme": stored_column(columns, HAS_MODES), "sre": every}
    errors = [
        Average(
            name, "", stored_column(columns, name), counts[name], baseline=stored_column(columns, baseline_column(name))
        )
        for name in ERRORS
        if counts[name].any()
    ]
    return errors + [
        Average(f"{name}_percent", "%", stored_column(columns, name), every, scale=PERCENT) for name in SHARES
    ]


def metric_of(average: Average) -> Metric:
    """The metric; its failure cost is that of a crystal without a conductivity."""
    if average.baseline is None:
        return average.metric(None, PERCENT)
    return average.metric(float(average.baseline[average.counts > 0].mean()), WORST)


def mean_difference(columns: Mapping[str, Float]) -> Metric:
    """The mean difference with its sign, over the crystals with a conductivity."""
    known = columns["srd"][np.isfinite(columns["srd"])]
    failed = len(columns["srd"]) - len(known)
    return Metric(float(known.mean()) if len(known) else None, "", len(columns["srd"]), failed)
