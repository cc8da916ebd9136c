"""A judge with an upload bucket and a status bucket on a real S3 server, and uploads of authors and strangers."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from dataclasses import dataclass, field
from io import StringIO
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import requests
from rich.console import Console

from judge.config import JudgeSettings
from judge.intake.intake import intake
from judge.intake.invitations import (
    InvitationState,
    StoredDecision,
    create_invitation,
    decision_key,
    part_slot,
    read_invitation,
    request_slot,
)
from judge.intake.status_bucket import read_forms, read_status
from judge.intake.summary import IntakeSummary
from judge.workspace import Workspace
from submissions.client.image_archive import read_layout, save_image
from submissions.client.image_export import layer_parts
from submissions.progress import Reporter
from submissions.records import ModelCard, StatedLabelSet, Submission, utc_now
from submissions.requests import (
    InvitationStatus,
    ReferredImage,
    RequestDecision,
    SentLayer,
    SentPart,
    SubmissionRequest,
    UploadedImage,
    UploadForm,
    UploadForms,
)
from submissions.store.interface import Store
from submissions.store.s3_client import S3Client
from tests.servers.rgw import Buckets, RgwServer
from tests.world.world import World

CARD = ModelCard(name="Sum", label_sets={"Molecules": StatedLabelSet(name="PBE")})


class Pushed(NamedTuple):
    """An image of the engine, and the reference to which its author pushed it."""

    id: str
    reference: str

    @property
    def request(self) -> SubmissionRequest:
        return SubmissionRequest(author="Ada", card=CARD, image=ReferredImage(reference=self.reference))


@dataclass
class IntakeWorld(World):
    """A world in which a test invites authors and receives their submission requests; its store is a local folder.

    Args:
        rgw: the S3 server; the environment has its credentials.
        prefix: the folder in both buckets; no other test uses it.
    """

    rgw: RgwServer
    buckets: Buckets
    prefix: str = field(default_factory=lambda: secrets.token_hex(4))

    @property
    def uploads(self) -> str:
        return self.buckets.uploads

    @property
    def statuses(self) -> str:
        return self.buckets.statuses

    @property
    def client(self) -> S3Client:
        return self.buckets.client

    @property
    def stated_settings(self) -> dict[str, Any]:
        return {
            **super().stated_settings,
            "suite": "quickstart",
            "driver": "docker",
            "allow_process": False,
            "min_free_bytes": 0,
            "intake_gpu": "cpu",
            "endpoint_url": self.rgw.endpoint,
            "upload_bucket": f"s3://{self.uploads}/{self.prefix}",
            "status_bucket": f"s3://{self.statuses}/{self.prefix}",
            "status_url": f"{self.rgw.endpoint}/{self.statuses}/{self.prefix}",
            **self.more,
        }

    @property
    def workspace(self) -> Workspace:
        workspace = super().workspace
        vars(workspace)["s3"] = self.client  # a client that exists already: creating one takes longer than its use
        return workspace

    def invited(
        self,
        name: str = "curie",
        max_judged: int = 3,
        max_refused: int = 2,
        n_parts: int = 4,
        repositories: tuple[str, ...] = (),
    ) -> InvitationState:
        """A new invitation."""
        return InvitationState(create_invitation(self.store, name, max_judged, max_refused, n_parts, repositories))

    def versions(self, key: str = "") -> list[dict[str, Any]]:
        """The versions of all objects in the inbox, or of the object `key`, as the server lists them."""
        listed = self.client.list_object_versions(Bucket=self.uploads, Prefix=key or f"{self.prefix}/")
        versions: list[dict[str, Any]] = listed.get("Versions", [])
        return versions

    def content(self, version: dict[str, Any]) -> bytes:
        got = self.client.get_object(Bucket=self.uploads, Key=version["Key"], VersionId=version["VersionId"])
        data: bytes = got["Body"].read()
        return data

    def put(self, invited: InvitationState, slot: str, data: bytes) -> None:
        """Writes an object into an upload slot, as an upload form does."""
        key = f"{self.prefix}/{invited.invitation.name}/{slot}"
        self.client.put_object(Bucket=self.uploads, Key=key, Body=data)

    def send(self, invited: InvitationState, request: SubmissionRequest | bytes, n: int = 0) -> str:
        """Puts a submission request into the `n`-th upload slot, and returns the slot."""
        slot = request_slot(invited.invitation, n)
        self.put(invited, slot, request if isinstance(request, bytes) else request.model_dump_json().encode())
        return slot

    def upload(
        self, invited: InvitationState, image: Pushed, held: Collection[str], max_bytes: int = 1024**2
    ) -> SubmissionRequest:
        """The submission request of an image. Its layers, except those in `held`, are in upload slots for parts."""
        layout = read_layout(save_image(image.id))
        sent: dict[str, tuple[SentPart, ...]] = {}
        slots = (part_slot(invited.invitation, n) for n in count())
        with TemporaryDirectory() as folder:
            wanted = layout.without(held)
            for file, parts in layer_parts(save_image(image.id), wanted, Path(folder), max_bytes):
                arrived = []
                for part in parts:
                    slot = next(slots)
                    self.put(invited, slot, part.path.read_bytes())
                    arrived.append(SentPart(slot=slot, n_bytes=part.n_bytes, sha256=part.sha256))
                sent[file.diff_id] = tuple(arrived)
        layers = tuple(SentLayer(diff_id=diff_id, parts=sent.get(diff_id, ())) for diff_id in layout.diff_ids)
        image_sent = UploadedImage(reference="sum:1", config=layout.config.decode(), layers=layers)
        return SubmissionRequest(author="Ben", card=CARD, image=image_sent)

    def intake(self) -> tuple[IntakeSummary, str]:
        """The summary of `judge intake`, in this process, and its output."""
        output = StringIO()
        return intake(self.workspace, Reporter(Console(file=output, width=200))), output.getvalue()

    def decisions(self, invited: InvitationState) -> dict[str, RequestDecision]:
        """The decisions by upload slot."""
        again = read_invitation(self.store, invited.invitation.name)
        return {slot: stored.decision for slot, stored in again.decisions.items()}

    def left(self, invited: InvitationState) -> set[str]:
        """The upload slots that still have a version of an object."""
        folder = f"{self.prefix}/{invited.invitation.name}/"
        listed = self.client.list_object_versions(Bucket=self.uploads, Prefix=folder)
        versions = [*listed.get("Versions", ()), *listed.get("DeleteMarkers", ())]
        return {version["Key"].removeprefix(folder) for version in versions}

    def status(self, invited: InvitationState) -> InvitationStatus:
        """The status that the author reads."""
        status = read_status(self.workspace, invited)
        assert status is not None
        return status

    def forms(self, invited: InvitationState) -> UploadForms:
        """The upload forms that the author reads."""
        forms = read_forms(self.workspace, invited)
        assert forms is not None
        return forms


def post(form: UploadForm, data: bytes, url: str = "", **fields: str) -> requests.Response:
    """The server's answer to `data` sent with `form`; `fields` replace fields of the form."""
    sent = {**form.fields, **fields}
    return requests.post(url or form.url, data=sent, files={"file": ("request", data)}, timeout=20)


def invite(store: Store, *taken: Submission, name: str = "alice") -> InvitationState:
    """An invitation with which these submissions were accepted."""
    invitation = create_invitation(store, name, 9, 3, 4)
    for n, submission in enumerate(taken):
        decision = RequestDecision(
            slot=f"{n:032x}", received=utc_now(), outcome="submitted", submission=submission.id, name="m"
        )
        stored = StoredDecision(decision=decision).model_dump_json().encode()
        assert store.put_if_absent(decision_key(invitation, decision.slot), stored)
    return read_invitation(store, name)


def with_status_bucket(settings: JudgeSettings, rgw: RgwServer) -> JudgeSettings:
    """The same settings with a status bucket."""
    bucket = rgw.new_bucket(public=True)
    update = {"status_bucket": f"s3://{bucket}", "status_url": f"{rgw.endpoint}/{bucket}", "endpoint_url": rgw.endpoint}
    return settings.model_copy(update=update)
