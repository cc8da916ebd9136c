"""`judge data get|import|make-trajectory|list|verify`: the data sets that submissions are judged on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from judge.cli.maintainer.data_get import get_command
from judge.cli.maintainer.import_report import (
    DEFAULT_WITHIN,
    AllowOverlap,
    Public,
    Within,
    check_overlap,
    print_summary,
    print_written,
    public_sets,
)
from judge.cli.maintainer.layout_import import ML_PEG, MLIPAUDIT, TITLES, import_layout
from judge.cli.maintainer.make_trajectory import make_trajectory_command
from judge.cli.options import Json
from judge.cli.output import lines_aside, print_json
from judge.config import UsageError, load_settings
from judge.data import import_options as opt
from judge.data.importing import RMD17, by_label_set, prepare_import
from judge.data.reference_comparison import few_frames, verify_against
from sandbox.driver import DriverName
from submissions.progress import Reporter
from submissions.tables import plain_table, table_console
from tasks.datasets.dataset import Dataset, DatasetError, load_dataset, read_card
from tasks.importing.import_summary import summarise
from tasks.suites.names import did_you_mean, known_name

app = typer.Typer(no_args_is_help=True)
app.command("get")(get_command)
app.command("make-trajectory")(make_trajectory_command)

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
    frames: opt.FramesOfEach = None,
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
    public: Public = None,
    within: Within = DEFAULT_WITHIN,
    allow_overlap: AllowOverlap = False,
    as_json: Json = False,
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
        only=tuple(only or ()) if format == RMD17 else (),
        frames=frames,
    )
    if format in TITLES:
        if public:
            raise DatasetError(f"--public: is not for {format}, which is public; leave it out")
        import_layout(format, path, mode, only or [], options, trust_ranges, as_json)
        return
    if mode or (only and format != RMD17):
        meant = MLIPAUDIT if mode else f"{RMD17}, {MLIPAUDIT} and {ML_PEG}"
        raise DatasetError(f"--{'mode' if mode else 'only'}: is for {meant}, not for {format}; leave it out")
    data = load_settings().data
    read = prepare_import(format, path, options, data)
    others = public_sets(public or [], data)
    with lines_aside(as_json):
        with Reporter(table_console(stderr=True)) as reporter:
            with reporter.unit(f"reading {path.name}") as report:
                imported = read(report)
            with reporter.unit("checking distances") as report:
                summary = summarise(imported.dataset, report)
        print_summary(imported.dataset, summary, imported.unused, path, trust_ranges)
        check_overlap(imported.dataset, others, within, allow_overlap)
    print_written(as_json, imported.dataset, data)


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
    as_json: Json = False,
) -> None:
    """Checks data sets: every hash, shape and reference. With a model it also checks units and signs of the labels.

    Exit status 1 if a data set is broken, or if a unit, a sign or labels look wrong.
    """
    settings = load_settings()
    known = [path.parent.name for path in sorted(settings.data.glob("*/card.toml"))]
    chosen = [_chosen(name, known) for name in names or known]
    compared = []
    with lines_aside(as_json):
        intact = [dataset for name in chosen if (dataset := _checked(settings.data / name)) is not None]
        if image:
            with Reporter(table_console(stderr=True)) as reporter:
                for line in verify_against(image, driver, settings, intact, frames, seed, reporter):
                    compared.append(line)
                    print(line.text)
        if not chosen:
            print(f"There is no data set in {settings.data}.")
    findings = [line.text for line in compared if line.is_finding]
    if as_json:
        names_of_intact = [dataset.card.full_name for dataset in intact]
        broken = [name for name in chosen if name not in names_of_intact]
        others = [line.text for line in compared if not line.is_finding]
        print_json({"intact": names_of_intact, "broken": broken, "findings": findings, "agrees": others})
    raise typer.Exit(BROKEN if findings or len(intact) < len(chosen) else 0)


def _chosen(name: str, known: list[str]) -> str:
    """The data set of that name, in any case.

    Raises:
        UsageError: there is none.
    """
    if found := known_name(name, known):
        return found
    raise UsageError(f"there is no data set {name!r}: judge data list names them{did_you_mean(name, known)}")


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
