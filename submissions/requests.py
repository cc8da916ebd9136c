"""What passes between an author and a judge that share no account and no server: files in object storage.

An invitation is one file with one address, below which nobody can guess anything and nobody can list anything. There
the judge leaves two files, and writes them anew at each intake:

- `forms.json`: presigned POST forms, each good for one object of a limited size in the judge's inbox. `letters` are
  slots for a submission, `parts` for the parts of an image. A slot can be filled once: of an object that was uploaded
  twice the first stands.
- `status.json`: what became of every letter, and how far each submission is; beside it a `log-ID.txt` for each.

A letter says which image is submitted and with which card. The image comes by reference to a registry, or in parts.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Literal

from pydantic import AfterValidator, AwareDatetime, Field, field_validator

from sandbox.verdict import Verdict
from submissions.records import ModelCard, Record

FORMS, STATUS = "forms.json", "status.json"
MAX_LETTER = 1024**2
MAX_PART = 256 * 1024**2
MAX_FORMS, MAX_STATUS = 4 * 1024**2, 16 * 1024**2
DIGEST = r"^sha256:[0-9a-f]{64}$"
SLOT = r"^[0-9a-f]{32}$"

DOUBT = timedelta(hours=1)
"""By how much two clocks may differ, and for how long a file may still be on its way after it was written down."""


def _printable(value: str) -> str:
    if not value.isprintable():
        raise ValueError("must hold printable characters alone")
    return value


Digest = Annotated[str, Field(pattern=DIGEST)]
Slot = Annotated[str, Field(pattern=SLOT)]
Printable = Annotated[str, AfterValidator(_printable)]


def log_name(submission: str) -> str:
    """The name beside `status.json` of what a submission's container said in the preflight."""
    return f"log-{submission}.txt"


class InviteFile(Record):
    """What an invited author is given: no credential, but an address to be kept to oneself.

    Args:
        name: of the invitation.
        mail: address that ends with a slash.
    """

    schema_version: Literal[1] = 1
    name: str = Field(min_length=1, max_length=100)
    mail: str = Field(max_length=1000)

    @field_validator("mail")
    @classmethod
    def _is_folder(cls, value: str) -> str:
        if not value.startswith(("https://", "http://")) or not value.endswith("/"):
            raise ValueError("must be a web address that ends with /")
        return value


class Form(Record):
    """A presigned POST: `fields`, and then the file, are sent to `url` as multipart/form-data."""

    slot: Slot
    url: str
    fields: dict[str, str]
    max_bytes: int = Field(gt=0)


class Forms(Record):
    """`forms.json`.

    Args:
        expires: of all forms in it.
        revoked: why the invitation no longer holds; empty while it does. Then there are no forms.
        layers: diff IDs of layers that need not be sent: of public base images, and of this author's earlier images.
    """

    schema_version: Literal[1] = 1
    renewed: AwareDatetime
    expires: AwareDatetime
    revoked: str = ""
    letters: tuple[Form, ...] = ()
    parts: tuple[Form, ...] = ()
    layers: tuple[Digest, ...] = ()

    def empty(self, since: datetime) -> frozenset[str]:
        """The slots that hold nothing although they were used at `since`: the judge offers none that is filled."""
        if self.renewed <= since + DOUBT:
            return frozenset()
        return frozenset(form.slot for form in (*self.letters, *self.parts))

    def may_have_cleared(self, arrived: datetime) -> bool:
        """Whether the judge may have removed a part that no letter has named: it does so after two lives of a form."""
        return arrived < self.renewed - 2 * (self.expires - self.renewed) + DOUBT


class SentPart(Record):
    """A part of a layer as it was uploaded."""

    slot: Slot
    n_bytes: int = Field(gt=0, le=MAX_PART)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class SentLayer(Record):
    """A layer of an image: its parts one after the other are a gzipped tar; none where the judge has it already."""

    diff_id: Digest
    parts: tuple[SentPart, ...] = ()


class ReferredImage(Record):
    """An image in a registry: `registry/name@sha256:…`, of a manifest or of an index of several platforms."""

    by: Literal["reference"] = "reference"
    reference: Printable = Field(min_length=1, max_length=512)


class UploadedImage(Record):
    """An image in parts.

    Args:
        reference: as its author calls it.
        config: the image's configuration, the very bytes whose sha256 is the image ID.
        layers: all, in the configuration's order.
    """

    by: Literal["upload"] = "upload"
    reference: Printable = Field(max_length=512)
    config: str = Field(max_length=MAX_LETTER)
    layers: tuple[SentLayer, ...] = Field(max_length=200)


class Receipt(Record):
    """What a check at the author's own desk found. The judge keeps none, and trusts none: it checks again.

    Args:
        subject: `image:tag`, or `module:factory`.
        digest: the image ID, or the sha256 of the factory's module.
        versions: of what checked and of what was checked.
    """

    schema_version: Literal[1] = 1
    subject: str
    digest: str
    checked: AwareDatetime
    verdict: Verdict
    versions: dict[str, str] = Field(default_factory=dict)


class Letter(Record):
    """What an author puts into a slot."""

    schema_version: Literal[1] = 1
    author: str = Field("", max_length=200)
    card: ModelCard
    image: Annotated[ReferredImage | UploadedImage, Field(discriminator="by")]


class Fate(Record):
    """What became of a letter.

    Args:
        came: `submitted` as a submission of its own; `duplicate` of an earlier one of the same image; `refused`, by its
            author's fault; `delayed` by the judge's, and to be looked at again.
        verdict: of a refused one.
        sentence: what to change.
        said: what the container said in the preflight, on public structures.
    """

    slot: Slot
    received: AwareDatetime
    came: Literal["submitted", "duplicate", "refused", "delayed"]
    submission: str = ""
    name: str = ""
    verdict: Verdict | None = None
    sentence: str = ""
    said: str = ""


class TaskState(Record):
    """What one task came to, as its author may see it: times and memory to two digits, words of ours."""

    task: str
    verdict: Verdict
    phase: str = ""
    sentence: str = ""
    wall_s: float | None = None
    memory_bytes: int | None = None


class Progress(Record):
    """How far a submission is.

    Args:
        state: `held`: what is left waits for the judge's maintainer, whose machine failed at it.
        position: how many submissions are judged before it, itself included; None once it is judged, or held.
        n_tasks: of the suite.
        scores: by name, as published; empty until they are.
        page: its address, once it is published.
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
    """How much of an invitation is used. What failed by the judge's fault counts nowhere.

    Args:
        judged: submissions that were taken.
        refused: letters that were refused, which have a bound of their own.
    """

    max_judged: int
    judged: int
    max_refused: int
    refused: int


class Status(Record):
    """`status.json`."""

    schema_version: Literal[1] = 1
    written: AwareDatetime
    invitation: str
    revoked: str = ""
    quota: Quota
    fates: tuple[Fate, ...] = ()
    submissions: tuple[Progress, ...] = ()
