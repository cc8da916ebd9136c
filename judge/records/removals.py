"""What the retention policy removed: signed records, each written before the first file in it is removed.

A file that was named and then kept is read as ever: only of a file that is gone its removal is asked for.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from typing import Literal

from pydantic import AwareDatetime

from judge.records.observation_file import observation_path
from judge.records.records import Signature
from judge.records.signing import BadSignature, SigningKey, check_signature
from sandbox.verdict import FaultCause, JudgeFault
from submissions.records import Record, utc_now
from submissions.store.interface import Store
from submissions.store.read_record import read_record

FOLDER = "removals/"


class Removal(Record):
    """`removals/<time>-<token>.json`: the files that one `judge gc` removes by the retention policy.

    Args:
        policy: the days by sort of file, as the settings stated them.
        keys: in the store.
    """

    schema_version: Literal[1] = 1
    time: AwareDatetime
    policy: dict[str, float | bool | None]
    keys: tuple[str, ...]
    signature: Signature | None = None


class ObservationRemoved(JudgeFault):
    """An observation is gone because the retention policy removed it."""

    def __init__(self, submission: str) -> None:
        remedy = f"its observation was removed by the retention policy: judge rejudge {submission}"
        super().__init__(FaultCause.MEASURE, remedy)


def record_removal(store: Store, key: SigningKey, keys: Sequence[str], policy: dict[str, float | bool | None]) -> None:
    """Stores that the files under `keys` are removed from now on.

    Raises:
        StoreError: it cannot be written: then nothing may be removed.
    """
    removal = key.sign(Removal(time=utc_now(), policy=policy, keys=tuple(keys)))
    path = f"{FOLDER}{removal.time:%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}.json"
    store.put(path, removal.model_dump_json().encode())


def removed_keys(store: Store, trusted: Collection[str] | None = None) -> frozenset[str]:
    """The keys of all files that the retention policy removed, or was about to remove.

    Args:
        trusted: public keys; a record that none of them signed does not count. None: every record counts.

    Raises:
        StoreError: a record cannot be read; one line that names it.
    """
    removed: set[str] = set()
    for path in store.list(FOLDER):
        removal = read_record(store, path, Removal)
        if trusted is None or _is_signed(store.get(path), trusted):
            removed.update(removal.keys)
    return frozenset(removed)


def was_removed(store: Store, observation: str) -> bool:
    """Whether the observation with this sha256 is gone, and the retention policy removed it."""
    key = observation_path(observation)
    return not store.exists(key) and key in removed_keys(store)


def _is_signed(data: bytes, trusted: Collection[str]) -> bool:
    try:
        check_signature(data, trusted)
    except BadSignature:
        return False
    return True
