"""Layouts of ML-PEG's benchmarks, imported from small folders: items, terms and references by hand."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.calculators.emt import EMT

from tasks.datasets.card import DatasetError
from tasks.datasets.dataset import Dataset, load_dataset, save_dataset
from tasks.importing.ml_peg import relaxed
from tasks.importing.ml_peg.crystals import FAMILIES
from tasks.importing.ml_peg.import_layout import import_benchmark, import_ml_peg, stated_benchmarks
from tasks.kinds.phonons import Phonons
from tasks.model.calculator import InProcessCalculator
from tasks.structures.units import ENERGY_UNITS
from tasks.suites.suite import load_suite
from tests.tasks.importing.ml_peg.layouts import MADE, alexandria

KCAL, KJ, HARTREE = (ENERGY_UNITS[unit] for unit in ("kcal/mol", "kJ/mol", "hartree"))


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Dataset]:
    """Each of the folders imported, saved and loaded again."""
    root, data = tmp_path_factory.mktemp("ml-peg"), tmp_path_factory.mktemp("data")
    for name, make in MADE.items():
        make(root / name)
    sets = {}
    for benchmark in import_ml_peg(root):
        assert not benchmark.fault
        assert benchmark.dataset is not None
        sets[benchmark.name] = load_dataset(save_dataset(benchmark.dataset, data))
    return sets


def items(dataset: Dataset) -> dict[str, tuple[dict[str, float], float]]:
    """By item, the coefficients by structure, and the reference [eV]."""
    level = dataset.card.default_label_set
    assert level is not None
    return {
        row.id: ({dataset.table.id[t.structure]: t.coefficient for t in row.terms}, row.reference[level])
        for row in dataset.table.differences
    }


def test_every_folder_is_imported(imported: dict[str, Dataset]) -> None:
    second = {"low_dimensional_relaxation_1D", "lattice_constants_experimental"}
    assert imported.keys() == {name.replace("BH2O-36", "BH2O_36") for name in MADE} | second
    for name, dataset in imported.items():
        assert dataset.card.domain == stated_benchmarks()[name].domain
        assert dataset.card.citation.startswith("ML-PEG")
        assert "2025-04" <= dataset.card.public_since <= "2026-08"  # ML-PEG's first commit, and the one that was read


def test_lattice_energies(imported: dict[str, Dataset]) -> None:
    (item,) = items(imported["X23"]).values()
    assert item == ({"ice crystal": 0.5, "ice molecule": -1.0}, pytest.approx(-59.2 * KJ))
    level = imported["X23"].card.label_sets["DMC"]
    assert level.d3 is not None
    assert (level.d3.functional, level.d3.damping) == ("pbe", "bj")
    assert imported["elemental_tm_vacancies"].card.label_sets["PBE"].d3 is None


@pytest.mark.parametrize("name", ["OC157", "CRBH20", "X23", "water_density"])
def test_references_with_dispersion_say_so(name: str, imported: dict[str, Dataset]) -> None:
    (level,) = imported[name].card.label_sets.values()
    assert level.dispersion
    assert level.d3 is not None


def test_polymorphs_less_the_lowest_gas_conformer(imported: dict[str, Dataset]) -> None:
    dataset = imported["CPOSS209"]
    first, second = dataset.table.differences[:2]
    assert [row.reference["wb97md3 + 1b CCSD(T)"] / KJ for row in (first, second)] == pytest.approx([-59.0, -57.5])
    gas = first.terms[1]
    assert [dataset.table.id[i] for i in (gas.structure, *gas.alternatives)] == ["water gas_a", "water gas_b"]
    assert [row.terms[0].coefficient for row in (first, second)] == [0.5, 1.0]
    crystals = [dataset.table.id[row.terms[0].structure] for row in (first, second)]
    assert crystals == [f"water crystal_data_ACR0{k}_PsiCrys" for k in (1, 2)]
    assert first.group == second.group == "small rigid molecules"
    assert first.cluster == second.cluster == "water"
    assert {row.group for row in dataset.table.differences} == {*FAMILIES, "small drug molecules"}


def test_as_many_numbers_as_crystals(tmp_path: Path) -> None:
    MADE["CPOSS209"](tmp_path)
    (tmp_path / "CPOSS209_lattice_energy" / "water" / "nmol").write_text("2\n")
    with pytest.raises(DatasetError, match="nmol: has 1 numbers for 2 structures"):
        import_benchmark("CPOSS209", tmp_path)


def test_each_set_of_gscdb_is_a_quantity(imported: dict[str, Dataset]) -> None:
    dataset = imported["GSCDB138_barriers"]
    assert len(dataset.table.differences) == 12
    assert {row.quantity for row in dataset.table.differences} >= {"BH28", "PX9"}
    assert dataset.frames.multiplicity.tolist() == [1, 1]
    assert items(dataset)["PX9_1"] == ({"dimer": 1.0, "water": -2.0}, pytest.approx(-0.008 * HARTREE))


def test_a_dimer_of_the_atlas_is_cut_in_two_and_noble_gases_are_left_out(imported: dict[str, Dataset]) -> None:
    dataset = imported["NCIA_D1200"]
    assert items(dataset) == {
        "1.01_water": ({"1.01_water": 1.0, "1.01_water A": -1.0, "1.01_water B": -1.0}, pytest.approx(-5.0 * KCAL))
    }
    assert dataset.frames.n_atoms.tolist() == [6, 3, 3]


def test_how_the_atlas_spells_its_files(imported: dict[str, Dataset], tmp_path: Path) -> None:
    references = {"NCIA_D442x10": {"1.01_0.90": -5.0, "1.01_1.00": -6.0}, "NCIA_IHB100x10": {"IHB100_1.01_0.90": -5.0}}
    references["NCIA_HB300SPXx10"] = {"1.01_090": -5.0, "1.02_090": -6.0}  # with its helium
    references["NCIA_HB375x10"] = {"HB375_1_0.90": -5.0, "HB375_11_0.90": -6.0}  # 1_090 is in 11_090, too
    for name, expected in references.items():
        assert {id: value / KCAL for id, (_, value) in items(imported[name]).items()} == pytest.approx(expected)
    assert {row.cluster for row in imported["NCIA_D442x10"].table.differences} == {"1.01"}
    MADE["NCIA_HB375x10"](tmp_path)
    (tmp_path / "geometries" / "11_090_water.xyz").unlink()
    with pytest.raises(DatasetError, match=r"HB375_11_0\.90: geometries has no file 11_090\.xyz, or several"):
        import_benchmark("NCIA_HB375x10", tmp_path)


def test_ions_and_pi_systems(imported: dict[str, Dataset]) -> None:
    ionpi = items(imported["IONPI19"])
    assert ionpi["16"] == ({"16_AB": 1.0, "15_A": -1.0, "16_B": -1.0}, pytest.approx(-16.5 * KCAL))
    assert ionpi["19"] == ({"19_A": 1.0, "19_B": -1.0}, pytest.approx(-19.5 * KCAL))


def test_the_first_word_is_the_reference(imported: dict[str, Dataset]) -> None:
    assert [value / KCAL for _, value in items(imported["S30L"]).values()] == pytest.approx([-29.0, -20.8])
    assert [row.group for row in imported["S30L"].table.differences] == ["neutral", "charged"]


def test_weights_and_what_is_left_out_of_gmtkn55(imported: dict[str, Dataset]) -> None:
    (row,) = imported["GMTKN55"].table.differences
    assert (row.id, row.weight, row.group) == ("S22 1", 11.5, "Intermolecular NCIs")
    assert [term.coefficient for term in row.terms] == [1.0, -2.0]


def test_a_subset_of_gmtkn55_without_a_row_is_refused(tmp_path: Path) -> None:
    MADE["GMTKN55"](tmp_path)
    (tmp_path / "subsets.csv").write_text("subset,category,excluded\ns22,Small systems,False\n")
    with pytest.raises(DatasetError, match="subset: has no G21IP"):
        import_benchmark("GMTKN55", tmp_path)


def test_conformers_whose_labels_are_not_their_files(imported: dict[str, Dataset]) -> None:
    mpconf = items(imported["MPCONF196"])
    assert mpconf["FGG_55"] == ({"FGG_55": 0.5, "FGG_80": -0.5}, pytest.approx(-0.5 * KCAL))
    assert mpconf["COHVAW_b"] == ({"COHVAW_a": -0.5, "COHVAW_b": 0.5}, pytest.approx(2.0 * KCAL))
    solvated = items(imported["solvMPCONF196"])
    assert solvated["FGG_80"][1] == pytest.approx(-0.001 * HARTREE)
    assert solvated["WG_b"][1] == pytest.approx(-0.002 * HARTREE)
    assert items(imported["37CONF8"]) == {"ABC_2": ({"ABC_2": 1.0, "ABC_1": -1.0}, pytest.approx(1.5 * KCAL))}


def test_relative_energies(imported: dict[str, Dataset]) -> None:
    assert items(imported["OpenFF_Tors"]) == {"42 1": ({"42 1": 1.0, "42 0": -1.0}, pytest.approx(0.01 * HARTREE))}
    assert imported["OpenFF_Tors"].frames.atoms(0).get_chemical_formula() == "H2O"
    wiggle = items(imported["Wiggle150"])
    assert wiggle["ado_01"] == ({"ado_01": 1.0, "ado_00": -1.0}, pytest.approx(12.5 * KCAL))
    assert wiggle["bpn_07"][1] == pytest.approx(30.25 * KCAL)
    relastab = items(imported["Relastab"])
    assert relastab["fe a"] == ({"fe a": 1.0, "fe b": -1.0}, pytest.approx(2.5))


def test_conformers_and_isomers_above_one_of_them(imported: dict[str, Dataset]) -> None:
    assert items(imported["UpU46"]) == {"1a": ({"1a": 1.0, "2p": -1.0}, pytest.approx(1.5 * KCAL))}
    isomers = imported["isomer_complexes"]
    assert isomers.table.id == ("Lu_a/iso1", "Lu_a/iso2", "Lu_a/iso3")  # thorium is left out
    assert [e / HARTREE for _, e in items(isomers).values()] == pytest.approx([-0.004, 0.002])
    (barrier,) = items(imported["RDB7"]).values()
    assert barrier == ({"rxn000000 ts": 1.0, "rxn000000 r": -1.0}, pytest.approx(0.1 * HARTREE))
    assert imported["RDB7"].frames.n_atoms.tolist() == [1, 1]


def test_slabs_that_are_far_apart(imported: dict[str, Dataset]) -> None:
    """Eight layers each, 100 Å between their lowest ones, in a cell with as much vacuum on both sides."""
    both = imported["extensivity"].frames.atoms(2)
    of_al, of_ni = (both.positions[both.symbols == symbol, 2] for symbol in ("Al", "Ni"))
    assert of_ni.min() - of_al.min() == pytest.approx(100.0)
    assert len(np.unique(of_al.round(6))) == len(np.unique(of_ni.round(6))) == 8
    assert both.cell[2, 2] == pytest.approx(300.0 + np.ptp(of_al))


def test_defects_by_hand(imported: dict[str, Dataset]) -> None:
    dataset = imported["Defectstab"]
    found = {id: value for id, (_, value) in items(dataset).items()}
    assert found == pytest.approx(
        {
            "fe_sia 110": -20.5 + 16.0 * 3 / 2,
            "boroncarbide_stoichiometry B4C": -39.0 + 4 * 7.0 + 10.0,
            "boroncarbide_defects Bipolar": 2.0,
            "boroncarbide_defects VB0": 10.0 - 7.0,
            "mapi_tetragonal MAPI_VMAI": -248.0 - 50.0 + 300.0,
        }
    )
    quantities = [row.quantity for row in dataset.table.differences]
    assert quantities == ["fe_sia", "boroncarbide_stoichiometry", *["boroncarbide_defects"] * 2, "mapi_tetragonal"]


def test_triples_with_a_u_are_left_out(imported: dict[str, Dataset]) -> None:
    triple = {id: value for id, (_, value) in items(imported["OC157"]).items()}
    assert triple == pytest.approx({"001 2-1": -3.0, "001 3-1": -1.0, "001 3-2": 2.0})


def test_frames_of_defects_have_energies_and_forces(imported: dict[str, Dataset]) -> None:
    dataset = imported["si_defects"]
    assert [row.quantity for row in dataset.table.differences] == ["64_atoms", "216_atoms", "216_atoms_di_to_single"]
    assert items(dataset)["216_atoms 1"][1] == pytest.approx(0.5)
    assert dataset.table.group == ("64_atoms",) * 2 + ("216_atoms",) * 2 + ("216_atoms_di_to_single",) * 2
    forces = dataset.labels("PBE").forces
    assert forces is not None
    assert forces[8:16].tolist() == [[0.25] * 3] * 8


def test_references_go_by_the_order_of_numbers(imported: dict[str, Dataset]) -> None:
    bh9 = {name: reference / KCAL for name, (_, reference) in items(imported["BH9"]).items()}
    assert bh9 == pytest.approx({"1_1": 11.0, "2_1": 22.0, "10_1": 33.0})


def test_files_that_are_spelled_otherwise(imported: dict[str, Dataset]) -> None:
    found = {id: value / HARTREE for id, (_, value) in items(imported["BH2O_36"]).items()}
    barriers = {"forward": 0.02, "reverse": 0.03}
    assert found == pytest.approx({f"{name} {way}": e for name in ("amide11", "ester") for way, e in barriers.items()})


def test_proteins_and_ligands(imported: dict[str, Dataset]) -> None:
    dataset = imported["PLA15"]
    (row,) = dataset.table.differences
    assert row.group == "ion-neutral"
    assert dataset.frames.charge.tolist() == [1, 1, 0]
    assert dataset.frames.multiplicity.tolist() == [2, 2, 1]  # the lowest that the electrons allow
    assert dataset.frames.n_atoms.tolist() == [6, 3, 3]


def test_fragments_of_proteins(imported: dict[str, Dataset], tmp_path: Path) -> None:
    rows = imported["PLF547"].table.differences
    assert {row.id: row.reference["CCSD(T)"] / KCAL for row in rows} == pytest.approx(
        {"1ABC_15": -45.5, "1ABC_16": -60.5, "2XYZ_3": -1.5}
    )
    assert [row.group for row in rows] == ["charged", "charged", "neutral"]
    assert [row.cluster for row in rows] == ["1ABC", "1ABC", "2XYZ"]
    MADE["PLF547"](tmp_path)
    (tmp_path / "2XYZ_3.pdb").rename(tmp_path / "2XYZ_4.pdb")
    with pytest.raises(DatasetError, match=r"2XYZ_3: has no PDB file \(2 such names\)"):
        import_benchmark("PLF547", tmp_path)


def test_complexes_of_one_reference_or_several(imported: dict[str, Dataset]) -> None:
    assert {row.id: row.group for row in imported["3dTMV"].table.differences} == {"1": "SR", "13": "SR/MR", "23": "MR"}


def test_the_best_method_of_a_dimer(imported: dict[str, Dataset]) -> None:
    quid = items(imported["QUID"])
    assert [reference for _, reference in quid.values()] == pytest.approx([-0.21, -0.21])
    assert [row.group for row in imported["QUID"].table.differences] == ["equilibrium", "dissociation"]


def test_references_that_a_maintainer_writes_down(imported: dict[str, Dataset], tmp_path: Path) -> None:
    (item,) = items(imported["LNCI16"]).values()
    assert item[1] == pytest.approx(-70.0 * KCAL)
    assert imported["LNCI16"].frames.charge.tolist() == [1, 1, 0]
    MADE["LNCI16"](tmp_path / "LNCI16")
    (tmp_path / "LNCI16" / "references.json").unlink()
    (benchmark,) = import_ml_peg(tmp_path)
    assert "references.json: is not there: the archive has no references" in benchmark.fault
    assert "\n" not in benchmark.fault


def test_surfaces_and_vacancies(imported: dict[str, Dataset]) -> None:
    (s24,) = items(imported["S24"]).values()
    assert s24[1] == pytest.approx(-24.5 + 7.0 + 17.0)
    (row,) = imported["cleavage_energy"].table.differences
    assert row.area == pytest.approx(11.2)
    assert [term.coefficient for term in row.terms] == [1.0, -4.0]
    assert row.reference["PBE"] == pytest.approx(0.09)
    (vacancy,) = items(imported["elemental_tm_vacancies"]).values()
    assert vacancy == ({"Cu vacancy": 1.0, "Cu bulk": -0.75}, pytest.approx(1.07))


def test_relaxed_crystals(imported: dict[str, Dataset]) -> None:
    pressed = imported["high_pressure_relaxation"]
    assert pressed.structures.conditions["pressure_gpa"].tolist() == [0.0] * 5 + [50.0] * 5
    np.testing.assert_allclose(pressed.frames.cell[0], pressed.frames.cell[5])
    assert items(pressed)["agm1 at 50 GPa energy"] == ({"agm1 at 50 GPa": 1.0}, pytest.approx(-0.4))
    layers = imported["low_dimensional_relaxation"]
    assert layers.frames.cell[0, 0, 0] == pytest.approx(2.46 * 1.01)
    assert layers.geometries["PBE"].cell[0, 0, 0] == pytest.approx(2.46)
    assert layers.frames.cell[0, 2, 2] == layers.geometries["PBE"].cell[0, 2, 2] == pytest.approx(100.0)
    np.testing.assert_allclose(layers.frames.positions[:, 2], 10.0)
    chains = imported["low_dimensional_relaxation_1D"]
    np.testing.assert_allclose(np.diag(chains.frames.cell[0]), [1.3 * 1.01, 100.0, 100.0])
    constants, places = imported["lattice_constants"], [0, 1, 9]
    assert [constants.table.id[place] for place in places] == ["Cu", "MgO", "SiC"]
    assert constants.geometries["PBE"].cell[places, 0, 0].tolist() == pytest.approx([3.63, 4.25, 3.09])
    assert constants.geometries["PBE"].cell[9, 2, 2] == pytest.approx(5.07)
    assert constants.frames.n_atoms[places].tolist() == [4, 8, 4]
    measured = imported["lattice_constants_experimental"].geometries["Experimental"]
    assert measured.cell[places, 0, 0].tolist() == pytest.approx([3.60, 4.19, 3.09])


def test_crystals_are_drawn_as_ml_peg_draws_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of five crystals in two files the three that random.Random(42) takes, the second file first."""
    monkeypatch.setattr(relaxed, "N_DRAWN", 3)
    for name, first, lengths in (("000", 1, (2.0, 2.1)), ("001", 3, (2.2, 2.3, 2.4))):
        layers = [Atoms("C", cell=[a, a, 20.0], pbc=True) for a in lengths]
        alexandria(tmp_path / f"alexandria_2d_{name}.json.bz2", *layers, energies=[-8.0] * len(layers), first=first)
    cells = import_benchmark("low_dimensional_relaxation", tmp_path).geometries["PBE"].cell
    assert sorted(random.Random(42).sample(range(5), 3)) == [0, 2, 4]
    assert cells[:, 0, 0].tolist() == pytest.approx([2.2, 2.4, 2.1])


def test_paths_liquids_and_what_is_made_in_code(imported: dict[str, Dataset]) -> None:
    (path,) = imported["li_diffusion"].table.paths
    assert path.reference["Perdew-Wang"].barrier == 0.27
    water = imported["water_density"]
    assert water.structures.conditions["temperature_k"].tolist() == [270.0, 300.0]
    densities = [system.analyses[0].references for system in water.table.systems]
    assert densities == [{"Experimental": 0.9998}, {"Experimental": 0.997}]
    assert imported["extensivity"].frames.n_atoms.tolist() == [128, 128, 256]
    assert imported["extensivity"].card.baselines == {"none: the difference is zero": {"mae": 10.0, "rmse": 10.0}}


def test_phonons_have_their_spectrum_and_unstable_ones_nothing_else(imported: dict[str, Dataset]) -> None:
    dataset = imported["phonons"]
    stable, unstable = (crystal.reference["PBE"] for crystal in dataset.table.crystals)
    spectrum = {"mean_frequency_k", "min_frequency_k"}
    assert unstable.keys() == spectrum
    assert unstable["min_frequency_k"] < 0 < stable["min_frequency_k"]
    assert stable.keys() > spectrum
    assert all(crystal.bands["PBE"].weights[0] == 1 for crystal in dataset.table.crystals)
    assert sum(dataset.table.crystals[0].bands["PBE"].weights) == 6**3


@pytest.mark.slow
def test_the_model_of_the_phonons_has_no_error_at_the_parameters_of_the_suite(
    imported: dict[str, Dataset], run: Any
) -> None:
    (task,) = [task for task in load_suite("ml-peg").tasks if task.name == "phonons"]
    metrics = run(Phonons(), imported["phonons"], InProcessCalculator(EMT()), task.parameters).metrics
    assert metrics["stability_f1"].value == 1.0
    # The file's copper is EMT's at its own minimum; its simple cubic cell is not.
    assert metrics["heat_capacity_j_per_mol_k_mae"].value == pytest.approx(0.0, abs=0.01)
    assert metrics["entropy_j_per_mol_k_mae"].value == pytest.approx(0.0, abs=0.05)
    assert metrics["band_mae"].n_items == 2


@pytest.mark.parametrize("name", sorted(set(stated_benchmarks()) - {"extensivity"}))
def test_an_empty_folder_is_refused_in_one_line(name: str, tmp_path: Path) -> None:
    with pytest.raises(DatasetError) as caught:
        import_benchmark(name, tmp_path)
    assert "\n" not in str(caught.value)


def test_unknown_names(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="--only: 'X24' cannot be imported"):
        list(import_ml_peg(tmp_path, ["X24"]))
    (missing,) = import_ml_peg(tmp_path, ["X23"])
    assert missing.fault.endswith("has no folder X23")
