"""`judge data make-trajectory`: a hidden data set of trajectories that the judge makes."""

from __future__ import annotations

from typing import Annotated

import typer

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
from judge.cli.options import Json
from judge.cli.output import lines_aside
from judge.config import load_settings
from judge.data.made_trajectories import (
    SEED_BITS,
    card_of_trajectories,
    discard_making,
    make_request,
    make_trajectories,
    starts_of,
)
from judge.data.public_overlap import check_shared_molecule
from submissions.progress import Reporter
from submissions.tables import table_console
from tasks.importing.import_summary import summarise
from tasks.simulation.start_geometries import start_geometries
from tasks.simulation.thermal_trajectory import ThermalSettings

_MOLECULE = f"{', '.join(start_geometries())}, or the path of a file NAME.xyz with one structure"
_SEED = "of momenta and noise, kept on the card (default: random). Who knows it can make the hidden frames again"

Molecules = Annotated[list[str], typer.Argument(metavar="MOLECULE...", help=_MOLECULE)]
Name = Annotated[str, typer.Option(help="lower-case letters, digits and dashes")]
Version = Annotated[str, typer.Option(help="increase it with every change")]
NFrames = Annotated[int, typer.Option("--frames", min=10, help="of each molecule")]
Temperature = Annotated[float, typer.Option(min=1.0, max=5000.0, help="K of the heat bath; MD17 has 500")]
Timestep = Annotated[float, typer.Option(min=0.01, max=5.0, help="fs")]
Every = Annotated[int, typer.Option(min=1, help="steps from one frame to the next")]
Equilibration = Annotated[int, typer.Option(min=0, help="steps before the first frame")]
Friction = Annotated[float, typer.Option(min=0.0, help="1/ps of the heat bath; 0: constant energy")]
Seed = Annotated[int | None, typer.Option(min=0, max=2**SEED_BITS - 1, help=_SEED)]
Multiplicity = Annotated[int | None, typer.Option(min=1, help="2S+1 of molecules in files that state none")]
Title = Annotated[str, typer.Option(help="for readers (default: molecules, method and temperature)")]
TrustRanges = Annotated[bool, typer.Option("--trust-ranges", help="write it although some numbers look impossible")]


def make_trajectory_command(
    molecules: Molecules,
    name: Name,
    version: Version,
    frames: NFrames = 1000,
    temperature: Temperature = 500.0,
    timestep_fs: Timestep = 0.5,
    every: Every = 10,
    equilibration: Equilibration = 2000,
    friction_per_ps: Friction = 2.0,
    seed: Seed = None,
    multiplicity: Multiplicity = None,
    title: Title = "",
    public: Public = None,
    within: Within = DEFAULT_WITHIN,
    allow_overlap: AllowOverlap = False,
    trust_ranges: TrustRanges = False,
    as_json: Json = False,
) -> None:
    """Makes a hidden data set: molecular dynamics of MOLECULE... by GFN2-xTB, with energies and forces.

    It needs tblite: pip install 'lambench-judge[trajectories]'. If it is stopped, the same command continues.
    """
    data = load_settings().data
    settings = ThermalSettings(frames, every, equilibration, temperature, timestep_fs, friction_per_ps)
    starts, others = starts_of(molecules, multiplicity), public_sets(public or [], data)
    for each in others:
        check_shared_molecule(list(starts.values()), each)
    request = make_request(name, version, starts, settings, seed, data)
    card = card_of_trajectories(request, title)
    with lines_aside(as_json):
        for molecule, start in starts.items():
            print(f"{molecule}: {len(start.numbers)} atoms, {settings.n_steps} steps of {timestep_fs:g} fs")
        with Reporter(table_console(stderr=True)) as reporter:
            reporter.expect(len(starts))
            dataset = make_trajectories(request, starts, card, data, reporter)
        print_summary(dataset, summarise(dataset), {}, name, trust_ranges)
        check_overlap(dataset, others, within, allow_overlap)
        print("The seed is on its card.")
    print_written(as_json, dataset, data)
    discard_making(request, data)
