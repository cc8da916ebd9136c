"""`lambench-submit status`, `log` and `list`: the state of submissions, from an invitation or from public pages."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape

from sandbox.events import plain
from submissions.cli.status_tables import one_line, quota_line, request_lines, requests_table, site_line, site_table
from submissions.client.http import ServerLostError, WebClient
from submissions.client.sent_record import read_sent_record
from submissions.client.status import (
    FINAL_STATES,
    PublicSite,
    TrackedRequest,
    find,
    read_site,
    read_site_log,
    tracked_requests,
)
from submissions.client.status_bucket import InviteError, StatusBucket, read_invite
from submissions.preflight.log import printable_end
from submissions.requests import InvitationStatus
from submissions.settings import INVITE_VARIABLE
from submissions.tables import print_json, table_console

REFUSED, INTERRUPTED = 1, 130


def run_list(invite: Path | None, site: str | None, as_json: bool) -> None:
    """Shows all requests of an invitation, what was refused and why, and how much of the quota is used."""
    console = table_console()
    if site:
        _list_site(console, read_site(WebClient(), site), as_json)
        return
    status, requests = _read_requests(_status_bucket(invite))
    if as_json:
        print_json(_list_json(status, requests))
        return
    console.print(requests_table(requests) if requests else "Nothing was sent with this invitation yet.")
    for request in requests:
        if request.state in ("refused", "delayed"):
            console.print(one_line(request), soft_wrap=True)
    console.print(quota_line(status), soft_wrap=True)


def run_status(
    submission: str, watch: bool, every: float, invite: Path | None, site: str | None, as_json: bool
) -> None:
    """Shows the progress of a submission: position in the queue, verdicts by task, published scores."""
    console = table_console()
    if site:
        _show_site(console, read_site(WebClient(), site), submission, as_json)
        return
    status_bucket = _status_bucket(invite)
    if not watch:
        _show(console, *_read_request(status_bucket, submission), as_json)
        return
    try:
        status, request = _watch(
            status_bucket, submission, every, lambda line: None if as_json else console.print(line)
        )
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    _show(console, status, request, as_json)
    if request.state == "refused":
        raise typer.Exit(REFUSED)


def run_log(submission: str, invite: Path | None, site: str | None, as_json: bool) -> None:
    """Prints what a submission's container printed in the preflight, in which it saw public structures only."""
    console = table_console()
    if site:
        name = read_site(WebClient(), site).find(submission)
        log = read_site_log(WebClient(), site, name)
    else:
        status_bucket = _status_bucket(invite)
        _, request = _read_request(status_bucket, submission)
        name, decision = request.id or request.name, request.decision
        log = status_bucket.log(request.id) if request.progress else decision.container_log if decision else ""
    if as_json:
        print_json({"submission": name, "log": log})
    elif log:
        console.print(printable_end(log), markup=False, soft_wrap=True)
    else:
        why = "its container printed nothing, or the preflight is still to come"
        console.print(f"There is no log of {escape(plain(name))}: {why}.", soft_wrap=True)


def _status_bucket(invite: Path | None) -> StatusBucket:
    if invite is None:
        raise InviteError(
            f"give --invite FILE, or set {INVITE_VARIABLE}, or --site for published pages; what is in a store of this "
            "machine is shown by judge list and judge show ID"
        )
    return StatusBucket(read_invite(invite))


def _read_requests(status_bucket: StatusBucket) -> tuple[InvitationStatus, tuple[TrackedRequest, ...]]:
    status = status_bucket.status()
    return status, tracked_requests(status, read_sent_record(status_bucket.invite))


def _read_request(status_bucket: StatusBucket, beginning: str) -> tuple[InvitationStatus, TrackedRequest]:
    status, requests = _read_requests(status_bucket)
    if not beginning and not requests:
        raise InviteError("nothing was sent with this invitation yet: lambench-submit IMAGE --invite FILE")
    return status, find(requests, beginning) if beginning else requests[-1]


def _watch(
    status_bucket: StatusBucket, beginning: str, every_s: float, say: Callable[[str], None]
) -> tuple[InvitationStatus, TrackedRequest]:
    """The request once its state is final; calls `say` with a line at each change before."""
    last = ""
    while True:
        try:
            status, request = _read_request(status_bucket, beginning)
        except ServerLostError as error:
            last = _say_once(say, f"[dim]{escape(str(error))}[/]", last)
        else:
            beginning = request.id or beginning
            if request.state in FINAL_STATES:
                return status, request
            last = _say_once(say, one_line(request), last)
        time.sleep(every_s)


def _say_once(say: Callable[[str], None], line: str, last: str) -> str:
    if line != last:
        say(f"[dim]{datetime.now(UTC):%H:%M:%S} UTC[/]  {line}")
    return line


def _show(console: Console, status: InvitationStatus, request: TrackedRequest, as_json: bool) -> None:
    if as_json:
        print_json(_request_json(request))
        return
    for line in request_lines(request):
        console.print(line, soft_wrap=True)
    console.print(f"[dim]Written by the judge at {status.written:%Y-%m-%d %H:%M} UTC.[/]")


def _list_json(status: InvitationStatus, requests: tuple[TrackedRequest, ...]) -> dict[str, Any]:
    return {
        "invitation": status.invitation,
        "written": status.written.isoformat(),
        "revoked": status.revoked,
        "quota": status.quota,
        "submissions": [_request_json(request) for request in requests],
    }


def _request_json(request: TrackedRequest) -> dict[str, Any]:
    return {
        "id": request.id,
        "name": request.name,
        "state": request.state,
        "fate": request.decision,
        "progress": request.progress,
        "letter": request.sent,
    }


def _list_site(console: Console, site: PublicSite, as_json: bool) -> None:
    if as_json:
        print_json(site)
    else:
        console.print(site_table(site))


def _show_site(console: Console, site: PublicSite, beginning: str, as_json: bool) -> None:
    if not beginning:
        raise InviteError("give the beginning of an ID: see list --site")
    id = site.find(beginning)
    if as_json:
        print_json({"id": id, "state": "published", "scores": site.scores[id]})
    else:
        console.print(site_line(site, id), soft_wrap=True)
