"""`lambench-submit IMAGE`: checks an image in the judge's own sandbox, shows the result, and submits it.

It is submitted to a store of this machine, or with an invitation to a judge elsewhere.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlencode

import typer
from rich.console import Console
from rich.markup import escape

from sandbox.driver import Driver, DriverName, Image
from sandbox.drivers.open_driver import open_driver
from sandbox.wire.session import SessionOutcome
from submissions.card.form import card_of
from submissions.cli.local_preflight import local_preflight
from submissions.cli.refusal import ENTRYPOINT_WORDS, show_refusal
from submissions.client.remote_submission import SubmissionOptions, open_session, registry_reference, send_submission
from submissions.client.sent_record import SentRequest
from submissions.client.status_bucket import InviteError
from submissions.preflight.acceptance import earlier_submission, make_submission, store_submission
from submissions.preflight.table import preflight_table
from submissions.progress import Reporter
from submissions.records import ModelCard, PreflightReport, Submission, submission_id
from submissions.settings import INVITE_VARIABLE, Settings, absolute_address
from submissions.store.open_store import open_store
from submissions.tables import print_json, table_console

REFUSED = 1


def run_submit(
    image: str,
    card: Path | None,
    check_only: bool,
    author: str,
    driver: DriverName | None,
    python: str | None,
    calculator: str | None,
    gpu: str | None,
    store: str | None,
    invite: Path | None,
    upload: bool,
    no_check: bool,
    as_json: bool,
) -> None:
    """Checks IMAGE in the judge's own sandbox, shows the result, and submits it."""
    console = table_console(stderr=as_json)
    settings = Settings()
    if invite is None and (upload or no_check):
        raise InviteError("--upload and --no-check are for an invitation: give --invite FILE")
    if invite is not None and (store or python or calculator or (driver or settings.driver) != "docker"):
        raise InviteError("an invitation is for images of Docker: leave out --store, --driver, --python, --calculator")
    model_card = card_of(console, card, image, ask=not as_json)
    check = _LocalCheck(console, settings, gpu, as_json)
    if invite is not None and not check_only:
        _submit_with_invitation(check, invite, SubmissionOptions(image, model_card, author, upload), no_check)
        return
    sandbox = open_driver(driver or settings.driver, settings.run_dir, settings.runtime, settings.cold_start)
    resolved = sandbox.resolve(_reference(image, python, calculator))
    address = absolute_address(store) if store else settings.store
    opened = None if check_only else open_store(address, settings.endpoint_url)
    earlier = earlier_submission(opened, resolved.id) if opened else None
    if earlier is not None:
        _show_earlier(console, earlier, address, model_card, as_json)
        return
    report, log = check.report(image, sandbox, resolved, model_card)
    submission = make_submission(author, model_card, resolved, report)
    if opened:
        store_submission(opened, submission, log)
    if as_json:
        print(submission.model_dump_json(indent=2))
        return
    console.print(preflight_table(submission.card.name, submission.preflight))
    _show_accepted(console, submission, "" if check_only else address, settings.driver)


@dataclass(frozen=True)
class _LocalCheck:
    """The preflight on this machine, and where its result is shown."""

    console: Console
    settings: Settings
    gpu: str | None
    as_json: bool

    def report(self, name: str, sandbox: Driver, image: Image, card: ModelCard) -> tuple[PreflightReport, str]:
        """What was measured, and what the container printed. If the image does not pass, the command ends."""
        outcome = local_preflight(self.console, self.settings, name, sandbox, image, card, self.gpu)
        if outcome.value is None:
            _refuse(self.console, name, image, outcome, self.as_json)
        return outcome.value, outcome.private


def _submit_with_invitation(check: _LocalCheck, invite: Path, options: SubmissionOptions, no_check: bool) -> None:
    console = check.console
    with open_session(invite) as session:
        sandbox = resolved = None
        if not (no_check and options.needs_no_engine):
            sandbox = open_driver("docker", check.settings.run_dir, check.settings.runtime, check.settings.cold_start)
            resolved = sandbox.resolve(options.image)
        if reason := session.already_sent(resolved.id) if resolved else "":
            _show_already_sent(console, reason, check.as_json)
            return
        session.require_slot()
        if not options.upload:  # before the check, which takes a while
            registry_reference(options.image, resolved.digests if resolved else ())
        if sandbox and resolved and not no_check:
            report, _ = check.report(options.image, sandbox, resolved, options.card)
            if not check.as_json:
                console.print(preflight_table(options.card.name, report))
        with Reporter(console) as reporter, reporter.unit(f"sending {options.image}") as progress:
            request = send_submission(session, options, resolved, progress)
    _show_sent(console, request, invite, check.as_json)


def _show_already_sent(console: Console, reason: str, as_json: bool) -> None:
    if as_json:
        print_json({"sent": None, "known": reason})
    else:
        console.print(f"[bold yellow]=[/] This image {escape(reason)}: nothing to do.")


def _show_sent(console: Console, request: SentRequest, invite: Path, as_json: bool) -> None:
    if as_json:
        print_json({"sent": request, "known": ""})
        return
    name = escape(request.name)
    is_in_variable = os.environ.get(INVITE_VARIABLE) == str(invite)
    option = "" if is_in_variable else escape(f" --invite {shlex.quote(str(invite))}")
    if not request.image_id:
        console.print(f"[bold green]✓[/] {name} is sent. The judge reads it at its next intake.")
        console.print(f"  To see its state: [bold]lambench-submit list{option}[/]", soft_wrap=True)
        return
    id = submission_id(request.name, request.image_id)
    console.print(f"[bold green]✓[/] {name} is sent. Once the judge has taken it, its ID is [bold]{id}[/].")
    console.print(f"  To see its state: [bold]lambench-submit status {id} --watch{option}[/]", soft_wrap=True)


def _reference(image: str, python: str | None, calculator: str | None) -> str:
    settings = {key: value for key, value in (("python", python), ("calculator", calculator)) if value}
    return f"{image}?{urlencode(settings)}" if settings else image


def _refuse(
    console: Console, name: str, image: Image, outcome: SessionOutcome[PreflightReport], as_json: bool
) -> NoReturn:
    if as_json:
        print_json({"verdict": outcome.verdict, "sentence": outcome.sentence, "private": outcome.private})
    else:
        show_refusal(console, name, "was not submitted", outcome)
        if image.entrypoint:
            console.print(f"[yellow]![/] {escape(ENTRYPOINT_WORDS)}", soft_wrap=True)
    raise typer.Exit(REFUSED)


def _show_accepted(console: Console, submission: Submission, address: str, usual: DriverName) -> None:
    name = escape(submission.card.name)
    if not address:
        console.print(f"[bold green]✓[/] {name} would be judged. Nothing was submitted (--check-only).")
        return
    console.print(f"[bold green]✓[/] {name} is submitted as [bold]{submission.id}[/].")
    console.print(f"  It is in the store {escape(address)}", soft_wrap=True)
    driver = submission.image.driver
    option = "" if driver == usual else f" --driver {driver}"
    console.print(f"  Next, in the folder of the judge with that store: [bold]judge evaluate --all{option}[/]")


def _show_earlier(console: Console, earlier: Submission, address: str, card: ModelCard, as_json: bool) -> None:
    if as_json:
        print(earlier.model_dump_json(indent=2))
    else:
        console.print(f"[bold yellow]=[/] This image is already submitted as [bold]{earlier.id}[/]: nothing to do.")
        console.print(f"  It is in the store {escape(address)}", soft_wrap=True)
    if card != earlier.card:
        console.print("[bold red]✗[/] The model card differs from the submitted one and was [bold]not[/] taken: a card")
        console.print("  is fixed for an image. To state something else, build a new image and submit that.")
        raise typer.Exit(REFUSED)
