"""The published layout of thermal conductivities: what is read, and one line for each mistake."""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from ase.io import write

from tasks.datasets.card import Card, DatasetError, LabelSet
from tasks.datasets.dataset import load_dataset, save_dataset
from tasks.importing.conductivities import REFERENCES, STRUCTURES, import_conductivities

FACE_CENTRED = np.array([[0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
WEIGHTS = [1, 8, 6, 12]
CARD = Card(
    name="heat",
    version="1",
    title="Heat",
    domain="Inorganic Materials",
    periodic=True,
    label_sets={"PBE": LabelSet(theory="PBE", dispersion=False)},
    default_label_set="PBE",
)


def cell(mp_id: str, name: str, number: int, atoms: Atoms) -> Atoms:
    atoms.info = {
        "mp_id": mp_id,
        "name": name,
        "symm.no": number,
        "fc2_supercell": 2 * np.eye(3, dtype=int),
        "fc3_supercell": np.eye(3, dtype=int),
        "primitive_matrix": FACE_CENTRED,
        "q_mesh": np.array([3, 3, 3]),
    }
    return atoms


def cells() -> list[Atoms]:
    salt = cell("mp-1", "NaCl", 225, bulk("NaCl", "rocksalt", a=5.6, cubic=True))
    blende = cell("mp-2", "ZnS", 216, bulk("ZnS", "zincblende", a=5.4, cubic=True))
    del blende.info["primitive_matrix"]  # it follows from the centring
    return [salt, blende]


def columns() -> dict[str, Any]:
    modes = [[float(weight)] * 6 for weight in WEIGHTS]
    rows = {"3": "mp-2", "7": "mp-1"}
    return {
        "mp_id": dict(rows),
        "name": dict.fromkeys(rows, "anything"),
        "temperatures": {row: [300.0] for row in rows},
        "q_mesh": {row: [3, 3, 3] for row in rows},
        "weights": {row: list(WEIGHTS) for row in rows},
        "kappa_TOT_ave": {row: [6.0] for row in rows},
        "mode_kappa_TOT_ave": {row: [copy.deepcopy(modes)] for row in rows},
    }


def written(folder: Path, structures: list[Atoms] | None = None, references: Any = None) -> Path:
    write(folder / STRUCTURES, cells() if structures is None else structures, format="extxyz")
    content = json.dumps(columns() if references is None else references).encode()
    (folder / REFERENCES[0]).write_bytes(gzip.compress(content))
    return folder


def test_crystals_have_supercells_meshes_and_references_by_mode(tmp_path: Path) -> None:
    dataset = import_conductivities(written(tmp_path), CARD)
    assert [(item.id, item.group, item.cluster) for item in dataset.table.conductivities] == [
        ("mp-1", "rock salt", "NaCl"),
        ("mp-2", "zinc blende", "ZnS"),
    ]
    assert dataset.card.settings == {"temperature_k": 300.0}
    conditions = dataset.conditions
    assert np.array_equal(conditions["supercell"], [2 * np.eye(3)] * 2)
    assert np.array_equal(conditions["third_order_supercell"], [np.eye(3)] * 2)
    assert conditions["primitive"][0] == pytest.approx(FACE_CENTRED)
    assert np.abs(np.linalg.det(conditions["primitive"])) == pytest.approx(0.25)
    assert conditions["q_mesh"].tolist() == [[3, 3, 3]] * 2
    reference = dataset.table.conductivities[0].reference["PBE"]
    assert (reference.kappa, reference.weights, reference.modes[1]) == (6.0, (1, 8, 6, 12), (8.0,) * 6)
    save_dataset(dataset, tmp_path / "data")
    assert load_dataset(tmp_path / "data" / "heat@1").table == dataset.table


def test_a_file_that_is_not_compressed_is_read_too(tmp_path: Path) -> None:
    folder = written(tmp_path)
    content = gzip.decompress((folder / REFERENCES[0]).read_bytes())
    (folder / REFERENCES[0]).unlink()
    (folder / REFERENCES[1]).write_bytes(content)
    assert len(import_conductivities(folder, CARD).frames) == 2


def test_the_published_files_are_read(reference_data: Path) -> None:
    dataset = import_conductivities(reference_data / "kappa103", CARD)
    groups = [item.group for item in dataset.table.conductivities]
    assert {group: groups.count(group) for group in set(groups)} == {"rock salt": 17, "zinc blende": 13, "wurtzite": 7}
    assert len({item.cluster for item in dataset.table.conductivities}) < len(groups)


def dropped(column: str) -> Callable[[list[Atoms], Any], None]:
    return lambda _, references: references.pop(column)


def stated(column: str, value: Any) -> Callable[[list[Atoms], Any], None]:
    return lambda _, references: references[column].update({"7": value})


def info(name: str, value: Any) -> Callable[[list[Atoms], Any], None]:
    return lambda structures, _: structures[0].info.update({name: value})


S, R = STRUCTURES, REFERENCES[0]
SHORT = [[[1.0] * 6, [8.0] * 6, [6.0] * 6]]
FEW_BANDS = [[[2.0 * weight] * 3 for weight in WEIGHTS]]
MISTAKES: list[tuple[Callable[[list[Atoms], Any], Any], str]] = [
    (dropped("weights"), f"{R}: weights: is missing: a column of values by row"),
    (lambda _, r: r["weights"].pop("7"), f"{R}: mp-1: weights: is missing"),
    (stated("mp_id", "mp-2"), f"{R}: mp-2: is there twice"),
    (stated("mp_id", "mp-9"), f"{R}: mp-1: is missing, which has a structure"),
    (lambda s, _: s.pop(0), f"{S}: mp-1: is missing, which has a reference"),
    (stated("temperatures", [500.0]), f"{R}: mp-1: temperatures: is 500 K, but that of mp-2 is 300 K"),
    (stated("q_mesh", [5, 5, 5]), f"{R}: mp-1: q_mesh: is (5, 5, 5), but the structure states (3, 3, 3)"),
    (stated("weights", [1, 8, 6, 11]), f"{R}: mp-1: weights: add up to 26, but the mesh has 27 wave vectors"),
    (stated("mode_kappa_TOT_ave", FEW_BANDS), f"{R}: mp-1: mode_kappa_TOT_ave: must have 6 bands, three an atom"),
    (stated("mode_kappa_TOT_ave", SHORT), f"{R}: mp-1: modes has 3 rows for 4 weights"),
    (stated("kappa_TOT_ave", [7.0]), f"{R}: mp-1: modes: their sum over that of the weights is 6, not kappa, 7"),
    (stated("kappa_TOT_ave", [-6.0]), f"{R}: mp-1: kappa: "),
    (stated("kappa_TOT_ave", "6"), f"{R}: mp-1: kappa_TOT_ave: "),
    (info("symm.no", 216), f"{S}: mp-1: symm.no: is 216, but the structure has Fm-3m (225)"),
    (info("fc3_supercell", np.zeros((3, 3), int)), f"{S}: mp-1: fc3_supercell: has no volume"),
    (info("primitive_matrix", np.eye(3) * 0.3), f"{S}: mp-1: primitive_matrix: leaves 0.216 of 8 atoms"),
    (info("q_mesh", np.array([3, 3])), f"{S}: mp-1: q_mesh"),
    (lambda s, _: s[0].info.pop("name"), f"{S}: mp-1: name: is missing"),
    (lambda s, _: s.append(s[0]), f"{S}: mp-1: is there twice"),
    (lambda s, _: s[0].set_pbc((True, True, False)), f"{S}: mp-1: pbc: is no crystal"),
]


@pytest.mark.parametrize(("mistake", "line"), MISTAKES, ids=[line for _, line in MISTAKES])
def test_a_mistake_is_one_line_that_names_it(
    tmp_path: Path, mistake: Callable[[list[Atoms], Any], Any], line: str
) -> None:
    structures, references = cells(), columns()
    mistake(structures, references)
    with pytest.raises(DatasetError) as caught:
        import_conductivities(written(tmp_path, structures, references), CARD)
    assert str(caught.value).startswith(f"{tmp_path}/{line}")
    assert "\n" not in str(caught.value)


def test_what_is_no_json_and_what_is_not_there(tmp_path: Path) -> None:
    folder = written(tmp_path)
    (folder / R).write_bytes(b"{")
    with pytest.raises(DatasetError, match=f"{R}: is incomplete or damaged: fetch it again"):
        import_conductivities(folder, CARD)
    (folder / R).unlink()
    with pytest.raises(DatasetError, match=f"{R}: is not there"):
        import_conductivities(folder, CARD)
    (folder / S).unlink()
    with pytest.raises(DatasetError, match=f"{S}: is not there"):
        import_conductivities(folder, CARD)
