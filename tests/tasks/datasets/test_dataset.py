"""Datasets: round trips, hashes that change with the right things only, and what a broken one gets."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase.build import bulk, molecule
from ase.calculators.emt import EMT
from safetensors.numpy import load_file, save_file

from tasks.datasets.card import Card, DatasetError
from tasks.datasets.dataset import Dataset, load_dataset, load_structures, save_dataset
from tasks.datasets.dataset_checks import CARD, FRAMES, LABELS, TABLE
from tasks.kind import Watch
from tasks.kinds.registry import KINDS
from tasks.model.calculator import InProcessCalculator
from tasks.quickstart.registry import build_quickstart
from tasks.structures.frames import Frames
from tasks.structures.predictions import Labels
from tasks.suites.suite import load_suite
from tests.tasks.made_up import make_dataset


def copper() -> Dataset:
    frames = Frames.from_atoms([bulk("Cu", cubic=True), bulk("Cu")])
    labels = Labels(np.array([1.0, np.nan]), np.arange(15.0).reshape(5, 3), np.ones((2, 6)))
    return make_dataset(frames, labels, citation='A "quoted" name\nand Å', baselines={"PBE": {"force_rmse": 0.5}})


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "var").write_text("in the way")
    with pytest.raises(DatasetError, match=r"var/data: cannot be written: Not a directory: .* set data to another"):
        save_dataset(copper(), tmp_path / "var" / "data")


def test_what_is_saved_is_what_is_loaded(tmp_path: Path) -> None:
    made = copper()
    folder = save_dataset(made, tmp_path)
    assert folder.name == "made-up@1"
    again = load_dataset(folder)
    hashes = {structures.frames_sha256 for structures in (again.structures, made.structures, load_structures(folder))}
    assert len(hashes) == 1
    assert again.card.citation == made.card.citation
    assert again.card.baselines == made.card.baselines
    np.testing.assert_array_equal(again.labels().energy, made.labels().energy)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["made-up@1"]
    with pytest.raises(DatasetError, match="exists already"):
        save_dataset(made, tmp_path)


@pytest.mark.parametrize("column", ["group", "cluster", "composition", "info:trajectory", "info:my run", None])
def test_the_card_names_what_clusters_are(column: str | None, tmp_path: Path) -> None:
    """`group` and `cluster` are all that older cards say; a frame whose column is blank stands for itself."""
    made = make_dataset(copper().frames, None, cluster_column=column)
    table = made.table.model_copy(update={"group": ("g", ""), "cluster": ("", "c")})
    folder = save_dataset(Dataset(made.card, made.frames, table, {}), tmp_path)
    again = load_dataset(folder)
    assert again.card.cluster_column == column
    expected = {None: ("f0", "f1"), "group": ("g", "f1")}
    assert again.clusters == expected.get(column, ("f0", "c"))


def test_the_frames_without_a_group_do_not_hang_together() -> None:
    """Blank groups were one cluster, which would have drawn unrelated frames together."""
    made = make_dataset(Frames.from_atoms([bulk("Cu"), bulk("Al"), bulk("Ag")]), None, cluster_column="group")
    assert len(set(made.clusters)) == 3


def test_quickstart_is_the_same_each_time(quickstart: Path, tmp_path: Path) -> None:
    names = build_quickstart(tmp_path)
    assert build_quickstart(tmp_path) == names
    for name in names:
        for file in sorted(p.name for p in (tmp_path / name).iterdir()):
            assert (tmp_path / name / file).read_bytes() == (quickstart / name / file).read_bytes()


def test_observing_works_without_labels_and_table(quickstart: Path, tmp_path: Path, watch: Watch) -> None:
    model = InProcessCalculator(EMT())
    for task in load_suite("quickstart").tasks:
        if task.kind in ("nve", "efficiency"):
            continue
        folder = tmp_path / task.dataset
        shutil.copytree(quickstart / task.dataset, folder)
        (folder / TABLE).unlink()
        (folder / LABELS).unlink(missing_ok=True)
        whole, kind = load_dataset(quickstart / task.dataset), KINDS[task.kind]
        seen = kind.observe(load_structures(folder), task.parameters, model, watch)
        full = kind.observe(whole.structures, task.parameters, model, watch)
        assert seen.arrays.keys() == full.arrays.keys()
        for name, array in full.arrays.items():
            np.testing.assert_allclose(seen.arrays[name], array, rtol=0, atol=1e-9, err_msg=f"{task.name}: {name}")
        with pytest.raises(DatasetError, match=r"table\.json: cannot be read"):
            load_dataset(folder)


def rewrite(folder: Path, name: str, data: bytes) -> None:
    """Replaces a file and states its hash on the card, as an author would."""
    old = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    (folder / name).write_bytes(data)
    card = (folder / CARD).read_text()
    (folder / CARD).write_text(card.replace(old, hashlib.sha256(data).hexdigest()))


def change_array(name: str, key: str, change: Callable[[Any], Any]) -> Callable[[Path], None]:
    def remedy(folder: Path) -> None:
        arrays = load_file(folder / name)
        arrays[key] = np.ascontiguousarray(change(arrays[key]))
        save_file(arrays, folder / "new")
        data = (folder / "new").read_bytes()
        (folder / "new").unlink()
        rewrite(folder, name, data)

    return remedy


def change_text(name: str, old: str, new: str) -> Callable[[Path], None]:
    def remedy(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text
        changed = text.replace(old, new, 1).encode()
        rewrite(folder, name, changed)

    return remedy


def with_nan(array: Any) -> Any:
    array = array.copy()
    array.flat[0] = np.nan
    return array


BROKEN: dict[str, tuple[str, Callable[[Path], Any], str]] = {
    "no card": ("s22@1", lambda f: (f / CARD).unlink(), r"card\.toml: cannot be read"),
    "card is no TOML": ("s22@1", change_text(CARD, "name =", "name"), r"card\.toml: is not TOML"),
    "unknown field": ("s22@1", change_text(CARD, "title =", "titel ="), r"card\.toml: (title|titel)"),
    "unknown domain": ("s22@1", change_text(CARD, '"Molecules"', '"Rocks"'), r"card\.toml: domain"),
    "unknown cluster": (
        "s22@1",
        change_text(CARD, "periodic =", 'cluster_column = "trajectory"\nperiodic ='),
        r"card\.toml: cluster_column: is not as it must be: .*group\|cluster\|composition\|info:.*, not 'trajectory'",
    ),
    "no cluster field": (
        "s22@1",
        change_text(CARD, "periodic =", 'cluster_column = "info: "\nperiodic ='),
        r"card\.toml: cluster_column",
    ),
    "other unit": ("s22@1", change_text(CARD, '"eV"', '"hartree"'), r"card\.toml: units"),
    "no such default": (
        "s22@1",
        change_text(CARD, 'default_label_set = "CCSD(T)/CBS"', 'default_label_set = "PBE"'),
        r"card\.toml: default_label_set",
    ),
    "other folder": ("s22@1", lambda f: f.rename(f.with_name("s23@1")), r"card\.toml: name: the folder"),
    "periodic": ("s22@1", change_text(CARD, "periodic = false", "periodic = true"), r"card\.toml: periodic"),
    "no frames": ("s22@1", lambda f: (f / FRAMES).unlink(), r"frames\.safetensors: cannot be read"),
    "changed frames": (
        "s22@1",
        lambda f: (f / FRAMES).write_bytes((f / FRAMES).read_bytes()[:-1] + b"x"),
        r"frames\.safetensors: sha256",
    ),
    "no safetensors": ("s22@1", lambda f: rewrite(f, FRAMES, b"nothing"), r"frames\.safetensors: is not a safe"),
    "NaN positions": ("s22@1", change_array(FRAMES, "positions", with_nan), r"frames\.safetensors: positions"),
    "wrong shape": ("s22@1", change_array(FRAMES, "charge", lambda a: a[:-1]), r"frames\.safetensors: charge"),
    "wrong type": ("s22@1", change_array(FRAMES, "charge", lambda a: a * 0.5), r"frames\.safetensors: charge"),
    "index out of range": (
        "s22@1",
        change_text(TABLE, '"structure": 2', '"structure": 999'),
        r"table\.json: .*999",
    ),
    "no JSON": ("s22@1", lambda f: rewrite(f, TABLE, b"{"), r"table\.json: Invalid JSON"),
    "no reference": ("s22@1", change_text(TABLE, '"CCSD(T)/CBS"', '"PBE"'), r"table\.json: differences.*reference"),
    "two of a name": ("s22@1", change_text(TABLE, "Ammonia_dimer/A", "Ammonia_dimer/B"), r"table\.json: id"),
    "infinite coefficient": ("s22@1", change_text(TABLE, "-1.0", "1e999"), r"table\.json: differences.0.terms"),
    "label shape": (
        "wien2k-frames@2",
        change_array(LABELS, "PBE/energy", lambda a: a[:-1]),
        r"labels\.safetensors: PBE/energy: must have shape",
    ),
    "half a stress": (
        "wien2k-frames@2",
        change_array(LABELS, "PBE/stress", with_nan),
        r"labels\.safetensors: PBE/stress: a row",
    ),
    "infinite label": (
        "wien2k-frames@2",
        change_array(LABELS, "PBE/energy", lambda a: a + np.inf),
        r"labels\.safetensors: PBE/energy",
    ),
    "unknown set": (
        "wien2k-frames@2",
        lambda f: rewrite(f, LABELS, (f / LABELS).read_bytes().replace(b"PBE/energy", b"LDA/energy")),
        r"labels\.safetensors: LDA: is not a label set",
    ),
    "no labels": ("wien2k-frames@2", lambda f: (f / LABELS).unlink(), r"labels\.safetensors: cannot be read"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_dataset_is_refused_with_file_and_field(case: str, quickstart: Path, tmp_path: Path) -> None:
    name, spoil, says = BROKEN[case]
    shutil.copytree(quickstart / name, tmp_path / name)
    spoil(tmp_path / name)
    folder = next(tmp_path.iterdir())
    with pytest.raises(DatasetError, match=says) as refused:
        load_dataset(folder)
    assert str(folder) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_labels_that_cannot_be_are_refused() -> None:
    frames = Frames.from_atoms([molecule("H2O")])
    with pytest.raises(DatasetError, match="not periodic and can have no stress"):
        make_dataset(frames, Labels(stress=np.zeros((1, 6))))
    with pytest.raises(DatasetError, match="NaN everywhere"):
        make_dataset(frames, Labels(energy=np.array([np.nan])))
    made = copper()
    with pytest.raises(DatasetError, match="PBE: has neither labels nor references"):
        Dataset(made.card, made.frames, made.table, {})
    with pytest.raises(DatasetError, match=r"made-up@1/card.toml: label_sets: there is no 'LDA', but PBE"):
        made.labels("LDA")


def test_a_path_is_no_name() -> None:
    with pytest.raises(ValueError, match="name"):
        Card(name="../x", version="1", title="x", domain="Molecules", periodic=False)
