"""`invitations/<name>/spent/<slot>.json`: slots whose parts were removed, since no letter had named them for long.

Such a slot is never opened again: its author's own record says that a part of his is there, and so another one of that
slot would be one that he does not send.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from pydantic import AwareDatetime

from submissions.records import Record, utc_now
from submissions.requests import SLOT, Slot
from submissions.store.interface import Store


class SpentPart(Record):
    """`invitations/<name>/spent/<slot>.json`."""

    schema_version: Literal[1] = 1
    slot: Slot
    time: AwareDatetime


def spend_part(store: Store, invitation: str, slot: str) -> None:
    """Lets the slot never be opened again.

    Raises:
        StoreError: it cannot be written.
    """
    data = SpentPart(slot=slot, time=utc_now()).model_dump_json(indent=1).encode()
    store.put_if_absent(f"{_folder(invitation)}{slot}.json", data)


def spent_among(invitation: str, keys: Iterable[str]) -> frozenset[str]:
    """The slots of an invitation that are spent, by the `keys` of its records: nothing is read for it."""
    folder = _folder(invitation)
    slots = (key.removeprefix(folder).removesuffix(".json") for key in keys if key.startswith(folder))
    return frozenset(slot for slot in slots if re.match(SLOT, slot))


def _folder(invitation: str) -> str:
    return f"invitations/{invitation}/spent/"
