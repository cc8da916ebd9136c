"""Sums that lose atoms, impossible states and low barriers are refused whatever the importer; guesses are shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.build import molecule
from ase.io import write
from hypothesis import given
from hypothesis import strategies as st

from judge.cli.maintainer.import_report import print_summary
from tasks.datasets.card import (
    Card,
    DatasetError,
    Difference,
    LabelSet,
    MinimumEnergyPath,
    PathReference,
    Scan,
    Summand,
    Table,
)
from tasks.datasets.dataset import Dataset
from tasks.importing.checks.set_faults import balance_of, doubtful_sets, imbalance, set_faults
from tasks.importing.din import import_din
from tasks.importing.energy_sums import Sums
from tasks.importing.import_summary import summarise
from tasks.importing.ml_peg.import_layout import import_benchmark, stated_benchmarks
from tasks.importing.reaction_paths import import_reaction_paths
from tasks.importing.reactions import import_reactions
from tasks.structures.frames import Frames
from tests.tasks.importing.ml_peg.layouts import workbook

CARD = Card(
    name="sums", version="1", title="Sums", domain="Molecules", periodic=False,
    label_sets={"CC": LabelSet(theory="CC", dispersion=True)}, default_label_set="CC",
)  # fmt: skip
UNBALANCED = r"terms: the sum has -1 O atoms, not 0: correct the coefficients, or state \"unbalanced\": true"


def named(kind: str, name: str, **info: Any) -> Atoms:
    atoms: Atoms = Atoms("O") if kind == "O" else molecule(kind)
    atoms.info = {"name": name, **info}
    return atoms


def din(folder: Path, text: str, *structures: Atoms) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "set.din").write_text(text)
    write(folder / "structures.extxyz", list(structures))
    return folder


def reactions(folder: Path, rows: list[dict[str, Any]], *structures: Atoms) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "reactions.json").write_text(json.dumps({"reference_unit": "eV", "reactions": rows}))
    write(folder / "structures.extxyz", list(structures))
    return folder


def gscdb(folder: Path, stoichiometry: str, *structures: Atoms, benchmark: str = "GSCDB138_barriers") -> Path:
    head, sets = ["Dataset", "Reaction", "Stoichiometry", "Reference"], stated_benchmarks()[benchmark].sets
    workbook(folder / "Info" / "DatasetEval.xlsx", "Sheet1", [head, *([s, f"{s}_1", stoichiometry, 0.2] for s in sets)])
    (folder / "xyz_files").mkdir()
    for atoms in structures:
        write(folder / "xyz_files" / f"{atoms.info['name']}.xyz", atoms, format="extxyz")
    return folder


O2, ATOM = named("O2", "O2", multiplicity=3), named("O", "O", multiplicity=3)


def test_oxygen_that_becomes_one_atom_is_refused_by_each_importer(tmp_path: Path) -> None:
    terms = [{"structure": "O", "coefficient": 1}, {"structure": "O2", "coefficient": -1}]
    row = {"id": "split", "terms": terms, "reference": 5.1}
    with pytest.raises(DatasetError, match=rf"set\.din: differences \(O_O2\): {UNBALANCED}"):
        import_din(din(tmp_path / "din", "1\nO\n-1\nO2\n0\n118\n", O2, ATOM), CARD)
    with pytest.raises(DatasetError, match=rf"reactions\.json: differences \(split\): {UNBALANCED}"):
        import_reactions(reactions(tmp_path / "table", [row], O2, ATOM), CARD)
    with pytest.raises(
        DatasetError, match=r"BH28_1\): terms: the sum has -1 O atoms, not 0: .* \(12 such sums in all\)"
    ):
        import_benchmark("GSCDB138_barriers", gscdb(tmp_path / "peg", "1,O,-1,O2", O2, ATOM))
    meant = import_reactions(reactions(tmp_path / "meant", [row | {"unbalanced": True}], O2, ATOM), CARD)
    assert not summarise(meant).impossible
    assert not doubtful_sets(meant)


def test_total_energies_of_atoms_are_meant(tmp_path: Path) -> None:
    """AE11 and AE18 of GSCDB have sums of one atom each; in any other set such a sum is refused."""
    with pytest.raises(
        DatasetError, match=r"\(AL2X6_1\): terms: the sum has \+1 O atoms, not 0: .* \(42 such sums in all\)"
    ):
        import_benchmark("GSCDB138_thermochemistry", gscdb(tmp_path, "1,O", ATOM, benchmark="GSCDB138_thermochemistry"))


def test_a_state_that_electrons_cannot_have_is_refused_by_each_importer(tmp_path: Path) -> None:
    doublet = named("O2", "O2", multiplicity=2)
    says = r"O2: multiplicity: 2S\+1 = 2 is impossible with 16 electrons \(charge \+0\); state its own charge"
    with pytest.raises(DatasetError, match=rf"set\.din: {says}"):
        import_din(din(tmp_path / "din", "2\nO\n-1\nO2\n0\n118\n", doublet, ATOM), CARD)
    with pytest.raises(DatasetError, match=says):
        import_benchmark("GSCDB138_barriers", gscdb(tmp_path / "peg", "2,O,-1,O2", doublet, ATOM))
    terms = [{"structure": "O", "coefficient": 2}, {"structure": "O2", "coefficient": -1}]
    with pytest.raises(DatasetError, match=rf"structures\.extxyz: {says}"):
        import_reactions(
            reactions(tmp_path / "table", [{"id": "a", "terms": terms, "reference": 5.1}], doublet, ATOM), CARD
        )


def test_spin_is_2s_plus_1_and_a_guess_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "2\nO\n-1\nO2\n0\n118\n"
    stated = import_din(din(tmp_path / "spin", text, named("O2", "O2", spin=3), named("O", "O", spin=3)), CARD)
    assert stated.frames.multiplicity.tolist() == [3, 3]
    assert not stated.doubts
    guessed = import_din(din(tmp_path / "guess", text, named("O2", "O2"), named("O", "O")), CARD)
    assert guessed.frames.multiplicity.tolist() == [1, 1]
    line = (
        "O: multiplicity: 2S+1 of this molecule (and of 1 more) is not stated and taken as the lowest, 1 or 2: "
        "state it: the ground state of O (3), O2 (3) has a higher one"
    )
    summary = summarise(guessed)
    assert line in summary.doubtful
    print_summary(guessed, summary, {}, tmp_path, False)
    assert f"DOUBTFUL  {line}" in capsys.readouterr().out
    peg = import_benchmark("GSCDB138_barriers", gscdb(tmp_path / "peg", "2,O,-1,O2", named("O2", "O2"), ATOM))
    assert [line for line in peg.doubts if line.startswith("O2: multiplicity: 2S+1 of this molecule is not stated")]
    water = import_din(din(tmp_path / "water", "1\na\n-1\nb\n0\n1\n", named("H2O", "a"), named("H2O", "b")), CARD)
    assert water.doubts == (
        "a: multiplicity: 2S+1 of this molecule (and of 1 more) is not stated and taken as the lowest, 1 or 2: "
        "state it where it is higher",
    )


def test_a_molecule_of_any_set_without_2s_plus_1_is_shown() -> None:
    frames = Frames.from_atoms([molecule("H2O"), Atoms("Cu", cell=[3.0] * 3, pbc=True), molecule("O2")])
    card = Card(name="s", version="1", title="S", domain="Molecules", periodic=False)
    names = ("water", "crystal", "oxygen")
    dataset = Dataset(card, frames, Table(id=names, group=("",) * 3, cluster=names), {})
    (line,) = [line for line in summarise(dataset).doubtful if "2S+1" in line]
    assert line.startswith("water: multiplicity: 2S+1 of this molecule (and of 1 more) is not stated")


def test_profiles_and_paths_keep_their_atoms_and_charge() -> None:
    water, ion, other = named("H2O", "a"), named("H2O", "b", charge=2), named("H2", "c")
    for atoms in (water, ion, other):
        atoms.info |= {"spin": 1}
    names = ("a", "b", "c")
    scans = [Scan(id=f"a{k}", structures=(0, k), x=(0, 1), reference={"CC": (0.0, 1.0)}) for k in (1, 2)]
    paths = [MinimumEnergyPath(id="p", path=0, reference={"CC": PathReference(barrier=1.0)})]
    columns = {"id": names, "group": ("",) * 3, "cluster": names}
    frames = Frames.from_atoms([water, ion, other])
    line = "has other atoms or another charge than a: give all of them one composition and charge"
    for scan, name in zip(scans, "bc", strict=True):
        dataset = Dataset(CARD, frames, Table(**columns, scans=(scan,)), {})
        assert summarise(dataset).impossible == (f"scans ({scan.id}): {name}: {line}",)
    conditions = {"path": np.zeros(3, np.int64), "role": np.array([0, 1, 2])}
    dataset = Dataset(CARD, frames, Table(**columns, paths=tuple(paths)), {}, conditions)
    assert f"paths (p): b: {line}" in set_faults(dataset)


def test_charges_that_change_and_bare_protons_are_shown() -> None:
    """Ionisation, proton affinity, and H to H+, of which only the atom is in the sum."""
    sums = Sums("eV")
    sums.structure("OH", molecule("OH"), 0, 2)
    sums.structure("OH-", molecule("OH"), -1, 1)
    sums.structure("H2O", molecule("H2O"), 0, 1)
    sums.structure("H", Atoms("H"), 0, 2)
    sums.add("affinity", {"OH": 1, "OH-": -1}, 1.8)
    sums.add("proton", {"OH-": 1, "H2O": -1}, 17.0)
    sums.add("hydrogen", {"H": -1}, 13.6)
    dataset = sums.dataset(CARD)
    balances = [balance_of(row, dataset.frames) for row in dataset.table.differences]
    assert balances == [({}, 1.0, False), ({1: -1.0}, -1.0, True), ({1: -1.0}, 0.0, True)]
    assert doubtful_sets(dataset) == [
        "differences (proton): terms: the sum has -1 H atoms and -1 e (2 such sums in all): right for bare protons, "
        "whose energy is 0; else correct atoms or charges",
        "differences (affinity): terms: the charge changes by +1 e: right for an ionisation or an electron affinity; "
        "else state the charge of each structure",
    ]
    sums.add("lost", {"OH": 1, "H2O": -1}, 5.0)
    with pytest.raises(DatasetError, match=r"sums: differences \(lost\): terms: the sum has -1 H atoms, not 0"):
        sums.dataset(CARD)


def test_one_name_is_one_structure_and_one_state() -> None:
    sums = Sums()
    assert sums.structure("a", molecule("O2"), 0, 3) == sums.structure("a", molecule("O2"), 0, 3)
    for other in ((molecule("O2"), 0, 1), (molecule("O2"), -2, 3), (molecule("H2"), 0, 3)):
        with pytest.raises(DatasetError, match=r"^a: is there twice, with other atoms or another state: give each"):
            sums.structure("a", *other)


def test_only_a_molecule_has_a_guessed_2s_plus_1() -> None:
    """As models are asked: the state of a crystal or slab is not stated."""
    sums = Sums()
    for name, pbc in (("molecule", False), ("slab", (True, True, False)), ("crystal", True)):
        sums.structure(name, Atoms("Cu", cell=[4.0, 4.0, 20.0], pbc=pbc))
    assert [atoms.info["spin"] for atoms in sums.structures.values()] == [2, 0, 0]
    assert sums.guessed == ["molecule"]


def test_alternatives_have_the_atoms_and_the_charge_of_their_structure() -> None:
    sums = Sums("eV")
    for name, charge in (("a", 0), ("b", 0), ("c", 2)):
        sums.structure(name, molecule("H2O"), charge, 1)
    sums.add("fine", {"a": 1, "b": -1}, 0.1, alternatives={"a": ["b"]})
    assert sums.dataset(CARD).table.n_items == 1
    sums.add("wrong", {"a": 1, "b": -1}, 0.1, alternatives={"a": ["c"]})
    with pytest.raises(DatasetError, match=r"\(wrong\): terms: alternatives: must have the atoms and charge"):
        sums.dataset(CARD)


@given(counts=st.lists(st.integers(1, 6), min_size=1, max_size=5), share=st.integers(1, 9), lost=st.integers(1, 3))
def test_a_cell_balances_its_own_atoms_and_no_others(counts: list[int], share: int, lost: int) -> None:
    """Any cell against a supercell of `share` of it, whose coefficient is rounded; then with atoms missing."""
    cell = Atoms(np.repeat([1, 6, 7, 8, 29][: len(counts)], counts), np.arange(3 * sum(counts)).reshape(-1, 3))
    large = sum([cell] * share, Atoms())
    frames = Frames.from_atoms([cell, large, large + Atoms("Au")])
    one = Summand(structure=0, coefficient=float(lost))
    balanced = Difference(id="a", terms=(one, Summand(structure=1, coefficient=-lost / share)), reference={})
    gold = Difference(id="a", terms=(one, Summand(structure=2, coefficient=-lost / share)), reference={})
    assert imbalance(balanced, frames) is None
    assert imbalance(gold, frames) == f"{-lost / share:+.6g} Au atoms"


ENDS = [named("H2O", "left", multiplicity=1), named("H2O", "right", multiplicity=1)]
ENDS[1].positions[1] += 0.5


def path_table(folder: Path, **reference: float) -> Path:
    folder.mkdir()
    write(folder / "structures.extxyz", ENDS)
    path = {"id": "shift", "reactant": "left", "product": "right", "reference": reference}
    (folder / "paths.json").write_text(json.dumps({"reference_unit": "eV", "paths": [path]}))
    return folder


@pytest.mark.parametrize(
    ("barrier", "energy", "end"),
    [(-0.2, -0.5, "of the reactant, 0"), (0.3, 0.5, "of the product, 0.5")],
)
def test_a_path_has_no_barrier_below_its_ends(barrier: float, energy: float, end: str, tmp_path: Path) -> None:
    line = f"shift: barrier of CC: {barrier:.4g} eV is below the energy {end} eV: a path has none below max"
    with pytest.raises(DatasetError, match=r"paths\.json: shift: barrier") as refused:
        import_reaction_paths(path_table(tmp_path / "a", barrier=barrier, reaction_energy=energy), CARD)
    assert line in str(refused.value)


def test_barriers_at_an_end_are_possible_and_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dataset = import_reaction_paths(path_table(tmp_path / "a", barrier=0.5, reaction_energy=0.5), CARD)
    import_reaction_paths(path_table(tmp_path / "b", barrier=0.0, reaction_energy=-0.5), CARD)
    print_summary(dataset, summarise(dataset), {}, tmp_path, False)
    shown = capsys.readouterr().out
    assert "reference of CC: barrier of a path [eV]: 0.5 to 0.5, median 0.5" in shown
    assert "reference of CC: reaction energy of a path [eV]: 0.5 to 0.5, median 0.5" in shown


def barriers(folder: Path, start: list[dict[str, Any]], barrier: float, energy: float) -> Path:
    """O3 from `start`, by an O3 as transition state, to another O3."""
    middle, product = named("H2O", "ts", multiplicity=1), named("H2O", "product", multiplicity=1)
    structures = [middle, product, named("H2O", "start", multiplicity=1), named("H2", "H2", multiplicity=1), ATOM]
    rows = [
        {"id": f"a {what}", "quantity": what, "cluster": "a", "reference": value,
         "terms": [{"structure": end, "coefficient": 1}, *start]}
        for what, end, value in (("barrier", "ts", barrier), ("reaction energy", "product", energy))
    ]  # fmt: skip
    return reactions(folder, rows, *structures)


ONE_PART = [{"structure": "start", "coefficient": -1}]
TWO_PARTS = [{"structure": "H2", "coefficient": -1}, {"structure": "O", "coefficient": -1}]


def test_barriers_of_sums_belong_to_the_reaction_energy_of_their_reactants(tmp_path: Path) -> None:
    with pytest.raises(
        DatasetError, match=r"a barrier: barrier of CC: 0\.3 eV is below the energy of the product, 0\.5"
    ):
        import_reactions(barriers(tmp_path / "low", ONE_PART, 0.3, 0.5), CARD)
    with pytest.raises(
        DatasetError, match=r"a barrier: barrier of CC: -0\.1 eV is below the energy of the reactant, 0"
    ):
        import_reactions(barriers(tmp_path / "negative", ONE_PART, -0.1, -0.5), CARD)
    assert not doubtful_sets(import_reactions(barriers(tmp_path / "fine", ONE_PART, 0.6, 0.5), CARD))
    separate = import_reactions(barriers(tmp_path / "separate", TWO_PARTS, -0.1, -2.0), CARD)
    assert doubtful_sets(separate) == [
        "a barrier: barrier of CC: -0.1 eV is below the energy of the reactant, 0 eV: right if a complex lies before "
        "it; else correct the sign or quantity"
    ]
