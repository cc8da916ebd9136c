"""The clusters of imported frames: by composition, by group, by a field of the frame, or none."""

from __future__ import annotations

from pathlib import Path

import pytest
from ase.db import connect
from ase.io import write

from tasks.datasets.card import DatasetError
from tasks.datasets.dataset import load_dataset, save_dataset
from tasks.importing.importers import read_structures
from tasks.importing.label_units import ASE_UNITS
from tasks.importing.labelled_import import labelled_dataset
from tests.tasks.importing.labelled_structures import CARD, structures, xyz


def test_clusters_are_compositions_groups_or_none(tmp_path: Path) -> None:
    path = tmp_path / "mine.extxyz"
    write(path, structures())
    imported = read_structures(path)
    made = {by: labelled_dataset(CARD, path, imported, cluster=by) for by in ("composition", "group", "none")}
    assert {by: dataset.card.cluster_column for by, dataset in made.items()} == {
        "composition": "composition", "group": "group", "none": None,
    }  # fmt: skip
    assert made["composition"].clusters[:3] == ("Cu4", "CO", "Cu4")
    assert made["group"].clusters[:3] == ("frame 0", "small", "frame 2")  # the crystals have no group: each its own
    assert len(set(made["group"].clusters)) == 21
    assert len(set(made["none"].clusters)) == 40


def write_trajectories(path: Path, format: str, runs: list[str | int | None]) -> None:
    """Crystals with `run` in `info`, or in the key-value pairs of a database; None: the frame has none."""
    made = structures(2 * len(runs))[::2]
    for atoms, run in zip(made, runs, strict=True):
        atoms.info = {"code": "mine"} if run is None else {"code": "mine", "run": run}
    if format == "db":
        with connect(path) as database:
            for atoms in made:
                database.write(atoms, **atoms.info)
    else:
        write(path, made, format=format)


@pytest.mark.parametrize("format", ["extxyz", "traj", "db"])
@pytest.mark.parametrize("number", [False, True])
def test_a_field_of_info_names_the_trajectory_of_each_frame(format: str, number: bool, tmp_path: Path) -> None:
    path = tmp_path / f"mine.{format}"
    runs: list[str | int | None] = [10 + i // 5 if number else f"at {i // 5} K" for i in range(12)]
    write_trajectories(path, format, runs)
    imported = read_structures(path, ASE_UNITS, format, cluster_field="run")
    assert imported.unused == {}  # a number that was read is not called unused
    dataset = labelled_dataset(CARD, path, imported, cluster="info:run")
    assert dataset.clusters == tuple(str(run) for run in runs)
    again = load_dataset(save_dataset(dataset, tmp_path))
    assert again.card.cluster_column == "info:run"
    assert again.clusters == dataset.clusters
    assert again.table.group == imported.group  # what is reported apart is another matter


@pytest.mark.parametrize(
    ("format", "write_it"),
    [
        ("extxyz", "write run= in its comment line"),
        ("traj", "set info['run'] before writing"),
        ("db", "write run= as a key-value pair of its row"),
    ],
)
def test_a_frame_without_the_field_is_refused_by_file_frame_and_field(
    format: str, write_it: str, tmp_path: Path
) -> None:
    path = tmp_path / f"mine.{format}"
    write_trajectories(path, format, ["a", "a", "a", None, "a"])
    with pytest.raises(DatasetError) as refused:
        read_structures(path, ASE_UNITS, format, cluster_field="run")
    line = str(refused.value)
    assert line.startswith(f"{path}: frame 3: run: is missing (the frame has ")
    assert "code" in line  # among what it has: a misspelt field is seen at once
    assert line.endswith(f"{write_it}, as --cluster info:run needs it of every frame")


@pytest.mark.parametrize("value", ["nan", '""', '" "'])
def test_what_is_no_word_or_number_names_no_cluster(value: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.extxyz"
    path.write_text(xyz(info="energy=1.0 run=a") + xyz(info=f"energy=1.0 run={value}"))
    with pytest.raises(DatasetError, match=r"bad\.extxyz: frame 1: run: cannot name a cluster: write run= in its"):
        read_structures(path, cluster_field="run")


def test_a_truth_value_stays_a_word(tmp_path: Path) -> None:
    path = tmp_path / "letters.extxyz"
    path.write_text("".join(xyz(info=f"energy=1.0 run={run}") for run in ("F", "T", "U")))
    assert read_structures(path, cluster_field="run").cluster == ("F", "T", "U")


def test_clusters_by_what_there_is_not_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.extxyz"
    write(path, structures())
    imported = read_structures(path)
    with pytest.raises(DatasetError, match=r"mine\.extxyz: --cluster info:run: the field was not read"):
        labelled_dataset(CARD, path, imported, cluster="info:run")
    for wrong in ("info:", "info: ", "trajectory", "cluster", "info:a\n"):
        with pytest.raises(DatasetError, match=r"--cluster: .* must be composition, group, none or info:FIELD, as in"):
            labelled_dataset(CARD, path, imported, cluster=wrong)
