"""`judge data import|list|verify`: the data sets that submissions are judged on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer
from ase.data import chemical_symbols
from pydantic import ValidationError
from rich.markup import escape

from judge.config import load_settings
from submissions.tables import plain_table, table_console
from tasks.card import Card, Domain, LabelSet, one_line
from tasks.dataset import Dataset, DatasetError, load_dataset, read_card, save_dataset
from tasks.importers import import_frames, summarise
from tasks.reactions import import_reactions

app = typer.Typer(no_args_is_help=True)

BROKEN = 1


Format = Literal["extxyz", "traj", "db", "reactions"]


@app.command("import")
def import_command(
    format: Annotated[Format, typer.Argument(metavar="FORMAT", help="extxyz, traj or db: labelled frames; reactions")],
    path: Annotated[Path, typer.Argument(help="a file; for reactions a folder with reactions.json")],
    name: Annotated[str, typer.Option(help="lower-case letters, digits and dashes")],
    version: Annotated[str, typer.Option(help="goes up with every change")],
    domain: Annotated[Domain, typer.Option(help="what the structures are")],
    label_set: Annotated[str, typer.Option(help="by which name a submission declares this level of theory")],
    theory: Annotated[str, typer.Option(help="the level of theory in words (default: the label set's name)")] = "",
    dispersion: Annotated[bool, typer.Option("--dispersion", help="the labels contain dispersion")] = False,
    title: Annotated[str, typer.Option(help="for readers (default: the name)")] = "",
    citation: Annotated[str, typer.Option(help="the paper, with its DOI")] = "",
    licence: Annotated[str, typer.Option(help="of the data")] = "",
    public_since: Annotated[str, typer.Option(help="date; leave out if the data are not public")] = "",
) -> None:
    """Makes a data set of PATH, and shows what was found to look over. Nothing is ever overwritten."""
    theories = {label_set: LabelSet(theory=theory or label_set, dispersion=dispersion)}
    try:
        card = Card(
            name=name,
            version=version,
            title=title or name,
            domain=domain,
            citation=citation,
            licence=licence,
            public_since=public_since,
            periodic=False,  # the importer sets it from the structures
            default_label_set=label_set,
            label_sets=theories,
        )
    except ValidationError as error:
        raise DatasetError(f"--{one_line(error)}") from None
    dataset = import_reactions(path, card) if format == "reactions" else import_frames(path, card)
    folder = save_dataset(dataset, load_settings().data)
    for line in _summary(dataset):
        print(line)
    print(f"Written to {folder}")


def _summary(dataset: Dataset) -> list[str]:
    """What was found, for a person to look over."""
    found = summarise(dataset)
    items = f", {found.n_items} items" if found.n_items else ""
    lines = [
        f"{found.n_structures} structures of at most {found.largest} atoms, {found.n_atoms} in all{items}",
        f"elements: {' '.join(chemical_symbols[z] for z in found.elements)}",
        f"periodic: {found.n_periodic}; charged: {found.n_charged}",
    ]
    ranges = {"energy [eV/atom]": found.energy_per_atom, "|force| [eV/Å]": found.force, "stress [eV/Å³]": found.stress}
    lines += [f"{name}: {low:.4g} to {high:.4g}" for name, span in ranges.items() if span for low, high in [span]]
    return lines


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
    table = plain_table("data set", "domain", "label sets", "title")
    for card in cards:
        table.add_row(card.full_name, card.domain, escape(", ".join(card.label_sets) or "–"), escape(card.title))
    table_console().print(table)


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
            items = dataset.table.n_items
            print(f"ok   {name}: {len(dataset.frames)} structures" + (f", {items} items" if items else ""))
    if not chosen:
        print(f"There is no data set in {data}.")
    raise typer.Exit(BROKEN if broken else 0)
