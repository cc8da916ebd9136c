"""`lambench-submit status`, `log` and `list`: how submissions fare, through an invitation or from public pages."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from sandbox.events import plain
from submissions.cli.status_tables import item_lines, items_table, one_line, quota_line, site_line, site_table
from submissions.client.http import LostError, Web
from submissions.client.sent_files import read_sent
from submissions.client.status import LAST, Item, PublicSite, find, items, read_site, read_site_log
from submissions.client.status_bucket import INVITE, InviteError, Mailbox, read_invite
from submissions.preflight.log import printable_end
from submissions.requests import Status
from submissions.tables import table_console

REFUSED, INTERRUPTED = 1, 130
WATCH_EVERY_S = 30.0  # the judge writes anew at each intake and run: minutes apart at least

Invite = Annotated[Path | None, typer.Option(envvar=INVITE, help="the file that you were sent")]
Site = Annotated[str | None, typer.Option(help="address of published pages, in place of an invitation")]
Json = Annotated[bool, typer.Option("--json", help="say it to a machine")]
Id = Annotated[str, typer.Argument(help="the submission; its beginning is enough", show_default=False)]


def list_command(invite: Invite = None, site: Site = None, as_json: Json = False) -> None:
    """All that was sent with an invitation: where it is, what was refused and why, how much of the quota is left."""
    console = table_console()
    if site:
        _list_site(console, read_site(Web(), site), as_json)
        return
    status, found = _news(_mailbox(invite))
    if as_json:
        print(json.dumps(_json(status, found), indent=2))
        return
    console.print(items_table(found) if found else "Nothing was sent with this invitation yet.")
    for item in found:
        if item.state in ("refused", "delayed"):
            console.print(one_line(item), soft_wrap=True)
    console.print(quota_line(status), soft_wrap=True)


def status_command(
    submission: Annotated[str, typer.Argument(help="its ID; the beginning is enough; none for the last one")] = "",
    watch: Annotated[bool, typer.Option("--watch", help="look again until it is judged or refused")] = False,
    every: Annotated[float, typer.Option(min=1.0, help="--watch: seconds between two looks")] = WATCH_EVERY_S,
    invite: Invite = None,
    site: Site = None,
    as_json: Json = False,
) -> None:
    """How far a submission is: its place in the queue, verdict by task, scores once they are published."""
    console = table_console()
    if site:
        _show_site(console, read_site(Web(), site), submission, as_json)
        return
    mailbox = _mailbox(invite)
    if not watch:
        status, item = _look(mailbox, submission)
        _show(console, status, item, as_json)
        return
    try:
        status, item = _watch(mailbox, submission, every, lambda line: None if as_json else console.print(line))
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    _show(console, status, item, as_json)
    if item.state == "refused":
        raise typer.Exit(REFUSED)


def log_command(submission: Id, invite: Invite = None, site: Site = None, as_json: Json = False) -> None:
    """What a submission's container said in the preflight, where it saw public structures alone."""
    console = table_console()
    if site:
        name = read_site(Web(), site).find(submission)
        said = read_site_log(Web(), site, name)
    else:
        mailbox = _mailbox(invite)
        _, item = _look(mailbox, submission)
        name = item.id or item.name
        fate = item.fate
        said = mailbox.log(item.id) if item.progress else fate.said if fate else ""
    if as_json:
        print(json.dumps({"submission": name, "log": said}, indent=2))
    elif said:
        console.print(printable_end(said), markup=False, soft_wrap=True)
    else:
        console.print(f"Nothing is kept of what {escape(plain(name))} said.")


def _mailbox(invite: Path | None) -> Mailbox:
    if invite is None:
        raise InviteError(f"give --invite FILE, or set {INVITE}, or --site for what is published")
    return Mailbox(read_invite(invite))


def _news(mailbox: Mailbox) -> tuple[Status, tuple[Item, ...]]:
    status = mailbox.status()
    return status, items(status, read_sent(mailbox.invite))


def _look(mailbox: Mailbox, beginning: str) -> tuple[Status, Item]:
    status, found = _news(mailbox)
    if not beginning and not found:
        raise InviteError("nothing was sent with this invitation yet: lambench-submit IMAGE --invite FILE")
    return status, find(found, beginning) if beginning else found[-1]


def _watch(mailbox: Mailbox, beginning: str, every_s: float, say: Callable[[str], None]) -> tuple[Status, Item]:
    """The item, as soon as nothing more will become of it by itself; a line is said whenever something did."""
    last = ""
    while True:
        try:
            status, item = _look(mailbox, beginning)
        except LostError as error:
            last = _say_once(say, f"[dim]{escape(str(error))}[/]", last)
        else:
            beginning = item.id or beginning
            if item.state in LAST:
                return status, item
            last = _say_once(say, one_line(item), last)
        time.sleep(every_s)


def _say_once(say: Callable[[str], None], line: str, last: str) -> str:
    if line != last:
        say(f"[dim]{datetime.now(UTC):%H:%M:%S} UTC[/]  {line}")
    return line


def _show(console: Console, status: Status, item: Item, as_json: bool) -> None:
    if as_json:
        print(json.dumps(_item_json(item), indent=2))
        return
    for line in item_lines(item):
        console.print(line, soft_wrap=True)
    console.print(f"[dim]As the judge wrote it at {status.written:%Y-%m-%d %H:%M} UTC.[/]")


def _json(status: Status, found: tuple[Item, ...]) -> dict[str, Any]:
    return {
        "invitation": status.invitation,
        "written": status.written.isoformat(),
        "revoked": status.revoked,
        "quota": status.quota.model_dump(),
        "submissions": [_item_json(item) for item in found],
    }


def _item_json(item: Item) -> dict[str, Any]:
    records = {"fate": item.fate, "progress": item.progress, "letter": item.letter}
    shown = {name: record.model_dump(mode="json") if record else None for name, record in records.items()}
    return {"id": item.id, "name": item.name, "state": item.state, **shown}


def _list_site(console: Console, site: PublicSite, as_json: bool) -> None:
    if as_json:
        print(json.dumps(site.model_dump(mode="json"), indent=2))
    else:
        console.print(site_table(site))


def _show_site(console: Console, site: PublicSite, beginning: str, as_json: bool) -> None:
    if not beginning:
        raise InviteError("give the beginning of an ID: see list --site")
    id = site.find(beginning)
    if as_json:
        print(json.dumps({"id": id, "state": "published", "scores": site.scores[id]}, indent=2))
    else:
        console.print(site_line(site, id), soft_wrap=True)
