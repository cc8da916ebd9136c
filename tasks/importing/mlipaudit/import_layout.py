"""`judge data import mlipaudit`: the benchmarks of MLIPAudit in its published layout, one data set each.

The published archives unpack to one folder a benchmark. Benchmarks that share their runs are one data set:
`water_density` that of `water_radial_distribution`, `solvent_density` that of `solvent_radial_distribution`, and
`sampling` that of `folding_stability`. The files are those of release 0.1.8; those of older releases, in the folders
that these had, are found, too. The mode 2025 has the benchmarks of the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tasks.datasets.card import DatasetError, dataset_faults
from tasks.importing.imported_benchmark import ImportedBenchmark as ImportedBenchmark
from tasks.importing.mlipaudit import energies, geometries, liquids, proteins
from tasks.importing.mlipaudit.content import BenchmarkContent, RunMode, stated_cards
from tasks.importing.mlipaudit.layout import BenchmarkFiles, MissingFiles
from tasks.suites.names import did_you_mean, known_name


class BenchmarkReader(NamedTuple):
    """How a benchmark is read.

    Args:
        subsets: the modes that run other systems than `standard`, whose data sets have the mode in their names.
        shared: another benchmark with the same runs.
        folders: where its files may be beside the folders of these benchmarks.
    """

    read: Callable[[BenchmarkFiles], BenchmarkContent]
    subsets: Sequence[RunMode] = ("dev",)
    shared: str = ""
    folders: Sequence[str] = ()


READERS: Mapping[str, BenchmarkReader] = {
    "reference_geometry_stability": BenchmarkReader(geometries.reference_geometry_stability),
    "ring_planarity": BenchmarkReader(geometries.ring_planarity),
    "bond_length_distribution": BenchmarkReader(geometries.bond_length_distribution),
    "conformer_selection": BenchmarkReader(energies.conformer_selection, ("dev", "2025")),
    "dihedral_scan": BenchmarkReader(energies.dihedral_scan),
    "noncovalent_interactions": BenchmarkReader(energies.noncovalent_interactions),
    "tautomers": BenchmarkReader(energies.tautomers),
    "reactivity": BenchmarkReader(energies.reactivity),
    "nudged_elastic_band": BenchmarkReader(geometries.nudged_elastic_band),
    "water_radial_distribution": BenchmarkReader(
        liquids.water_radial_distribution, ("2025",), "water_density", ("app_data/water_radial_distribution",)
    ),
    "solvent_radial_distribution": BenchmarkReader(
        liquids.solvent_radial_distribution, ("fast", "dev", "2025"), "solvent_density"
    ),
    "nve_energy_conservation": BenchmarkReader(
        proteins.nve_energy_conservation, folders=("stability", "water_radial_distribution")
    ),
    "stability": BenchmarkReader(proteins.stability, ("fast", "dev")),
    "inference_speed": BenchmarkReader(proteins.inference_speed, folders=("scaling",)),
    "folding_stability": BenchmarkReader(proteins.folding_stability, ("fast", "dev", "2025"), "sampling"),
}
# The benchmarks that came after the paper.
AFTER_PAPER = ("nve_energy_conservation", "inference_speed", "water_density", "solvent_density")


def import_mlipaudit(folder: Path, mode: RunMode, only: Sequence[str] = ()) -> Iterator[ImportedBenchmark]:
    """The benchmarks of `folder`, one after another.

    Args:
        mode: whose systems are read.
        only: names of benchmarks; empty for all.

    Raises:
        DatasetError: there is no such folder, or a benchmark is unknown; one line.
    """
    if not folder.is_dir():
        raise DatasetError(f"{folder}: is {'no folder' if folder.exists() else 'not there'}")
    known = [name for benchmark in READERS for name in benchmarks_of(benchmark, mode)]
    chosen = {name: known_name(name, known) for name in only}
    for name, benchmark in chosen.items():
        if benchmark is None:
            named = ", ".join(known) + did_you_mean(name, known)
            raise DatasetError(f"--only: the mode {mode} has no benchmark {name!r}; take one of {named}")
    for name, reader in READERS.items():
        if set(benchmarks_of(name, mode)) & set(chosen.values() or known):
            yield _import_benchmark(folder, name, reader, mode)


def benchmarks_of(benchmark: str, mode: RunMode) -> tuple[str, ...]:
    """The benchmark and another one with the same runs, as far as the mode has them."""
    both = (benchmark, READERS[benchmark].shared)
    return tuple(name for name in both if name and not (mode == "2025" and name in AFTER_PAPER))


def dataset_name(benchmark: str, mode: RunMode) -> str:
    """The name of the data set of a benchmark, without its version."""
    suffix = f"-{mode}" if mode in READERS[benchmark].subsets else ""
    return f"mlipaudit-{benchmark.replace('_', '-')}{suffix}"


def _import_benchmark(folder: Path, name: str, reader: BenchmarkReader, mode: RunMode) -> ImportedBenchmark:
    folders = [each for each in (name, reader.shared, *reader.folders) if each]
    title = ", ".join(benchmarks_of(name, mode))
    try:
        with dataset_faults(f"{folder}: {title}", MissingFiles):
            content = reader.read(BenchmarkFiles(folder, folders, mode))
            dataset = content.dataset(dataset_name(name, mode))
    except MissingFiles as error:
        return ImportedBenchmark(title, missing=f"{error} (in {' or '.join(folders)})")
    except DatasetError as error:
        return ImportedBenchmark(title, fault=str(error))
    whole = mode not in reader.subsets or mode == "2025"
    return ImportedBenchmark(title, dataset, _note(content) if whole else "")


def _note(content: BenchmarkContent) -> str:
    """Where a file is a part of the published one."""
    n_published = stated_cards()[content.card].n_published
    counts = [len(items) for items in content.items.values()] or [len(content.structures)]
    quantities = {getattr(item, "quantity", "") for items in content.items.values() for item in items}
    n_entries = counts[0] // max(len(quantities), 1)
    if n_entries < n_published:
        return f"has {n_entries} of the {n_published} entries that were published"
    return ""
