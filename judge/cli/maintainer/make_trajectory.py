"""`judge data make-trajectory`: a hidden data set of trajectories that the judge makes."""

from __future__ import annotations

from judge.cli.maintainer.import_report import (
    PublicFrames,
    check_overlap,
    print_summary,
    print_written,
    public_sets,
)
from judge.cli.output import lines_aside
from judge.config import load_settings
from judge.data.made_trajectories import (
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
from tasks.simulation.thermal_trajectory import ThermalSettings


def run_make_trajectory(
    molecules: list[str],
    name: str,
    version: str,
    settings: ThermalSettings,
    seed: int | None,
    multiplicity: int | None,
    title: str,
    public: PublicFrames,
    trust_ranges: bool,
    as_json: bool,
) -> None:
    """Makes a hidden data set: molecular dynamics of MOLECULE... by GFN2-xTB, with energies and forces."""
    data = load_settings().data
    starts, others = starts_of(molecules, multiplicity), public_sets(public.names, data)
    for each in others:
        check_shared_molecule(list(starts.values()), each)
    request = make_request(name, version, starts, settings, seed, data)
    card = card_of_trajectories(request, title)
    with lines_aside(as_json):
        for molecule, start in starts.items():
            print(f"{molecule}: {len(start.numbers)} atoms, {settings.n_steps} steps of {settings.timestep_fs:g} fs")
        with Reporter(table_console(stderr=True)) as reporter:
            reporter.expect(len(starts))
            dataset = make_trajectories(request, starts, card, data, reporter)
        print_summary(dataset, summarise(dataset), {}, name, trust_ranges)
        check_overlap(dataset, others, public)
        print("The seed is on its card.")
    print_written(as_json, dataset, data)
    discard_making(request, data)
