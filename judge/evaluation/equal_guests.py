"""Guests that a maintainer declares equal: what was observed with one of them is current for the others.

The version of the guest enters the key of every observation. A unit that was not observed with the present guest, but
with an equal one, is planned with that guest's keys, so that its answers and its result are found where they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import product

from judge.config import JudgeSettings, UsageError
from judge.evaluation.plan import Circumstances, Planned, Step, TaskUnits, Unit
from judge.records.attempts import History
from judge.records.record_cache import RecordCache
from judge.records.records import Origin
from sandbox.guest_archive import guest_version, training_guest_version
from submissions.records import Submission


def versions_equal_to(present: str, groups: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The other versions that `groups` declare equal to `present`, also by way of a third one."""
    equal = {present}
    while True:
        added = {version for group in groups if equal & set(group) for version in group} - equal
        if not added:
            return tuple(
                dict.fromkeys(version for group in groups for version in group if version in equal - {present})
            )
        equal |= added


def equal_circumstances(common: Circumstances) -> list[Circumstances]:
    """`common` with each other pair of guests that is declared equal to the present pair."""
    training_guest = common.training_guest or training_guest_version()
    guests = (common.guest, *versions_equal_to(common.guest, common.equal_guests))
    training_guests = (training_guest, *versions_equal_to(training_guest, common.equal_guests))
    pairs = list(product(guests, training_guests))[1:]
    return [replace(common, guest=guest, training_guest=training) for guest, training in pairs]


def units_with_answers(units: Sequence[Unit], common: Circumstances, histories: Mapping[str, History]) -> list[Unit]:
    """`units`, in which those that only equal guests have observed have the keys of these guests.

    Of several equal guests the last observation counts. A unit of parts that are not joined yet counts as observed by
    the guest that observed its first part.

    Args:
        common: circumstances of `units`.
        histories: by the units' prefixes.
    """
    others = equal_circumstances(common)
    if not others:
        return list(units)
    tasks: dict[tuple[str, int], TaskUnits] = {}

    def alternatives(unit: Unit) -> Iterator[Unit]:
        for number, circumstances in enumerate(others):
            key = (unit.task.name, number)
            if key not in tasks:
                tasks[key] = TaskUnits(unit.task, unit.kind, unit.testset, circumstances)
            yield tasks[key].unit(unit.submission, unit.round)

    def observed(unit: Unit) -> datetime | None:
        """When the last attempt at the unit or its first part ended with a verdict."""
        ends = [histories.get(each.prefix, History()).end for each in (unit, *unit.parts[:1])]
        return max((end.ended for end in ends if end is not None), default=None)

    def current(unit: Unit) -> Unit:
        if observed(unit) is not None:
            return unit
        ended = [(when, other) for other in alternatives(unit) if (when := observed(other)) is not None]
        return max(ended, key=lambda pair: pair[0])[1] if ended else unit

    return [current(unit) for unit in units]


def check_equal_guests(settings: JudgeSettings, cache: RecordCache, submissions: Iterable[Submission]) -> None:
    """Checks that each version that the settings declare equal is this judge's, or that of an attempt in the store.

    Args:
        cache: of the store of the settings.
        submissions: all that are in it.

    Raises:
        UsageError: one line that names the version.
        StoreError: a record cannot be read.
    """
    if settings.equal_guests:
        facts = cache.facts([submission.id for submission in submissions]).values()
        attempts = (attempt for each in facts for history in each.histories.values() for attempt in history.attempts)
        origins = [attempt.end.origin for attempt in attempts if attempt.end is not None]
        _check_versions(settings.equal_guests, origins, settings.store)


def _check_versions(groups: Sequence[Sequence[str]], origins: Iterable[Origin], store: str) -> None:
    seen = {version for origin in origins for version in (origin.guest, origin.training_guest) if version}
    own = (guest_version(), training_guest_version())
    for version in (version for group in groups for version in group):
        if version not in seen and version not in own:
            there = ", ".join(sorted(seen)) or "none"
            raise UsageError(
                f"equal_guests: {version} is no guest that this judge or an attempt in {store} has: this judge has "
                f"{own[0]} (trainings: {own[1]}), the store {there}: correct or remove it"
            )


def counts_by_guest(plan: Iterable[Planned], common: Circumstances) -> dict[str, int]:
    """By version, how many units of `plan` need no model because an equal guest has observed them.

    Args:
        common: circumstances of its units.
    """
    equal = versions_equal_to(common.guest, common.equal_guests)
    ends = [planned.history.end for planned in plan if planned.step in (Step.DONE, Step.MEASURE)]
    guests = Counter(end.origin.guest for end in ends if end is not None)
    return {guest: guests[guest] for guest in equal if guest in guests}


def describe_guests(settings: JudgeSettings, cache: RecordCache, submissions: Iterable[Submission]) -> str:
    """The versions of this judge's guests, and those that the settings declare equal to them.

    Raises:
        UsageError, StoreError: as `check_equal_guests`.
    """
    check_equal_guests(settings, cache, submissions)
    parts = []
    for word, version in (("version", guest_version()), ("of trainings", training_guest_version())):
        equal = versions_equal_to(version, settings.equal_guests)
        parts.append(f"{word} {version}" + (f" (declared equal: {', '.join(equal)})" if equal else ""))
    unused = settings.equal_guests and not any("equal" in part for part in parts)
    return "; ".join(parts) + ("; equal_guests names neither: it has no effect" if unused else "")
