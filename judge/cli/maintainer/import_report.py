"""What `judge data import` and `judge data make-trajectory` print of a data set before it is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from judge.cli.output import print_done
from judge.data.dataset_names import dataset_names
from judge.data.public_overlap import public_overlap
from judge.data.reference_comparison import is_comparable
from judge.data.summary import cluster_lines, summary_lines
from tasks.datasets.dataset import Dataset, DatasetError, load_dataset, save_dataset
from tasks.importing.import_summary import ImportSummary
from tasks.suites.names import did_you_mean, known_name


class PublicFrames(NamedTuple):
    """The options about data sets of public frames, which may not be among new ones.

    Args:
        names: name@version of each.
        within: RMSD [Å] within which two frames count as one.
        allowed: whether the data set is written although public frames are in it.
    """

    names: tuple[str, ...]
    within: float
    allowed: bool


def print_summary(
    dataset: Dataset, summary: ImportSummary, unused: Mapping[str, int], where: object, trust_ranges: bool
) -> None:
    """Prints a summary of the data set.

    Args:
        summary: as from `summarise`.
        unused: by numeric field of its file that was not read, the number of frames with it.
        where: the file or command, for the error.

    Raises:
        DatasetError: a value is impossible, and `trust_ranges` is False.
    """
    for line in (*summary_lines(summary, unused), *cluster_lines(dataset)):
        print(line)
    if summary.impossible and not trust_ranges:
        others = f" (and {len(summary.impossible) - 1} more, above)" if len(summary.impossible) > 1 else ""
        raise DatasetError(f"{where}: {summary.impossible[0]}{others} Correct it, or say --trust-ranges if it is meant")


def print_written(as_json: bool, dataset: Dataset, data: Path) -> None:
    """Writes the data set, and prints where it is and what to do next."""
    name, folder = dataset.card.full_name, save_dataset(dataset, data)
    facts = {"data_set": name, "folder": str(folder), "structures": len(dataset.frames)}
    verify = [f"Next: judge data verify {name} --with IMAGE"] if is_comparable(dataset) else []
    print_done(as_json, facts, f"Written to {folder}", *verify, f'A task of a suite names it: dataset = "{name}"')


def public_sets(names: Sequence[str], data: Path) -> list[Dataset]:
    """The data sets of public frames.

    Raises:
        DatasetError: one is not there, is broken, or is hidden itself; the line names it.
    """
    public, known = [], dataset_names(data)
    for name in names:
        if not (stored := known_name(name, known)):
            meant = did_you_mean(name, known)
            raise DatasetError(f"--public: there is no data set {name} in {data}: judge data list names them{meant}")
        dataset = load_dataset(data / stored)
        if dataset.card.hidden:
            raise DatasetError(f"--public: {name}: is hidden: name a data set that states since when it is public")
        public.append(dataset)
    return public


def check_overlap(dataset: Dataset, public: Sequence[Dataset], options: PublicFrames) -> None:
    """Prints a line about the frames that `dataset` has in common with each of `public`.

    Raises:
        DatasetError: it has any, and they are not allowed.
    """
    overlaps = [public_overlap(dataset, each, options.within) for each in public]
    for overlap in overlaps:
        print(overlap.line)
    for overlap in overlaps:
        if overlap.n_frames and not options.allowed:
            raise DatasetError(
                f"--public: {overlap.n_frames} of {len(dataset.frames)} frames are in {overlap.public}, too (above): "
                "leave them out or make others, or say --allow-overlap if it is meant"
            )
