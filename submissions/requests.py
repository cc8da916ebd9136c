"""What an author and a judge exchange when they share no account and no server: files in object storage.

An invitation is a file that holds one secret address. Nobody can guess or list what is below that address. The judge
writes two files there, and renews both at each intake:

- `forms.json`: upload forms (presigned POST). Each allows uploads of limited size into one upload slot of the judge's
  bucket. There are slots for submission requests and slots for the parts of images. If several uploads go into one
  slot, the first counts.
- `status.json`: the decision about each submission request, and the progress of each submission. Beside it there is a
  `log-ID.txt` for each submission.

A submission request names the image and holds the model card. The image is in a registry, or is uploaded in parts.

Some fields have an older name in the files: see each `alias`.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Literal

from pydantic import AfterValidator, AwareDatetime, Field, field_validator

from sandbox.verdict import Verdict
from submissions.records import ModelCard, Record

FORMS_FILE, STATUS_FILE = "forms.json", "status.json"
MAX_REQUEST_BYTES = 1024**2
MAX_PART_BYTES = 256 * 1024**2
MAX_FORMS_BYTES, MAX_STATUS_BYTES = 4 * 1024**2, 16 * 1024**2
DIGEST = r"^sha256:[0-9a-f]{64}$"
SLOT = r"^[0-9a-f]{32}$"

CLOCK_TOLERANCE = timedelta(hours=1)
"""How far two clocks may differ, and how long an upload may still take after its slot was written down."""


def _printable(value: str) -> str:
    if not value.isprintable():
        raise ValueError("must hold printable characters alone")
    return value


Digest = Annotated[str, Field(pattern=DIGEST)]
SlotId = Annotated[str, Field(pattern=SLOT)]
Printable = Annotated[str, AfterValidator(_printable)]
Outcome = Literal["submitted", "duplicate", "refused", "delayed"]


def log_name(submission: str) -> str:
    """The name of the file, beside `status.json`, with the preflight log of a submission."""
    return f"log-{submission}.txt"


class InviteFile(Record):
    """The file that an invited author receives. It holds no credential, but an address that must stay secret.

    Args:
        name: of the invitation.
        status_url: address that ends with a slash.
    """

    schema_version: Literal[1] = 1
    name: str = Field(min_length=1, max_length=100)
    status_url: str = Field(alias="mail", max_length=1000)

    @field_validator("status_url")
    @classmethod
    def _is_folder(cls, value: str) -> str:
        if not value.startswith(("https://", "http://")) or not value.endswith("/"):
            raise ValueError("must be a web address that ends with /")
        return value


class UploadForm(Record):
    """A presigned POST: `fields`, and then the file, are sent to `url` as multipart/form-data."""

    slot: SlotId
    url: str
    fields: dict[str, str]
    max_bytes: int = Field(gt=0)


class UploadForms(Record):
    """`forms.json`.

    Args:
        expires: when all of these forms end.
        revoked: why the invitation was revoked; empty if it was not. A revoked invitation has no forms.
        requests: forms for submission requests.
        parts: forms for parts of images.
        layers: diff IDs of layers that need not be sent: of public base images, and of this author's earlier images.
    """

    schema_version: Literal[1] = 1
    renewed: AwareDatetime
    expires: AwareDatetime
    revoked: str = ""
    requests: tuple[UploadForm, ...] = Field((), alias="letters")
    parts: tuple[UploadForm, ...] = ()
    layers: tuple[Digest, ...] = ()

    def empty_slots(self, since: datetime) -> frozenset[str]:
        """The slots that are empty although they were used at `since`: the judge offers no slot that is filled."""
        if self.renewed <= since + CLOCK_TOLERANCE:
            return frozenset()
        return frozenset(form.slot for form in (*self.requests, *self.parts))

    def may_have_cleared(self, arrived: datetime) -> bool:
        """True if the judge may have removed a part that no request names: it does so after two lifetimes of a form."""
        return arrived < self.renewed - 2 * (self.expires - self.renewed) + CLOCK_TOLERANCE


class SentPart(Record):
    """A part of a layer as it was uploaded."""

    slot: SlotId
    n_bytes: int = Field(gt=0, le=MAX_PART_BYTES)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class SentLayer(Record):
    """A layer of an image. Its parts, joined, are a gzipped tar; it has no parts if the judge has the layer already."""

    diff_id: Digest
    parts: tuple[SentPart, ...] = ()


class ReferredImage(Record):
    """An image in a registry: `registry/name@sha256:…`, of a manifest or of an index of several platforms."""

    by: Literal["reference"] = "reference"
    reference: Printable = Field(min_length=1, max_length=512)


class UploadedImage(Record):
    """An image that was uploaded in parts.

    Args:
        reference: the author's name for it.
        config: the image's configuration, byte by byte: its sha256 is the image ID.
        layers: all layers, in the configuration's order.
    """

    by: Literal["upload"] = "upload"
    reference: Printable = Field(max_length=512)
    config: str = Field(max_length=MAX_REQUEST_BYTES)
    layers: tuple[SentLayer, ...] = Field(max_length=200)


class Receipt(Record):
    """The result of a check on the author's own machine. The judge neither stores nor trusts it: it checks again.

    Args:
        subject: `image:tag`, or `module:factory`.
        digest: the image ID, or the sha256 of the factory's module.
        versions: of the software that checked, and of the software that was checked.
    """

    schema_version: Literal[1] = 1
    subject: str
    digest: str
    checked: AwareDatetime
    verdict: Verdict
    versions: dict[str, str] = Field(default_factory=dict)


class SubmissionRequest(Record):
    """The file that an author uploads to submit an image."""

    schema_version: Literal[1] = 1
    author: str = Field("", max_length=200)
    card: ModelCard
    image: Annotated[ReferredImage | UploadedImage, Field(discriminator="by")]


class RequestDecision(Record):
    """The decision about a submission request.

    Args:
        slot: that the request was uploaded into.
        outcome: `submitted`: it is a submission now; `duplicate`: the same image was submitted before; `refused`: for a
            fault of its author; `delayed`: for a fault of the judge, which will try again.
        verdict: why it was refused.
        sentence: what the author should change.
        container_log: what the container printed in the preflight, on public structures.
    """

    slot: SlotId
    received: AwareDatetime
    outcome: Outcome = Field(alias="came")
    submission: str = ""
    name: str = ""
    verdict: Verdict | None = None
    sentence: str = ""
    container_log: str = Field("", alias="said")


class TaskState(Record):
    """The result of one task as its author may see it: time and memory to two digits, sentences of the judge's own.

    Args:
        phase: how far the attempt came: start, compute or done; empty if that is not known.
    """

    task: str
    verdict: Verdict
    phase: str = ""
    sentence: str = ""
    wall_s: float | None = None
    memory_bytes: int | None = None


class SubmissionProgress(Record):
    """The progress of one submission, as its author may see it.

    Args:
        state: `held`: the judge's machine failed at a task, and the maintainer has to look at it.
        position: in the queue, from 1; None once it is judged, or held.
        n_tasks: of the suite.
        scores: by name, as published; empty before that.
        page: its address; empty before it is published.
    """

    submission: str
    name: str
    version: str = ""
    image_id: str
    submitted: AwareDatetime
    state: Literal["waiting", "judging", "held", "judged", "published", "withdrawn", "disqualified"]
    position: int | None = None
    n_tasks: int = 0
    tasks: tuple[TaskState, ...] = ()
    scores: dict[str, float | None] = Field(default_factory=dict)
    rank: int | None = None
    page: str = ""


class Quota(Record):
    """How much of an invitation is used. Requests that failed by the judge's fault do not count.

    Args:
        judged: submissions that were taken.
        refused: requests that were refused, which have a limit of their own.
    """

    max_judged: int
    judged: int
    max_refused: int
    refused: int


class InvitationStatus(Record):
    """`status.json`.

    Args:
        revoked: why the invitation takes no more requests; empty if it does.
    """

    schema_version: Literal[1] = 1
    written: AwareDatetime
    invitation: str
    revoked: str = ""
    quota: Quota
    decisions: tuple[RequestDecision, ...] = Field((), alias="fates")
    submissions: tuple[SubmissionProgress, ...] = ()
