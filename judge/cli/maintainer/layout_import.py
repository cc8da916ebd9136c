"""`judge data import mlipaudit` and `ml-peg`: one data set for each of their benchmarks that a folder has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import typer

from judge.cli.output import lines_aside, print_json
from judge.config import load_settings
from judge.data.import_options import LAYOUTS, ImportOptions
from tasks.datasets.card import dataset_faults
from tasks.datasets.dataset import Dataset, DatasetError, load_dataset, save_dataset
from tasks.importing.checks.buildable import check_buildable
from tasks.importing.import_summary import summarise
from tasks.importing.imported_benchmark import ImportedBenchmark
from tasks.importing.ml_peg.import_layout import import_ml_peg
from tasks.importing.mlipaudit.content import RunMode
from tasks.importing.mlipaudit.import_layout import import_mlipaudit

MLIPAUDIT, ML_PEG = LAYOUTS
TITLES = {MLIPAUDIT: "MLIPAudit", ML_PEG: "ML-PEG"}
BROKEN = 1


def import_layout(
    format: str,
    folder: Path,
    mode: RunMode | None,
    only: Sequence[str],
    options: ImportOptions,
    trust_ranges: bool,
    as_json: bool = False,
) -> None:
    """Writes the data sets, and prints a line for each; last, what is missing. Exit status 1 if a file is at fault.

    Raises:
        DatasetError: an option that the format has no use for, or a folder without any benchmark; one line.
    """
    for name, value in asdict(options).items():
        if value not in ("", None, (), {}, False):
            raise DatasetError(f"--{name.replace('_', '-')}: is not for {format}, which states it; leave it out")
    faults, missing, names = list[str](), list[str](), list[str]()
    if mode is not None and format != MLIPAUDIT:
        raise DatasetError(f"--mode: is not for {format}: leave it out")
    read = import_ml_peg(folder, only) if format == ML_PEG else import_mlipaudit(folder, mode or "standard", only)
    with lines_aside(as_json):
        for benchmark in read:
            if benchmark.missing:
                missing.append(f"{benchmark.name}: {benchmark.missing}")
            if benchmark.fault:
                faults.append(benchmark.fault)
            if benchmark.dataset is not None:
                names.append(benchmark.dataset.card.full_name)
                faults += _written(benchmark, benchmark.dataset, load_settings().data, folder, trust_ranges)
        for line in faults:
            print(f"NOT  {line}")
        for line in missing:
            print(f"missing  {line}")
    if as_json:
        print_json({"data_sets": names, "faults": faults, "missing": missing})
    if not names and not faults:
        raise DatasetError(
            f"{folder}: has no benchmark of {TITLES[format]}: unpack its archives there, one folder each"
        )
    raise typer.Exit(BROKEN if faults else 0)


def _written(benchmark: ImportedBenchmark, dataset: Dataset, data: Path, folder: Path, trust_ranges: bool) -> list[str]:
    """Writes one data set, unless it is there with the same content. The faults, a line each."""
    name, where = dataset.card.full_name, f"{folder}: {benchmark.name}"
    try:
        check_buildable(dataset, where)
        with dataset_faults(where):
            summary = summarise(dataset)
    except DatasetError as error:
        return [str(error)]
    items = f", {summary.n_items} items" if summary.n_items else ""
    note = f" ({benchmark.note})" if benchmark.note else ""
    print(f"{name}: {summary.n_structures} structures{items}{note}")
    for line in summary.doubtful:
        print(f"     DOUBTFUL  {line}")
    if summary.impossible and not trust_ranges:
        remedy = "Correct it, or say --trust-ranges if it is meant"
        return [f"{folder}: {benchmark.name}: {line} {remedy}" for line in summary.impossible]
    if not (data / name).exists():
        save_dataset(dataset, data)
        return []
    stored = load_dataset(data / name)
    if stored.structures.frames_sha256 == dataset.structures.frames_sha256 and stored.table == dataset.table:
        return []
    return [f"{data / name}: is there with other content: move it away, if the new one is to take its place"]
