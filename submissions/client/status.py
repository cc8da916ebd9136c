"""The state of an author's submissions, from three sources: the status bucket, this machine's record, public pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError

from sandbox.events import plain
from submissions.card.file import first_complaint
from submissions.client.http import NotFoundError, WebClient, WebError
from submissions.client.sent_record import SentRecord, SentRequest
from submissions.client.status_bucket import InviteError, fetch_log
from submissions.records import SUBMISSION_ID, submission_id
from submissions.requests import InvitationStatus, RequestDecision, SubmissionProgress

MANIFEST, MAX_MANIFEST_BYTES = "manifest.json", 256 * 1024**2
MAX_ID_LENGTH = 80

State = Literal[
    "waiting for intake",
    "delayed",
    "refused",
    "duplicate",
    "taken",
    "waiting",
    "judging",
    "held",
    "judged",
    "published",
    "withdrawn",
    "disqualified",
]
FINAL_STATES: frozenset[State] = frozenset({"refused", "duplicate", "judged", "published", "withdrawn", "disqualified"})


@dataclass(frozen=True)
class TrackedRequest:
    """What is known of a submission request: its decision, and the submission that it became.

    Args:
        id: of the submission; before the decision the ID that it will have; empty if that is not known.
        decision: None before the judge has decided.
        progress: None if the request did not become a submission.
        sent: the record of this machine; None if the request was sent from another one.
    """

    id: str
    name: str
    state: State
    decision: RequestDecision | None = None
    progress: SubmissionProgress | None = None
    sent: SentRequest | None = None


def tracked_requests(status: InvitationStatus, record: SentRecord) -> tuple[TrackedRequest, ...]:
    """All requests of an invitation, in the order in which they arrived; those that wait for an intake are last."""
    progress = {each.submission: each for each in status.submissions}
    sent = {each.slot: each for each in record.requests}
    decided = [_decided(each, progress.get(each.submission), sent.get(each.slot)) for each in status.decisions]
    slots = {decision.slot for decision in status.decisions}
    return (*decided, *(_waiting(each) for each in record.requests if each.slot not in slots and each.arrived))


def _decided(
    decision: RequestDecision, progress: SubmissionProgress | None, sent: SentRequest | None
) -> TrackedRequest:
    states: dict[str, State] = {"refused": "refused", "delayed": "delayed", "duplicate": "duplicate"}
    state = states.get(decision.outcome) or (progress.state if progress else "taken")
    name = decision.name or (sent.name if sent else "")
    id = decision.submission or (_expected_id(sent) if sent else "")
    return TrackedRequest(id, name, state, decision, progress if decision.outcome == "submitted" else None, sent)


def _waiting(sent: SentRequest) -> TrackedRequest:
    return TrackedRequest(_expected_id(sent), sent.name, "waiting for intake", sent=sent)


def _expected_id(sent: SentRequest) -> str:
    return submission_id(sent.name, sent.image_id) if sent.image_id else ""


def find(requests: Sequence[TrackedRequest], beginning: str) -> TrackedRequest:
    """The one request with this name, or whose ID begins so. Of several requests for one image, the one that became a
    submission, or else the last.

    Raises:
        InviteError: there is none, or there are several images.
    """
    matching = [each for each in requests if each.id.startswith(beginning) or each.name == beginning]
    ids = sorted({each.id for each in matching})
    if not matching:
        raise InviteError(f"nothing that was sent begins with {plain(beginning)!r}: see lambench-submit list")
    if len(ids) > 1:
        raise InviteError(f"{plain(beginning)!r} may be {', '.join(map(plain, ids[:5]))}: give more of it")
    return next((each for each in matching if each.progress), matching[-1])


class _Public(BaseModel):
    """Part of a published file; its other fields are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class PublicSite(_Public):
    """The scores in a site's `manifest.json`.

    Args:
        scores: by submission and by name; `rank` is one of the names.
    """

    n: int
    suite: str
    published: AwareDatetime
    scores: dict[str, dict[str, float | None]]

    def find(self, beginning: str) -> str:
        """The one submission whose ID begins so.

        Raises:
            InviteError: there is none, or more than one.
        """
        matching = sorted(id for id in self.scores if id.startswith(beginning))
        if not matching:
            raise InviteError(f"no published submission begins with {plain(beginning)!r}: see list --site")
        if len(matching) > 1 and beginning not in matching:
            raise InviteError(f"{plain(beginning)!r} may be {', '.join(map(plain, matching[:5]))}: give more of it")
        return beginning if beginning in matching else matching[0]


def site_address(site: str) -> str:
    """The address of a site, with a slash at its end.

    Raises:
        InviteError: it is no web address.
    """
    parts = urlsplit(site)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise InviteError(f"--site: {plain(site)!r} is no web address: give https://…")
    return parts._replace(path=f"{parts.path.removesuffix('index.html').rstrip('/')}/", query="", fragment="").geturl()


def read_site(web: WebClient, site: str) -> PublicSite:
    """The leaderboard that is published at an address.

    Raises:
        WebError: there is none, or the server does not answer.
    """
    address = f"{site_address(site)}{MANIFEST}"
    try:
        return PublicSite.model_validate_json(web.fetch(address, MAX_MANIFEST_BYTES))
    except NotFoundError:
        raise WebError(f"there is no leaderboard at {plain(site)}: check --site") from None
    except ValidationError as error:
        raise WebError(f"{plain(address)} cannot be read ({plain(first_complaint(error))}): check --site") from error


def read_site_log(web: WebClient, site: str, submission: str) -> str:
    """What the container of a published submission printed in the preflight, escaped; empty if nothing was stored.

    Raises:
        InviteError: `submission` is no submission ID.
        WebError: the server does not answer.
    """
    if len(submission) > MAX_ID_LENGTH or not SUBMISSION_ID.match(submission):
        raise InviteError(f"{plain(submission)!r} is no submission: give the whole ID, see list --site")
    return fetch_log(web, f"{site_address(site)}logs/{submission}.txt")
