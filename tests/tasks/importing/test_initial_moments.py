"""A magnetic order that a data set states reaches the model: from each importer, through the store, in every question.

The chain has four atoms 2.5 Å apart, with moments of ±2 μB or ±1 μB. Each of its four bonds has 0.1 eV m_i m_j, and a
spring with a stretch of -0.01 Å m_i m_j: in the order + - + - energies of 4 (-0.4 + 0.0016) eV for 2 μB.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, molecule
from ase.io import write

from judge.data.summary import summary_lines
from tasks.datasets.card import Card, DatasetError, LabelSet, Table
from tasks.datasets.dataset import Dataset, load_dataset, load_structures, save_dataset
from tasks.importing.checks.copies import find_copies
from tasks.importing.checks.set_faults import set_faults
from tasks.importing.din import import_din
from tasks.importing.import_summary import summarise
from tasks.importing.importers import read_structures
from tasks.importing.label_units import ASE_UNITS
from tasks.importing.labelled_import import labelled_dataset
from tasks.importing.reactions import import_reactions
from tasks.importing.reading.frame_fields import FrameFields
from tasks.kind import Watch
from tasks.kinds.labelled_frames import LabelledFrames, LabelledFramesParameters
from tasks.model.calculator import InProcessCalculator
from tasks.observing.memorisation_probes import Probe, draw_copies, transformed
from tasks.simulation.reaction_path import answer_images
from tasks.simulation.relaxation import Relaxation, relaxed
from tasks.simulation.supercells import replicated
from tasks.structures.frames import Frames, FramesError
from tests.sandbox.guest.models.models import Exchange

CARD = Card(
    name="chains", version="1", title="Chains", domain="Inorganic Materials", periodic=True,
    label_sets={"model": LabelSet(theory="model", dispersion=False)}, default_label_set="model",
)  # fmt: skip
UP_DOWN = np.array([1.0, -1.0, 1.0, -1.0])
SIZES = (2.0, 1.0, 1.5, 0.5, 2.0, 1.0, 1.5, 0.5, 2.0, 1.0)
# Of an Fe atom and O2, as data sets have it that were made before moments could be stated.
WITHOUT_MOMENTS = "7b58d910e72137052bf4f8a069bb6352e47c1cd225ceb5d99982acbfff503e2c"
MODEL = InProcessCalculator(Exchange())


def chain(size: float = 2.0, order: Any = UP_DOWN) -> Atoms:
    atoms = Atoms("Cr4", [[2.5 * k, 0, 0] for k in range(4)], cell=[10.0, 9.0, 9.0], pbc=True)
    atoms.set_initial_magnetic_moments(size * np.asarray(order))
    return atoms


def expected(size: float) -> float:
    """The energy of a chain in the order + - + - [eV]."""
    return 4 * ((0.01 * size**2) ** 2 - 0.1 * size**2)


def chains() -> list[Atoms]:
    made = []
    for k, size in enumerate(SIZES):
        atoms = chain(size)
        atoms.positions[:, 1] += 0.1 * k  # no copies
        atoms.info["energy"] = expected(size)
        made.append(atoms)
    return made


def extxyz(folder: Path) -> Path:
    write(folder / "a.extxyz", chains())
    return folder / "a.extxyz"


def brackets(folder: Path) -> Path:
    """The same, with a field for which ASE reads the frames."""
    path = extxyz(folder)
    path.write_text(path.read_text().replace("Properties=", "note=[[1,2],[3,4]] Properties="))
    return path


def other_name(folder: Path) -> Path:
    path = extxyz(folder)
    path.write_text(path.read_text().replace("initial_magmoms", "order"))
    return path


def trajectory(folder: Path) -> Path:
    write(folder / "a.traj", chains())
    return folder / "a.traj"


def database(folder: Path) -> Path:
    write(folder / "a.db", chains())
    return folder / "a.db"


def in_order(path: Path, format: str | None = None, **keys: str) -> Dataset:
    read = read_structures(path, ASE_UNITS, format, fields=FrameFields(keys))
    if format is not None and not read.labels.arrays:  # ASE keeps no info in these
        read = replace(read, labels=replace(read.labels, energy=np.array([expected(size) for size in SIZES])))
    return labelled_dataset(CARD, path, read)


@pytest.mark.parametrize(
    ("make", "format", "keys"),
    [
        (extxyz, "extxyz", {}),
        (brackets, "extxyz", {}),
        (other_name, "extxyz", {"initial_magmoms": "order"}),
        (trajectory, "traj", {}),
        (database, "db", {}),
    ],
)
def test_each_importer_brings_the_order_to_the_model(
    make: Callable[[Path], Path], format: str, keys: dict[str, str], tmp_path: Path
) -> None:
    dataset = in_order(make(tmp_path), format, **keys)
    stored = load_dataset(save_dataset(dataset, tmp_path / "data"))
    for each in (dataset, stored):
        moments = each.frames.initial_magmoms
        assert moments is not None
        np.testing.assert_array_equal(moments.reshape(-1, 4), np.outer(SIZES, UP_DOWN))
    structures = load_structures(tmp_path / "data" / CARD.full_name)
    assert structures.frames_sha256 == dataset.structures.frames_sha256
    assert "initial magnetic moments: 10 structures" in summary_lines(summarise(stored), {})
    kind, parameters, watch = LabelledFrames(), LabelledFramesParameters(), Watch(lambda: 0.0)
    observation = kind.observe(structures, parameters, MODEL, watch)
    assert observation.arrays["energy"][: len(SIZES)] == pytest.approx([expected(size) for size in SIZES], abs=1e-12)


def stated(atoms: Atoms) -> Frames:
    frames = Frames.from_atoms([atoms])
    return replace(frames, initial_magmoms=atoms.get_initial_magnetic_moments())


def test_supercells_relaxations_and_images_keep_the_moments_of_their_atoms() -> None:
    frames = stated(chain())
    larger = replicated(frames, 0, (2, 1, 1))
    assert larger.initial_magmoms is not None
    assert larger.initial_magmoms.tolist() == [2.0, -2.0] * 4
    assert MODEL.compute(larger, ("energy",)).energy[0] == pytest.approx(2 * expected(2.0))
    pair = Atoms("Cr2", [[0, 0, 0], [0, 0, 2.6]])
    for second, length in ((2.0, 2.54), (-2.0, 2.46)):
        pair.set_initial_magnetic_moments([2.0, second])
        end = relaxed(stated(pair).atoms(0), MODEL, Relaxation(fmax=1e-5), cell=False)
        assert end.get_distance(0, 1) == pytest.approx(length, abs=1e-4)
    images = [frames.atoms(0) for _ in range(3)]
    answer_images(images, MODEL)
    assert [image.get_potential_energy() for image in images] == pytest.approx([expected(2.0)] * 3)
    strained = frames.moved(frames.positions * 1.01, frames.cell * 1.01)
    assert strained.initial_magmoms is frames.initial_magmoms


def test_a_permutation_moves_the_moments_with_their_atoms() -> None:
    frames = Frames.concatenate([stated(chain(2.0, [1, 1, -1, -1])), stated(chain(1.0))])
    copies = draw_copies(frames, np.random.default_rng(3))
    moved = MODEL.compute(transformed(frames, copies), ("energy",)).energy
    originals = MODEL.compute(frames.take(copies.original), ("energy",)).energy
    assert len(set(originals.tolist())) == 2
    unmoved = [list(Probe).index(probe) for probe in (Probe.ROTATION, Probe.TRANSLATION, Probe.PERMUTATION)]
    np.testing.assert_allclose(moved.reshape(len(Probe), -1)[unmoved], [originals] * 3, rtol=0, atol=1e-9)


def test_a_set_without_moments_is_as_before(tmp_path: Path) -> None:
    """Moments that ASE makes up, and moments of zero, are none."""
    bare = Frames.from_atoms([Atoms("Fe"), Atoms("O2", [[0, 0, 0], [0, 0, 1.2]])])
    built = Frames.from_atoms([Atoms("Fe", magmoms=[2.3]), Atoms("O2", [[0, 0, 0], [0, 0, 1.2]], magmoms=[1, 1])])
    assert built.initial_magmoms is None
    assert list(built.arrays()) == list(bare.arrays())
    assert built.sha256() == bare.sha256() == WITHOUT_MOMENTS
    zero = [chain(0.0) for _ in range(2)]
    write(tmp_path / "zero.extxyz", zero)
    assert read_structures(tmp_path / "zero.extxyz").frames.sha256() == Frames.from_atoms(zero).sha256()
    nothing = replace(bare, initial_magmoms=np.full(3, np.nan))
    assert nothing.sha256() == bare.sha256()
    assert Frames.from_atoms([molecule("O2"), bulk("Fe")]).initial_magmoms is None


def test_moments_are_one_number_an_atom(tmp_path: Path) -> None:
    frames = stated(chain())
    with pytest.raises(FramesError, match=r"initial_magmoms must have shape \(4,\), not \(3,\)"):
        replace(frames, initial_magmoms=np.ones(3))
    for wrong in ([1.0, np.nan, 1.0, 1.0], [np.inf, 1.0, 1.0, 1.0]):
        with pytest.raises(FramesError, match="initial_magmoms: a structure has finite moments of all its atoms"):
            replace(frames, initial_magmoms=np.array(wrong))
    atoms = Atoms("Cr4", chain().positions, magmoms=np.ones((4, 3)))
    write(tmp_path / "a.extxyz", atoms)
    with pytest.raises(DatasetError, match="frame 0: initial_magmoms: must be one number an atom, of 4 atoms: moments"):
        read_structures(tmp_path / "a.extxyz")


def test_other_moments_are_no_copy() -> None:
    frames = Frames.concatenate([stated(chain()), stated(chain()), stated(chain(2.0, [1, 1, -1, -1]))])
    assert find_copies(frames).first.tolist() == [0, 0, 2]


def test_sums_have_moments_too(tmp_path: Path) -> None:
    """Of the two orders of a chain, + - + - is 4 × 0.8 eV lower than + + + +, where the springs are 4 × 0.0016 eV."""
    structures = [chain(), chain(2.0, np.ones(4))]
    for name, atoms in zip(("af", "fm"), structures, strict=True):
        atoms.info["name"] = name
    write(tmp_path / "structures.extxyz", structures)
    (tmp_path / "set.din").write_text("1\naf\n-1\nfm\n0\n-73.8\n")
    energy = MODEL.compute(import_din(tmp_path, CARD).frames, ("energy",)).energy
    assert energy[0] - energy[1] == pytest.approx(-3.2)
    table = {"reference_unit": "eV", "reactions": [{"id": "order", "reference": -3.2, "terms": [
        {"structure": "af", "coefficient": 1}, {"structure": "fm", "coefficient": -1}]}]}  # fmt: skip
    (tmp_path / "reactions.json").write_text(json.dumps(table))
    of_table = import_reactions(tmp_path, CARD)
    assert MODEL.compute(of_table.frames, ("energy",)).energy.tolist() == energy.tolist()
    assert not set_faults(of_table)


def test_phonons_of_a_magnetic_order_are_refused() -> None:
    """Their displacements follow the symmetry of the atoms, which moments may lower."""
    table = Table(id=("a",), group=("",), cluster=("a",))
    card = Card(name="s", version="1", title="S", domain="Inorganic Materials", periodic=True)
    dataset = Dataset(card, stated(chain()), table, {})
    assert not set_faults(dataset)
    with_supercell = replace(dataset, conditions={"supercell": np.eye(3, dtype=np.int64)[None]})
    assert set_faults(with_supercell) == [
        "initial_magmoms: displaced supercells follow the symmetry of the atoms alone, which moments may lower: leave "
        "the moments out"
    ]
