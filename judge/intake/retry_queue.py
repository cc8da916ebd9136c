"""`delayed/<invitation>/<slot>.json`: submission requests that wait until a fault of the judge is corrected.

The authors' status shows them between two intakes. An intake does not use them to decide.
"""

from __future__ import annotations

from judge.intake.invitations import StoredDecision
from judge.records.results import read_record
from submissions.requests import RequestDecision
from submissions.store.interface import Store


def write_delayed(store: Store, invitation: str, decision: RequestDecision) -> None:
    """Stores the decision that the author of a delayed request reads.

    Raises:
        StoreError: it cannot be written.
    """
    data = StoredDecision(decision=decision).model_dump_json(indent=1).encode()
    store.put(_key(invitation, decision.slot), data)


def forget_delayed(store: Store, invitation: str, slot: str) -> None:
    """Removes the record, after a final decision.

    Raises:
        StoreError: it cannot be removed.
    """
    store.delete(_key(invitation, slot))


def delayed_requests(store: Store) -> list[tuple[str, str]]:
    """Invitation and slot of every delayed request, by the keys of the records alone.

    Raises:
        StoreError: the store does not answer.
    """
    parts = [key.removesuffix(".json").split("/") for key in store.list("delayed/")]
    return [(part[1], part[2]) for part in parts if len(part) == 3]


def read_delayed(store: Store, invitation: str = "") -> dict[str, list[RequestDecision]]:
    """The delayed requests of one invitation, or of all, by the invitation's name.

    Raises:
        StoreError: a record cannot be read; one line that names it.
    """
    delayed: dict[str, list[RequestDecision]] = {}
    for key in store.list(f"delayed/{invitation}/" if invitation else "delayed/"):
        delayed.setdefault(key.split("/")[1], []).append(read_record(store, key, StoredDecision).decision)
    return delayed


def _key(invitation: str, slot: str) -> str:
    return f"delayed/{invitation}/{slot}.json"
