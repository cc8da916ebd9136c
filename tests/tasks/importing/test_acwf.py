"""Equations of state of the ACWF verification: the published medians of codes from our own import, and its layouts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from ase.io import write

from tasks.datasets.card import Card, CurveReference, DatasetError, LabelSet
from tasks.datasets.dataset import Dataset, load_dataset, save_dataset
from tasks.importing.acwf import import_acwf, read_codes
from tasks.kinds.equation_of_state import EquationOfStateKind, EquationOfStateParameters
from tasks.metrics.measurement import Measurement
from tasks.metrics.metric import EQUAL_REFERENCES
from tasks.simulation.birch_murnaghan import EquationOfState, energy
from tasks.suites.suite import load_suite
from tests.tasks.made_up import observed

KIND, DISTANCES = EquationOfStateKind(), EquationOfStateParameters(distances=True)
CARD = Card(
    name="acwf", version="1", title="ACWF", domain="Inorganic Materials", periodic=True,
    label_sets={"PBE": LabelSet(theory="PBE", dispersion=False)}, default_label_set="PBE",
)  # fmt: skip


def measured_code(dataset: Dataset, results: dict[str, CurveReference]) -> Measurement:
    """The measurement of a model with a code's equations of state; crystals that the code does not have fail."""
    frames = dataset.frames
    energies = np.full(len(frames), np.nan)
    for curve in dataset.table.curves:
        if curve.id in results:
            code, points = results[curve.id], np.array(curve.structures)
            n_atoms = frames.n_atoms[points]
            eos = EquationOfState(code.v0_per_atom, code.b0_gpa, code.b0_prime, -3.0)
            energies[points] = n_atoms * energy(frames.volumes[points] / n_atoms, eos)
    failure = np.where(np.isnan(energies), 1, 0).astype(np.int8)
    return KIND.measure(observed(energies, failure), dataset, DISTANCES, None)


@pytest.mark.data
@pytest.mark.parametrize(
    ("code", "n", "median", "ninety"),
    [
        ("fleur", 164, 0.006, 0.018),
        ("wien2k-dk_0.06", 164, 0.006, 0.018),
        ("vasp", 164, 0.051, 0.308),
        ("quantum_espresso-SSSP-1.3-PBE-precision", 164, 0.060, 0.725),
        ("castep", 164, 0.112, 0.709),
        ("gpaw", 108, 0.200, 0.717),
    ],
)
def test_codes_against_the_all_electron_mean(
    code: str, n: int, median: float, ninety: float, reference_data: Path, tmp_path: Path
) -> None:
    """The whole path: import, save, load, the energies of a code at the seven volumes, measure."""
    folder = reference_data / "acwf"
    dataset = load_dataset(save_dataset(import_acwf(folder, CARD), tmp_path))
    assert len(dataset.table.curves) == 164
    assert len(dataset.frames) == 7 * 164
    measured = measured_code(dataset, dict(read_codes(folder)[code]))
    epsilon = measured.items.columns["epsilon"]
    epsilon = epsilon[np.isfinite(epsilon)]
    assert len(epsilon) == n
    assert np.median(epsilon) == pytest.approx(median, abs=6e-4)
    assert np.percentile(epsilon, 90) == pytest.approx(ninety, abs=6e-4)
    metrics = measured.metrics
    v0 = metrics["v0_mae_percent"]
    assert v0.value is not None
    assert v0.reference_uncertainty is not None
    # FLEUR and WIEN2k are as far from their mean: the uncertainty is that of either.
    if code in ("fleur", "wien2k-dk_0.06"):
        assert v0.value == pytest.approx(v0.reference_uncertainty, rel=1e-3)
        assert all(metric.at_reference_uncertainty for name, metric in metrics.items() if name != "force_mae")
    else:
        assert v0.value > v0.reference_uncertainty
        assert not any(metric.at_reference_uncertainty for metric in metrics.values())
    mean = measured_code(dataset, {curve.id: curve.reference["PBE"] for curve in dataset.table.curves})
    assert all(metric.at_reference_uncertainty for name, metric in mean.metrics.items() if name != "force_mae")
    assert measured.notes[EQUAL_REFERENCES] == "fleur, wien2k-dk_0.06"


FITS = {"fleur": (11.9, 0.88, 4.9), "wien2k": (12.1, 0.90, 5.1), "castep": (12.3, 0.80, 5.0)}


def published_folder(folder: Path) -> Path:
    """As ACWF publishes it: a file for each code, and an XSF file for each crystal."""
    for code, (volume, modulus, derivative) in FITS.items():
        fit = {"min_volume": 2 * volume, "bulk_modulus_ev_ang3": modulus, "bulk_deriv": derivative, "E0": -1.0}
        stated: dict[str, Any] = {
            "BM_fit_data": {"Cu-X/Diamond": fit, "He-X/FCC": None},
            "num_atoms_in_sim_cell": {"Cu-X/Diamond": 2},
        }
        (folder / f"results-unaries-verification-PBE-v1-{code}.json").write_text(json.dumps(stated))
    write(folder / "Cu-X-Diamond.xsf", bulk("Cu", "diamond", a=96 ** (1 / 3)))
    return folder


def test_the_published_layout(tmp_path: Path) -> None:
    dataset = import_acwf(published_folder(tmp_path), CARD)
    (curve,) = dataset.table.curves
    assert (curve.id, curve.group, curve.cluster) == ("Cu-X/Diamond", "Diamond", "Cu-X")
    assert sorted(curve.equals["PBE"]) == ["fleur", "wien2k"]
    mean = curve.reference["PBE"]
    assert (mean.v0_per_atom, mean.b0_prime) == (pytest.approx(12.0), pytest.approx(5.0))
    assert mean.b0_gpa == pytest.approx(0.89 * 160.21766)
    volumes = dataset.frames.volumes / 24.0
    np.testing.assert_allclose(volumes, [0.94, 0.96, 0.98, 1.0, 1.02, 1.04, 1.06], atol=1e-6)
    measured = measured_code(dataset, {"Cu-X/Diamond": curve.equals["PBE"]["fleur"]})
    metric = measured.metrics["v0_mae_percent"]
    assert metric.value == pytest.approx(100 * 0.1 / 12.0, rel=1e-3)
    assert metric.reference_uncertainty == pytest.approx(100 * 0.1 / 12.0)
    assert metric.at_reference_uncertainty
    above = replace(metric, charged=1.002 * metric.reference_uncertainty)
    assert not above.at_reference_uncertainty


def test_codes_have_the_crystals_of_all_their_files(tmp_path: Path) -> None:
    """Unaries and oxides, and a code whose name has a hyphen."""
    folder = published_folder(tmp_path)
    (folder / "results-unaries-verification-PBE-v1-wien2k.json").rename(
        folder / "results-unaries-verification-PBE-v1-wien2k-dk_0.06.json"
    )
    for path in list(folder.glob("results-unaries-*.json")):
        oxides = path.read_text().replace("Cu-X/Diamond", "Cu-X2O")
        (folder / path.name.replace("unaries", "oxides")).write_text(oxides)
    write(folder / "Cu-X2O.xsf", bulk("Cu", "diamond", a=96 ** (1 / 3)))
    codes = read_codes(folder)
    assert sorted(codes) == ["castep", "fleur", "wien2k-dk_0.06"]
    assert all(sorted(results) == ["Cu-X/Diamond", "Cu-X2O"] for results in codes.values())
    assert [curve.id for curve in import_acwf(folder, CARD).table.curves] == ["Cu-X2O", "Cu-X/Diamond"]
    path = folder / "results-unaries-verification-PBE-v1-castep.json"
    (folder / "results-unaries-verification-PBE-v2-castep.json").write_text(path.read_text())
    with pytest.raises(DatasetError, match=r"PBE-v2-castep\.json: castep: Cu-X/Diamond: is in another file, too: keep"):
        read_codes(folder)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda f: (f / "results-unaries-verification-PBE-v1-fleur.json").unlink(), "no two of the all-electron codes"),
        (lambda f: (f / "Cu-X-Diamond.xsf").unlink(), "has no structures"),
        (lambda f: (f / "Cu-X-Diamond.xsf").rename(f / "Ni.xsf"), "there is no structure of Cu-X/Diamond"),
        (lambda f: (f / "x.json").write_text('{"vasp": {"Cu": {"min_volume": -1}}}'), "x.json: vasp.Cu.min_volume"),
        (lambda f: [p.unlink() for p in f.glob("*.json")], "has no JSON file"),
        (lambda f: write(f / "m.extxyz", Atoms("H", info={"name": "H"})), "m.extxyz: H: is not periodic"),
    ],
)
def test_what_is_wrong_gets_one_line(change: Any, says: str, tmp_path: Path) -> None:
    folder = published_folder(tmp_path)
    change(folder)
    with pytest.raises(DatasetError) as caught:
        import_acwf(folder, CARD)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.data
@pytest.mark.parametrize(
    ("reference", "code"),
    [
        ("VASP", "vasp"),
        ("CASTEP", "castep"),
        ("GPAW", "gpaw"),
        ("Quantum ESPRESSO", "quantum_espresso-SSSP-1.3-PBE-precision"),
    ],
)
def test_the_reference_rows_of_the_suite_are_what_the_import_measures(
    reference: str, code: str, reference_data: Path
) -> None:
    folder = reference_data / "acwf"
    measured = measured_code(import_acwf(folder, CARD), dict(read_codes(folder)[code])).metrics
    (row,) = [each for each in load_suite("materials").references if each.name == reference]
    for name, value in row.metrics["equations-of-state"].items():
        assert measured[name].value == pytest.approx(value, abs=6e-5)
