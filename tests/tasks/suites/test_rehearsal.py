"""A rehearsal finds, without a model, whether a kind, its parameters and a data set fit together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase.build import bulk

from tasks.datasets.card import Card, Difference, LabelSet, Scan, Summand, Table
from tasks.datasets.dataset import Dataset, load_dataset
from tasks.kinds.registry import KINDS
from tasks.structures.frames import Frames
from tasks.suites.rehearsal import rehearse
from tasks.suites.suite import load_suite
from tests.tasks.made_up_crystals import make_crystals


def tabled(**items: Any) -> Dataset:
    names = ("a", "b", "c")
    card = Card(
        name="tabled",
        version="1",
        title="Tabled",
        domain="Inorganic Materials",
        periodic=True,
        label_sets={"PBE": LabelSet(theory="PBE", dispersion=False)},
        default_label_set="PBE",
    )
    frames = Frames.from_atoms([bulk("Cu"), bulk("Al"), bulk("Ni")])
    return Dataset(card, frames, Table(id=names, group=("",) * 3, cluster=names, **items), {})


def difference(**more: Any) -> Difference:
    return Difference(id="d", terms=(Summand(structure=0, coefficient=1.0),), reference={"PBE": 1.0}, **more)


def scan(**more: Any) -> Scan:
    return Scan(id="s", structures=(0, 1, 2), x=(0.0, 1.0, 2.0), reference={"PBE": (0.0, 1.0, 0.0)}, **more)


CU = [bulk("Cu")]
CASES: list[tuple[str, Dataset, dict[str, Any], str]] = [
    ("compression", make_crystals(CU, [{"volume_per_atom": 10.0}]), {}, "pressure_gpa: is missing"),
    ("elasticity", make_crystals(CU, [{"volume_per_atom": 10.0}]), {}, "no crystal has any of k_vrh_gpa"),
    ("phonons", make_crystals(CU, [{"max_frequency_k": 300.0}]), {}, "supercell: is missing"),
    ("energy_profiles", tabled(scans=[scan(area=3.0)]), {"quantity": "energy"}, "take stacking_fault"),
    ("energy_profiles", tabled(scans=[scan()]), {"quantity": "stacking_fault"}, "take energy"),
    ("energy_differences", tabled(differences=[difference(area=3.0)]), {"unit": "eV"}, "area"),
    ("energy_differences", tabled(differences=[difference()]), {"unit": "J/m²"}, "area"),
    ("energy_differences", tabled(differences=[difference()]), {"tolerance": 0.1, "tolerance_quantity": "x"}, "no 'x'"),
    ("relaxed_structures", tabled(scans=[scan()]), {}, "neither reference geometries nor differences"),
    ("relaxed_structures", tabled(differences=[difference(area=3.0)]), {}, "area"),
    ("relaxed_structures", tabled(differences=[difference(quantity="a")]), {"unit": "J/m²"}, "area"),
]


@pytest.mark.parametrize(("kind", "dataset", "parameters", "message"), CASES)
def test_what_does_not_fit_is_told_in_one_line(
    kind: str, dataset: Dataset, parameters: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        rehearse(KINDS[kind], dataset, KINDS[kind].parameters.model_validate(parameters))
    assert "\n" not in str(caught.value)


def test_phonons_of_another_temperature_or_mesh_than_the_references_are_refused() -> None:
    plain = make_crystals(CU, [{"entropy_j_per_mol_k": 30.0}])
    card = plain.card.model_copy(update={"settings": {"temperature_k": 300.0, "mesh": 100.0}})
    dataset = Dataset(card, plain.frames, plain.table, {}, {"supercell": np.eye(3, dtype=np.int64)[None]})
    kind = KINDS["phonons"]
    rehearse(kind, dataset, kind.parameters())
    for other in ({"temperature_k": 600.0}, {"mesh": 20.0}, {"mesh": (4, 4, 4)}):
        with pytest.raises(ValueError, match="references are of"):
            rehearse(kind, dataset, kind.parameters.model_validate(other))


def test_every_task_of_quickstart_passes(quickstart: Path) -> None:
    for task in load_suite("quickstart").tasks:
        if task.kind not in ("efficiency", "nve"):
            rehearse(KINDS[task.kind], load_dataset(quickstart / task.dataset), task.parameters)
