"""Files that phonopy wrote are imported with phonopy's numbers; a broken one is refused in one line that names it."""

from __future__ import annotations

import bz2
import gzip
import lzma
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.calculators.emt import EMT
from phonopy import Phonopy

from tasks.datasets.card import Card, LabelSet
from tasks.datasets.dataset import DatasetError, load_dataset, save_dataset
from tasks.importing.phonopy_files import import_phonopy
from tasks.kind import Watch
from tasks.kinds.phonons import PROPERTIES, Phonons, PhononsParameters
from tasks.model.calculator import InProcessCalculator
from tasks.simulation.relaxation import Relaxation
from tasks.simulation.vibrations import VibrationSettings
from tests.tasks.importing.phonopy_texts import FACE_CENTRED, computed, copper, text_of

COARSE = VibrationSettings(mesh=20.0)
CARD = Card(
    name="phonons",
    version="1",
    title="Phonons",
    domain="Inorganic Materials",
    periodic=False,  # set from the structures
    label_sets={"EMT": LabelSet(theory="EMT", dispersion=False)},
    default_label_set="EMT",
)


def tetragonal_alloy() -> Phonopy:
    """L1₀ copper and gold: two inequivalent atoms, two displacements each; a supercell that is not a multiple."""
    atoms = Atoms("CuAu", cell=[2.72, 2.72, 3.72], scaled_positions=[[0, 0, 0], [0.5, 0.5, 0.5]], pbc=True)
    return computed(atoms, np.eye(3), supercell=np.array([[2, 2, 0], [-2, 2, 0], [0, 0, 2]]))


@pytest.fixture(scope="module")
def copper_text(tmp_path_factory: pytest.TempPathFactory) -> str:
    return text_of(copper(), tmp_path_factory.mktemp("written"))


def by_phonopy(phonon: Phonopy) -> list[float]:
    """Highest frequency [K] at the points commensurate with the supercell, S, F and C_V at 300 K, by phonopy alone."""
    phonon.produce_force_constants()
    phonon.symmetrize_force_constants()
    whole = np.array(list(np.ndindex(8, 8, 8))) - 4
    points = whole @ np.linalg.inv(phonon.supercell.cell @ np.linalg.inv(phonon.primitive.cell)).T
    phonon.run_qpoints(points)
    phonon.run_mesh(20.0)
    phonon.run_thermal_properties(temperatures=[300.0], cutoff_frequency=1e-3)
    qpoints: Any = phonon.qpoints
    thermal: Any = phonon.thermal_properties
    highest = qpoints.frequencies.max() * 47.9924307  # hν/k_B of 1 THz
    return [highest, float(thermal.entropy[0]), float(thermal.free_energy[0]), float(thermal.heat_capacity[0])]


def test_files_of_phonopy_are_imported_with_its_numbers(tmp_path: Path, copper_text: str) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    alloy = tetragonal_alloy()
    (folder / "mp-30.yaml.bz2").write_bytes(bz2.compress(copper_text.encode()))
    (folder / "mp-522.yaml.xz").write_bytes(lzma.compress(text_of(alloy, tmp_path).encode()))
    (folder / "plain.yaml").write_text(copper_text)
    (folder / "zipped.yaml.gz").write_bytes(gzip.compress(copper_text.encode()))
    (folder / "README.txt").write_text("not one of them")
    dataset = import_phonopy(folder, CARD, COARSE)
    assert dataset.table.id == ("mp-30", "mp-522", "plain", "zipped")
    assert dataset.table.group == ("cubic", "tetragonal", "cubic", "cubic")
    assert dataset.card.periodic
    assert dataset.frames.n_atoms.tolist() == [4, 2, 4, 4]
    np.testing.assert_array_equal(dataset.conditions["supercell"][1], [[2, 2, 0], [-2, 2, 0], [0, 0, 2]])
    np.testing.assert_allclose(dataset.conditions["primitive"][0], FACE_CENTRED, atol=1e-12)
    np.testing.assert_allclose(dataset.frames.atoms(1).cell.lengths(), [2.72, 2.72, 3.72], rtol=1e-12)
    for row, phonon in ((0, copper()), (1, alloy), (2, copper()), (3, copper())):
        reference = dataset.table.crystals[row].reference["EMT"]
        # phonopy's constants of nature are those of CODATA 2006: its R is larger by 1.2e-6 of itself.
        np.testing.assert_allclose([reference[p.name] for p in PROPERTIES], by_phonopy(phonon), rtol=1e-5)
    again = load_dataset(save_dataset(dataset, tmp_path / "data"))
    assert again.table == dataset.table
    np.testing.assert_array_equal(again.conditions["supercell"], dataset.conditions["supercell"])


def test_the_model_that_made_a_file_is_without_error_on_it(tmp_path: Path, copper_text: str) -> None:
    (tmp_path / "Cu.yaml").write_text(copper_text)
    dataset = import_phonopy(tmp_path, CARD, COARSE)
    settings = PhononsParameters(relaxation=Relaxation(optimizer="BFGS", fmax=1e-5), mesh=COARSE.mesh)
    kind, model = Phonons(), InProcessCalculator(EMT())
    observation = kind.observe(dataset.structures, settings, model, Watch(time.monotonic))
    for metric in kind.measure(observation, dataset, settings, None).metrics.values():
        assert metric.value is not None
        assert metric.baseline is not None
        # The lattice constant in the file is that of EMT to seven digits, the displacement is along another direction.
        assert metric.value < 1e-4 * metric.baseline


def test_a_file_cannot_run_code(tmp_path: Path) -> None:
    written = tmp_path / "written"
    (tmp_path / "evil.yaml").write_text(
        f"phonopy: !!python/object/apply:pathlib.Path.touch [!!python/object/apply:pathlib.Path [{written}]]"
    )
    with pytest.raises(DatasetError, match=r"evil\.yaml: is not plain YAML"):
        import_phonopy(tmp_path, CARD)
    assert not written.exists()


def cut(text: str, start: str, stop: str) -> str:
    """`text` without what is from `start` to before `stop`."""
    return text[: text.index(start)] + text[text.index(stop) :]


BROKEN: dict[str, tuple[Callable[[str], str], str]] = {
    "empty": (lambda text: "", "it has no fields"),
    "not YAML": (lambda text: text.replace("supercell_matrix:", "supercell_matrix: ["), "is not plain YAML"),
    "of something else": (lambda text: "{a: 1, physical_unit: {length: angstrom}}", "unit_cell: is missing"),
    "no units": (lambda text: cut(text, "physical_unit:", "space_group:"), "physical_unit: is missing"),
    "bohr": (lambda text: text.replace('length: "angstrom"', 'length: "au"'), "physical_unit.length: must be angstrom"),
    "no supercell": (lambda text: cut(text, "supercell_matrix:", "primitive_cell:"), "supercell_matrix: is missing"),
    "no forces": (lambda text: text[: text.index("  forces:")], "displacements.forces: are missing"),
    "no displacements": (lambda text: text[: text.index("displacements:")], "displacements: must be there"),
    "a force too few": (lambda text: text[: text.rstrip().rindex("\n") + 1], "on the 32 atoms of the supercell"),
    "another supercell": (
        lambda text: text.replace("[   2,   0,   0 ]", "[   3,   0,   0 ]"),
        "supercell: is not what",
    ),
    "another cell": (lambda text: text.replace("0.500000000000000", "0.400000000000000"), "do not fit the structure"),
    "a lost atom": (lambda text: text.replace("- atom:    1", "- atom:   40"), "must be from 1 to 32"),
    "not a number": (lambda text: text.replace("0.0100000000000000", ".nan"), "displacements: must be finite"),
    "no element": (lambda text: text.replace("symbol: Cu", "symbol: Qq"), "is not a file of phonopy"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_file_is_refused_in_one_line(fault: str, tmp_path: Path, copper_text: str) -> None:
    breaks, expected = BROKEN[fault]
    broken = breaks(copper_text)
    assert broken != copper_text
    path = tmp_path / "mp-1.yaml"
    path.write_text(broken)
    with pytest.raises(DatasetError) as caught:
        import_phonopy(tmp_path, CARD, COARSE)
    line = str(caught.value)
    assert line.startswith(f"{path}: ")
    assert expected in line
    assert "\n" not in line


def test_a_displacement_too_few_is_refused_and_not_fitted(tmp_path: Path) -> None:
    """Phonopy itself would fit what there is."""
    phonon = tetragonal_alloy()
    dataset: Any = phonon.dataset
    phonon.dataset = {"natom": dataset["natom"], "first_atoms": dataset["first_atoms"][:-1]}
    (tmp_path / "short.yaml").write_text(text_of(phonon, tmp_path))
    with pytest.raises(DatasetError, match=r"short\.yaml: displacements: .* in all three directions"):
        import_phonopy(tmp_path, CARD, COARSE)


def test_an_unstable_reference_is_named(tmp_path: Path, copper_text: str) -> None:
    simple_cubic = computed(Atoms("Cu", cell=2.4 * np.eye(3), pbc=True), np.eye(3))
    (tmp_path / "sc.yaml").write_text(text_of(simple_cubic, tmp_path))
    (tmp_path / "fcc.yaml").write_text(copper_text)
    with pytest.raises(DatasetError, match=r"imaginary frequencies.*: take out sc \(-\d\.\d\d THz\)$"):
        import_phonopy(tmp_path, CARD, COARSE)


def test_folders_and_compressed_files_at_fault_are_named(tmp_path: Path, copper_text: str) -> None:
    with pytest.raises(DatasetError, match="there is no file of phonopy"):
        import_phonopy(tmp_path, CARD)
    with pytest.raises(DatasetError, match=r"absent: cannot be read: No such file"):
        import_phonopy(tmp_path / "absent", CARD)
    unlabelled = CARD.model_copy(update={"label_sets": {}, "default_label_set": None})
    with pytest.raises(DatasetError, match="no label set"):
        import_phonopy(tmp_path, unlabelled)
    (tmp_path / "Cu.yaml.bz2").write_bytes(bz2.compress(copper_text.encode())[:-40])
    with pytest.raises(DatasetError, match=r"Cu\.yaml\.bz2: is incomplete or damaged: fetch it again"):
        import_phonopy(tmp_path, CARD)
    (tmp_path / "Cu.yaml").write_text(copper_text)
    with pytest.raises(DatasetError, match="two files are of Cu"):
        import_phonopy(tmp_path, CARD)
    (tmp_path / "Cu.yaml.bz2").write_bytes(b"not compressed")
    (tmp_path / "Cu.yaml").unlink()
    with pytest.raises(DatasetError, match=r"Cu\.yaml\.bz2: is incomplete or damaged: fetch it again"):
        import_phonopy(tmp_path, CARD)
