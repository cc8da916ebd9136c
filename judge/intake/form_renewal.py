"""Writes new upload forms for an invitation, by its state at that moment: the intake may have begun hours before."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from judge.intake.bucket_listing import FLOODED
from judge.intake.invitations import InvitationState, refreshed
from judge.intake.reusable_layers import PublicLayer, omittable_layers
from judge.intake.status_bucket import write_forms
from judge.intake.upload_bucket import UploadBucket
from judge.intake.upload_forms import make_forms
from judge.workspace import Workspace
from submissions.records import utc_now
from submissions.requests import UploadForms


def renew_forms(
    workspace: Workspace, bucket: UploadBucket, state: InvitationState, public: Sequence[PublicLayer]
) -> tuple[InvitationState, UploadForms]:
    """Writes new forms; the invitation as it is now, and these forms. Slots that hold an object are left out.

    Raises:
        StoreError: the store or a bucket does not answer, or there are no credentials to sign with.
    """
    state = refreshed(workspace.store, state)
    filled: Collection[str] = ()
    if state.is_open:
        uploads = bucket.uploads(state.name)
        if uploads is None:
            state = replace(state, suspended=FLOODED)
        else:
            filled = uploads.keys()
    forms = make_forms(workspace, state, omittable_layers(state, public), utc_now(), filled)
    write_forms(workspace, state, forms)
    return state, forms
