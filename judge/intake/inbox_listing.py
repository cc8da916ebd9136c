"""What lies in the inbox, invitation by invitation: which of it are letters to be looked at, and what is to go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import NamedTuple

from judge.intake.expired_slots import spend_part
from judge.intake.invitations import Invited, letter_slot, part_slot
from judge.intake.upload_bucket import MAX_VERSIONS, Flood, Inbox, Sent
from judge.workspace import Workspace
from sandbox.events import plain
from submissions.records import utc_now

MAX_NAMED = 20
FLOODED = (
    "The inbox of this invitation is flooded: nothing is looked at, and no forms are given, until the judge has "
    "cleared it. Whoever has the file of the invitation can do that: tell the maintainer."
)

Found = dict[str, dict[str, Sent]]
"""What lies in the slots of invitations: by invitation, and by slot."""


class Contents(NamedTuple):
    """What lies in the inbox.

    Args:
        found: of every invitation that is not flooded.
        flooded: names of those that are.
        notes: a line each about what else is there.
    """

    found: Found
    flooded: tuple[str, ...]
    notes: tuple[str, ...]


def read_contents(inbox: Inbox, everybody: Mapping[str, Invited]) -> Contents:
    """What lies in the inbox; of what is flooded, the versions that do not count are removed.

    Raises:
        StoreError: the inbox does not answer.
    """
    found: Found = {}
    flooded, notes = [], []
    strange = [name for name in inbox.names() if name not in everybody]
    for name, invited in everybody.items():
        objects, known = inbox.objects(name), letter_slots(invited) | part_slots(invited)
        if isinstance(objects, Flood):
            n = inbox.thin(name, known)
            flooded.append(name)
            notes.append(
                f"{name}: more than {MAX_VERSIONS} versions of objects: not looked at; {n} that do not count were "
                f"removed; to end it: judge revoke {name} --reason WHY"
            )
            continue
        strange += [f"{name}/{slot}" for slot in objects if slot not in known]
        found[name] = {slot: sent for slot, sent in objects.items() if slot in known}
    if strange:
        more = f" and {len(strange) - MAX_NAMED} more" if len(strange) > MAX_NAMED else ""
        named = ", ".join(plain(key) for key in sorted(strange)[:MAX_NAMED])
        notes.append(f"left in the inbox, since no slot is called so: {named}{more}")
    return Contents(found, tuple(flooded), tuple(notes))


def letter_slots(invited: Invited) -> frozenset[str]:
    """Every letter slot that may ever have been open, also of an invitation that is used up or revoked."""
    n = len(invited.fates) + invited.invitation.max_judged
    return frozenset(letter_slot(invited.invitation, i) for i in range(n))


def part_slots(invited: Invited) -> frozenset[str]:
    """The same of the slots for parts."""
    n = len(invited.used_parts) + invited.invitation.n_parts
    return frozenset(part_slot(invited.invitation, i) for i in range(n))


def letters_in_order(everybody: Mapping[str, Invited], found: Found) -> list[tuple[str, str]]:
    """Invitation and slot of every letter without a fate, the oldest first, whoever sent it."""
    letters = [
        (objects[slot].received, name, slot)
        for name, objects in found.items()
        for slot in letter_slots(everybody[name]) & objects.keys()
        if slot not in everybody[name].fates
    ]
    return [(name, slot) for _, name, slot in sorted(letters)]


def clear_decided(inbox: Inbox, invited: Invited, objects: dict[str, Sent]) -> None:
    """Removes what is decided, and what came into the same slots since.

    Raises:
        StoreError: the inbox does not answer.
    """
    decided = [slot for slot in objects if slot in invited.fates or slot in invited.used_parts]
    inbox.remove(objects.pop(slot) for slot in decided)


def clear_forgotten(workspace: Workspace, inbox: Inbox, invited: Invited, objects: dict[str, Sent]) -> Invited:
    """The invitation, without what lay there longer than two lives of its form and will never be looked at.

    That is a part that no letter named, whose slot is spent from now on; of an invitation that takes nothing more, all.

    Raises:
        StoreError: inbox or store do not answer.
    """
    oldest = utc_now() - 2 * timedelta(days=workspace.settings.form_days)
    old = [slot for slot, sent in objects.items() if sent.received < oldest]
    if invited.is_open:
        if letter_slots(invited) & objects.keys():  # one that is delayed may yet name them
            return invited
        for slot in old:
            spend_part(workspace.store, invited.invitation.name, slot)
        invited = replace(invited, spent=invited.spent.union(old))
    inbox.remove(objects.pop(slot) for slot in old)
    return invited
