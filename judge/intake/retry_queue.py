"""`delayed/<invitation>/<slot>.json`: submission requests that wait until a fault of the judge is corrected.

The authors' status shows them between two intakes. An intake examines them after all others. Some faults may be the
author's, since only this request has them: a registry that does not answer, an image for which there is no room. Such
delays are counted, at most one an hour, so that an outage of a few hours ends no request. After the last one the
request is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import ClassVar, Literal

from pydantic import AwareDatetime, Field

from submissions.records import Fields, Record
from submissions.requests import Digest, RequestDecision, SlotId
from submissions.store.interface import Store, StoreError
from submissions.store.read_record import read_record

COUNTED_AGAIN_AFTER = timedelta(hours=1)


def _delayed_request_2(fields: Fields) -> Fields:
    """In version 1 no delay was counted."""
    return {**fields, "schema_version": 2, "n_delays": 0, "last_counted": None, "n_bytes": 0}


class DelayedRequest(Record):
    """`delayed/<invitation>/<slot>.json`. It is replaced at each delay.

    Args:
        parts, image_id, layers: of version 1, and empty.
        n_delays: those that count.
        last_counted: when the last one was counted.
        n_bytes: fetched in vain in all of them.
    """

    upgrades: ClassVar[Mapping[int, Callable[[Fields], Fields]]] = {1: _delayed_request_2}
    schema_version: Literal[2] = 2
    decision: RequestDecision = Field(alias="fate")
    parts: tuple[SlotId, ...] = ()
    image_id: str = ""
    layers: tuple[Digest, ...] = ()
    n_delays: int = 0
    last_counted: AwareDatetime | None = None
    n_bytes: int = 0

    def delayed_again(self, n_bytes: int, now: datetime) -> DelayedRequest:
        """The record after one more delay that only this request has."""
        is_counted = self.last_counted is None or now >= self.last_counted + COUNTED_AGAIN_AFTER
        update = {"n_delays": self.n_delays + 1, "last_counted": now} if is_counted else {}
        return self.model_copy(update={**update, "n_bytes": self.n_bytes + n_bytes})


def write_delayed(store: Store, invitation: str, request: DelayedRequest) -> None:
    """Stores a delayed request, with the decision that its author reads.

    Raises:
        StoreError: it cannot be written.
    """
    store.put(_key(invitation, request.decision.slot), request.model_dump_json(indent=1).encode())


def forget_delayed(store: Store, invitation: str, slot: str) -> None:
    """Removes the record, after a final decision.

    Raises:
        StoreError: it cannot be removed.
    """
    store.delete(_key(invitation, slot))


def delayed_before(store: Store, invitation: str, decision: RequestDecision) -> DelayedRequest:
    """The record of the request of `decision`, with that decision; a new one if it was not delayed before.

    Raises:
        StoreError: the record cannot be read.
    """
    key = _key(invitation, decision.slot)
    if not store.exists(key):
        return DelayedRequest(decision=decision)
    return read_record(store, key, DelayedRequest).model_copy(update={"decision": decision})


def delayed_requests(store: Store) -> dict[tuple[str, str], int]:
    """How many delays count, by invitation and slot of every delayed request. A record that cannot be read has none.

    Raises:
        StoreError: the store does not answer.
    """
    n_delays = {}
    for key in store.list("delayed/"):
        parts = key.removesuffix(".json").split("/")
        if len(parts) == 3:
            n_delays[(parts[1], parts[2])] = _n_delays(store, key)
    return n_delays


def read_delayed(store: Store, invitation: str = "") -> dict[str, list[RequestDecision]]:
    """The delayed requests of one invitation, or of all, by the invitation's name.

    Raises:
        StoreError: a record cannot be read; one line that names it.
    """
    delayed: dict[str, list[RequestDecision]] = {}
    for key in store.list(f"delayed/{invitation}/" if invitation else "delayed/"):
        delayed.setdefault(key.split("/")[1], []).append(read_record(store, key, DelayedRequest).decision)
    return delayed


def _n_delays(store: Store, key: str) -> int:
    try:
        return read_record(store, key, DelayedRequest).n_delays
    except StoreError:
        return 0


def _key(invitation: str, slot: str) -> str:
    return f"delayed/{invitation}/{slot}.json"
