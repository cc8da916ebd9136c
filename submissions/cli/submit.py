"""`lambench-submit IMAGE`: checks an image in the judge's own sandbox, shows what was found, and submits it.

Into a store of this machine, or through an invitation to a judge elsewhere.
"""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NoReturn
from urllib.parse import urlencode

import typer
from rich.console import Console
from rich.markup import escape

from sandbox.driver import Driver, DriverName, Image
from sandbox.drivers.gpu import hold_gpu, require_gpus
from sandbox.drivers.open_driver import open_driver
from submissions.card.form import card_of
from submissions.cli.status_tables import SAID_LINES
from submissions.client.remote_submission import Asked, open_desk, registry_reference, send_submission
from submissions.client.sent_files import SentLetter
from submissions.client.status_bucket import INVITE, InviteError
from submissions.preflight.acceptance import earlier_submission, make_submission, questions, store_submission
from submissions.preflight.log import printable_end
from submissions.preflight.preflight import Preflight, run_preflight
from submissions.preflight.table import preflight_table
from submissions.progress import Reporter
from submissions.records import ModelCard, PreflightReport, Submission, submission_id
from submissions.settings import Settings
from submissions.store.interface import Store
from submissions.store.open_store import open_store
from submissions.tables import table_console

REFUSED = 1


def submit_command(
    image: Annotated[str, typer.Argument(help="image:tag, or a folder with --driver process")],
    card: Annotated[Path | None, typer.Option(help="model card (default: ./lambench.toml where there is one)")] = None,
    check_only: Annotated[bool, typer.Option("--check-only", help="stop before anything is submitted")] = False,
    author: Annotated[str, typer.Option(help="who submits")] = "",
    driver: Annotated[DriverName | None, typer.Option(help="docker, or process: no isolation")] = None,
    python: Annotated[str | None, typer.Option(help="process driver: which Python")] = None,
    calculator: Annotated[str | None, typer.Option(help="process driver: module:factory")] = None,
    gpu: Annotated[str | None, typer.Option(help="UUID of the GPU to run on")] = None,
    store: Annotated[str | None, typer.Option(help="where submissions go (default var/store)")] = None,
    invite: Annotated[
        Path | None, typer.Option(envvar=INVITE, help="invitation of a judge elsewhere, to which it is submitted")
    ] = None,
    upload: Annotated[bool, typer.Option("--upload", help="--invite: send the image, from one desk at a time")] = False,
    no_check: Annotated[bool, typer.Option("--no-check", help="--invite: leave out the check on this machine")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="say it to a machine")] = False,
) -> None:
    """Checks IMAGE in the judge's own sandbox, shows what was found, and submits it."""
    console = table_console(stderr=as_json)
    settings = Settings()
    if invite is None and (upload or no_check):
        raise InviteError("--upload and --no-check are for an invitation: give --invite FILE")
    if invite is not None and (store or python or calculator or (driver or settings.driver) != "docker"):
        raise InviteError("an invitation is for images of Docker: leave out --store, --driver, --python, --calculator")
    model_card = card_of(console, card, image, ask=not as_json)
    desk_check = _Check(console, settings, gpu, as_json)
    if invite is not None and not check_only:
        _submit_by_letter(desk_check, invite, Asked(image, model_card, author, upload), no_check)
        return
    reference = _reference(image, python, calculator)
    sandbox = open_driver(driver or settings.driver, settings.run_dir, settings.runtime)
    resolved = sandbox.resolve(reference)
    opened = None if check_only else open_store(store or settings.store, settings.endpoint_url)
    known = earlier_submission(opened, resolved.id) if opened else None
    if known is not None:
        _point_to(console, known, model_card, as_json)
        return
    report, said = desk_check.report(image, sandbox, resolved, model_card)
    _accept(console, opened, make_submission(author, model_card, resolved, report), said, as_json)


@dataclass(frozen=True)
class _Check:
    """The preflight on this machine, and how it is spoken of."""

    console: Console
    settings: Settings
    gpu: str | None
    as_json: bool

    def report(self, name: str, sandbox: Driver, image: Image, card: ModelCard) -> tuple[PreflightReport, str]:
        """What was measured, and what the container said; an image that does not pass ends the command."""
        if self.gpu:
            require_gpus([self.gpu])
        hold = hold_gpu(self.gpu, self.settings.run_dir / "gpus") if self.gpu else nullcontext()
        with Reporter(self.console) as reporter, reporter.unit(f"preflight of {name}") as progress, hold:
            limits = self.settings.limits
            preflight = run_preflight(sandbox, image, limits, questions(card, self.gpu), progress)
        report = preflight.outcome.value
        if report is None:
            _refuse(self.console, name, preflight, self.as_json)
        return report, preflight.outcome.private


def _submit_by_letter(check: _Check, invite: Path, asked: Asked, no_check: bool) -> None:
    console = check.console
    with open_desk(invite) as desk:
        sandbox = resolved = None
        if not (no_check and asked.needs_no_engine):
            sandbox = open_driver("docker", check.settings.run_dir, check.settings.runtime)
            resolved = sandbox.resolve(asked.image)
        if known := desk.earlier(resolved.id) if resolved else "":
            _say_known(console, known, check.as_json)
            return
        desk.require_slot()
        if not asked.upload:  # before the check, which takes a while
            registry_reference(asked.image, resolved.digests if resolved else ())
        if sandbox and resolved and not no_check:
            report, _ = check.report(asked.image, sandbox, resolved, asked.card)
            if not check.as_json:
                console.print(preflight_table(asked.card.name, report))
        with Reporter(console) as reporter, reporter.unit(f"sending {asked.image}") as progress:
            letter = send_submission(desk, asked, resolved, progress)
    _say_sent(console, letter, check.as_json)


def _say_known(console: Console, known: str, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"sent": None, "known": known}, indent=2))
    else:
        console.print(f"[bold yellow]=[/] This image {escape(known)}: nothing to do.")


def _say_sent(console: Console, letter: SentLetter, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"sent": letter.model_dump(mode="json"), "known": ""}, indent=2))
        return
    name = escape(letter.name)
    if not letter.image_id:
        console.print(f"[bold green]✓[/] {name} is sent. The judge looks at it at its next intake.")
        console.print("  See how it fares: [bold]lambench-submit list[/]")
        return
    shown = submission_id(letter.name, letter.image_id)
    console.print(f"[bold green]✓[/] {name} is sent; once the judge has taken it, it is [bold]{shown}[/].")
    console.print(f"  See how it fares: [bold]lambench-submit status {shown} --watch[/]")


def _reference(image: str, python: str | None, calculator: str | None) -> str:
    settings = {key: value for key, value in (("python", python), ("calculator", calculator)) if value}
    return f"{image}?{urlencode(settings)}" if settings else image


def _refuse(console: Console, image: str, preflight: Preflight, as_json: bool) -> NoReturn:
    outcome = preflight.outcome
    if as_json:
        said = {"verdict": outcome.verdict, "sentence": outcome.sentence, "private": outcome.private}
        print(json.dumps(said, indent=2))
    else:
        console.print(f"[bold red]✗ {outcome.verdict}[/]  {escape(image)} was not submitted.")
        console.print(f"  {escape(outcome.sentence)}")
        if outcome.private:
            console.print("\n[dim]What the container said (shown since the preflight's structures are public):[/]")
            for line in printable_end(outcome.private).split("\n")[-SAID_LINES:]:
                console.print(f"  │ {line}", markup=False)
    raise typer.Exit(REFUSED)


def _accept(console: Console, store: Store | None, submission: Submission, said: str, as_json: bool) -> None:
    if store:
        store_submission(store, submission, said)
    if as_json:
        print(submission.model_dump_json(indent=2))
        return
    console.print(preflight_table(submission.card.name, submission.preflight))
    name = escape(submission.card.name)
    if store is None:
        console.print(f"[bold green]✓[/] {name} would be judged. Nothing was submitted (--check-only).")
    else:
        console.print(f"[bold green]✓[/] {name} is submitted as [bold]{submission.id}[/].")
        console.print("  Next: [bold]judge evaluate --all[/]")


def _point_to(console: Console, known: Submission, card: ModelCard, as_json: bool) -> None:
    if as_json:
        print(known.model_dump_json(indent=2))
    else:
        console.print(f"[bold yellow]=[/] This image is already submitted as [bold]{known.id}[/]: nothing to do.")
    if card != known.card:
        console.print("[bold red]✗[/] The model card differs from the one submitted and was [bold]not[/] taken: a card")
        console.print("  is fixed for an image. To state something else, build a new image and submit that.")
        raise typer.Exit(REFUSED)
