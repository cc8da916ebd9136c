"""Fresh forms for an invitation, made from what holds at that moment: intake may have begun hours before."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

from judge.intake.inbox_listing import FLOODED
from judge.intake.invitations import Invited, read_again
from judge.intake.reusable_layers import PublicLayer, may_be_left_out
from judge.intake.status_bucket import write_forms
from judge.intake.upload_bucket import Flood, Inbox
from judge.workspace import Workspace
from submissions.records import utc_now
from submissions.requests import Forms


class Renewed(NamedTuple):
    """An invitation as it is now, and the forms that its author was given."""

    invited: Invited
    forms: Forms


def renew_forms(workspace: Workspace, inbox: Inbox, invited: Invited, public: Sequence[PublicLayer]) -> Renewed:
    """Writes fresh forms. Slots that hold an object are not offered again: another one would not count.

    Raises:
        StoreError: store, inbox or mail do not answer.
    """
    invited = read_again(workspace.store, invited)
    filled: Collection[str] = ()
    if invited.is_open:
        objects = inbox.objects(invited.invitation.name)
        if isinstance(objects, Flood):
            invited = replace(invited, halted=FLOODED)
        else:
            filled = objects.keys()
    layers = may_be_left_out(invited, public)
    return Renewed(invited, write_forms(workspace, invited, layers, utc_now(), filled=filled))
