"""`lambench-submit check`: runs the preflight on an image or a module, and writes a receipt. Nothing is submitted."""

from __future__ import annotations

import re
from pathlib import Path

import typer
from rich.console import Console
from rich.markup import escape

from sandbox.events import plain
from sandbox.wire.session import SessionOutcome
from submissions.card.file import CardError, card_from_reference, read_card
from submissions.card.form import CARD_FILE
from submissions.cli.local_preflight import local_preflight
from submissions.cli.refusal import ENTRYPOINT_WORDS, show_log, show_refusal
from submissions.preflight.log import printable_end
from submissions.preflight.measured_properties import contradictions
from submissions.preflight.receipt import make_receipt, write_receipt
from submissions.preflight.subject import CheckSubject, resolve_subject
from submissions.preflight.table import preflight_table
from submissions.progress import duration
from submissions.records import ModelCard, PreflightReport
from submissions.settings import Settings
from submissions.tables import print_json, table_console

REFUSED = 1
SLOW_START_S = 20.0
MAX_SHOWN = 1000
NOT_CHECKED = (
    "Without Docker it is not checked whether it needs a network, writes outside /tmp, reads files that only you may "
    "read, or exceeds the judge's limits: check the image too."
)
NO_CARD = f"There is no {CARD_FILE} in this folder, and --card names none (`lambench-submit init` writes one)"
_NO_MODULE = re.compile(r"No module named '([\w.]+)'")


def run_check(
    subject: str,
    image: bool,
    module: bool,
    card: Path | None,
    python: str,
    gpu: str | None,
    receipt: Path,
    as_json: bool,
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
    outcome = local_preflight(console, settings, checked.text, checked.driver, checked.image, model_card, gpu)
    written = make_receipt(checked, outcome)
    write_receipt(written, receipt)
    if as_json:
        said = printable_end(outcome.private)
        print_json({"receipt": written, "sentence": outcome.sentence, "said": said, "preflight": outcome.value})
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


def _show_refusal(console: Console, subject: CheckSubject, outcome: SessionOutcome[PreflightReport]) -> None:
    show_refusal(console, subject.text, "would not be judged", outcome)
    missing = _NO_MODULE.search(outcome.private)
    if missing and subject.is_module:
        python = escape(subject.image.python[0])
        console.print(f"  {python} has no {missing[1]}: name the Python that has it with --python.", soft_wrap=True)
    if subject.image.entrypoint:
        _warn(console, ENTRYPOINT_WORDS)


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
        none = f"No label set is declared in {CARD_FILE}" if CARD_FILE.exists() else NO_CARD
        _warn(console, f"{none}: the model was started for no domain.")
    if subject.image.entrypoint:
        _warn(console, ENTRYPOINT_WORDS)
    if subject.is_module:
        _warn(console, NOT_CHECKED)
    show_log(console, "What it printed, which anybody may read once it is submitted:", outcome.private)
    console.print(f"[bold green]✓[/] {escape(plain(subject.text, MAX_SHOWN))} passes the preflight.")


def _warn(console: Console, text: str) -> None:
    console.print(f"[yellow]![/] {escape(text)}", soft_wrap=True)
