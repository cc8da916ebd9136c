"""The event log of the judge: one structured line for each event.

An event is a name from the closed list `Event` with facts from the closed list `EventFacts`. No field can hold a
structure, a label, a credential or a submission's own words. The names are also the steps at which a test kills the
judge: the logger calls its handlers before the judge goes on.
"""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from enum import StrEnum
from typing import TypedDict, Unpack

LOGGER = "lambench.events"
MAX_TEXT = 200


class Event(StrEnum):
    """The events, in about their usual order."""

    RUN_BEGUN = "run begun"
    REAPED = "reaped"
    CLAIMED = "claimed"
    TAKEN_OVER = "taken over"  # claimed after another judge died
    SESSION_WAITS = "session waits"  # for another session of this host
    CONTAINER_CREATED = "container created"
    CONTAINER_STARTED = "container started"
    READY = "ready"  # the model has loaded
    TRAINED = "trained"  # and the model received
    ANSWERED = "answered"  # every question
    CONTAINER_ENDED = "container ended"
    MODEL_STORED = "model stored"
    OBSERVATION_STORED = "observation stored"
    ENDED = "ended"  # the attempt has its end
    MEASURED = "measured"
    ITEMS_STORED = "items stored"
    RESULT_STORED = "result stored"
    FAULT = "fault"
    HELD = "held"
    QUARANTINED = "set aside"
    ENGINE_GONE = "engine gone"
    ENGINE_BACK = "engine back"
    RUN_ENDED = "run ended"
    SELFTEST_ENDED = "selftest ended"
    EVENT_RECORDED = "event recorded"  # a withdrawal, a disqualification, a rejudging that counts
    COLLECTED = "collected"  # an unreferenced object was removed
    PUBLISHED = "published"
    INVITED = "invited"
    REVOKED = "revoked"  # an invitation
    REQUEST_TAKEN = "letter taken"
    REQUEST_REFUSED = "letter refused"
    REQUEST_DELAYED = "letter delayed"  # by a fault of the judge
    IMAGE_MIRRORED = "image mirrored"
    IMAGE_PULLED = "image pulled"
    STATUS_WRITTEN = "mail written"


class EventFacts(TypedDict, total=False):
    """The facts that an event may have.

    Args:
        submission: id.
        unit: `submission task`, or a path of records in the store.
        sentence: in the judge's words.
        seconds: a duration.
        count: of the objects that the event is about.
    """

    submission: str
    task: str
    unit: str
    attempt: int
    verdict: str
    fault: str
    phase: str
    culprit: str
    key: str
    container: str
    sentence: str
    seconds: float
    count: int


_FACTS = frozenset(EventFacts.__annotations__)
_log = logging.getLogger(LOGGER)


def emit(event: Event, **facts: Unpack[EventFacts]) -> None:
    """Passes `event` to the logger's handlers."""
    if _log.isEnabledFor(logging.INFO):
        _log.info("%s", event.value, extra={"lambench_event": event, "lambench_facts": facts})


def plain(text: str, length: int = MAX_TEXT) -> str:
    """`text` cut to `length`, with every character escaped that is not printed as itself."""
    if text.isprintable():
        return text[:length]
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[:length])


class JsonLines(logging.Formatter):
    """An event as one line of JSON: time, event, facts. Of other log records only the logger's name is kept."""

    def format(self, record: logging.LogRecord) -> str:
        event = getattr(record, "lambench_event", None)
        facts = getattr(record, "lambench_facts", {})
        known = {name: _fact(value) for name, value in facts.items() if name in _FACTS}
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = {"time": time, "event": str(event or "unnamed"), **known}
        return json.dumps(line, ensure_ascii=True, allow_nan=False)


def _fact(value: object) -> str | int | float | None:
    if isinstance(value, bool | int):
        return int(value)
    if isinstance(value, float):
        return round(value, 3) if abs(value) < float("inf") else None
    return plain(str(value))
