"""`delayed/<invitation>/<slot>.json`: letters that wait for the judge to correct a fault of its own.

Only so that their authors can be told between two intakes. Nothing is decided by it: each intake looks at the inbox.
"""

from __future__ import annotations

from judge.intake.invitations import StoredFate
from judge.records.results import read_record
from submissions.requests import Fate
from submissions.store.interface import Store


def write_delayed(store: Store, invitation: str, fate: Fate) -> None:
    """Keeps what the author of a letter is told until it is decided.

    Raises:
        StoreError: it cannot be written.
    """
    store.put(_key(invitation, fate.slot), StoredFate(fate=fate).model_dump_json(indent=1).encode())


def forget_delayed(store: Store, invitation: str, slot: str) -> None:
    """Removes it, now that the letter is decided.

    Raises:
        StoreError: it cannot be removed.
    """
    store.delete(_key(invitation, slot))


def read_delayed(store: Store, invitation: str) -> list[Fate]:
    """The letters of an invitation that wait for the judge.

    Raises:
        StoreError: a record cannot be read; one line that names it.
    """
    return [read_record(store, key, StoredFate).fate for key in store.list(f"delayed/{invitation}/")]


def delayed_letters(store: Store) -> list[tuple[str, str]]:
    """Invitation and slot of every letter that waits for the judge, read from names alone.

    Raises:
        StoreError: the store does not answer.
    """
    keys = [key.removesuffix(".json").split("/") for key in store.list("delayed/")]
    return [(key[1], key[2]) for key in keys if len(key) == 3]


def read_all_delayed(store: Store) -> dict[str, list[Fate]]:
    """The same of every invitation, by its name: listed once.

    Raises:
        StoreError: a record cannot be read; one line that names it.
    """
    found: dict[str, list[Fate]] = {}
    for key in store.list("delayed/"):
        found.setdefault(key.split("/")[1], []).append(read_record(store, key, StoredFate).fate)
    return found


def _key(invitation: str, slot: str) -> str:
    return f"delayed/{invitation}/{slot}.json"
