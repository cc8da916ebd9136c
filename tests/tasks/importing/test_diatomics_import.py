"""The published file of diatomics: what is read, and one line for each mistake."""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tasks.datasets.card import Card, DatasetError, LabelSet
from tasks.datasets.dataset import load_dataset, save_dataset
from tasks.importing.diatomics import import_diatomics
from tasks.importing.import_summary import summarise

R = np.geomspace(0.5, 6.0, 30)


def card(*label_sets: str) -> Card:
    return Card(
        name="pairs",
        version="1",
        title="Pairs",
        domain="Inorganic Materials",
        periodic=False,
        label_sets={name: LabelSet(theory=name, dispersion=False) for name in label_sets},
        default_label_set=label_sets[0] if label_sets else None,
    )


def curve(depth: float = 5.0, bond: float = 1.25) -> dict[str, Any]:
    """A Morse curve as published: forces of both atoms, and fields that are not read."""
    decay = np.exp(-2.0 * (R - bond))
    force = -4.0 * depth * (1 - decay) * decay
    forces = np.zeros((len(R), 2, 3))
    forces[:, 0, 0], forces[:, 1, 0] = -force, force
    return {
        "distances": R.tolist(),
        "energies": (depth * (1 - decay) ** 2).tolist(),
        "forces": forces.tolist(),
        "magmoms": [[0.2, 0.2]] * len(R),
        "spin_candidates": ["2"] * len(R),
    }


FILE: dict[str, Any] = {
    "PBE": {"O-O": curve(), "H-H": curve(4.5, 0.75), "O-H": {}, "Po-Po": curve(), "W-W": curve(7.0, 2.0)},
    "r2SCAN": {"O-O": curve(5.3), "H-H": curve(4.6, 0.74), "C-H": curve(3.5, 1.1)},
}


def written(folder: Path, content: Any = FILE) -> Path:
    path = folder / "diatomics.json"
    path.write_text(json.dumps(content))
    return path


def test_pairs_become_structures_at_119_distances_and_references_by_label_set(tmp_path: Path) -> None:
    dataset = import_diatomics(written(tmp_path), card("PBE", "r2SCAN"))
    assert [pair.id for pair in dataset.table.pairs] == ["H-H", "H-C", "H-O", "O-O", "W-W"]
    assert [pair.group for pair in dataset.table.pairs] == ["s block", *["two elements"] * 2, "p block", "d block"]
    assert [sorted(pair.reference) for pair in dataset.table.pairs] == [
        ["PBE", "r2SCAN"],
        ["r2SCAN"],
        [],
        ["PBE", "r2SCAN"],
        ["PBE"],
    ]
    assert len(dataset.frames) == 5 * 119
    oxygen = dataset.table.pairs[3]
    first, last = (dataset.frames.atoms(oxygen.structures[i]) for i in (0, -1))
    assert first.get_chemical_formula() == "O2"
    assert (first.get_distance(0, 1), last.get_distance(0, 1)) == (pytest.approx(0.1), pytest.approx(6.0))
    assert last.cell.lengths().tolist() == [50.0] * 3
    assert last.pbc.all()
    stated = FILE["PBE"]["O-O"]
    assert oxygen.reference["PBE"].energies == tuple(stated["energies"])
    assert oxygen.reference["PBE"].forces == tuple(np.array(stated["forces"])[:, 1, 0])
    assert dataset.card.periodic


def test_the_data_set_is_kept_and_nothing_in_it_looks_impossible(tmp_path: Path) -> None:
    saved = save_dataset(import_diatomics(written(tmp_path), card("PBE")), tmp_path / "data")
    dataset = load_dataset(saved)
    assert [sorted(pair.reference) for pair in dataset.table.pairs] == [["PBE"], [], ["PBE"], ["PBE"]]
    summary = summarise(dataset)
    assert (summary.impossible, summary.doubtful) == ((), ())
    assert summary.references["PBE: depth of a pair [eV]"].high == pytest.approx(7.0, rel=1e-2)


def test_a_gzipped_file_and_forces_that_are_missing_are_read(tmp_path: Path) -> None:
    path = tmp_path / "diatomics.json.gz"
    path.write_bytes(gzip.compress(json.dumps({"PBE": {"O-O": curve() | {"forces": []}}}).encode()))
    (pair,) = import_diatomics(path, card("PBE")).table.pairs
    assert pair.reference["PBE"].forces == ()


def changed(**fields: Any) -> Callable[[dict[str, Any]], None]:
    """The curve of oxygen with these fields."""
    return lambda content: content["PBE"]["O-O"].update(fields)


def scaled(field: str, factor: float) -> Callable[[dict[str, Any]], None]:
    """All curves of PBE with a field in another unit."""

    def scale(content: dict[str, Any]) -> None:
        for pair in content["PBE"].values():
            if pair:
                pair[field] = (factor * np.array(pair[field])).tolist()

    return scale


def across(content: dict[str, Any]) -> None:
    for point in content["PBE"]["O-O"]["forces"]:
        point[0][1] = 0.5


def pushed(content: dict[str, Any]) -> None:
    for point in content["PBE"]["O-O"]["forces"]:
        point[0][0] += 0.5


def renamed(name: str) -> Callable[[dict[str, Any]], None]:
    return lambda content: content["PBE"].update({name: curve()})


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda content: content.pop("PBE"), "PBE: is not in it: it has r2SCAN"),
        (lambda content: content.update(PBE=[]), "PBE: must have an entry for each pair, such as O-O"),
        (renamed("Xx-Xx"), "PBE: Xx-Xx: must be two elements joined by a dash, such as O-O"),
        (renamed("O2"), "PBE: O2: must be two elements joined by a dash, such as O-O"),
        (renamed("H-O"), "PBE: H-O: the pair is there twice"),
        (changed(energies=curve()["energies"][:-1]), "energies has 29 entries for 30 distances"),
        (changed(distances=curve()["distances"][::-1]), "distances must increase"),
        (changed(distances=[0.0, *R[1:].tolist()]), "PBE: O-O: distances.0: must be greater than 0"),
        (changed(energies=[None, *[1.0] * 29]), "PBE: O-O: energies.0: must be a number"),
        (changed(energies=[float("nan"), *[1.0] * 29]), "PBE: O-O: energies.0: must be finite"),
        (changed(distances=[1.0, 2.0], energies=[1.0, 0.0], forces=[]), "at least 5"),
        (changed(forces=curve()["forces"][:-1]), "forces has 29 entries for 30 distances"),
        (changed(forces=[[[1.0, 0.0, 0.0]]] * 30), "forces: must be three components of two atoms at each distance"),
        (
            changed(forces=[*curve()["forces"][:-1], [[0.0, 0.0, 0.0]]]),
            "forces: must be three components of two atoms at each distance",
        ),
        (across, "PBE: O-O: forces: of 0.5 eV/Å across x: the atoms must lie along x"),
        (pushed, r"PBE: O-O: forces: of both atoms add up to 0.5 eV/Å: are they of two atoms alone\?"),
        (scaled("forces", -1.0), "PBE: forces: have the sign of gradients: forces drive the second atom to larger x"),
        (scaled("energies", 1 / 27.2114), r"PBE: forces: are 27.* times −dE/dr: hartree, kcal/mol or bohr taken"),
        (scaled("distances", 1.8897), r"PBE: forces: are 1\.9.* times −dE/dr: hartree, kcal/mol or bohr taken"),
    ],
)
def test_a_mistake_is_one_line_with_file_level_pair_and_field(
    mistake: Callable[[dict[str, Any]], None], message: str, tmp_path: Path
) -> None:
    content = copy.deepcopy(FILE)
    mistake(content)
    with pytest.raises(DatasetError, match=message) as refused:
        import_diatomics(written(tmp_path, content), card("PBE"))
    assert str(refused.value).startswith(f"{tmp_path / 'diatomics.json'}: ")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "is no JSON: Expecting property name"),
        (b"\x1f\x8b\x00", "is incomplete or damaged: fetch it again"),
        (b"[]", "must have an entry for each level of theory, such as PBE"),
        (b"{}", "PBE: is not in it: it has nothing"),
        (b'{"PBE": {"Po-Po": {}}}', "has no pair with known elements"),
    ],
)
def test_what_is_no_such_file_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "diatomics.json"
    with pytest.raises(DatasetError, match=r"diatomics.json: is not there"):
        import_diatomics(path, card("PBE"))
    path.write_bytes(content)
    with pytest.raises(DatasetError, match=message):
        import_diatomics(path, card("PBE"))


@pytest.mark.data
def test_the_file_of_matbench_discovery(reference_data: Path) -> None:
    path = reference_data / "diatomics" / "diatomics-dft.json.gz"
    dataset = import_diatomics(path, card("PBE", "r2SCAN"))
    pairs = dataset.table.pairs
    assert len(pairs) == 87
    assert {*(pair.id for pair in pairs)}.isdisjoint({"Po-Po", "At-At", "Rn-Rn", "Fr-Fr", "Ra-Ra"})
    assert all(sorted(pair.reference) == ["PBE", "r2SCAN"] for pair in pairs)
    blocks = {name: sum(pair.group == f"{name} block" for pair in pairs) for name in "spdf"}
    assert blocks == {"s": 12, "p": 27, "d": 30, "f": 18}
    summary = summarise(dataset)
    assert (summary.impossible, summary.doubtful) == ((), ())
