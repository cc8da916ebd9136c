"""Energy differences: published errors of published energies, and what a failed structure costs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase import units
from ase.data import dbh24, s22

from tasks.calculator import InProcessCalculator
from tasks.card import Card, LabelSet
from tasks.dataset import load_dataset, save_dataset
from tasks.energy_differences import EnergyDifferences, EnergyDifferencesParameters
from tasks.predictions import Cause
from tasks.reactions import import_reactions
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
