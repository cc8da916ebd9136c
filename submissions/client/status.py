"""How an author's submissions fare, from three sources: the judge's mailbox, this desk's own record, public pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError

from sandbox.events import plain
from submissions.card.file import first_complaint
from submissions.client.http import MailError, UnknownError, Web
from submissions.client.sent_files import Sent, SentLetter
from submissions.client.status_bucket import InviteError, fetch_log
from submissions.records import SUBMISSION_ID, submission_id
from submissions.requests import Fate, Progress, Status

MANIFEST, MAX_MANIFEST = "manifest.json", 256 * 1024**2
LONGEST_ID = 80

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
LAST: frozenset[State] = frozenset({"refused", "duplicate", "judged", "published", "withdrawn", "disqualified"})


@dataclass(frozen=True)
class Item:
    """A submission, or a letter that is none yet or never will be.

    Args:
        id: of the submission; of a letter that waits, what it will be; empty where that cannot be told.
        fate: of its letter, once there is one.
        progress: once it was taken.
        letter: as it was sent from this desk.
    """

    id: str
    name: str
    state: State
    fate: Fate | None = None
    progress: Progress | None = None
    letter: SentLetter | None = None


def items(status: Status, sent: Sent) -> tuple[Item, ...]:
    """All letters of an invitation, in the order in which they came; those that wait for an intake last."""
    progress = {each.submission: each for each in status.submissions}
    letters = {each.slot: each for each in sent.letters}
    known = [_of_fate(fate, progress.get(fate.submission), letters.get(fate.slot)) for fate in status.fates]
    told = {fate.slot for fate in status.fates}
    return (*known, *(_of_letter(letter) for letter in sent.letters if letter.slot not in told and letter.arrived))


def _of_fate(fate: Fate, progress: Progress | None, letter: SentLetter | None) -> Item:
    states: dict[str, State] = {"refused": "refused", "delayed": "delayed", "duplicate": "duplicate"}
    state = states.get(fate.came) or (progress.state if progress else "taken")
    name = fate.name or (letter.name if letter else "")
    guessed = _expected(letter) if letter else ""
    own = progress if fate.came == "submitted" else None
    return Item(fate.submission or guessed, name, state, fate, own, letter)


def _of_letter(letter: SentLetter) -> Item:
    return Item(_expected(letter), letter.name, "waiting for intake", letter=letter)


def _expected(letter: SentLetter) -> str:
    return submission_id(letter.name, letter.image_id) if letter.image_id else ""


def find(found: Sequence[Item], beginning: str) -> Item:
    """The one item whose ID begins so, or whose name it is; of several letters about one image the one that was taken,
    else the last.

    Raises:
        InviteError: there is none, or more than one.
    """
    matching = [item for item in found if item.id.startswith(beginning) or item.name == beginning]
    ids = sorted({item.id for item in matching})
    if not matching:
        raise InviteError(f"nothing that was sent begins with {plain(beginning)!r}: see lambench-submit list")
    if len(ids) > 1:
        raise InviteError(f"{plain(beginning)!r} may be {', '.join(map(plain, ids[:5]))}: give more of it")
    return next((item for item in matching if item.progress), matching[-1])


class _Public(BaseModel):
    """What pages publish, read by those who need only a part of it."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class PublicSite(_Public):
    """The part of a site's `manifest.json` that tells scores.

    Args:
        scores: by submission, by name; `rank` among them.
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
        InviteError: it is none.
    """
    parts = urlsplit(site)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise InviteError(f"--site: {plain(site)!r} is no web address: give https://…")
    return parts._replace(path=f"{parts.path.removesuffix('index.html').rstrip('/')}/", query="", fragment="").geturl()


def read_site(web: Web, site: str) -> PublicSite:
    """What is published at an address.

    Raises:
        MailError: nothing is, or the server does not answer.
    """
    address = f"{site_address(site)}{MANIFEST}"
    try:
        return PublicSite.model_validate_json(web.fetch(address, MAX_MANIFEST))
    except UnknownError:
        raise MailError(f"there is no leaderboard at {plain(site)}: check --site") from None
    except ValidationError as error:
        raise MailError(f"{plain(address)} cannot be read ({plain(first_complaint(error))}): check --site") from error


def read_site_log(web: Web, site: str, submission: str) -> str:
    """What the container of a published submission said in the preflight, escaped; empty where nothing is kept of it.

    Raises:
        InviteError: `submission` cannot be one.
        MailError: the server does not answer.
    """
    if len(submission) > LONGEST_ID or not SUBMISSION_ID.match(submission):
        raise InviteError(f"{plain(submission)!r} is no submission: give the whole ID, see list --site")
    return fetch_log(web, f"{site_address(site)}logs/{submission}.txt")
