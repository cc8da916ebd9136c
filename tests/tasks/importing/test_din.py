"""DIN files: blocks, names, structures in one file or one each, and X23 as its authors publish it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from ase.build import molecule
from ase.io import write

from tasks.datasets.card import Card, DatasetError, LabelSet
from tasks.importing.din import import_din
from tasks.importing.reactions import import_reactions
from tasks.structures.units import ENERGY_UNITS

KCAL = ENERGY_UNITS["kcal/mol"]
CARD = Card(
    name="din", version="1", title="DIN", domain="Molecules", periodic=False,
    label_sets={"CC": LabelSet(theory="CC", dispersion=True)}, default_label_set="CC",
)  # fmt: skip
TEXT = "# a set\n#@ fieldasrxn 1\n3\na\n-1.5\nb\n0\n20.34\n\n1\nb\n-2\na\n0\n-2.5\n2\na\n-1\nb\n0\n1\n"


def folder_with(folder: Path, text: str) -> Path:
    (folder / "set.din").write_text(text)
    for name, kind, state in (("a", "O", "0 3"), ("b", "O2", "0 3")):
        write(folder / f"{name}.xyz", molecule(kind), comment=state, format="xyz")
    return folder


def test_blocks_by_hand(tmp_path: Path) -> None:
    dataset = import_din(folder_with(tmp_path, TEXT), CARD)
    names = dataset.table.id
    items = {
        row.id: ({names[t.structure]: t.coefficient for t in row.terms}, row.reference["CC"] / KCAL)
        for row in dataset.table.differences
    }
    assert items == {
        "a": ({"a": 3.0, "b": -1.5}, pytest.approx(20.34)),
        "b": ({"b": 1.0, "a": -2.0}, pytest.approx(-2.5)),
        "a #2": ({"a": 2.0, "b": -1.0}, pytest.approx(1.0)),
    }
    assert dataset.frames.multiplicity.tolist() == [3, 3]
    assert not dataset.doubts
    last = import_din(folder_with(tmp_path, TEXT.replace("fieldasrxn 1", "fieldasrxn -1")), CARD)
    assert [row.id for row in last.table.differences] == ["b", "a", "b #2"]
    every = import_din(folder_with(tmp_path, TEXT.replace("#@ fieldasrxn 1\n", "")), CARD)
    assert [row.id for row in every.table.differences] == ["a_b", "b_a", "a_b #2"]


@pytest.mark.data
def test_x23_is_that_of_its_reactions(reference_data: Path, tmp_path: Path) -> None:
    source = reference_data / "x23"
    lines = ["#@ fieldasrxn 1"]
    for row in json.loads((source / "reactions.json").read_text())["reactions"]:
        for term in row["terms"]:
            lines += [str(term["coefficient"]), term["structure"]]
        lines += ["0", str(row["reference_kcal_per_mol"])]
    shutil.copy(source / "structures.extxyz", tmp_path)
    (tmp_path / "x23.din").write_text("\n".join(lines) + "\n")
    ours, theirs = import_din(tmp_path, CARD), import_reactions(source, CARD)
    by_id = {row.id: row for row in theirs.table.differences}
    assert len(ours.table.differences) == 23
    for row in ours.table.differences:
        assert row.reference == by_id[row.id].reference
        named = {ours.table.id[t.structure]: t.coefficient for t in row.terms}
        assert named == {theirs.table.id[t.structure]: t.coefficient for t in by_id[row.id].terms}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1\na\n", "the last item has no line 0"),
        ("1\n", "line 1: the file ends after a coefficient"),
        ("0\n5\n", "line 1: ends an item without structures"),
        ("x\na\n0\n5\n", "line 1: 'x' is no number"),
        ("1\na\n0\nx\n", "line 4: 'x' is no number"),
        ("1\nc\n0\n5\n", "line 3: c: neither structures.extxyz nor c.xyz"),
        ("#@ fieldasrxn x\n1\na\n0\n5\n", "fieldasrxn: 'x' is no whole number"),
        ("# nothing\n", "din: has no items"),
    ],
)
def test_what_is_wrong_gets_one_line(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(DatasetError) as caught:
        import_din(folder_with(tmp_path, text), CARD)
    assert says in str(caught.value)
