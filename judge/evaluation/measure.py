"""Measures one unit: a result from the stored observation and the labels.

Every record is written once, in this order: observation, end of the attempt, items, result. So after a crash at any
point, the existing records state what is left to do.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from judge.evaluation.observe import UnitStorage, kind_at_fault
from judge.evaluation.plan import Unit
from judge.evaluation.provenance import provenance
from judge.evaluation.verdict import Assessment, assess
from judge.records.few_items import LEAST_ITEMS, is_over_few, n_answered, over_labels
from judge.records.items_file import ItemsTable, items_path, pack_items, result_path
from judge.records.observation_file import read_observation
from judge.records.records import End, Result
from judge.records.removals import ObservationRemoved, was_removed
from sandbox.events import Event, emit
from sandbox.verdict import Verdict
from submissions.records import utc_now
from submissions.store.interface import Store, StoreError
from tasks.datasets.dataset import Dataset, load_dataset
from tasks.metrics.measurement import Measurement
from tasks.metrics.metric import Metric
from tasks.simulation.solution_cache import solutions_kept_in
from tasks.structures.predictions import Cause

MAX_PARTS = 2000  # of a result: all elements and many groups; the items table has the rest


class MeasuredUnit(NamedTuple):
    """The result of an attempt, not yet signed, and its items table as stored; None if it has none."""

    result: Result
    items: bytes | None


def measure_unit(unit: Unit, end: End, place: UnitStorage) -> Result:
    """The result of the attempt that ended with `end`, stored. Starts no container.

    Raises:
        JudgeFault: MEASURE, the observation does not fit the data set; STORE.
    """
    store = place.store
    with solutions_kept_in(place.solutions):
        result, items = remeasure(unit, end, store, lambda: load_dataset(place.data / unit.task.dataset))
    key = result.result_key
    emit(Event.MEASURED, unit=unit.prefix, key=key, verdict=result.verdict)
    path = result_path(unit.submission.id, unit.task.name, key)
    table = ItemsTable(store, items_path(unit.submission.id, unit.task.name, key))
    if items is not None:
        table.store_ahead_of(path, items)
        emit(Event.ITEMS_STORED, unit=unit.prefix, key=key)
    if place.key is not None:
        result = place.key.sign(result)
    if store.put_if_absent(path, result.model_dump_json(indent=1).encode()):
        if items is not None:
            table.keep(items)
        emit(Event.RESULT_STORED, unit=unit.prefix, key=key, verdict=result.verdict)
        return result
    winner = Result.read(store.get(path))  # another judge measured the same at the same time
    table.give_way(winner.items_sha256)
    return winner


def remeasure(unit: Unit, end: End, store: Store, dataset: Callable[[], Dataset]) -> MeasuredUnit:
    """The result of the attempt that ended with `end`, from its observation and the labels. Writes nothing.

    Args:
        dataset: returns that of the task; called only if there is an observation.

    Raises:
        ObservationRemoved: by the retention policy.
        JudgeFault: MEASURE, the observation does not fit the data set; STORE, it is gone or damaged.
    """
    key = unit.result_key(end)
    if end.observation is None:
        return MeasuredUnit(
            _result(unit, end, key, Assessment(end.verdict or Verdict.CRASHED, end.sentence), None), None
        )
    try:
        observation = read_observation(store, end.observation)
    except StoreError:
        if was_removed(store, end.observation):
            raise ObservationRemoved(unit.submission.id) from None
        raise
    with kind_at_fault(unit):
        data = dataset()
        measurement = unit.kind.measure(observation, data, unit.parameters, unit.measured_label_set)
    assessment = assess(
        len(measurement.items),
        measurement.items.failures(),
        unit.task.failed_share,
        end.origin.device == "cuda",
        _has_number(measurement.metrics),
        _revealing(unit, data, measurement.metrics),
    )
    items = pack_items(measurement.items)
    result = _result(unit, end, key, assessment, measurement)
    return MeasuredUnit(result.model_copy(update={"items_sha256": hashlib.sha256(items).hexdigest()}), items)


def _result(unit: Unit, end: End, key: str, assessment: Assessment, measurement: Measurement | None) -> Result:
    failures = measurement.items.failures() if measurement else {}
    parts = measurement.parts[:MAX_PARTS] if measurement else ()
    return Result(
        submission=unit.submission.id,
        task=unit.task.name,
        kind=unit.kind.name,
        domain=unit.task.domain,
        observation_key=unit.observation_key,
        result_key=key,
        round=unit.round,
        measured=utc_now(),
        verdict=assessment.verdict,
        sentence=assessment.sentence,
        label_set=unit.label_set or "",
        label_set_declared=unit.declared,
        metrics={name: _stored(metric) for name, metric in measurement.metrics.items()} if measurement else {},
        n_items=len(measurement.items) if measurement else unit.n_unanswered,
        failures={Cause(cause).name: count for cause, count in failures.items()},
        parts=tuple(replace(part, value=_finite(part.value)) for part in parts),
        notes=_notes(unit, measurement),
        phase=end.phase,
        peaks=end.peaks,
        provenance=provenance(unit, end),
    )


def _revealing(unit: Unit, data: Dataset, metrics: Mapping[str, Metric]) -> int:
    """See `assess`. A metric that has few items in any case is the fault of the data set, which cannot be published."""
    if not (data.card.hidden and data.card.label_sets):
        return 0
    chosen = [metric for metric in over_labels(unit.kind.name, metrics) if metric.n_items >= LEAST_ITEMS]
    return min(map(n_answered, filter(is_over_few, chosen)), default=0)


def _has_number(metrics: Mapping[str, Metric]) -> bool:
    """Whether any metric that failures enter has a value; true if failures enter none."""
    charged = [metric for metric in metrics.values() if metric.charged is not None]
    return any(_finite(metric.value) is not None for metric in charged) or not charged


def _stored(metric: Metric) -> Metric:
    """The metric with None in place of values that are not finite."""
    return replace(
        metric,
        value=_finite(metric.value),
        charged=_finite(metric.charged),
        baseline=_finite(metric.baseline),
        failure_cost=_finite(metric.failure_cost),
        reference_uncertainty=_finite(metric.reference_uncertainty),
    )


def _finite(number: float | None) -> float | None:
    """The number; None if it is not finite, since JSON has no NaN."""
    return float(number) if number is not None and abs(number) < float("inf") else None


def _notes(unit: Unit, measurement: Measurement | None) -> dict[str, str]:
    """Notes by subject: those of the kind, the dispersion added to the model's answers, and parts left out here."""
    notes = dict(measurement.notes) if measurement else {}
    if unit.correction.note:
        notes["dispersion"] = unit.correction.note
    if measurement and len(measurement.parts) > MAX_PARTS:
        notes["parts"] = f"The first {MAX_PARTS} of {len(measurement.parts)}; the items table has what all are made of."
    return notes
