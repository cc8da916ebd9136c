"""Statistics of times per atom, from the observation of `tasks.timing.efficiency`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tasks.datasets.dataset import Dataset
from tasks.kind import Observation
from tasks.metrics.averages import Average, contributions_to
from tasks.metrics.contributions import Contribution, WithFailureCost, stored_column
from tasks.metrics.kind_metric import Better, KindMetric
from tasks.metrics.measurement import Items, Measurement
from tasks.metrics.metric import Metric
from tasks.structures.frames import Bool, Float
from tasks.structures.predictions import Cause
from tasks.timing.batched_frames import BatchVerdicts, batched_times, compare_batches
from tasks.timing.consistency_check import ConsistencyVerdicts, compare
from tasks.timing.timing import noise_of
from tasks.timing.timing_plan import EfficiencyParameters

MICROSECOND = 1e-6
FAILURE_COST = 1e6  # µs/atom, see tasks.timing.efficiency

TIME_METRICS = (
    KindMetric("time_mean", "Time, mean", "µs/atom"),
    KindMetric("time_median", "Time, median", "µs/atom"),
    KindMetric("time_p95", "Time, 95th percentile", "µs/atom"),
    KindMetric("time_cold", "Time, first call", "µs/atom"),
    KindMetric("time_spread", "Time, spread", ""),
    KindMetric("batched_time", "Time in whole batches", "µs/atom"),
    KindMetric("atoms_min", "Smallest structure timed", "atoms", Better.NEITHER),
    KindMetric("atoms_mean", "Structures timed, mean size", "atoms", Better.NEITHER),
    KindMetric("atoms_max", "Largest structure timed", "atoms", Better.NEITHER),
    KindMetric("n_reduced", "Structures made smaller to fit into memory", ""),
    KindMetric("n_rechecked", "Structures asked again in a fresh container", "", Better.NEITHER),
    KindMetric("n_inconsistent", "Structures answered otherwise then", ""),
    KindMetric("n_batched_inconsistent", "Structures answered otherwise alone than in a batch", ""),
    KindMetric("n_with_stress", "Structures timed with stress", "", Better.NEITHER),
    KindMetric("reference_noise", "Noise of the host", "", Better.NEITHER),
    KindMetric("wire_cost", "Cost of the wire, included above", "µs", Better.NEITHER),
)
STATISTICS: dict[str, Callable[[Float], float]] = {
    "time_mean": lambda times: float(times.mean()),
    "time_median": lambda times: float(np.median(times)),
    "time_p95": lambda times: float(np.percentile(times, 95)),
}


def measure_times(observation: Observation, dataset: Dataset, parameters: EfficiencyParameters) -> Measurement:
    """Metrics over the frames after the warm-up, and one item a timed frame.

    Metrics: time_mean, time_median, time_p95, time_cold, batched_time [µs/atom]; time_spread, the range of the middle
    half of the times over their median; atoms_min, atoms_mean, atoms_max of the frames that were timed;
    n_reduced, n_with_stress, n_rechecked, n_inconsistent, n_batched_inconsistent; reference_noise of the host
    (`tasks.timing.timing`); wire_cost [µs].

    Items: charged_time [µs/atom] is what a frame adds to the penalised time_mean if charged_count is 1: NaN where it
    failed, or if no time of the model counts.

    Raises:
        ValueError: the observation does not fit dataset or parameters.
    """
    n = parameters.n_frames
    seconds, cause = observation.array("seconds", (n,)), observation.causes(n).copy()
    n_atoms, planned = (observation.array(name, (n,), np.int64) for name in ("n_atoms", "planned_atoms"))
    source = observation.array("source", (n,), np.int64)
    if n and not (source.min() >= 0 and source.max() < len(dataset.frames)):
        raise ValueError("observation: source names structures that the data set does not have")
    density = dataset.frames.volumes / dataset.frames.n_atoms
    checks = compare(observation, n_atoms, dict(enumerate(density[source].tolist())))
    if checks is not None:
        cause[checks.inconsistent & (cause == 0)] = Cause.INCONSISTENT
    void = checks is not None and checks.void
    batches = compare_batches(observation, density.tolist())
    time = np.where(cause == 0, seconds / n_atoms / MICROSECOND, np.nan)
    counting, reduction = np.full(n, np.nan) if void else time, planned / n_atoms
    warm_up = np.arange(n) < parameters.n_warm_up
    columns = {
        "seconds": np.where(cause == 0, seconds, np.nan),
        "n_atoms": n_atoms.astype(np.float64),
        "planned_atoms": planned.astype(np.float64),
        "time": time,
        "warm_up": warm_up.astype(np.float64),
        "reduced": observation.array("reduced", (n,), np.int8).astype(np.float64),
        "with_stress": observation.array("with_stress", (n,), np.int8).astype(np.float64),
        "rechecked": np.zeros(n) if checks is None else checks.checked.astype(np.float64),
        "charged_time": counting * reduction,
        "charged_count": is_penalised(counting, warm_up).astype(np.float64),
    }
    metrics = time_metrics(counting, warm_up, reduction)
    metrics |= _once(observation, parameters, void, batches)
    metrics |= _counts(columns, time, checks, batches)
    metrics |= _host(observation)
    ids = dataset.table.id
    items = Items(
        [f"{ids[s]} {i + 1}" for i, s in enumerate(source)],
        [dataset.table.group[s] for s in source],
        [dataset.clusters[s] for s in source],
        cause,
        columns,
    )
    return Measurement(metrics, items, _notes(columns, dataset, observation, checks, batches))


def time_contributions(items: Items, metrics: Mapping[str, WithFailureCost]) -> list[Contribution]:
    """To the mean over single frames: medians and percentiles are no means, and batches and the first call no items."""
    time, count = (stored_column(items.columns, f"charged_{name}") for name in ("time", "count"))
    return contributions_to(metrics, [Average("time_mean", "µs/atom", time, count)])


def is_penalised(time: Float, warm_up: Bool) -> Bool:
    """(n,) whether a frame with `time` (NaN: it failed) enters penalised times: also a failed one of the warm-up.

    Otherwise failing could be better than being slow.
    """
    return ~warm_up | ~np.isfinite(time)


def time_metrics(time: Float, warm_up: Bool, reduction: Float | float = 1.0) -> dict[str, Metric]:
    """The statistics of `time` (n,) [µs/atom], NaN where a frame failed.

    Args:
        reduction: (n,) planned atoms over the real ones of a frame: the factor of its time in penalised values.
    """
    failed = ~np.isfinite(time)
    counted = time[~warm_up & ~failed]
    penalised = np.fmin(time * reduction, FAILURE_COST)[is_penalised(time, warm_up)]
    n, n_failed = len(time), int(failed.sum())
    metrics = {
        name: Metric(
            statistic(counted) if counted.size else None,
            "µs/atom",
            n,
            n_failed,
            statistic(penalised) if penalised.size else FAILURE_COST,
            failure_cost=FAILURE_COST,
        )
        for name, statistic in STATISTICS.items()
    }
    lower, middle, upper = np.percentile(counted, [25, 50, 75]) if counted.size else (np.nan,) * 3
    spread = float((upper - lower) / middle) if counted.size and middle > 0 else None
    return metrics | {"time_spread": Metric(spread, "", n, n_failed)}


def _once(
    observation: Observation, parameters: EfficiencyParameters, void: bool, batches: BatchVerdicts | None
) -> dict[str, Metric]:
    """The times of the first call and of batches; `void`: neither counts."""
    cold_s, cold_atoms = observation.array("cold", (2,))
    unit = np.nan if void else 1.0 / MICROSECOND
    cold = unit * np.array([cold_s / cold_atoms])
    metrics = {"time_cold": _mean_time(cold, cold)}
    if parameters.n_batches:
        unit = np.nan if batches is not None and batches.void else unit
        time, penalised = batched_times(observation, parameters.n_batches)
        metrics["batched_time"] = _mean_time(unit * time, unit * penalised)
    return metrics


def _mean_time(time: Float, penalised: Float) -> Metric:
    answered = np.isfinite(time)
    charged = float(np.fmin(penalised, FAILURE_COST).mean())
    value = float(time[answered].mean()) if answered.any() else None
    return Metric(value, "µs/atom", len(time), int((~answered).sum()), charged, failure_cost=FAILURE_COST)


def _counts(
    columns: dict[str, Float], time: Float, checks: ConsistencyVerdicts | None, batches: BatchVerdicts | None
) -> dict[str, Metric]:
    timed = np.isfinite(time)
    atoms, n, failed = columns["n_atoms"][timed], len(time), int((~timed).sum())
    sizes: list[float] | list[None] = (
        [float(atoms.min()), float(atoms.mean()), float(atoms.max())] if atoms.size else [None] * 3
    )
    counts = {f"n_{name}": float(columns[name].sum()) for name in ("reduced", "with_stress")}
    names = ("atoms_min", "atoms_mean", "atoms_max")
    metrics = {name: Metric(size, "atoms", n, failed) for name, size in zip(names, sizes, strict=True)}
    metrics |= {name: Metric(count, "", n, failed) for name, count in counts.items()}
    if checks is not None:
        checked, undecided = int(checks.checked.sum()), int(checks.undecided.sum())
        metrics["n_rechecked"] = Metric(float(checked - undecided), "", checked, undecided)
        metrics["n_inconsistent"] = Metric(float(checks.inconsistent.sum()), "", checked, undecided)
    if batches is not None and batches.checked:
        inconsistent = float(batches.inconsistent)
        metrics["n_batched_inconsistent"] = Metric(inconsistent, "", batches.checked, batches.undecided)
    return metrics


def _host(observation: Observation) -> dict[str, Metric]:
    """The cost of the wire and the noise of the host."""
    looks, wire = observation.arrays["reference_s"], observation.arrays["wire_s"]
    noise = noise_of(observation.array("reference_s", (len(looks), 2)))
    metrics = {"reference_noise": Metric(noise, "", len(looks))}
    if wire.size:
        metrics["wire_cost"] = Metric(float(np.median(wire)) / MICROSECOND, "µs", len(wire))
    return metrics


def _notes(
    columns: dict[str, Float],
    dataset: Dataset,
    observation: Observation,
    checks: ConsistencyVerdicts | None,
    batches: BatchVerdicts | None,
) -> dict[str, str]:
    notes = {}
    if "stress" not in observation.notes.get("properties", "").split(","):
        notes["stress"] = "not offered: energy and forces alone were timed"
    elif not dataset.frames.periodic.any():
        notes["stress"] = "not asked for: no structure is periodic"
    if columns["reduced"].any():
        notes["sizes"] = (
            f"{int(columns['reduced'].sum())} frames did not fit into memory and were timed smaller; charged is their "
            "time per atom times planned atoms over those they had"
        )
    if checks is None:
        notes["asked again"] = "no frame: no fresh start was asked"
    else:
        checked, inconsistent, undecided = (int(check.sum()) for check in checks[:3])
        if checks.judged is not None:
            notes["compared with tasks with labels"] = checks.judged.in_words
        void = "no time" if checks.void else ""
        notes["asked again"] = _check_note("frames", checked, inconsistent, undecided, void)
    if batches is not None and batches.checked:
        void = "no time of batches" if batches.void else ""
        notes["batches asked again"] = _check_note("frames of batches", *batches, void)
    return notes


def _check_note(what: str, checked: int, inconsistent: int, undecided: int, void: str) -> str:
    text = f"{checked} {what} of a fresh start: {inconsistent} disagreed, {undecided} could not be decided"
    return text + (f"; so {void} counts" if void else "")
