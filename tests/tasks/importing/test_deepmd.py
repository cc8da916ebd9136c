"""DeePMD npy: the same labels as were written, plain and mixed, against dpdata where it can read; else one line."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import dpdata
import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, molecule
from ase.calculators.emt import EMT
from ase.symbols import symbols2numbers

from tasks.datasets.card import Card, DatasetError, LabelSet
from tasks.importing.deepmd import read_deepmd
from tasks.importing.labelled_import import Imported, labelled_dataset

TYPES = ["Cu", "O", "Pt", "C"]
LABELLED = Card(
    name="mine", version="1", title="Mine", domain="Inorganic Materials", periodic=True,
    label_sets={"EMT": LabelSet(theory="EMT", dispersion=False)}, default_label_set="EMT",
)  # fmt: skip


def rattled(cell: Atoms, n: int, seed: int = 0) -> list[Atoms]:
    """Rattled and sheared on its own each, so that all nine components of the virial differ from zero."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(n):
        atoms = cell.copy()
        if atoms.pbc.all():
            atoms.set_cell(atoms.cell.array @ (np.eye(3) + rng.normal(0, 0.03, (3, 3))), scale_atoms=True)
        atoms.positions += rng.normal(0, 0.05, atoms.positions.shape)
        atoms.calc = EMT()
        made.append(atoms)
    return made


def alloys(n: int, seed: int = 0) -> list[Atoms]:
    cell = bulk("Pt", cubic=True)
    cell.numbers[1] = 29
    return rattled(cell, n, seed)


def write_set(folder: Path, made: list[Atoms]) -> None:
    """A set.* of DeePMD, by its documentation."""
    folder.mkdir(parents=True)
    n = len(made)
    np.save(folder / "coord.npy", np.array([a.positions.ravel() for a in made]))
    np.save(folder / "energy.npy", np.array([a.get_potential_energy() for a in made]))
    np.save(folder / "force.npy", np.array([a.get_forces().ravel() for a in made]))
    if made[0].pbc.all():
        np.save(folder / "box.npy", np.array([a.cell.array.ravel() for a in made]))
        virial = [-a.get_volume() * a.get_stress(voigt=False) for a in made]
        np.save(folder / "virial.npy", np.array(virial).reshape(n, 9))
    else:
        (folder.parent / "nopbc").touch()


def write_types(folder: Path, atoms: Atoms) -> None:
    (folder / "type_map.raw").write_text("\n".join(TYPES) + "\n")
    (folder / "type.raw").write_text("\n".join(str(TYPES.index(s)) for s in atoms.symbols) + "\n")


def write_system(folder: Path, *sets: list[Atoms]) -> Path:
    for i, made in enumerate(sets):
        write_set(folder / f"set.{i:03}", made)
    write_types(folder, sets[0][0])
    return folder


def assert_equal(imported: Imported, made: list[Atoms]) -> None:
    """Structures and labels are those of `made`, computed again with ASE."""
    frames, labels = imported.frames, imported.labels
    assert len(frames) == len(made)
    assert labels.energy is not None
    assert labels.forces is not None
    for i, atoms in enumerate(made):
        mine, where = frames.atoms(i), frames.atom_slice(i)
        assert (mine.symbols == atoms.symbols).all()
        np.testing.assert_allclose(mine.positions, atoms.positions, atol=1e-12)
        assert mine.pbc.tolist() == atoms.pbc.tolist()
        assert labels.energy[i] == pytest.approx(atoms.get_potential_energy(), abs=1e-12)
        np.testing.assert_allclose(labels.forces[where], atoms.get_forces(), atol=1e-12)
        if atoms.pbc.all():
            assert labels.stress is not None
            np.testing.assert_allclose(mine.cell.array, atoms.cell.array, atol=1e-12)
            np.testing.assert_allclose(labels.stress[i], atoms.get_stress(), atol=1e-12)


def test_a_plain_system_is_read_as_ase_computed_it(tmp_path: Path) -> None:
    first, second = alloys(3), alloys(2, seed=1)
    imported = read_deepmd(write_system(tmp_path / "CuPt", first, second))
    assert_equal(imported, [*first, *second])
    assert imported.id == ("CuPt/set.000/0", "CuPt/set.000/1", "CuPt/set.000/2", "CuPt/set.001/0", "CuPt/set.001/1")
    assert set(imported.group) == {"CuPt"}


def test_a_folder_of_systems_is_read_to_any_depth(tmp_path: Path) -> None:
    crystals, molecules = alloys(2), rattled(molecule("CO"), 3)
    write_system(tmp_path / "a" / "crystal", crystals)
    write_system(tmp_path / "b", molecules)
    imported = read_deepmd(tmp_path)
    assert_equal(imported, [*crystals, *molecules])
    assert imported.group == ("a/crystal",) * 2 + ("b",) * 3
    assert not imported.frames.pbc[2:].any()
    assert not imported.frames.cell[2:].any()
    assert imported.labels.stress is not None
    assert np.isnan(imported.labels.stress[2:]).all()


def test_each_system_is_a_cluster_when_clusters_are_groups(tmp_path: Path) -> None:
    """Two systems of one composition, as two trajectories are; all sets of one belong together."""
    write_system(tmp_path / "300K", alloys(6), alloys(4, seed=1))
    write_system(tmp_path / "600K", alloys(10, seed=2), alloys(10, seed=3))
    dataset = labelled_dataset(LABELLED, tmp_path, read_deepmd(tmp_path), cluster="group")
    assert dataset.card.cluster_column == "group"
    assert dataset.clusters == ("300K",) * 10 + ("600K",) * 20


def test_of_mixed_type_each_frame_has_its_own_elements_and_gaps_are_no_atoms(tmp_path: Path) -> None:
    """The second frame has three atoms in four places: the last place has type −1."""
    made = alloys(3)
    made[2].numbers[:] = symbols2numbers("Cu2Pt2")
    folder = tmp_path / "mixed"
    write_set(folder / "set.000", made)
    (folder / "type_map.raw").write_text(" ".join(TYPES))
    (folder / "type.raw").write_text("0 0 0 0")
    types = np.array([[TYPES.index(s) for s in a.symbols] for a in made])
    types[1, 3] = -1
    np.save(folder / "set.000" / "real_atom_types.npy", types.astype(np.float64))
    imported = read_deepmd(folder)
    assert imported.frames.n_atoms.tolist() == [4, 3, 4]
    for i, atoms in enumerate([made[0], made[1][:3], made[2]]):
        assert (imported.frames.atoms(i).symbols == atoms.symbols).all()
        np.testing.assert_allclose(imported.frames.atoms(i).positions, atoms.positions, atol=1e-12)
    assert imported.labels.forces is not None
    np.testing.assert_allclose(imported.labels.forces[4:7], made[1].get_forces()[:3], atol=1e-12)


@pytest.mark.parametrize("form", ["deepmd/npy", "deepmd/npy/mixed"])
def test_what_dpdata_writes_is_what_dpdata_reads(form: str, tmp_path: Path) -> None:
    source = write_system(tmp_path / "source", alloys(4))
    system = dpdata.LabeledSystem(str(source), fmt="deepmd/npy")
    out = tmp_path / "out"
    if form == "deepmd/npy":
        system.to(form, str(out), set_size=2, prec=np.float64)
        theirs = dpdata.LabeledSystem(str(out), fmt=form)
    else:
        dpdata.MultiSystems(system).to(form, str(out), prec=np.float64)
        theirs = dpdata.MultiSystems().load_systems_from_file(str(out), fmt=form)[0]
    imported, data = read_deepmd(out), theirs.data
    n = len(imported.frames)
    assert n == len(data["energies"]) == 4
    names = np.array(data["atom_names"])[data["atom_types"]].tolist()
    for i in range(n):
        assert imported.frames.atoms(i).get_chemical_symbols() == names
    np.testing.assert_allclose(imported.frames.positions.reshape(n, -1, 3), data["coords"], atol=1e-10)
    np.testing.assert_allclose(imported.frames.cell, data["cells"], atol=1e-10)
    np.testing.assert_allclose(imported.labels.energy, data["energies"], atol=1e-10)
    assert imported.labels.forces is not None
    assert imported.labels.stress is not None
    np.testing.assert_allclose(imported.labels.forces.reshape(n, -1, 3), data["forces"], atol=1e-10)
    xx_xy = -data["virials"][:, 0, :2] / np.linalg.det(data["cells"])[:, None]
    np.testing.assert_allclose(imported.labels.stress[:, [0, 5]], xx_xy, atol=1e-10)


@pytest.mark.data
def test_deepmd_water_is_as_dpdata_reads_it(reference_data: Path) -> None:
    folder = reference_data / "deepmd_water" / "data_0"
    imported, data = read_deepmd(folder), dpdata.LabeledSystem(str(folder), fmt="deepmd/npy").data
    assert imported.labels.forces is not None
    assert imported.labels.stress is None
    assert imported.frames.atoms(0).get_chemical_formula() == "H128O64"
    np.testing.assert_array_equal(imported.labels.energy, data["energies"])
    np.testing.assert_array_equal(imported.labels.forces.reshape(80, 192, 3), data["forces"])
    np.testing.assert_array_equal(imported.frames.positions.reshape(80, 192, 3), data["coords"])
    np.testing.assert_array_equal(imported.frames.cell, data["cells"])


def molecules(tmp_path: Path, fparam: object = None) -> Path:
    folder = write_system(tmp_path / "CO", rattled(molecule("CO"), 3))
    if fparam is not None:
        np.save(folder / "set.000" / "fparam.npy", np.array(fparam))
    return folder


def test_charge_and_multiplicity_are_columns_of_fparam(tmp_path: Path) -> None:
    folder = molecules(tmp_path, [[300.5, 0.0, 1.0], [300.5, 1.0, 2.0], [300.5, -1.0, 2.0]])
    frames = read_deepmd(folder, ("other", "charge", "multiplicity")).frames
    assert frames.charge.tolist() == [0, 1, -1]
    assert frames.multiplicity.tolist() == [1, 2, 2]


def test_fparam_must_be_said_to_be_something(tmp_path: Path) -> None:
    folder = molecules(tmp_path, [[0.0, 1.0], [1.0, 2.5], [0.0, 1.0]])
    path = folder / "set.000" / "fparam.npy"
    unknown = "correct it, or leave it out where it is not known"
    for fparam, says in (
        ((), "what its columns are is not stated; say so, as in --fparam charge,multiplicity"),
        (("charge",), "has shape (3, 2), not (3, 1)"),
        (
            ("charge", "multiplicity"),
            f"frame 1: multiplicity: must be a whole number from 0 to 100, not 2.5: {unknown}",
        ),
    ):
        with pytest.raises(DatasetError) as refused:
            read_deepmd(folder, fparam)  # type: ignore[arg-type]
        assert str(refused.value) == f"{path}: {says}"
    path.unlink()
    with pytest.raises(DatasetError, match=r"fparam\.npy: is missing, though --fparam .*; leave --fparam out"):
        read_deepmd(folder, ("charge",))


def pickled(folder: Path) -> None:
    np.save(folder / "set.000" / "energy.npy", np.array([{}, {}], object), allow_pickle=True)


def truncated(folder: Path) -> None:
    path = folder / "set.000" / "coord.npy"
    path.write_bytes(path.read_bytes()[:-8])


def infinite(folder: Path) -> None:
    path = folder / "set.000" / "force.npy"
    forces = np.load(path)
    forces[1, 4] = np.inf
    np.save(path, forces)


def save(name: str, array: object) -> Callable[[Path], None]:
    return lambda folder: np.save(folder / "set.000" / name, np.array(array))


def write(name: str, text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text(text)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (pickled, "set.000/energy.npy: cannot be read: "),
        (truncated, "set.000/coord.npy: cannot be read: "),
        (infinite, "set.000/force.npy: frame 1: is not finite"),
        (save("energy.npy", [1.0]), "set.000/energy.npy: has shape (1,), not (2, 1)"),
        (save("force.npy", np.zeros((2, 9))), "set.000/force.npy: has shape (2, 9), not (2, 12)"),
        (save("energy.npy", ["a", "b"]), "set.000/energy.npy: must be an array of numbers"),
        (save("box.npy", np.zeros((2, 9))), "set.000/box.npy: frame 0: the box has no volume; is the system nopbc?"),
        (save("coord.npy", np.zeros((0, 12))), "set.000/coord.npy: has shape (0, 12)"),
        (
            lambda f: (f / "set.000" / "box.npy").unlink(),
            "set.000/box.npy: is missing; a system without a box has a file",
        ),
        (lambda f: (f / "set.000" / "coord.npy").unlink(), "set.000/coord.npy: is missing"),
        (lambda f: (f / "nopbc").touch(), "set.000/virial.npy: the system is nopbc and can have none; remove the file"),
        (lambda f: (f / "type_map.raw").unlink(), "type_map.raw: cannot be read: it names the elements"),
        (lambda f: shutil.rmtree(f / "set.000"), ": set.*: there is no such folder"),
        (write("type_map.raw", "Cu O"), "set.000: frame 0: atom 0: its type 2 is none of the 2 of type_map.raw"),
        (write("type_map.raw", "Cu O Xx C"), "type_map.raw: 'Xx' is no element; write the elements' symbols"),
        (write("type.raw", "2 0 two 2"), "type.raw: must be a list of whole numbers, one an atom"),
        (write("type.raw", "2 0 2"), "set.000/coord.npy: has shape (2, 12), not (frames, 9)"),
        (write("type.raw", ""), "type.raw: is empty: the system has no atoms"),
    ],
)
def test_a_broken_system_is_one_line_with_file_and_frame(
    spoil: Callable[[Path], object], says: str, tmp_path: Path
) -> None:
    folder = write_system(tmp_path / "CuPt", alloys(2))
    spoil(folder)
    with pytest.raises(DatasetError) as refused:
        read_deepmd(folder)
    assert str(refused.value).startswith(f"{folder}{says}" if says[0] == ":" else f"{folder}/{says}")
    assert "\n" not in str(refused.value)


def test_what_is_no_system_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"type\.raw: is in no folder here"):
        read_deepmd(tmp_path)
    with pytest.raises(DatasetError, match="nowhere: is not there"):
        read_deepmd(tmp_path / "nowhere")


def test_arrays_of_other_names_are_told_and_2s_plus_1_is_stated_as_this_format_can(tmp_path: Path) -> None:
    folder = molecules(tmp_path)
    (folder / "set.000" / "force.npy").rename(folder / "set.000" / "forces.npy")
    imported = read_deepmd(folder)
    assert imported.labels.forces is None
    assert imported.unused == {"forces.npy": 3}
    assert imported.state_in == "add a column to fparam.npy and name it multiplicity in --fparam"
    two = tmp_path / "two"
    for name in ("a", "b"):
        shutil.copytree(folder, two / name)
    assert read_deepmd(two).unused == {"forces.npy": 6}
    assert read_deepmd(two).state_in == imported.state_in


def test_links_to_systems_are_systems(tmp_path: Path) -> None:
    """Collections are often folders of links. One that leads back to a folder above it ends there."""
    made, root = alloys(3), tmp_path / "all"
    write_system(tmp_path / "elsewhere" / "b", made)
    write_system(root / "a", alloys(2, seed=1))
    (root / "linked").symlink_to(tmp_path / "elsewhere")
    (root / "a" / "back").symlink_to(root)
    imported = read_deepmd(root)
    assert imported.group == ("a",) * 2 + ("linked/b",) * 3
    assert imported.labels.energy[2:] == pytest.approx([atoms.get_potential_energy() for atoms in made])
    (root / "c").symlink_to(tmp_path / "nowhere")
    with pytest.raises(DatasetError, match=r"all/c: is a link to .*nowhere, which is not there: restore or remove it"):
        read_deepmd(root)
