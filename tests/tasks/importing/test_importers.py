"""Import: the same labels from every format, and bad input refused with file and frame."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase import Atoms, units
from ase.build import bulk, molecule
from ase.calculators.emt import EMT
from ase.calculators.singlepoint import SinglePointCalculator
from ase.db import connect
from ase.io import write

from tasks.datasets.card import Card, DatasetError, LabelSet
from tasks.datasets.dataset import load_dataset, save_dataset
from tasks.importing.import_summary import summarise
from tasks.importing.importers import import_frames, read_structures
from tasks.importing.label_units import ASE_UNITS, parse_units
from tasks.importing.labelled_import import Source, labelled_dataset
from tasks.importing.reactions import import_reactions

CARD = Card(
    name="mine", version="1", title="Mine", domain="Molecules", periodic=False,
    label_sets={"EMT": LabelSet(theory="EMT", dispersion=False)}, default_label_set="EMT",
)  # fmt: skip


def structures(n: int = 40) -> list[Atoms]:
    """Crystals of copper, and molecules with 2S+1 stated, labelled by EMT."""
    made = []
    for i in range(n):
        atoms = bulk("Cu", cubic=True) if i % 2 == 0 else molecule("CO")
        atoms.rattle(0.05 + 0.002 * i, seed=i)
        atoms.calc = EMT()
        atoms.get_forces()
        if i % 2 == 0:
            atoms.get_stress()
        else:
            atoms.info |= {"charge": 1, "multiplicity": 2, "group": "small"}
        made.append(atoms)
    return made


@pytest.mark.parametrize("format", ["extxyz", "traj", "db"])
def test_labels_of_a_calculator_survive(format: str, tmp_path: Path) -> None:
    path, made = tmp_path / f"mine.{format}", structures()
    if format == "db":
        with connect(path) as database:
            for atoms in made:
                database.write(atoms)
    else:
        write(path, made, format=format)
    found = read_structures(path, ASE_UNITS, format)
    labels = found.labels
    assert labels.energy is not None
    assert labels.forces is not None
    assert labels.stress is not None
    np.testing.assert_allclose(labels.energy, [a.get_potential_energy() for a in made], atol=1e-7)
    np.testing.assert_allclose(labels.forces, np.concatenate([a.get_forces() for a in made]), atol=1e-7)
    np.testing.assert_allclose(labels.stress[::2], [a.get_stress() for a in made[::2]], atol=1e-7)
    assert np.isnan(labels.stress[1::2]).all()
    if format == "extxyz":  # a trajectory keeps info too, but that is ASE's business
        dataset = import_frames(path, CARD)
        assert not dataset.card.periodic
        assert (dataset.frames.charge[1], dataset.frames.multiplicity[1]) == (1, 2)
        assert dataset.table.group[:2] == ("", "small")


def test_the_format_that_is_stated_is_read_whatever_the_name_says(tmp_path: Path) -> None:
    path = tmp_path / "labels.dat"
    write(path, structures(4), format="extxyz")
    assert len(read_structures(path, ASE_UNITS, "extxyz").frames) == 4
    with pytest.raises(DatasetError, match="cannot be read by ASE as traj"):
        read_structures(path, ASE_UNITS, "traj")


def test_units_are_turned_into_ours(tmp_path: Path) -> None:
    """A frame of which every number is one: the constants are CODATA's, typed here."""
    text = (
        '1\nLattice="10 0 0 0 10 0 0 0 10" Properties=species:S:1:pos:R:3:forces:R:3 pbc="T T T" energy=1.0 '
        'stress="1 0 0 0 2 0 0 0 3"\nH 1 1 1 1 1 1\n'
    )
    path = tmp_path / "one.extxyz"
    path.write_text(text)
    units = parse_units("energy=hartree,length=bohr,forces=hartree/bohr,stress=-kbar")
    found = read_structures(path, units)
    np.testing.assert_allclose(found.frames.positions, 0.529177, rtol=1e-6)
    np.testing.assert_allclose(np.diag(found.frames.cell[0]), 5.29177, rtol=1e-6)
    np.testing.assert_allclose(found.labels.energy, 27.21138, rtol=1e-6)
    np.testing.assert_allclose(found.labels.forces, 51.42206, rtol=1e-6)
    np.testing.assert_allclose(found.labels.stress[0, :3], [-6.241509e-4, -12.483018e-4, -18.724527e-4], rtol=1e-6)
    with pytest.raises(DatasetError, match=r"one\.extxyz: forces: its unit is not stated; add forces=… to --units"):
        read_structures(path, parse_units("energy=eV,length=angstrom"))


@pytest.mark.parametrize(
    ("text", "quantity", "value"),
    [
        ("length=angstrom,energy=kcal/mol", "energy", 0.0433641),
        ("length=Å,energy=kJ/mol", "energy", 0.01036427),
        ("length=nm", "length", 10.0),
        ("length=angstrom,forces=kcal/mol/angstrom", "forces", 0.0433641),
        ("length=angstrom,forces=Ry/bohr", "forces", 25.71103),
        ("length=angstrom,stress=GPa", "stress", 0.006241509),
        ("length=angstrom,stress=-eV/Å³", "stress", -1.0),
        ("length=bohr,stress=hartree/bohr^3", "stress", 183.6315),
        ("ase", "stress", 1.0),
    ],
)
def test_a_unit_is_as_large_as_the_books_say(text: str, quantity: str, value: float) -> None:
    assert getattr(parse_units(text), quantity) == pytest.approx(value, rel=2e-6)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", r"--units: '' is not one of energy, length, forces, stress"),
        ("SI", r"--units: 'SI' is not one of"),
        ("length=furlong", r"--units: length: 'furlong' is no unit of it that is known; say ase, or"),
        ("length=bohr,forces=eV", r"--units: forces: 'eV' is no unit of it"),
        ("length=bohr,stress=GPa/bohr", r"--units: stress: 'GPa/bohr' is no unit of it"),
        ("length=bohr,energy=-eV", r"--units: energy: '-eV' is no unit of it"),
        ("length=bohr,length=bohr", r"--units: length is stated twice"),
        ("energy=eV", r"--units: length is not stated: add length=angstrom"),
    ],
)
def test_units_that_are_none_are_refused(text: str, says: str) -> None:
    with pytest.raises(DatasetError, match=says):
        parse_units(text)


@pytest.mark.data
def test_mlearn_is_read_as_it_was_written(reference_data: Path) -> None:
    found = read_structures(reference_data / "mlearn" / "Cu_test.extxyz")
    assert found.labels.energy[0] == -426.34693886
    assert found.group[0] == "Vacancy"
    assert found.labels.forces[0].tolist() == [-0.45379089, 1.30609493, -0.42509356]
    # xx, yy, zz, yz, xz, xy of the first line's 3 × 3 matrix.
    np.testing.assert_allclose(
        found.labels.stress[0],
        [-0.0185336035, -0.0249131150, -0.0211687191, -0.0002030198, -0.0002684901, 0.0001707081],
        atol=1e-9,
    )


TWO = CARD.model_copy(
    update={"label_sets": {name: LabelSet(theory=name, dispersion=False) for name in ("EMT", "twice")}}
)


def read(path: Path, made: list[Atoms]) -> Source:
    write(path, made, format="extxyz")
    return Source(path, read_structures(path))


def copies(scale: float = 1.0) -> list[Atoms]:
    """The structures, their labels `scale` times as large."""
    made = []
    for atoms in structures():
        copy = atoms.copy()
        results = {name: scale * np.asarray(value) for name, value in atoms.calc.results.items() if name in KEPT}
        copy.calc = SinglePointCalculator(copy, **results)
        made.append(copy)
    return made


KEPT = ("energy", "forces", "stress")


def test_two_label_sets_of_the_same_structures(tmp_path: Path) -> None:
    main, other = read(tmp_path / "one.xyz", copies()), read(tmp_path / "two.xyz", copies(2.0))
    dataset = labelled_dataset(TWO, *main, also={"twice": other}, without=("stress",))
    one, two = dataset.labels("EMT"), dataset.labels("twice")
    np.testing.assert_allclose(two.energy, 2 * one.energy, rtol=1e-6)
    np.testing.assert_allclose(two.forces, 2 * one.forces, atol=1e-6)
    assert one.stress is two.stress is None


def moved(made: list[Atoms]) -> None:
    made[3].positions[1, 2] += 2e-6


def swapped(made: list[Atoms]) -> None:
    made[4], made[6] = made[6], made[4]


def renamed(made: list[Atoms]) -> None:
    made[3].numbers[0] = 7


def strained(made: list[Atoms]) -> None:
    made[2].cell[1, 1] += 1e-5


def charged(made: list[Atoms]) -> None:
    made[5].info["charge"] = -1


def shortened(made: list[Atoms]) -> None:
    made.pop()


def exchanged(made: list[Atoms]) -> None:
    made[0], made[1] = made[1], made[0]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (moved, "frame 3: positions: differs; bring the frames into the same order"),
        (swapped, "frame 4: positions: differs"),
        (renamed, "frame 3: numbers: differs"),
        (strained, "frame 2: cell: differs"),
        (charged, "frame 5: charge: differs"),
        (shortened, "it has 39 frames, not 40"),
        (exchanged, "frame 0: n_atoms: differs"),
    ],
)
def test_other_structures_are_no_other_label_set(change: Any, says: str, tmp_path: Path) -> None:
    other = copies()
    change(other)
    main = read(tmp_path / "one.xyz", copies())
    with pytest.raises(DatasetError) as refused:
        labelled_dataset(TWO, *main, also={"twice": read(tmp_path / "two.xyz", other)})
    assert str(refused.value).startswith(f"{tmp_path / 'two.xyz'}: is not of the structures of {tmp_path / 'one.xyz'}")
    assert says in str(refused.value)


def test_few_frames_are_refused_for_energy_alone(tmp_path: Path) -> None:
    """Three elements: thirty frames are enough, twenty-nine are not."""
    path = tmp_path / "few.extxyz"
    write(path, structures(30))
    assert import_frames(path, CARD).labels().energy is not None
    write(path, structures(29))
    said = r"few\.extxyz: energy: 29 frames .* 3 fitted elements are fewer than 10 each; .* --without energy"
    with pytest.raises(DatasetError, match=said):
        import_frames(path, CARD)
    found = read_structures(path)
    labels = labelled_dataset(CARD, path, found, without=("energy",)).labels()
    assert labels.energy is None
    assert labels.forces is not None
    with pytest.raises(DatasetError, match="--without energy, forces, stress: no label is left"):
        labelled_dataset(CARD, path, found, without=("energy", "forces", "stress"))


def test_a_molecule_without_multiplicity_is_refused_and_can_be_given_one(tmp_path: Path) -> None:
    path, made = tmp_path / "silent.extxyz", structures()
    for atoms in made:
        atoms.info = {"charge": 1, "name": "CO+"} if "charge" in atoms.info else {}
    write(path, made)
    found = read_structures(path)
    with pytest.raises(DatasetError, match=r"silent\.extxyz: CO\+ #1: multiplicity: .* not stated; write mult"):
        labelled_dataset(CARD, path, found)
    dataset = labelled_dataset(CARD, path, found, multiplicity=2)
    assert dataset.frames.multiplicity.tolist() == [0, 2] * 20  # of a crystal nothing is said


def test_clusters_are_compositions_groups_or_none(tmp_path: Path) -> None:
    path = tmp_path / "mine.extxyz"
    write(path, structures())
    found = read_structures(path)
    made = {by: labelled_dataset(CARD, path, found, cluster=by) for by in ("composition", "group", "none")}
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
    found = read_structures(path, ASE_UNITS, format, cluster_field="run")
    assert found.unused == {}  # a number that was read is not called unused
    dataset = labelled_dataset(CARD, path, found, cluster="info:run")
    assert dataset.clusters == tuple(str(run) for run in runs)
    again = load_dataset(save_dataset(dataset, tmp_path))
    assert again.card.cluster_column == "info:run"
    assert again.clusters == dataset.clusters
    assert again.table.group == found.group  # what is reported apart is another matter


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


@pytest.mark.parametrize("value", ["nan", '"1 2"', '""', '" "'])
def test_what_is_no_word_or_number_names_no_cluster(value: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.extxyz"
    path.write_text(xyz(info="energy=1.0 run=a") + xyz(info=f"energy=1.0 run={value}"))
    with pytest.raises(DatasetError, match=r"bad\.extxyz: frame 1: run: cannot name a cluster: write run= in its"):
        read_structures(path, cluster_field="run")


def test_a_truth_value_keeps_its_letter(tmp_path: Path) -> None:
    path = tmp_path / "letters.extxyz"
    path.write_text("".join(xyz(info=f"energy=1.0 run={run}") for run in ("F", "T", "U")))
    assert read_structures(path, cluster_field="run").cluster == ("F", "T", "U")


def test_clusters_by_what_there_is_not_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.extxyz"
    write(path, structures())
    found = read_structures(path)
    with pytest.raises(DatasetError, match=r"mine\.extxyz: --cluster info:run: the field was not read"):
        labelled_dataset(CARD, path, found, cluster="info:run")
    for wrong in ("info:", "info: ", "trajectory", "cluster", "info:a\n"):
        with pytest.raises(DatasetError, match=r"--cluster: .* must be composition, group, none or info:FIELD, as in"):
            labelled_dataset(CARD, path, found, cluster=wrong)


def test_the_summary_is_that_of_plain_numpy(tmp_path: Path) -> None:
    path, made = tmp_path / "mine.extxyz", structures()
    write(path, made)
    dataset = import_frames(path, CARD)
    found = summarise(dataset)
    labels = found.labels["EMT"]
    assert (found.n_structures, found.n_atoms, found.atoms) == (40, 120, (2, 3, 4))
    assert found.elements == {"C": 20, "O": 20, "Cu": 20}
    assert (found.n_periodic, found.n_molecules, found.n_groups) == (20, 20, 2)
    assert (found.charges, found.multiplicities) == ({0: 20, 1: 20}, {0: 20, 2: 20})
    force = np.concatenate([np.linalg.norm(a.get_forces(), axis=1) for a in made])
    energy = np.array([a.get_potential_energy() / len(a) for a in made])
    stress = np.array([a.get_stress() for a in made[::2]])
    for span, values in ((labels.force, force), (labels.energy_per_atom, energy), (labels.stress, stress)):
        np.testing.assert_allclose(span, [values.min(), np.median(values), values.max()], atol=1e-7)
    np.testing.assert_allclose(found.volume_per_atom, 3.61**3 / 4, rtol=1e-12)
    shortest = [a.get_all_distances(mic=True)[np.triu_indices(len(a), 1)].min() for a in made]
    np.testing.assert_allclose(found.distance, [min(shortest), np.median(shortest), max(shortest)], atol=1e-6)
    assert not found.impossible
    assert (labels.n_energy, labels.n_forces, labels.n_stress) == (40, 40, 20)


ONE = '1\nProperties=species:S:1:pos:R:3{more} pbc="{pbc}" {info}\nH 0 0 {z}{values}\n'


def xyz(z: str = "0", info: str = "energy=1.0", more: str = "", values: str = "", pbc: str = "F F F") -> str:
    return ONE.format(z=z, info=info, more=more, values=values, pbc=pbc)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (xyz() + xyz(z="nan"), r"frame 1: positions"),
        (xyz() + xyz(info="energy=nan"), r"frame 1: energy: is not finite"),
        (xyz() + xyz(info='energy="much"'), r"frame 1: energy: is not a number"),
        (xyz(info="energy=1.0 charge=0.5"), r"frame 0: charge: must be a whole number"),
        (xyz(info="energy=1.0 multiplicity=-2"), r"frame 0: multiplicity"),
        (xyz(info='energy=1.0 stress="1 0 0 0 1 0 0 0 1"'), r"frame 0: stress: the structure is not periodic"),
        (xyz() + "2\nx\nH 0 0 0\n", r"frame 1: cannot be read"),
        (xyz(info=""), r"no frame has any"),
        ("", r"(has no structures|cannot be read)"),
        ("nonsense", r"cannot be read"),
    ],
)
def test_bad_frames_are_refused_with_file_and_frame(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.extxyz"
    path.write_text(text)
    with pytest.raises(DatasetError, match=says) as refused:
        import_frames(path, CARD)
    assert str(refused.value).startswith(str(path))
    assert "\n" not in str(refused.value)


def reactions(folder: Path, **change: Any) -> Path:
    a, b = molecule("H2"), molecule("H")
    a.info |= {"name": "H2", "multiplicity": 1}
    b.info |= {"name": "H", "multiplicity": 2}
    write(folder / "structures.extxyz", [a, b])
    terms = [{"coefficient": -1.0, "structure": "H2"}, {"coefficient": 2.0, "structure": "H"}]
    reaction = {"id": "split", "terms": terms, "reference_kcal_per_mol": 109.5} | change
    stated = {"dataset": "x", "reference_unit": "kcal/mol", "reactions": [reaction]}
    (folder / "reactions.json").write_text(json.dumps(stated))
    return folder


def test_references_are_kept_in_ev(tmp_path: Path) -> None:
    item = import_reactions(reactions(tmp_path), CARD).table.differences[0]
    assert item.reference["EMT"] == pytest.approx(109.5 * units.kcal / units.mol)
    assert [(t.structure, t.coefficient) for t in item.terms] == [(0, -1.0), (1, 2.0)]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"terms": [{"coefficient": 1.0, "structure": "He"}]}, r"reactions\.0 \(split\): terms: .*'He'"),
        ({"terms": []}, r"reactions\.0 \(split\): terms"),
        ({"reference_kcal_per_mol": "much"}, r"reactions\.0\.reference_kcal_per_mol"),
        ({"reference_kcal_per_mol": None}, r"reactions\.0 \(split\): reference"),
    ],
)
def test_bad_reactions_are_refused(change: dict[str, Any], says: str, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=says):
        import_reactions(reactions(tmp_path, **change), CARD)
    (tmp_path / "reactions.json").unlink()
    with pytest.raises(DatasetError, match=r"reactions\.json: cannot be read"):
        import_reactions(tmp_path, CARD)


@pytest.mark.parametrize("format", ["extxyz", "traj", "db"])
def test_numeric_fields_that_were_not_read_are_told(format: str, tmp_path: Path) -> None:
    """Labels under names that are not those of ASE: nothing is guessed, nothing is passed over in silence."""
    path, made = tmp_path / f"mine.{format}", []
    for i in range(3):
        atoms = bulk("Cu", cubic=True)
        fields = {"enrgy": -1.0 * i, "code": "mine"}
        if format == "extxyz":
            atoms.info |= fields | {"virial": np.eye(3), "config_type": "bulk"}
            atoms.arrays["REF_forces"] = np.ones((4, 3))
        elif format == "traj":
            atoms.info |= fields
        made.append(atoms)
    if format == "db":
        with connect(path) as database:
            for i, atoms in enumerate(made):
                database.write(atoms, enrgy=-1.0 * i, code="mine", data={"virial": np.eye(3)})
    else:
        write(path, made, format=format)
    expected = {"enrgy": 3} | ({} if format == "traj" else {"virial": 3})
    expected |= {"REF_forces": 3} if format == "extxyz" else {}
    found = read_structures(path, ASE_UNITS, format)
    assert found.unused == expected
    with pytest.raises(DatasetError) as refused:
        labelled_dataset(CARD, path, found)
    names = ", ".join(sorted(expected))
    assert (
        str(refused.value) == f"{path}: energy, forces, stress: no frame has any; it has {names}: rename what is meant"
    )


def test_a_database_states_names_groups_and_multiplicities_as_key_value_pairs(tmp_path: Path) -> None:
    path = tmp_path / "mine.db"
    with connect(path) as database:
        for i in range(3):
            database.write(molecule("CO"), name=f"CO {i}", group="small", multiplicity=1 + 2 * i)
    found = read_structures(path, ASE_UNITS, "db")
    assert (found.id, found.group) == (("CO 0", "CO 1", "CO 2"), ("small",) * 3)
    assert found.frames.multiplicity.tolist() == [1, 3, 5]
    assert found.unused == {}


def test_fields_that_were_read_are_not_told(tmp_path: Path) -> None:
    path = tmp_path / "mine.extxyz"
    write(path, structures(4))
    assert read_structures(path).unused == {}


@pytest.mark.parametrize(
    ("format", "remedy"),
    [
        ("extxyz", "write multiplicity= in its comment line, or give --multiplicity 1"),
        ("traj", "set info['multiplicity'] before writing, or give --multiplicity 1"),
        ("db", "write multiplicity= as a key-value pair of its row, or give --multiplicity 1"),
    ],
)
def test_the_mend_of_a_missing_multiplicity_is_one_of_the_format(format: str, remedy: str, tmp_path: Path) -> None:
    path, atoms = tmp_path / f"mine.{format}", molecule("CO")
    atoms.calc = EMT()
    atoms.get_forces()
    write(path, [atoms] * 20, format=format)
    with pytest.raises(DatasetError) as refused:
        labelled_dataset(CARD, path, read_structures(path, ASE_UNITS, format))
    assert f"{remedy} for all molecules that state none" in str(refused.value)
