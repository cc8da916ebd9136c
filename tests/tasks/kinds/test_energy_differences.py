"""Energy differences of whole imports: published errors of published energies, and energies of ASE by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase import Atoms, units
from ase.build import bulk, fcc111, molecule, stack
from ase.calculators.emt import EMT
from ase.data import dbh24, s22
from ase.io import write

from tasks.datasets.card import Card, LabelSet
from tasks.datasets.dataset import load_dataset, save_dataset
from tasks.importing.reactions import import_reactions
from tasks.kinds.energy_differences import EnergyDifferences, EnergyDifferencesParameters
from tasks.metrics.measurement import Measurement
from tasks.model.calculator import InProcessCalculator
from tasks.structures.predictions import Cause
from tests.tasks.made_up import Tabulated, observed, structure_key

KIND, NOTHING = EnergyDifferences(), EnergyDifferencesParameters()
KCAL = units.kcal / units.mol
CC = {"CCSD(T)/CBS": LabelSet(theory="CCSD(T) at the complete basis set limit", dispersion=True)}


@pytest.mark.data
@pytest.mark.parametrize("name", ["A24", "BH28", "BH46", "MCONF", "S66", "TAUT15"])
def test_published_energies_have_their_published_errors(
    name: str, reference_data: Path, tmp_path: Path, run: Any
) -> None:
    """The whole path: import, save, load, observe a lookup calculator, measure. Four decimals in kcal/mol."""
    folder = reference_data / "gscdb" / name
    card = Card(
        name=name.lower(), version="1", title=name, domain="Molecules", periodic=False,
        label_sets=CC, default_label_set="CCSD(T)/CBS",
    )  # fmt: skip
    dataset = load_dataset(save_dataset(import_reactions(folder, card), tmp_path))
    stated = json.loads((folder / "dft_energies.json").read_text())
    assert len(stated["energies"]) == 4
    for functional, energies in stated["energies"].items():
        table = {
            structure_key(dataset.frames.atoms(i)): energies[name] * units.Hartree
            for i, name in enumerate(dataset.table.id)
            if name in energies
        }
        measured = run(KIND, dataset, InProcessCalculator(Tabulated(table)))
        mae = measured.metrics["mae"]
        assert mae.n_failed == 0
        assert mae.value is not None
        published = stated["published_mae_kcal_per_mol"][functional]
        assert round(mae.value / KCAL, 4) == round(published, 4)


def test_s22_is_that_of_ase(quickstart: Path) -> None:
    dataset = load_dataset(quickstart / "s22@1")
    items = {item.id: item for item in dataset.table.differences}
    assert len(items) == 22
    for name in s22.s22:
        item = items[name]
        assert item.reference["CCSD(T)/CBS"] == s22.get_interaction_energy_cc(name)
        dimer, first, second = (dataset.frames.atoms(term.structure) for term in item.terms)
        assert [term.coefficient for term in item.terms] == [1.0, -1.0, -1.0]
        assert [len(first), len(second)] == s22.get_number_of_dimer_atoms(name)
        assert dimer.get_chemical_symbols() == first.get_chemical_symbols() + second.get_chemical_symbols()
    # Takatani et al. 2010: the water dimer is bound by 5.02 kcal/mol, the formic acid dimer by 18.80.
    assert items["Water_dimer"].reference["CCSD(T)/CBS"] / KCAL == pytest.approx(-5.02, abs=0.01)
    assert items["Formic_acid_dimer"].reference["CCSD(T)/CBS"] / KCAL == pytest.approx(-18.80, abs=0.01)


def test_dbh24_is_that_of_ase(quickstart: Path) -> None:
    dataset = load_dataset(quickstart / "dbh24@1")
    items = {item.id: item for item in dataset.table.differences}
    assert len(items) == 24
    frames = dataset.frames
    for reaction in dbh24.dbh24_reaction_list:
        about = str(dbh24.dbh24_reaction_list[reaction]["description"])
        state = dbh24.get_dbh24_tst(reaction)
        for way, barrier in (("forward", dbh24.get_dbh24_Vf(state)), ("reverse", dbh24.get_dbh24_Vb(state))):
            item = items[f"{about} {way}"]
            assert item.reference["best estimate"] / KCAL == pytest.approx(barrier)
            used = np.array([term.structure for term in item.terms])
            ends = used[1:]
            # Atoms and charge are the same before and at the barrier.
            before = sorted(z for i in ends for z in frames.atoms(int(i)).numbers)
            assert sorted(frames.atoms(int(used[0])).numbers) == before
            assert frames.charge[used[0]] == frames.charge[ends].sum()
    by_name = dict(zip(dataset.table.id, zip(frames.charge, frames.multiplicity, strict=True), strict=True))
    assert by_name["OH-ion"] == (-1, 1)
    assert by_name["H"] == (0, 2)
    assert by_name["O"] == (0, 3)
    assert by_name["N2"] == (0, 1)


def test_a_failed_structure_fails_every_item_that_uses_it(quickstart: Path) -> None:
    dataset = load_dataset(quickstart / "dbh24@1")
    n = len(dataset.frames)
    failure, energy = np.zeros(n, np.int8), np.zeros(n)
    hydrogen = dataset.table.id.index("H")
    failure[hydrogen], energy[hydrogen] = Cause.ERROR, np.nan
    measured = KIND.measure(observed(energy, failure), dataset, NOTHING, None)
    uses = [any(t.structure == hydrogen for t in d.terms) for d in dataset.table.differences]
    assert sum(uses) > 1
    assert measured.items.cause.tolist() == [Cause.ERROR if u else 0 for u in uses]
    mae = measured.metrics["mae"]
    # Elsewhere this is the all-zero model, whose error is the reference and whose mean is the baseline.
    reference = np.abs([d.reference["best estimate"] for d in dataset.table.differences])
    assert mae.baseline == pytest.approx(reference.mean())
    assert mae.value == pytest.approx(reference[~np.array(uses)].mean())
    assert mae.failure_cost == pytest.approx(10 * reference.mean())
    assert mae.charged == pytest.approx(np.where(uses, 10 * reference.mean(), reference).mean())
    assert mae.n_failed == sum(uses)


def emt(atoms: Atoms) -> float:
    """[eV] straight from ASE."""
    copy = atoms.copy()
    copy.calc = EMT()
    return float(copy.get_potential_energy())


def measured_with_emt(
    folder: Path, structures: dict[str, Atoms], unit: str, items: list[dict[str, Any]], run: Any
) -> Measurement:
    """The whole path: a folder of reactions, imported, saved, loaded, observed with EMT, measured in `unit`."""
    for name, atoms in structures.items():
        atoms.info |= {"name": name, "charge": 0}
    write(folder / "structures.extxyz", list(structures.values()))
    (folder / "reactions.json").write_text(json.dumps({"reference_unit": unit, "reactions": items}))
    card = Card(
        name="mine", version="1", title="Mine", domain="Inorganic Materials", periodic=False,
        label_sets={"PBE": LabelSet(theory="PBE", dispersion=False)}, default_label_set="PBE",
    )  # fmt: skip
    dataset = load_dataset(save_dataset(import_reactions(folder, card), folder))
    parameters = EnergyDifferencesParameters(unit=unit)  # type: ignore[arg-type]
    return run(KIND, dataset, InProcessCalculator(EMT()), parameters)


def item(name: str, terms: dict[str, float], **fields: Any) -> dict[str, Any]:
    return {"id": name, "terms": [{"structure": s, "coefficient": c} for s, c in terms.items()], **fields}


def test_an_oxygen_vacancy_against_ase(tmp_path: Path, run: Any) -> None:
    """E(defect) + n/2 E(O2) − E(pristine), for one and for two missing atoms."""
    pristine = bulk("NiO", "rocksalt", a=4.2, cubic=True)
    oxygen = [i for i, atom in enumerate(pristine) if atom.symbol == "O"]
    without_one, without_two = pristine.copy(), pristine.copy()
    del without_one[oxygen[:1]]
    del without_two[oxygen[:2]]
    o2 = Atoms("O2", [[15, 15, 14.4], [15, 15, 15.6]], cell=[30, 30, 30], pbc=True, info={"multiplicity": 3})
    by_hand = np.array([emt(without_one) + emt(o2) / 2 - emt(pristine), emt(without_two) + emt(o2) - emt(pristine)])
    assert abs(by_hand).min() > 0.1
    items = [
        item("V_O", {"one": 1, "O2": 0.5, "pristine": -1}, reference=by_hand[0] - 0.25, cluster="NiO"),
        item("2 V_O", {"two": 1, "O2": 1, "pristine": -1}, reference=by_hand[1] + 0.75, cluster="NiO"),
    ]
    structures = {"pristine": pristine, "one": without_one, "two": without_two, "O2": o2}
    measured = measured_with_emt(tmp_path, structures, "eV", items, run)
    # A file of positions has eight decimals.
    np.testing.assert_allclose(measured.items.columns["predicted"], by_hand, atol=1e-6)
    assert measured.metrics["mae"].value == pytest.approx(0.5, abs=1e-6)
    assert measured.metrics["rmse"].value == pytest.approx(np.sqrt((0.0625 + 0.5625) / 2), abs=1e-6)
    assert list(measured.items.cluster) == ["NiO", "NiO"]


def test_an_interface_in_mj_per_m2_against_ase(tmp_path: Path, run: Any) -> None:
    """(E(AB) − m1 E(A) − m2 E(B)) / 2A, with energies of bulk crystals on the mean lattice constant."""
    a = 3.55
    copper, nickel = (fcc111(symbol, (1, 1, 3), a=a, periodic=True) for symbol in ("Cu", "Ni"))
    for slab in (copper, nickel):
        slab.cell[2] = [0, 0, 3 * a / np.sqrt(3)]
    both = stack(copper, nickel)
    cu, ni = bulk("Cu", "fcc", a=a), bulk("Ni", "fcc", a=a)
    # Three layers of fcc (111) are a whole period: each half of the cell is a piece of its crystal.
    assert emt(copper) / 3 == pytest.approx(emt(cu), abs=1e-6)
    area = a**2 * np.sqrt(3) / 4
    by_hand = (emt(both) - 3 * emt(cu) - 3 * emt(ni)) / (2 * area) * 16021.76634
    assert abs(by_hand) > 10
    items = [item("Cu|Ni", {"AB": 1, "A": -3, "B": -3}, area_angstrom2=2 * area, reference=by_hand - 40.0)]
    measured = measured_with_emt(tmp_path, {"AB": both, "A": cu, "B": ni}, "mJ/m²", items, run)
    assert measured.items.columns["predicted"][0] == pytest.approx(by_hand, abs=1e-2)
    assert measured.metrics["mae"].value == pytest.approx(40.0, abs=1e-2)
    assert measured.metrics["mae"].unit == "mJ/m²"


def test_cleavage_in_mev_per_square_angstrom_against_ase(tmp_path: Path, run: Any) -> None:
    """(E(slab) − n E(bulk)) / 2A with n = atoms of the slab over atoms of the bulk cell."""
    slab, cell = fcc111("Pt", (1, 1, 5), a=3.92, vacuum=8.0), bulk("Pt", "fcc", a=3.92, cubic=True)
    slab.pbc = True
    area = 3.92**2 * np.sqrt(3) / 4
    n = len(slab) / len(cell)
    assert n == 1.25
    by_hand = 1000 * (emt(slab) - n * emt(cell)) / (2 * area)
    assert 20 < by_hand < 200  # EMT's platinum: 48
    items = [item("Pt(111)", {"slab": 1, "bulk": -n}, area_angstrom2=2 * area, reference=by_hand + 7.0)]
    measured = measured_with_emt(tmp_path, {"slab": slab, "bulk": cell}, "meV/Å²", items, run)
    assert measured.items.columns["predicted"][0] == pytest.approx(by_hand, abs=1e-3)
    assert measured.items.columns["error"][0] == pytest.approx(-7.0, abs=1e-3)


def test_conformers_each_against_its_own_reference_conformer(tmp_path: Path, run: Any) -> None:
    structures, items, by_hand = {}, [], []
    for name in ("CH3CH2OH", "C2H6"):
        for k in range(3):
            conformer = molecule(name)
            conformer.rattle(0.03 * k, seed=k)
            conformer.info["multiplicity"] = 1
            structures[f"{name} {k}"] = conformer
        for k in (1, 2):
            by_hand.append((emt(structures[f"{name} {k}"]) - emt(structures[f"{name} 0"])) / KCAL)
            terms = {f"{name} {k}": 1.0, f"{name} 0": -1.0}
            items.append(item(f"{name} {k}", terms, reference=by_hand[-1] + k, cluster=name, group=name))
    measured = measured_with_emt(tmp_path, structures, "kcal/mol", items, run)
    np.testing.assert_allclose(measured.items.columns["predicted"], by_hand, atol=1e-4)
    assert measured.metrics["mae"].value == pytest.approx(1.5, abs=1e-4)
    groups = [(part.name, part.metric, part.n_items) for part in measured.parts]
    assert groups == [("C2H6", "mae", 2), ("CH3CH2OH", "mae", 2)]


@pytest.mark.data
def test_lattice_energies_by_tabulated_energies_have_every_published_digit(
    reference_data: Path, tmp_path: Path, run: Any
) -> None:
    """X23b: a molecule at zero, a crystal of n molecules at −n times its lattice energy."""
    folder = reference_data / "x23"
    card = Card(
        name="x23", version="1", title="X23b", domain="Molecules", periodic=False,
        label_sets=CC, default_label_set="CCSD(T)/CBS",
    )  # fmt: skip
    dataset = load_dataset(save_dataset(import_reactions(folder, card), tmp_path))
    stated = json.loads((folder / "reactions.json").read_text())["reactions"]
    published = {row["id"]: row["reference_kcal_per_mol"] for row in stated}
    assert len(published) == 23
    energies = dict.fromkeys(dataset.table.id, 0.0)
    for row in stated:
        crystal, molecule_ = row["terms"]
        assert molecule_["coefficient"] == 1.0
        energies[crystal["structure"]] = published[row["id"]] / crystal["coefficient"] * KCAL
    table = {structure_key(dataset.frames.atoms(i)): energies[name] for i, name in enumerate(dataset.table.id)}
    kcal = EnergyDifferencesParameters(unit="kcal/mol")
    measured = run(KIND, dataset, InProcessCalculator(Tabulated(table)), kcal)
    for id, predicted in zip(measured.items.id, measured.items.columns["predicted"], strict=True):
        digits = len(str(published[id]).partition(".")[2])
        assert round(float(predicted), digits) == published[id]
    assert measured.metrics["mae"].value == pytest.approx(0.0, abs=1e-9)
    assert measured.metrics["mae"].baseline == pytest.approx(np.mean(list(published.values())), rel=1e-9)


def test_stated_uncertainties_are_those_of_the_metric(tmp_path: Path, run: Any) -> None:
    """A model within them is as good as the references."""
    structures = {"Cu": bulk("Cu"), "Ag": bulk("Ag")}
    items = [
        item(name, {name: 1.0}, reference=1000 * emt(structures[name]) + 3.0, unbalanced=True, uncertainty=size)
        for name, size in (("Cu", 2.0), ("Ag", 6.0))
    ]
    measured = measured_with_emt(tmp_path, structures, "meV", items, run)
    mae, rmse = measured.metrics["mae"], measured.metrics["rmse"]
    assert mae.reference_uncertainty == pytest.approx(4.0, rel=1e-9)
    assert rmse.reference_uncertainty == pytest.approx(np.sqrt(20.0), rel=1e-9)
    assert mae.value == pytest.approx(3.0, rel=1e-6)
    assert mae.at_reference_uncertainty
