"""The values of MLIPAudit's metrics among the items of a result, for each benchmark and kind of task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from judge.records.records import Result
from scoring import ScoringError
from scoring.mlipaudit import AuditMetric
from tasks.metrics.contributions import baseline_column
from tasks.metrics.measurement import Items
from tasks.structures.frames import Bool, Float
from tasks.structures.predictions import Cause
from tasks.structures.units import ENERGY_UNITS

PROFILE_UNIT = "kcal/mol"  # of the errors of scans
FASTEST = 0.8  # share of the timed passes whose mean counts
GEOMETRY_STEPS = 1000  # from which on the program of 0.1.8 stores the last structure of a relaxation
ENDED = (Cause.NONE, Cause.NOT_CONVERGED)


class AuditItems(NamedTuple):
    """The items of a task that a metric counts.

    Args:
        values: (k,) in the metric's unit, NaN where an item failed.
        cause: (k,) codes of `Cause`.
        seen: (k,) the values as MLIPAudit's program has them; None: the same.
        groups, sets: (k,) names; None: the metric has none.
        any_constant: whether a profile that is the same everywhere was answered: its correlation is NaN.
    """

    values: Float
    cause: NDArray[np.int8]
    clusters: Sequence[str]
    seen: Float | None = None
    groups: Sequence[str] | None = None
    sets: Sequence[str] | None = None
    any_constant: bool = False


def as_lists(items: AuditItems) -> list[object]:
    """The fields as plain data, in their order."""
    return [field.tolist() if isinstance(field, np.ndarray | np.generic) else field for field in items]


def from_lists(lists: list[Any]) -> AuditItems:
    """The items of `as_lists`."""
    items = AuditItems(*lists)
    seen = None if items.seen is None else np.array(items.seen, np.float64)
    return items._replace(values=np.array(items.values, np.float64), cause=np.array(items.cause, np.int8), seen=seen)


Reader = Callable[[Items, Result, AuditMetric], AuditItems]


def column_of(items: Items, name: str, task: str) -> Float:
    """(k,) a column of the items.

    Raises:
        ScoringError: there is none of this name.
    """
    if name not in items.columns:
        raise ScoringError(f"task {task}: items: {name}: is missing: measure it again, or take mlipaudit from the task")
    return np.asarray(items.columns[name])


def everything(items: Items, task: str) -> Bool:
    """(k,) all items."""
    return np.ones(len(items), np.bool_)


def barriers(items: Items, task: str) -> Bool:
    """(k,) all items, or the barriers if the task has several quantities.

    Raises:
        ScoringError: there are several quantities, and none or more than one of them is a barrier.
    """
    quantities = [name for name in items.columns if name.endswith("_count")]
    if len(quantities) < 2:
        return everything(items, task)
    chosen = [name for name in quantities if name.startswith("barrier")]
    if len(chosen) != 1:
        raise ScoringError(
            f"task {task}: items: error: of {len(quantities)} quantities, {len(chosen)} are barriers: "
            "name one of them so"
        )
    return _counted(items, task, chosen[0])


def reaction_energies(items: Items, task: str) -> Bool:
    """(k,) the items of the quantity *reaction energy*."""
    return _counted(items, task, "reaction_energy_count")


def energies(column: str = "error", counted: Callable[[Items, str], Bool] = everything) -> Reader:
    """Errors of energies, which are converted to the metric's unit.

    Args:
        counted: (k,) whether an item counts.
    """

    def read(items: Items, result: Result, metric: AuditMetric) -> AuditItems:
        unit = result.notes.get("items in", "") if result.kind == "energy_differences" else PROFILE_UNIT
        if unit not in ENERGY_UNITS or metric.unit not in ENERGY_UNITS:
            raise ScoringError(
                f"task {result.task}: items: {column}: cannot be converted from {unit or 'a unit that is not noted'} "
                f"to {metric.unit}"
            )
        size = ENERGY_UNITS[unit] / ENERGY_UNITS[metric.unit]
        return _chosen(items, counted(items, result.task), size * column_of(items, column, result.task))

    return read


def profiles(column: str) -> Reader:
    """Errors of profiles. One that is the same everywhere has the error of the trivial model, which answers zero."""
    errors = energies(column)

    def read(items: Items, result: Result, metric: AuditMetric) -> AuditItems:
        chosen, flat = errors(items, result, metric), items.columns.get(baseline_column(column))
        if flat is None:
            return chosen
        constant = (np.abs(items.columns[column]) == flat) & (items.cause == 0)
        return chosen._replace(any_constant=bool(constant.any()))

    return read


def of_runs(measure: str, factor: float = 1.0, *, by_name: bool = False, relative: bool = False) -> Reader:
    """Errors of an analysis of dynamics.

    If the metric states a range (`outside`), they are the distances of the quantity from it.

    Args:
        factor: to the metric's unit.
        by_name: whether the last word of an item's name is its group, such as a residue.
        relative: whether errors are divided by the reference.
    """

    def read(items: Items, result: Result, metric: AuditMetric) -> AuditItems:
        members = _counted(items, result.task, f"{measure}_count")
        scale = factor / np.abs(column_of(items, "reference", result.task)) if relative else np.full(len(items), factor)
        errors, stored = (column_of(items, name, result.task) for name in ("error", "stored_error"))
        if metric.outside is not None:
            reference = column_of(items, "reference", result.task)
            errors, stored = (_distances(reference + each, *metric.outside) for each in (errors, stored))
        chosen = _chosen(items, members, scale * errors)
        groups = [items.id[k].split()[-1] for k in np.flatnonzero(members).tolist()] if by_name else None
        seen = np.abs(scale * stored)[members]
        return chosen._replace(seen=np.where(np.isfinite(seen), seen, np.nan), groups=groups)

    return read


def _distances(values: Float, low: float, high: float) -> Float:
    """(k,) how far values are outside of a range; NaN stays."""
    return np.maximum(np.maximum(low - values, values - high), 0.0)


def distances_of_proteins(items: Items, result: Result, metric: AuditMetric) -> AuditItems:
    """The mean RMSD over frames; the lowest if the metric states how frames are combined."""
    return of_runs("rmsd" if metric.over_frames is None else "lowest_rmsd")(items, result, metric)


def highest_tm_scores(items: Items, result: Result, metric: AuditMetric) -> AuditItems:
    """The highest TM-score of the frames; `error` and `stored_error` are TM-scores minus 1."""
    members = _counted(items, result.task, "highest_tm_score_count")
    values, seen = (1 + column_of(items, name, result.task) for name in ("error", "stored_error"))
    return _chosen(items, members, values)._replace(seen=seen[members])


def stability_scores(items: Items, result: Result, metric: AuditMetric) -> AuditItems:
    """Half of the share of a run before it exploded; else a half, and half of the share before a hydrogen left."""
    members = _counted(items, result.task, "stability_count")
    drifts = _hydrogen_drifts(items, result.task)
    progress, seen_progress = (column_of(items, name, result.task) for name in ("progress", "stored_error"))
    values, seen = np.full(len(items), np.nan), np.full(len(items), np.nan)
    for k in np.flatnonzero(members).tolist():
        cause, drift = Cause(int(items.cause[k])), drifts.get(items.cluster[k], (0.0, 0.0))
        if cause in (Cause.EXPLODED, Cause.UNSTABLE, Cause.NON_FINITE):
            values[k] = 0.5 * progress[k]
        elif cause in (Cause.NONE, Cause.NO_FORCES):
            values[k] = 1.0 - 0.5 * drift[0]
        if cause not in (Cause.ERROR, Cause.MISSING, Cause.OVER_TIME, Cause.UNSUPPORTED):
            whole = seen_progress[k] == 1.0
            seen[k] = (1.0 - 0.5 * np.nan_to_num(drift[1])) if whole else 0.5 * seen_progress[k]
    return _chosen(items, members, values)._replace(seen=seen[members])


def _hydrogen_drifts(items: Items, task: str) -> dict[str, tuple[float, float]]:
    """By system, the share of the run after a hydrogen left, and that which stored frames show."""
    if "hydrogen_drift_count" not in items.columns:
        return {}
    members = np.flatnonzero(items.columns["hydrogen_drift_count"] > 0).tolist()
    shares, seen = column_of(items, "error", task) / 100, column_of(items, "stored_error", task) / 100
    return {items.cluster[k]: (float(np.nan_to_num(shares[k])), float(seen[k])) for k in members}


def geometries(items: Items, result: Result, metric: AuditMetric) -> AuditItems:
    """Distances of the last structures, whether or not they converged; the program of 0.1.8 sees 0 where they did."""
    members = _counted(items, result.task, "rmsd_count")
    ended = np.isin(items.cause, ENDED)
    values = np.where(ended, column_of(items, "rmsd_at_end", result.task), np.nan)
    steps = column_of(items, "steps", result.task)
    seen = np.where(ended & (steps < GEOMETRY_STEPS) & (items.cause == Cause.NONE), 0.0, values)
    sets = [items.group[k] for k in np.flatnonzero(members).tolist()]
    return _chosen(items, members, values)._replace(seen=seen[members], sets=sets)


def forces_of_bands(items: Items, result: Result, metric: AuditMetric) -> AuditItems:
    """The largest force of each band, converged or not."""
    residual = np.where(np.isin(items.cause, ENDED), column_of(items, "residual", result.task), np.nan)
    return _chosen(items, everything(items, result.task), residual)


def times(items: Items, result: Result, metric: AuditMetric) -> AuditItems:
    """Times of one pass over the reference's, by structure: the mean of the fastest passes.

    NaN where a pass failed, and everywhere if no time of the model counts.
    """
    if metric.reference_time is None:
        raise ScoringError(f"task {result.task}: the release states no reference_time for {metric.source}")
    seconds, atoms, warm_up, reduced, charged = (
        column_of(items, name, result.task) for name in ("seconds", "n_atoms", "warm_up", "reduced", "charged_time")
    )
    names = np.array([f"{cluster}" for cluster in items.cluster])
    systems = list(dict.fromkeys(names.tolist()))
    values, causes = [], []
    for name in systems:
        own = (names == name) & (warm_up == 0)
        failed = items.cause[own][np.flatnonzero(items.cause[own])]
        each = np.sort(seconds[own])[: max(1, int(FASTEST * own.sum() + 1e-9))]
        sound = own.any() and np.isfinite(charged[own]).all() and not reduced[own].any()
        values.append(1000 * float(each.mean()) / metric.reference_time.of(float(atoms[own][0])) if sound else np.nan)
        causes.append(int(failed[0]) if failed.size else 0)
    return AuditItems(np.array(values), np.array(causes, np.int8), systems)


def _counted(items: Items, task: str, column: str) -> Bool:
    return np.asarray(column_of(items, column, task) > 0)


def _chosen(items: Items, members: Bool, values: Float) -> AuditItems:
    magnitudes = np.abs(values[members])
    clusters = [items.cluster[k] for k in np.flatnonzero(members).tolist()]
    return AuditItems(np.where(np.isfinite(magnitudes), magnitudes, np.nan), items.cause[members], clusters)


_PERCENT = 0.01
# By benchmark and metric, and by the kind of the task.
VALUES: Mapping[str, Mapping[str, Mapping[str, Reader]]] = {
    "reference_geometry_stability": {"rmsd": {"relaxed_structures": geometries}},
    "ring_planarity": {"avg_deviation": {"dynamics": of_runs("planarity")}},
    "bond_length_distribution": {"avg_deviation": {"dynamics": of_runs("bond_length")}},
    "conformer_selection": {
        "mae": {"energy_profiles": profiles("conformer_mae")},
        "rmse": {"energy_profiles": profiles("conformer_rmse")},
    },
    "dihedral_scan": {"barrier_height_abs_error": {"energy_profiles": profiles("barrier_error")}},
    "noncovalent_interactions": {
        "interaction_energy_abs_error": {
            "energy_differences": energies(),
            "energy_profiles": energies("interaction_error"),
        }
    },
    "tautomers": {"abs_deviation": {"energy_differences": energies()}},
    "reactivity": {
        "activation_energy_abs_error": {"energy_differences": energies(counted=barriers)},
        "enthalpy_of_reaction_abs_error": {"energy_differences": energies(counted=reaction_energies)},
    },
    "nudged_elastic_band": {"final_force": {"reaction_paths": forces_of_bands}},
    "water_radial_distribution": {
        "rmse": {"dynamics": of_runs("rdf_rmse")},
        "peak_deviation": {"dynamics": of_runs("first_peak")},
    },
    "solvent_radial_distribution": {"relative_peak_deviation": {"dynamics": of_runs("first_peak", relative=True)}},
    "water_density": {"density_error": {"dynamics": of_runs("density", _PERCENT)}},
    "solvent_density": {"density_error": {"dynamics": of_runs("density", _PERCENT)}},
    "nve_energy_conservation": {"drift_ratio": {"dynamics": of_runs("drift_ratio")}},
    "stability": {"stability": {"dynamics": stability_scores}},
    "inference_speed": {"time_ratio": {"efficiency": times}},
    "folding_stability": {
        "rmsd": {"dynamics": distances_of_proteins},
        "tm_score": {"dynamics": highest_tm_scores},
    },
    "sampling": {
        "outliers_ratio_backbone": {"dynamics": of_runs("dihedral_outliers", _PERCENT, by_name=True)},
        "outliers_ratio_sidechain": {"dynamics": of_runs("sidechain_outliers", _PERCENT, by_name=True)},
    },
}
