"""Import of labelled structures: the same labels from every format, and what is missing named with its remedy."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from ase.build import bulk, molecule
from ase.calculators.emt import EMT
from ase.db import connect
from ase.io import write

from tasks.datasets.card import DatasetError
from tasks.importing.import_summary import summarise
from tasks.importing.importers import read_atoms, read_structures
from tasks.importing.label_units import ASE_UNITS
from tasks.importing.labelled_import import labelled_dataset
from tests.tasks.imported_frames import import_frames
from tests.tasks.importing.labelled_structures import CARD, structures, xyz


@pytest.mark.parametrize("format", ["extxyz", "traj", "db"])
def test_labels_of_a_calculator_survive(format: str, tmp_path: Path) -> None:
    path, made = tmp_path / f"mine.{format}", structures()
    if format == "db":
        with connect(path) as database:
            for atoms in made:
                database.write(atoms)
    else:
        write(path, made, format=format)
    imported = read_structures(path, ASE_UNITS, format)
    labels = imported.labels
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


@pytest.mark.data
def test_mlearn_is_read_as_it_was_written(reference_data: Path) -> None:
    imported = read_structures(reference_data / "mlearn" / "Cu_test.extxyz")
    assert imported.labels.energy[0] == -426.34693886
    assert imported.group[0] == "Vacancy"
    assert imported.labels.forces[0].tolist() == [-0.45379089, 1.30609493, -0.42509356]
    # xx, yy, zz, yz, xz, xy of the first line's 3 × 3 matrix.
    np.testing.assert_allclose(
        imported.labels.stress[0],
        [-0.0185336035, -0.0249131150, -0.0211687191, -0.0002030198, -0.0002684901, 0.0001707081],
        atol=1e-9,
    )


def test_few_frames_are_refused_for_energy_alone(tmp_path: Path) -> None:
    """Two constants, of copper and of carbon monoxide: twenty frames are enough, nineteen are not."""
    path = tmp_path / "few.extxyz"
    write(path, structures(20))
    assert import_frames(path, CARD).labels().energy is not None
    write(path, structures(19))
    complaint = (
        r"few\.extxyz: energy: 19 frames .* 2 independent compositions are fewer than 10 each; .* --without energy"
    )
    with pytest.raises(DatasetError, match=complaint):
        import_frames(path, CARD)
    imported = read_structures(path)
    labels = labelled_dataset(CARD, path, imported, without=("energy",)).labels()
    assert labels.energy is None
    assert labels.forces is not None
    with pytest.raises(DatasetError, match="--without energy, forces, stress: no label is left"):
        labelled_dataset(CARD, path, imported, without=("energy", "forces", "stress"))


def test_a_molecule_without_multiplicity_is_refused_and_can_be_given_one(tmp_path: Path) -> None:
    path, made = tmp_path / "silent.extxyz", structures()
    for atoms in made:
        atoms.info = {"charge": 1, "name": "CO+"} if "charge" in atoms.info else {}
    write(path, made)
    imported = read_structures(path)
    with pytest.raises(DatasetError, match=r"silent\.extxyz: CO\+ #1: multiplicity: .* not stated; write mult"):
        labelled_dataset(CARD, path, imported)
    dataset = labelled_dataset(CARD, path, imported, multiplicity=2)
    assert dataset.frames.multiplicity.tolist() == [0, 2] * 20  # of a crystal nothing is said


def test_the_summary_is_that_of_plain_numpy(tmp_path: Path) -> None:
    path, made = tmp_path / "mine.extxyz", structures()
    write(path, made)
    dataset = import_frames(path, CARD)
    summary = summarise(dataset)
    labels = summary.labels["EMT"]
    assert (summary.n_structures, summary.n_atoms, summary.atoms) == (40, 120, (2, 3, 4))
    assert summary.elements == {"C": 20, "O": 20, "Cu": 20}
    assert (summary.n_periodic, summary.n_molecules, summary.n_groups) == (20, 20, 2)
    assert (summary.charges, summary.multiplicities) == ({0: 20, 1: 20}, {0: 20, 2: 20})
    force = np.concatenate([np.linalg.norm(a.get_forces(), axis=1) for a in made])
    energy = np.array([a.get_potential_energy() / len(a) for a in made])
    stress = np.array([a.get_stress() for a in made[::2]])
    for span, values in ((labels.force, force), (labels.energy_per_atom, energy), (labels.stress, stress)):
        np.testing.assert_allclose(span, [values.min(), np.median(values), values.max()], atol=1e-7)
    np.testing.assert_allclose(summary.volume_per_atom, 3.61**3 / 4, rtol=1e-12)
    shortest = [a.get_all_distances(mic=True)[np.triu_indices(len(a), 1)].min() for a in made]
    np.testing.assert_allclose(summary.distance, [min(shortest), np.median(shortest), max(shortest)], atol=1e-6)
    assert not summary.impossible
    assert (labels.n_energy, labels.n_forces, labels.n_stress) == (40, 40, 20)


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


@pytest.mark.parametrize("name", ["two.extxyz", "two.xyz.gz"])
@pytest.mark.parametrize("format", ["extxyz", None])
@pytest.mark.parametrize("info", ["energy=1.0", "energy=1.0 note=[1,2]", ""])
def test_no_frame_after_a_blank_line_is_lost(info: str, format: str | None, name: str, tmp_path: Path) -> None:
    """ASE's reader ends there without a word. A blank comment, and blank lines at the end, are no such line."""
    path, frames, opened = tmp_path / name, xyz(info=info) * 3, gzip.open if name.endswith("gz") else open
    with opened(path, "wt") as file:
        file.write(f"{frames}\n \n")
    assert len(read_structures(path, format=format).frames) == len(read_atoms(path, format)) == 3
    for rest in (frames, "frames of the second run\n"):
        with opened(path, "wt") as file:
            file.write(f"{frames}\n \n{rest}")
        for read in (read_structures, read_atoms):
            with pytest.raises(DatasetError) as refused:
                read(path, format=format)
            assert str(refused.value) == (
                f"{path}: frame 3: begins with a blank line: remove the blank lines between frames, or the text after "
                "the last frame"
            )


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
    imported = read_structures(path, ASE_UNITS, format)
    assert imported.unused == expected
    with pytest.raises(DatasetError) as refused:
        labelled_dataset(CARD, path, imported)
    names, remedy = ", ".join(sorted(expected)), "rename what is meant"
    assert str(refused.value) == f"{path}: energy, forces, stress: no frame has any; it has {names}: {remedy}"


def test_a_database_states_names_groups_and_multiplicities_as_key_value_pairs(tmp_path: Path) -> None:
    path = tmp_path / "mine.db"
    with connect(path) as database:
        for i in range(3):
            database.write(molecule("CO"), name=f"CO {i}", group="small", multiplicity=1 + 2 * i, charge=2 * i)
    imported = read_structures(path, ASE_UNITS, "db")
    assert (imported.id, imported.group) == (("CO 0", "CO 1", "CO 2"), ("small",) * 3)
    assert imported.frames.multiplicity.tolist() == [1, 3, 5]
    assert imported.frames.charge.tolist() == [0, 2, 4]  # not the sum of the atoms' initial charges
    assert imported.unused == {}


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
def test_the_remedy_of_a_missing_multiplicity_is_one_of_the_format(format: str, remedy: str, tmp_path: Path) -> None:
    path, atoms = tmp_path / f"mine.{format}", molecule("CO")
    atoms.calc = EMT()
    atoms.get_forces()
    write(path, [atoms] * 20, format=format)
    with pytest.raises(DatasetError) as refused:
        labelled_dataset(CARD, path, read_structures(path, ASE_UNITS, format))
    assert f"{remedy} for all molecules that state none" in str(refused.value)
