"""Joins the shards of a large task: their answers become the observation of the whole task."""

from __future__ import annotations

from judge.evaluation.observe import UnitStorage, allowed_s, kind_at_fault, secret_of, with_correction_noted
from judge.evaluation.plan import Unit
from judge.records.attempts import ClaimedAttempt, read_history
from judge.records.observation_file import read_observation, store_observation
from judge.records.records import End, Peaks
from sandbox.events import Event, emit
from sandbox.verdict import FaultCause, JudgeFault, Verdict
from submissions.records import utc_now
from submissions.store.interface import Store
from tasks.datasets.dataset import load_structures
from tasks.kind import Observation, Watch
from tasks.observing.shards import join_shards


def parts_left(unit: Unit, store: Store) -> int:
    """How many trainings or shards of `unit` have no end yet."""
    return sum(read_history(store, part.prefix).end is None for part in unit.parts)


def decisive_ends(unit: Unit, store: Store) -> list[End] | None:
    """The ends of all shards of `unit`, or that of the first one without answers, which decides; None: neither yet."""
    ends = [read_history(store, part.prefix).end for part in unit.parts]
    failed = next((end for end in ends if end is not None and end.verdict is not Verdict.OK), None)
    if failed is not None:
        return [failed]
    known = [end for end in ends if end is not None]
    return known if len(known) == len(ends) else None


def observe_joined(unit: Unit, place: UnitStorage, attempt: ClaimedAttempt) -> End:
    """The end of a unit whose shards are all observed, or one of which has failed.

    Raises:
        JudgeFault: MEASURE: the shards do not belong together; CLAIM_LOST or STORE. The end is not written.
    """
    ends = decisive_ends(unit, place.store)
    assert ends is not None, unit.name
    end = ends[0].model_copy(update={"owner": attempt.process, "ended": utc_now(), "parts": unit.part_keys})
    if end.verdict is Verdict.OK:
        digest = store_observation(place.store, _joined(unit, place, ends))
        emit(Event.OBSERVATION_STORED, unit=unit.prefix, key=digest)
        resumed = any(each.resumed for each in ends)
        end = end.model_copy(update={"observation": digest, "peaks": _peaks(ends), "resumed": resumed})
    attempt.write_end(end)
    return end


def _joined(unit: Unit, place: UnitStorage, ends: list[End]) -> Observation:
    shards = [read_observation(place.store, end.observation) for end in ends if end.observation]
    with kind_at_fault(unit):
        structures = load_structures(place.data / unit.task.dataset)
    watch = Watch(clock=lambda: 0.0, failed_share=unit.task.failed_share, secret=secret_of(unit, structures, place))
    try:
        joined = join_shards(unit.kind, structures, unit.parameters, shards, watch, allowed_s(unit))
    except ValueError as error:
        remedy = f"{unit.submission.id} {unit.name}: {error}: judge it with shard_structures = 0 in judge.toml"
        raise JudgeFault(FaultCause.MEASURE, remedy) from error
    return with_correction_noted(unit, joined)


def _peaks(ends: list[End]) -> Peaks | None:
    """The time of all shards together, and the most memory of any."""
    peaks = [end.peaks for end in ends if end.peaks is not None]
    if not peaks:
        return None
    return Peaks(
        wall_s=sum(peak.wall_s for peak in peaks),
        startup_s=peaks[0].startup_s,
        memory_bytes=max((peak.memory_bytes for peak in peaks if peak.memory_bytes is not None), default=None),
    )
