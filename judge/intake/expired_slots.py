"""`invitations/<name>/spent/<slot>.json`: part slots that have expired, since no submission request named their part.

The part was removed. An expired slot is never opened again: the author's own record still says that the old part is
there, so nothing would be sent into it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from pydantic import AwareDatetime

from submissions.records import Record, utc_now
from submissions.requests import SLOT, SlotId
from submissions.store.interface import Store


class ExpiredSlot(Record):
    """`invitations/<name>/spent/<slot>.json`."""

    schema_version: Literal[1] = 1
    slot: SlotId
    time: AwareDatetime


def record_expired(store: Store, invitation: str, slot: str) -> None:
    """Records that a slot has expired.

    Raises:
        StoreError: it cannot be written.
    """
    data = ExpiredSlot(slot=slot, time=utc_now()).model_dump_json(indent=1).encode()
    store.put_if_absent(f"{_folder(invitation)}{slot}.json", data)


def expired_among(invitation: str, keys: Iterable[str]) -> frozenset[str]:
    """The expired slots of an invitation, from the `keys` of its records alone."""
    folder = _folder(invitation)
    slots = (key.removeprefix(folder).removesuffix(".json") for key in keys if key.startswith(folder))
    return frozenset(slot for slot in slots if re.match(SLOT, slot))


def _folder(invitation: str) -> str:
    return f"invitations/{invitation}/spent/"
