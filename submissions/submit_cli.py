"""`lambench-submit IMAGE`: checks an image in the judge's own sandbox, shows what was found, and submits it."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated
from urllib.parse import urlencode

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sandbox.driver import DriverName, Image, Question
from sandbox.drivers import open_driver
from sandbox.gpu import hold_gpu, require_gpus
from submissions.card_file import card_from_reference, read_card
from submissions.open_store import open_store
from submissions.preflight import Preflight, run_preflight
from submissions.preflight_log import store_log
from submissions.progress import Reporter
from submissions.records import ImageRecord, ModelCard, PreflightReport, Submission, submission_id, utc_now
from submissions.settings import Settings
from submissions.store import Store
from submissions.tables import plain_table, table_console

CARD_FILE = Path("lambench.toml")
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
    as_json: Annotated[bool, typer.Option("--json", help="say it to a machine")] = False,
) -> None:
    """Checks IMAGE in the judge's own sandbox, shows what was found, and submits it."""
    console = table_console(stderr=as_json)
    settings = Settings()
    model_card = _card(console, card, image)
    reference = _reference(image, python, calculator)
    sandbox = open_driver(driver or settings.driver, settings.run_dir, settings.runtime)
    resolved = sandbox.resolve(reference)
    opened = None if check_only else open_store(store or settings.store, settings.endpoint_url)
    known = _earlier(opened, resolved) if opened else None
    if known is not None:
        _point_to(console, known, model_card, as_json)
        return
    domains = tuple(model_card.label_sets) or (None,)
    questions = [Question(domain=domain, device="cuda" if gpu else "cpu", gpu=gpu) for domain in domains]
    if gpu:
        require_gpus([gpu])
    with Reporter(console) as reporter, reporter.unit(f"preflight of {image}") as progress, ExitStack() as held:
        if gpu:
            held.enter_context(hold_gpu(gpu, settings.run_dir / "gpus"))
        preflight = run_preflight(sandbox, resolved, settings.limits, questions, progress)
    report = preflight.outcome.value
    if report is None:
        _refuse(console, image, preflight, as_json)
    else:
        _accept(console, opened, _submission(author, model_card, resolved, report), preflight.outcome.private, as_json)


def _card(console: Console, path: Path | None, reference: str) -> ModelCard:
    if path is not None:
        return read_card(path)
    if CARD_FILE.exists():
        return read_card(CARD_FILE)
    card = card_from_reference(reference)
    console.print(f"No model card: ./{CARD_FILE} is not here, and none was given with --card. A card is fixed once")
    console.print(f"submitted; without one the model is called {escape(card.name)!r}, and states no level of theory.")
    return card


def _reference(image: str, python: str | None, calculator: str | None) -> str:
    settings = {key: value for key, value in (("python", python), ("calculator", calculator)) if value}
    return f"{image}?{urlencode(settings)}" if settings else image


def _submission(author: str, card: ModelCard, image: Image, report: PreflightReport) -> Submission:
    return Submission(
        id=submission_id(card.name, image.id),
        created=utc_now(),
        author=author,
        card=card,
        image=ImageRecord(
            reference=image.reference,
            id=image.id,
            digests=image.digests,
            architecture=image.architecture,
            size_bytes=image.size_bytes,
            driver=image.driver,
        ),
        preflight=report,
    )


def _refuse(console: Console, image: str, preflight: Preflight, as_json: bool) -> None:
    outcome = preflight.outcome
    if as_json:
        said = {"verdict": outcome.verdict, "sentence": outcome.sentence, "private": outcome.private}
        print(json.dumps(said, indent=2))
    else:
        console.print(f"[bold red]✗ {outcome.verdict}[/]  {escape(image)} was not submitted.")
        console.print(f"  {escape(outcome.sentence)}")
        if outcome.private:
            console.print("\n[dim]What the container said (shown since the preflight's structures are public):[/]")
            console.print(_indent(outcome.private), markup=False)
    raise typer.Exit(REFUSED)


def _indent(text: str) -> str:
    printable = "".join(c if c.isprintable() or c == "\n" else "�" for c in text)
    return "\n".join(f"  │ {line}" for line in printable.splitlines()[-40:])


def _accept(console: Console, store: Store | None, submission: Submission, said: str, as_json: bool) -> None:
    if store:
        store_log(store, submission.id, said)  # first: a submission that is there is whole
        key = f"submissions/{submission.id}/submission.json"
        store.put_if_absent(key, submission.model_dump_json(indent=1).encode())
    if as_json:
        print(submission.model_dump_json(indent=2))
        return
    console.print(_table(submission))
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


def _earlier(store: Store, image: Image) -> Submission | None:
    """The earlier submission of the same image, if there is one."""
    twelve = submission_id("any", image.id).rpartition("-")[2]
    for key in store.list("submissions/"):
        if key.endswith("/submission.json") and key.split("/")[1].endswith(twelve):
            earlier = Submission.read(store.get(key))
            if earlier.image.id == image.id:
                return earlier
    return None


def _table(submission: Submission) -> Table:
    title = f"Preflight of [bold]{escape(submission.card.name)}[/]"
    caption = "* required; the others are reported, and refuse nobody."
    table = plain_table("check", "", title=title)
    table.add_column("found")
    table.caption, table.caption_justify = caption, "left"
    for check in submission.preflight.checks:
        mark = {True: "[green]✓[/]", False: "[yellow]![/]", None: "[dim]·[/]"}[check.passed]
        name = escape(check.name)
        table.add_row(f"[bold]{name}[/] *" if check.gating else name, mark, escape(check.value))
    return table
