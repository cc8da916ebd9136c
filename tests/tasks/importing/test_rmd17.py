"""The import of rMD17: order of time, units, and mistakes with their lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tasks.datasets.card import Card, DatasetError, LabelSet
from tasks.importing.import_summary import summarise
from tasks.importing.reading.nearest_atoms import nearest_atoms
from tasks.importing.rmd17 import import_rmd17
from tasks.learning.training import named_molecules
from tests.tasks.importing.rmd17_files import rmd17_arrays, write_rmd17

CARD = Card(
    name="md17",
    version="1",
    title="rMD17",
    domain="Molecules",
    periodic=False,
    default_label_set="PBE",
    label_sets={"PBE": LabelSet(theory="PBE/def2-SVP", dispersion=False)},
)
# CODATA 2014: 1 kcal/mol = 4184 J / 6.022140857e23 / 1.6021766208e-19 C.
KCAL = 4184 / 6.022140857e23 / 1.6021766208e-19


def test_frames_lie_in_the_order_of_time_in_ev_and_angstrom(tmp_path: Path) -> None:
    arrays = rmd17_arrays()
    write_rmd17(tmp_path)
    dataset = import_rmd17(tmp_path, CARD)
    order = np.argsort(arrays["old_indices"])
    assert dataset.table.id == tuple(f"rmd17/ethanol/{3 * i}" for i in range(40))
    assert set(dataset.table.group) == {"ethanol"}
    labels = dataset.labels()
    np.testing.assert_array_equal(dataset.frames.positions.reshape(40, 9, 3), arrays["coords"][order])
    np.testing.assert_allclose(labels.energy, arrays["energies"][order] * KCAL, rtol=1e-8)
    np.testing.assert_allclose(labels.forces, arrays["forces"][order].reshape(-1, 3) * KCAL, rtol=1e-8)
    np.testing.assert_allclose(KCAL, 0.0433641, atol=1e-7)
    assert set(dataset.frames.multiplicity.tolist()) == {1}
    assert dataset.card.cluster_column == "cluster"
    assert len(set(dataset.clusters)) == 40
    assert not summarise(dataset).impossible


def test_several_molecules_become_groups_and_may_be_chosen(tmp_path: Path) -> None:
    write_rmd17(tmp_path / "rmd17" / "npz_data")
    write_rmd17(tmp_path / "rmd17" / "npz_data", "benzene", m=300)
    dataset = import_rmd17(tmp_path, CARD)
    assert {name: len(indices) for name, indices in named_molecules(dataset).items()} == {"benzene": 300, "ethanol": 40}
    assert len({name for name in dataset.clusters if name.startswith("benzene")}) == 100
    chosen = import_rmd17(tmp_path, CARD, ["Benzene"], 30)
    assert chosen.table.id == tuple(f"rmd17/benzene/{30 * k}" for k in range(30))
    with pytest.raises(DatasetError, match=r"--only: 'ethanl' has no file in .*; did you mean ethanol\?"):
        import_rmd17(tmp_path, CARD, ["ethanl"])
    with pytest.raises(DatasetError, match=r"--only: 'toluene' has no file in .*: say benzene, ethanol"):
        import_rmd17(tmp_path, CARD, ["toluene"])
    with pytest.raises(DatasetError, match=r"--frames: 50 are more than the 40 of .*ethanol\.npz: say at most 40"):
        import_rmd17(tmp_path, CARD, ["ethanol"], 50)


def changed(key: str, index: Any, value: float) -> np.ndarray:
    array = rmd17_arrays()[key].astype(np.float64)
    array[index] = value
    return array


A = rmd17_arrays()
MISTAKES = {
    "no charges": ({"nuclear_charges": None}, "nuclear_charges: is missing (the file has coords, energies"),
    "no coordinates": ({"coords": None, "R": A["coords"]}, "coords: is missing (the file has R, energies"),
    "no energies": ({"energies": None}, "energies: is missing"),
    "no forces": ({"forces": None}, "forces: is missing"),
    "no times": ({"old_indices": None}, "old_indices: is missing"),
    "flat coordinates": ({"coords": A["coords"].reshape(40, 27)}, "coords: has 2 axes, not 3"),
    "a column of energies": ({"energies": A["energies"][:, None]}, "energies: has 2 axes, not 1"),
    "an atom too few": ({"coords": A["coords"][:, 1:]}, "coords: has shape (40, 8, 3), not (40, 9, 3)"),
    "a frame too few": ({"forces": A["forces"][1:]}, "forces: has shape (39, 9, 3), not (40, 9, 3)"),
    "an energy too few": ({"energies": A["energies"][1:]}, "energies: has shape (39,), not (40,)"),
    "axes exchanged": ({"coords": A["coords"].transpose(0, 2, 1)}, "coords: has shape (40, 3, 9), not (40, 9, 3)"),
    "symbols": ({"nuclear_charges": np.array(list("CCOHHHHHH"))}, "nuclear_charges: has <U1, not real numbers"),
    "objects": ({"coords": A["coords"].astype(object)}, "Object arrays cannot be loaded when allow_pickle=False"),
    "a dummy atom": ({"nuclear_charges": changed("nuclear_charges", 2, 0)}, "nuclear_charges: 0.0 of atom 2 is no"),
    "half a charge": ({"nuclear_charges": changed("nuclear_charges", 3, 1.5)}, "nuclear_charges: 1.5 of atom 3 is no"),
    "a NaN position": ({"coords": changed("coords", (7, 1, 2), np.nan)}, "coords: frame 7 is not finite"),
    "infinite forces": ({"forces": changed("forces", ([3, 5], 0, 0), np.inf)}, "forces: frame "),
    "a NaN energy": ({"energies": changed("energies", 12, np.nan)}, "energies: frame 12 is not finite"),
    "a time twice": ({"old_indices": np.r_[5, 5, np.arange(100, 138)]}, "frames 0 and 1 have the same place 5, so"),
    "times in fs": ({"old_indices": np.arange(40) / 2}, "old_indices: 0.5 of frame 1 is no place in a trajectory"),
    "a NaN time": ({"old_indices": changed("old_indices", 4, np.nan)}, "old_indices: "),
    "a negative time": ({"old_indices": changed("old_indices", 4, -1)}, "old_indices: -1.0 of frame 4 is no place"),
    "no frame": ({key: A[key][:0] for key in ("coords", "energies", "forces", "old_indices")}, "has no frame"),
    "energies in eV": ({"energies": A["energies"] * KCAL}, "is the energy of these atoms in eV; the file must have"),
    "energies in hartree": ({"energies": A["energies"] / 627.5095}, "is the energy of these atoms in hartree"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_has_one_line_with_file_array_and_remedy(mistake: str, tmp_path: Path) -> None:
    changes, line = MISTAKES[mistake]
    path = write_rmd17(tmp_path, **changes)
    with pytest.raises(DatasetError) as error:
        import_rmd17(tmp_path, CARD)
    assert str(error.value).startswith(str(path))
    assert line in str(error.value)
    assert "\n" not in str(error.value)


def test_files_that_are_no_archives_have_one_line(tmp_path: Path) -> None:
    path = tmp_path / "rmd17_ethanol.npz"
    with pytest.raises(DatasetError, match=r"has no file rmd17_MOLECULE\.npz: unpack the archive of rMD17 there"):
        import_rmd17(tmp_path, CARD)
    whole = write_rmd17(tmp_path).read_bytes()
    for content in (b"", b"PK\x03\x04 and no more", whole[: len(whole) // 2], b"\x93NUMPY, one array"):
        path.write_bytes(content)
        with pytest.raises(DatasetError, match=r"rmd17_ethanol\.npz: is no intact npz archive: fetch the file again"):
            import_rmd17(tmp_path, CARD)
    write_rmd17(tmp_path)
    content = bytearray(path.read_bytes())
    content[5000] ^= 255  # among the coordinates
    path.write_bytes(bytes(content))
    with pytest.raises(DatasetError, match=r"rmd17_ethanol\.npz: coords: is incomplete or damaged: fetch it again"):
        import_rmd17(tmp_path, CARD)
    write_rmd17(tmp_path)
    write_rmd17(tmp_path / "npz_data")
    with pytest.raises(DatasetError, match=r"ethanol is in .*, too: move one of the two files away"):
        import_rmd17(tmp_path, CARD)


def test_isomers_in_one_order_of_elements_are_refused(tmp_path: Path) -> None:
    write_rmd17(tmp_path).rename(tmp_path / "rmd17_ether.npz")
    write_rmd17(tmp_path)
    with pytest.raises(DatasetError, match="ether: has the atoms of ethanol in the same order"):
        import_rmd17(tmp_path, CARD)


def test_distances_of_small_molecules_are_those_of_a_neighbour_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_rmd17(tmp_path)
    frames = import_rmd17(tmp_path, CARD).frames
    at_once = nearest_atoms(frames)
    monkeypatch.setattr("tasks.importing.reading.nearest_atoms.MAX_PAIRS", 0)
    np.testing.assert_allclose(at_once, nearest_atoms(frames), rtol=1e-12)
