"""`judge data import|make-trajectory`."""

from __future__ import annotations

from typing import Annotated

import typer

from judge.cli.completion import datasets
from judge.cli.options import Json
from judge.data import import_options as opt
from judge.data.import_options import SEED_BITS, WITHIN

START_GEOMETRIES = (
    "aspirin, azobenzene, benzene, ethanol, malonaldehyde, naphthalene, paracetamol, salicylic, toluene, uracil, water"
)
_MOLECULE = f"{START_GEOMETRIES}, or the path of a file NAME.xyz with one structure"
Molecules = Annotated[list[str], typer.Argument(metavar="MOLECULE...", help=_MOLECULE)]
Name = Annotated[str, typer.Option(help="lower-case letters, digits and dashes")]
Version = Annotated[str, typer.Option(help="increase it with every change")]
NFrames = Annotated[int, typer.Option("--frames", min=10, help="of each molecule")]
Temperature = Annotated[float, typer.Option(min=1.0, max=5000.0, help="K of the heat bath; MD17 has 500")]
Timestep = Annotated[float, typer.Option(min=0.01, max=5.0, help="fs")]
Every = Annotated[int, typer.Option(min=1, help="steps from one frame to the next")]
Equilibration = Annotated[int, typer.Option(min=0, help="steps before the first frame")]
Friction = Annotated[float, typer.Option(min=0.0, help="1/ps of the heat bath; 0: constant energy")]
_SEED = "of momenta and noise, kept on the card (default: random). Who knows it can make the hidden frames again"
Seed = Annotated[int | None, typer.Option(min=0, max=2**SEED_BITS - 1, help=_SEED)]
Multiplicity = Annotated[int | None, typer.Option(min=1, help="2S+1 of molecules in files that state none")]
_PUBLIC = "a data set of public frames of the same molecules: none of these may be among the new ones; repeatable"
_WITHIN = "Å: two frames count as one within this RMSD after superposition"
Public = Annotated[list[str] | None, typer.Option(metavar="NAME@VERSION", help=_PUBLIC, autocompletion=datasets)]
Within = Annotated[float, typer.Option(min=0.0, help=_WITHIN)]
AllowOverlap = Annotated[bool, typer.Option("--allow-overlap", help="write it although public frames are in it")]
Title = Annotated[str, typer.Option(help="for readers (default: molecules, method and temperature)")]
TrustRanges = Annotated[bool, typer.Option("--trust-ranges", help="write it although some numbers look impossible")]


def import_command(
    context: typer.Context,
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
    keys: opt.Keys = "",
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
    also_keys: opt.AlsoKeys = None,
    title: opt.Title = "",
    citation: opt.Citation = "",
    licence: opt.Licence = "",
    public_since: opt.PublicSince = "",
    trust_ranges: opt.TrustRanges = False,
    public: Public = None,
    within: Within = WITHIN,
    allow_overlap: AllowOverlap = False,
    as_json: Json = False,
) -> None:
    """Makes a data set from PATH, and prints a summary to check. Nothing is overwritten."""
    from judge.cli.maintainer.data import run_import
    from judge.cli.maintainer.import_report import PublicFrames

    others = PublicFrames(tuple(public or ()), within, allow_overlap)
    run_import(format, path, opt.options_of(context.params), others, mode, trust_ranges, as_json)


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
    within: Within = WITHIN,
    allow_overlap: AllowOverlap = False,
    trust_ranges: TrustRanges = False,
    as_json: Json = False,
) -> None:
    """Makes a hidden data set: molecular dynamics of MOLECULE... by GFN2-xTB, with energies and forces.

    It needs tblite: pip install 'lambench-judge[trajectories]'. If it is stopped, the same command continues.
    """
    from judge.cli.maintainer.import_report import PublicFrames
    from judge.cli.maintainer.make_trajectory import run_make_trajectory
    from tasks.simulation.thermal_trajectory import ThermalSettings

    settings = ThermalSettings(frames, every, equilibration, temperature, timestep_fs, friction_per_ps)
    others = PublicFrames(tuple(public or ()), within, allow_overlap)
    run_make_trajectory(molecules, name, version, settings, seed, multiplicity, title, others, trust_ranges, as_json)
