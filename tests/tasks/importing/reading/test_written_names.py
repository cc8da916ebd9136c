"""Names, groups and clusters of extended XYZ: texts as they are written, however much they look like numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ase.io.extxyz import key_val_str_to_dict
from hypothesis import given
from hypothesis import strategies as st

from tasks.importing.acwf import read_crystals
from tasks.importing.importers import read_atoms, read_structures
from tasks.importing.reaction_paths import import_reaction_paths
from tasks.importing.reactions import import_reactions
from tasks.importing.reading.comment_lines import comment_fields
from tests.tasks.importing.labelled_structures import CARD, xyz

# What ASE makes a number, a truth value, an array or JSON of.
NAMES = ["01", "1", "1E10", "6E50", "2e-3", "5e-1", "4_2", "0x1F", "T", "F", "True", "061", "1,2", "nan", "inf", "-0"]
QUOTED = {
    '"01"': "01",
    "'1E10'": "1E10",
    '"7 8"': "7 8",
    "{02}": "02",
    "[3]": "3",
    r"4\ 5": "4 5",
    '"_JSON [1]"': "_JSON [1]",
}
# With `note=[1,2]` the frame is read by ASE, without it among many at once.
FORMS = ("energy=1.0", "energy=1.0 note=[1,2]")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("format", ["extxyz", None])
def test_names_groups_and_clusters_stay_as_they_are_written(form: str, format: str | None, tmp_path: Path) -> None:
    path = tmp_path / "names.xyz"
    stated = {name: name for name in NAMES} | QUOTED
    path.write_text("".join(xyz(info=f"{form} name={text} group={text} run=a") for text in stated))
    read = read_structures(path, format=format)
    assert read.group == tuple(stated.values())
    assert [name.partition(" #")[0] for name in read.id] == list(stated.values())
    assert [atoms.info["name"] for atoms in read_atoms(path, format)] == list(stated.values())


@pytest.mark.parametrize("form", FORMS)
def test_01_and_1_are_two_clusters(form: str, tmp_path: Path) -> None:
    path = tmp_path / "clusters.extxyz"
    names = [name for name in NAMES if name != "nan"]
    path.write_text("".join(xyz(info=f"{form} run={name}") for name in names))
    assert read_structures(path, format="extxyz", cluster_field="run").cluster == tuple(names)


def test_reactions_refer_to_the_names_of_structures(tmp_path: Path) -> None:
    names = ("01", "1E10", "T")
    (tmp_path / "structures.extxyz").write_text("".join(xyz(info=f"name={name} multiplicity=2") for name in names))
    terms = [{"structure": name, "coefficient": c} for name, c in zip(names, (1, 1, -2), strict=True)]
    table = {"reference_unit": "eV", "reactions": [{"id": "00", "terms": terms, "reference": 0.5}]}
    (tmp_path / "reactions.json").write_text(json.dumps(table))
    dataset = import_reactions(tmp_path, CARD)
    assert dataset.table.id == names
    assert [term.structure for term in dataset.table.differences[0].terms] == [0, 1, 2]


def test_crystals_and_paths_have_their_names_as_well(tmp_path: Path) -> None:
    lattice = 'Lattice="3 0 0 0 3 0 0 0 3"'
    (tmp_path / "all.extxyz").write_text(
        "".join(xyz(info=f"name={n} {lattice}", pbc="T T T") for n in ("01", "1", "1E10"))
    )
    assert set(read_crystals(tmp_path)) == {"01", "1", "1e10"}
    folder = tmp_path / "paths"
    folder.mkdir()
    frames = [xyz(z=str(z), info=f"name={n} multiplicity=2") for z, n in ((0, "1E1"), (1, "1E2"))]
    (folder / "structures.extxyz").write_text("".join(frames))
    path = {"id": "p", "reactant": "1E1", "product": "1E2", "reference": {"barrier": 1.0}}
    (folder / "paths.json").write_text(json.dumps({"reference_unit": "eV", "paths": [path]}))
    assert import_reaction_paths(folder, CARD).table.paths[0].id == "p"


WORDS = st.text(alphabet="ab=\"'{}[]\\ 1_,.T-", max_size=12)


@given(line=st.lists(WORDS, max_size=5).map(" ".join))
def test_the_fields_are_those_of_ase(line: str) -> None:
    """The same keys; and texts that ASE does not take for numbers or truth values are the same."""
    try:
        by_ase = key_val_str_to_dict(line)
    except Exception:  # noqa: BLE001 of lines that ASE cannot take apart
        return
    ours = {field.key: field.value for field in comment_fields(line)}
    assert {key for key in by_ase if key} == {key for key in ours if key}
    for key, value in by_ase.items():
        if key and isinstance(value, str):
            assert ours[key] == value
