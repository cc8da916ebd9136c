"""D3 is added to the answers of a model if the labels contain it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ase.calculators.emt import EMT
from dftd3.ase import DFTD3

from judge.evaluation.dispersion_policy import correction_of
from judge.evaluation.observe import ExecutionTarget, UnitStorage, observe_unit
from judge.records.attempts import claim
from sandbox.drivers.process_driver import ProcessDriver
from sandbox.rundir import RunDir
from sandbox.verdict import FaultCause, JudgeFault, Verdict
from submissions.records import StatedLabelSet
from tasks.datasets.card import D3, Card, LabelSet, Table
from tasks.datasets.dataset import Dataset, save_dataset
from tasks.kinds.registry import KINDS
from tasks.structures.frames import Frames
from tasks.structures.predictions import Labels
from tests.judge.evaluation.stand_in_kinds import Energies, only_result, submitted
from tests.world.small_data import rattled
from tests.world.world import World


def save_dispersed(data: Path, d3: D3 | None) -> LabelSet:
    """Copper labelled with EMT and PBE's D3(BJ): takes the place of the labels of EMT alone."""
    theory = LabelSet(theory="EMT and D3", dispersion=True, d3=d3)
    structures = rattled("Cu", 6, seed=len("copper"))
    energy, forces, stress = [], [], []
    for atoms in structures:
        total = [np.zeros(()), np.zeros((len(atoms), 3)), np.zeros(6)]
        for calculator in (EMT(), DFTD3(damping="d3bj", params_tweaks={"method": "pbe", "atm": False})):
            atoms.calc = calculator
            answers = (atoms.get_potential_energy(), atoms.get_forces(), atoms.get_stress())
            total = [a + b for a, b in zip(total, answers, strict=True)]
        for column, value in zip((energy, forces, stress), total, strict=True):
            column.append(value)
    card = Card(
        name="copper",
        version="1",
        title="Rattled copper",
        domain="Inorganic Materials",
        periodic=True,
        default_label_set="EMT",
        label_sets={"EMT": theory},
    )
    ids = tuple(f"copper-{i}" for i in range(6))
    labels = Labels(np.array(energy), np.concatenate(forces), np.array(stress))
    shutil.rmtree(data / "copper@1")
    table = Table(id=ids, group=("",) * 6, cluster=ids)
    save_dataset(Dataset(card, Frames.from_atoms(structures), table, {"EMT": labels}), data)
    return theory


@pytest.mark.parametrize(("d3", "agrees"), [(D3(functional="pbe"), True), (None, False)])
def test_d3_is_added_to_what_a_container_answers(world: World, d3: D3 | None, agrees: bool) -> None:
    theory = save_dispersed(world.root / "data", d3)
    submission = world.submit("emt")
    plain = world.unit(submission, KINDS["labelled_frames"])
    correction = correction_of(theory, StatedLabelSet(name="EMT", dispersion=False))
    assert world.run_unit(replace(plain, correction=correction)).verdict is Verdict.OK
    result = only_result(world)
    value = result.metrics["force_rmse"].value
    assert value is not None
    assert (value < 1e-9) is agrees
    assert agrees or value > 1e-3
    assert result.notes["dispersion"] == correction.note
    assert result.provenance.dispersion == ("DFT-D3(pbe, bj)" if agrees else "")


def test_an_impossible_d3_is_reported_before_anything_is_started(world: World) -> None:
    submission = submitted(world, "pass")
    theory = LabelSet(theory="no such", dispersion=True, d3=D3(functional="no-such"))
    correction = correction_of(theory, StatedLabelSet(name="EMT", dispersion=False))
    unit = replace(world.unit(submission, Energies()), correction=correction)
    driver = ProcessDriver(RunDir(world.settings.run_dir))
    target = ExecutionTarget(driver, driver.resolve(submission.image.reference), "this machine", None)
    claimed = claim(world.store, unit.prefix, (), 1.0)
    assert claimed is not None
    with pytest.raises(JudgeFault, match="no parameters for functional 'no-such'") as raised:
        observe_unit(
            unit, target, UnitStorage(world.store, world.settings.data), claimed, lambda done, total, unit: None
        )
    assert raised.value.cause is FaultCause.MEASURE
    assert not (world.root / "marks").exists()
