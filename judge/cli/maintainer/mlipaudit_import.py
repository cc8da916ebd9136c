"""`judge data import mlipaudit`: one data set for each benchmark of MLIPAudit that a folder has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import typer

from judge.config import load_settings
from judge.data.import_options import ImportOptions
from tasks.datasets.dataset import Dataset, DatasetError, load_dataset, save_dataset
from tasks.importing.import_summary import summarise
from tasks.importing.mlipaudit.content import RunMode
from tasks.importing.mlipaudit.import_layout import ImportedBenchmark, import_mlipaudit

MLIPAUDIT = "mlipaudit"
BROKEN = 1


def import_layout(folder: Path, mode: RunMode, only: Sequence[str], options: ImportOptions, trust_ranges: bool) -> None:
    """Writes the data sets, and prints a line for each; last, what is missing. Exit status 1 if a file is at fault.

    Raises:
        DatasetError: an option that the format has no use for, or a folder without any benchmark; one line.
    """
    for name, value in asdict(options).items():
        if value not in ("", None, (), {}, False):
            raise DatasetError(f"--{name.replace('_', '-')}: is not for {MLIPAUDIT}, which states it; leave it out")
    faults, missing, n_read = list[str](), list[str](), 0
    for benchmark in import_mlipaudit(folder, mode, only):
        if benchmark.missing:
            missing.append(f"{benchmark.name}: {benchmark.missing}")
        if benchmark.fault:
            faults.append(benchmark.fault)
        if benchmark.dataset is not None:
            n_read += 1
            faults += _written(benchmark, benchmark.dataset, load_settings().data, folder, trust_ranges)
    for line in faults:
        print(f"NOT  {line}")
    for line in missing:
        print(f"missing  {line}")
    if not n_read and not faults:
        raise DatasetError(f"{folder}: has no benchmark of MLIPAudit: unpack its archives there, one folder each")
    raise typer.Exit(BROKEN if faults else 0)


def _written(benchmark: ImportedBenchmark, dataset: Dataset, data: Path, folder: Path, trust_ranges: bool) -> list[str]:
    """Writes one data set, unless it is there with the same content. The faults, a line each."""
    name, summary = dataset.card.full_name, summarise(dataset)
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
