"""`lambench-submit check`: runs the preflight on an image or a module, and writes a receipt. Nothing is submitted."""

from __future__ import annotations

import json
import re
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from sandbox.drivers.gpu import hold_gpu, require_gpus
from sandbox.events import plain
from sandbox.wire.session import SessionOutcome
from submissions.card.file import CardError, card_from_reference, read_card
from submissions.card.form import CARD_FILE
from submissions.preflight.acceptance import questions
from submissions.preflight.log import printable_end
from submissions.preflight.measured_properties import contradictions
from submissions.preflight.preflight import run_preflight
from submissions.preflight.receipt import RECEIPT_FILE, make_receipt, write_receipt
from submissions.preflight.subject import CheckSubject, resolve_subject
from submissions.preflight.table import preflight_table
from submissions.progress import Reporter, duration
from submissions.records import ModelCard, PreflightReport
from submissions.requests import Receipt
from submissions.settings import Settings
from submissions.tables import table_console

REFUSED = 1
SLOW_START_S = 20.0
MAX_SHOWN = 1000
SHOWN_LINES = 40
NOT_CHECKED = (
    "Without Docker it is not checked whether it needs a network, writes outside /tmp, reads files that only you may "
    "read, or exceeds the judge's limits: check the image too."
)
_NO_MODULE = re.compile(r"No module named '([\w.]+)'")


def check_command(
    subject: Annotated[str, typer.Argument(help="image:tag, or module:factory of this folder or this Python")],
    image: Annotated[bool, typer.Option("--image", help="SUBJECT is an image")] = False,
    module: Annotated[bool, typer.Option("--module", help="SUBJECT is a module")] = False,
    card: Annotated[Path | None, typer.Option(help="model card (default: ./lambench.toml if it exists)")] = None,
    python: Annotated[str, typer.Option(help="the Python that runs a module (default: this one)")] = "",
    gpu: Annotated[str | None, typer.Option(help="UUID of the GPU to run on")] = None,
    receipt: Annotated[Path, typer.Option(help="file for the receipt")] = RECEIPT_FILE,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Runs the judge's preflight and writes a receipt. Nothing is submitted."""
    console = table_console(stderr=as_json)
    settings = Settings()
    model_card = _card(card, subject)
    if not receipt.parent.is_dir():  # before the check, which takes a minute
        raise CardError(f"{receipt}: cannot be written (there is no such folder): name another file with --receipt")
    checked = resolve_subject(subject, settings, Path.cwd(), python, image, module)
    console.print(
        f"Checking {escape(plain(checked.text, MAX_SHOWN))} as {escape(plain(checked.description, MAX_SHOWN))}.",
        soft_wrap=True,
    )
    outcome = _preflight(console, settings, checked, model_card, gpu)
    written = make_receipt(checked, outcome)
    write_receipt(written, receipt)
    if as_json:
        print(_as_json(written, outcome))
    elif outcome.value is None:
        _show_refusal(console, checked, outcome)
    else:
        _show_report(console, checked, model_card, outcome, outcome.value)
    console.print(f"Receipt: {escape(str(receipt))}", soft_wrap=True)
    if outcome.value is None:
        raise typer.Exit(REFUSED)


def _card(given: Path | None, subject: str) -> ModelCard:
    """The card, which declares the domains. A check does not ask for one."""
    if given is None and not CARD_FILE.exists():
        return card_from_reference(subject)
    return read_card(given or CARD_FILE)


def _preflight(
    console: Console, settings: Settings, subject: CheckSubject, card: ModelCard, gpu: str | None
) -> SessionOutcome[PreflightReport]:
    if gpu:
        require_gpus([gpu])
    with Reporter(console) as reporter, reporter.unit(f"preflight of {subject.text}") as progress, ExitStack() as held:
        if gpu:
            held.enter_context(hold_gpu(gpu, settings.run_dir / "gpus"))
        return run_preflight(subject.driver, subject.image, settings.limits, questions(card, gpu), progress)


def _as_json(receipt: Receipt, outcome: SessionOutcome[PreflightReport]) -> str:
    report = outcome.value.model_dump(mode="json") if outcome.value else None
    fields = {
        "receipt": receipt.model_dump(mode="json"),
        "sentence": outcome.sentence,
        "said": printable_end(outcome.private),
        "preflight": report,
    }
    return json.dumps(fields, indent=2)


def _show_refusal(console: Console, subject: CheckSubject, outcome: SessionOutcome[PreflightReport]) -> None:
    console.print(f"[bold red]✗ {outcome.verdict}[/]  {escape(plain(subject.text, MAX_SHOWN))} would not be judged.")
    console.print(f"  {escape(outcome.sentence)}", soft_wrap=True)
    missing = _NO_MODULE.search(outcome.private)
    if missing and subject.is_module:
        python = escape(subject.image.python[0])
        console.print(f"  {python} has no {missing[1]}: name the Python that has it with --python.", soft_wrap=True)
    _show_log(console, "What it printed:", outcome.private)


def _show_report(
    console: Console,
    subject: CheckSubject,
    card: ModelCard,
    outcome: SessionOutcome[PreflightReport],
    report: PreflightReport,
) -> None:
    console.print(preflight_table(card.name, report))
    if (report.startup_s or 0.0) > SLOW_START_S:
        _warn(console, f"It was ready after {duration(report.startup_s or 0.0)}; the judge starts it for every task.")
    for sentence in contradictions(card, report):
        _warn(console, f"{sentence} A card is fixed once submitted.")
    if not card.label_sets:
        _warn(console, f"No label set is declared in {CARD_FILE}: the model was started for no domain.")
    if subject.is_module:
        _warn(console, NOT_CHECKED)
    _show_log(console, "What it printed, which anybody may read once it is submitted:", outcome.private)
    console.print(f"[bold green]✓[/] {escape(plain(subject.text, MAX_SHOWN))} passes the preflight.")


def _warn(console: Console, text: str) -> None:
    console.print(f"[yellow]![/] {escape(text)}", soft_wrap=True)


def _show_log(console: Console, title: str, log: str) -> None:
    lines = printable_end(log).splitlines()[-SHOWN_LINES:]
    if lines:
        console.print(f"\n[dim]{title}[/]")
        console.print("\n".join(f"  │ {line}" for line in lines), markup=False, soft_wrap=True)
