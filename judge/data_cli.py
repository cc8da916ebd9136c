"""`judge data import|list|verify`: the data sets that submissions are judged on."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from judge.config import load_settings
from tasks.dataset import DatasetError, load_dataset, read_card

app = typer.Typer(no_args_is_help=True)

BROKEN = 1


@app.command("list")
def list_command(as_json: Annotated[bool, typer.Option("--json", help="say it to a machine")] = False) -> None:
    """The data sets, by what their cards say."""
    data = load_settings().data
    cards = [read_card(path.parent) for path in sorted(data.glob("*/card.toml"))]
    if as_json:
        print(json.dumps([card.model_dump(mode="json") for card in cards], indent=1, ensure_ascii=False))
        return
    if not cards:
        print(f"No data set in {data} yet: judge data import, or judge evaluate, which builds those of quickstart")
        return
    table = Table("data set", "domain", "label sets", "title")
    for card in cards:
        table.add_row(card.full_name, card.domain, escape(", ".join(card.label_sets) or "–"), escape(card.title))
    Console().print(table)


@app.command("verify")
def verify(names: Annotated[list[str] | None, typer.Argument(help="name@version; none for all")] = None) -> None:
    """Reads data sets whole: every hash, every shape, every reference."""
    data = load_settings().data
    chosen = names or [path.parent.name for path in sorted(data.glob("*/card.toml"))]
    broken = 0
    for name in chosen:
        try:
            dataset = load_dataset(data / name)
        except DatasetError as error:
            broken += 1
            print(f"NOT  {error}")
        else:
            items = len(dataset.table.differences) + len(dataset.table.curves)
            print(f"ok   {name}: {len(dataset.frames)} structures" + (f", {items} items" if items else ""))
    if not chosen:
        print(f"There is no data set in {data}.")
    raise typer.Exit(BROKEN if broken else 0)
