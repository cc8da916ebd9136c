"""`judge data verify` asks models without chemistry: what gives answers away is doubted, with a remedy."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from ase import Atoms
from ase.calculators.singlepoint import SinglePointCalculator
from ase.io import write

from judge.data import question_checks
from judge.data.question_checks import question_findings
from tasks.datasets.dataset import Dataset, load_dataset, save_dataset
from tasks.quickstart.crystals import crystal, wien2k
from tasks.simulation.birch_murnaghan import energy, pressure
from tests.judge.cli.data_command import NAMED, mine, run
from tests.tasks.adversaries.layouts import relaxed_structures
from tests.tasks.kind_examples import EXAMPLES
from tests.world.world import World

MIDDLE = "a model that knows nothing (the middle of the volumes) would get "


def about_the_middle(elements: Sequence[str] = ("Al", "Cu", "Ag", "Au", "Si")) -> list[Atoms]:
    """Energies and stresses of WIEN2k at volumes on both sides of each equilibrium, as far below as above."""
    made = []
    for element in elements:
        eos = wien2k(element)
        for share in np.linspace(0.94, 1.06, 20):
            volume = np.array([share * eos.v0])
            atoms = crystal(element, float(volume[0]))
            stress = np.zeros(6)
            stress[:3] = -pressure(volume, eos)[0]
            atoms.calc = SinglePointCalculator(atoms, energy=4 * float(energy(volume, eos)[0]), stress=stress)
            made.append(atoms)
    return made


def test_labels_that_the_middle_of_the_volumes_tells_are_doubted(data_world: World) -> None:
    write("mine.extxyz", about_the_middle())
    assert run("import", "extxyz", "mine.extxyz", *NAMED, "--units", "ase")[0] == 0
    status, out, err = run("verify", "mine@1")
    assert status == 0, err
    assert "     mine@1: labelled frames: 11 models without chemistry were asked about 100 structures" in out
    (line,) = [each for each in out.splitlines() if MIDDLE in each]
    assert line.startswith(f"DOUBTFUL  mine@1: labelled frames: {MIDDLE}0.2")
    assert line.endswith(": nothing is drawn of labelled structures: add some that no rule orders, as of dynamics")
    status, out, _ = run("verify", "mine@1", "--json")
    assert (status, [MIDDLE in each for each in json.loads(out)["doubtful"]].count(True)) == (0, 1)


def test_a_baseline_above_what_the_starts_achieve_is_refused(data_world: World) -> None:
    folder = Path("relaxed")
    folder.mkdir()
    relaxed_structures(folder)
    assert run("import", "relaxed-structures", "relaxed", *NAMED)[0] == 0
    dataset, data = mine(data_world), data_world.root / "data"
    for name, baseline in (("small", 1.0), ("large", 20.0)):
        stated = {"name": name, "sha256": {}, "baselines": {"EMT": {"volume_mape": baseline}}}
        changed = dataset.card.model_copy(update=stated)
        save_dataset(Dataset(changed, dataset.frames, dataset.table, {}, {}, dataset.geometries), data)
    status, out, _ = run("verify", "mine@1", "small@1")
    assert status == 0, out
    status, out, _ = run("verify", "large@1")
    assert status == 1
    (line,) = [each for each in out.splitlines() if each.startswith("NOT")]
    assert line.startswith("NOT  large@1: card.toml: baselines.EMT.volume_mape: 20 is larger than the ")
    assert line.endswith(" % that the starts achieve: state that at most, or leave it out")
    assert load_dataset(data / "large@1").card.baselines["EMT"]["volume_mape"] == 20.0


def test_a_large_set_is_sampled_and_a_slow_kind_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    curves = EXAMPLES["equation_of_state"]().dataset
    monkeypatch.setattr(question_checks, "ITEMS", (2,))
    (line,) = question_findings(curves).about
    assert line == "equation of state: 11 models without chemistry were asked about 10 of 20 structures"
    (line,) = question_findings(EXAMPLES["reaction_paths"]().dataset).about
    assert line.endswith("not asked of models without chemistry, since it takes long: --all-questions asks")


def test_every_kind_is_asked_only_what_it_can_measure() -> None:
    """Crystals with moduli are no crystals under pressure, and have no phonons."""
    found = question_findings(EXAMPLES["elasticity"]().dataset)
    assert [line.split(":")[0] for line in found.about] == ["elasticity"]
