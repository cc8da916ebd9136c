"""`judge data import|list|verify`: the data sets that submissions are judged on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from judge.cli.maintainer.layout_import import MLIPAUDIT, TITLES, import_layout
from judge.config import load_settings
from judge.data import import_options as opt
from judge.data.importing import ImportedDataset, by_label_set, import_dataset
from judge.data.reference_comparison import few_frames, verify_against
from judge.data.summary import cluster_lines, summary_lines
from sandbox.driver import DriverName
from submissions.progress import Reporter
from submissions.tables import plain_table, table_console
from tasks.datasets.dataset import Dataset, DatasetError, load_dataset, read_card, save_dataset
from tasks.importing.import_summary import summarise

app = typer.Typer(no_args_is_help=True)

BROKEN = 1


@app.command("import")
def import_command(
    format: opt.FormatArgument,
    path: opt.PathArgument,
    name: opt.Name = "",
    version: opt.Version = "",
    domain: opt.DomainOption = None,
    label_set: opt.LabelSetName = "",
    theory: opt.Theory = "",
    dispersion: opt.Dispersion = False,
    d3: opt.DFTD3 = "",
    units: opt.Units = "",
    fparam: opt.Fparam = "",
    multiplicity: opt.Multiplicity = None,
    without: opt.Without = "",
    cluster: opt.Cluster = None,
    temperature: opt.Temperature = None,
    mesh: opt.Mesh = None,
    mode: opt.Mode = None,
    only: opt.Only = None,
    also: opt.Also = None,
    also_theory: opt.AlsoTheory = None,
    also_dispersion: opt.AlsoDispersion = None,
    also_d3: opt.AlsoD3 = None,
    also_units: opt.AlsoUnits = None,
    title: opt.Title = "",
    citation: opt.Citation = "",
    licence: opt.Licence = "",
    public_since: opt.PublicSince = "",
    trust_ranges: opt.TrustRanges = False,
) -> None:
    """Makes a data set from PATH, and prints a summary to check. Nothing is overwritten."""
    options = opt.ImportOptions(
        name=name,
        version=version,
        domain=domain,
        label_set=label_set,
        theory=theory,
        dispersion=dispersion,
        d3=d3,
        title=title,
        citation=citation,
        licence=licence,
        public_since=public_since,
        units=units,
        fparam=fparam,
        multiplicity=multiplicity,
        without=without,
        cluster=cluster,
        temperature=temperature,
        mesh=mesh,
        also=by_label_set("--also", also),
        also_theory=by_label_set("--also-theory", also_theory),
        also_dispersion=tuple(also_dispersion or ()),
        also_d3=by_label_set("--also-d3", also_d3),
        also_units=by_label_set("--also-units", also_units),
    )
    if format in TITLES:
        import_layout(format, path, mode, only or [], options, trust_ranges)
        return
    if mode or only:
        meant = MLIPAUDIT if mode else " and ".join(TITLES)
        raise DatasetError(f"--{'mode' if mode else 'only'}: is for {meant}, not for {format}; leave it out")
    imported = import_dataset(format, path, options)
    _print_summary(imported, path, trust_ranges)
    print(f"Written to {save_dataset(imported.dataset, load_settings().data)}")


def _print_summary(imported: ImportedDataset, path: Path, trust_ranges: bool) -> None:
    """Prints a summary of the data set.

    Raises:
        DatasetError: a value is impossible, and `trust_ranges` is False.
    """
    summary = summarise(imported.dataset)
    for line in (*summary_lines(summary, imported.unused), *cluster_lines(imported.dataset)):
        print(line)
    if summary.impossible and not trust_ranges:
        others = f" (and {len(summary.impossible) - 1} more, above)" if len(summary.impossible) > 1 else ""
        raise DatasetError(f"{path}: {summary.impossible[0]}{others} Correct it, or say --trust-ranges if it is meant")


@app.command("list")
def list_command(as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False) -> None:
    """Lists the data sets."""
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
def verify(
    names: Annotated[list[str] | None, typer.Argument(help="name@version; none for all")] = None,
    image: Annotated[
        str,
        typer.Option("--with", metavar="IMAGE", help="compare labels with this model: an image, or a folder (process)"),
    ] = "",
    driver: Annotated[DriverName | None, typer.Option(help="docker, or process: no isolation")] = None,
    frames: Annotated[int, typer.Option(min=1, help="at most this number of each label set, chosen by --seed")] = 100,
    seed: Annotated[int, typer.Option(help="of the random choice")] = 0,
) -> None:
    """Checks data sets: every hash, shape and reference. With a model it also checks units and signs of the labels.

    Exit status 1 if a data set is broken, or if a unit, a sign or labels look wrong.
    """
    settings = load_settings()
    chosen = names or [path.parent.name for path in sorted(settings.data.glob("*/card.toml"))]
    intact = [dataset for name in chosen if (dataset := _checked(settings.data / name)) is not None]
    n_findings = 0
    if image:
        with Reporter(table_console(stderr=True)) as reporter:
            for line in verify_against(image, driver, settings, intact, frames, seed, reporter):
                n_findings += line.is_finding
                print(line.text)
    if not chosen:
        print(f"There is no data set in {settings.data}.")
    raise typer.Exit(BROKEN if n_findings or len(intact) < len(chosen) else 0)


def _checked(folder: Path) -> Dataset | None:
    """The data set in `folder`; None if it is broken. Prints which."""
    try:
        dataset = load_dataset(folder)
    except DatasetError as error:
        print(f"NOT  {error}")
        return None
    items = dataset.table.n_items
    print(f"ok   {folder.name}: {len(dataset.frames)} structures" + (f", {items} items" if items else ""))
    for line in few_frames(dataset):
        print(f"     {line}")
    return dataset
