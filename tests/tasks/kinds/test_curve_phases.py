"""Phases and shapes of energies over volumes: by hand, and the law of failures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from ase import Atoms
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tasks.datasets.card import Card, Curve, CurveReference, LabelSet, Table
from tasks.datasets.dataset import Dataset
from tasks.kinds.equation_of_state import EquationOfStateKind, EquationOfStateParameters
from tasks.metrics.metric import Metric
from tasks.simulation.birch_murnaghan import EquationOfState, energy
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import Cause
from tests.tasks.made_up import observed

KIND, SHAPE = EquationOfStateKind(), EquationOfStateParameters(shape=True, distances=True, volumes="published")
SCALES = np.linspace(0.9, 1.1, 7)
# Three phases of one substance: volume, and energy above the lowest [eV/atom].
PHASES = {"fcc": (12.0, 0.0), "hcp": (12.1, 0.01), "bcc": (12.4, 0.03)}
HIGHER_IS_BETTER = ("phase_order_percent", "stiffening_spearman", "tension_spearman")


def phases(*, labelled: bool = True) -> Dataset:
    frames, curves = [], []
    for name, (volume, above) in PHASES.items():
        first = len(frames)
        frames += [Atoms("Cu", cell=np.eye(3) * np.cbrt(volume * s), pbc=True) for s in SCALES]
        reference = CurveReference(v0_per_atom=volume, b0_gpa=140.0, b0_prime=4.9, e0_per_atom=above)
        references = {"PBE": reference} if labelled else {}
        structures = tuple(range(first, len(frames)))
        curves.append(Curve(id=name, group="Cu", structures=structures, reference=references))
    n = len(frames)
    levels = {"PBE": LabelSet(theory="PBE", dispersion=False)} if labelled else {}
    card = Card(
        name="phases", version="1", title="Phases", domain="Inorganic Materials", periodic=True,
        label_sets=levels, default_label_set="PBE" if labelled else None,
    )  # fmt: skip
    table = Table(id=tuple(map(str, range(n))), group=("",) * n, cluster=("",) * n, curves=tuple(curves))
    return Dataset(card, Frames.from_atoms(frames), table, {})


DATA = phases()


def energies(*above: float) -> Float:
    curves = []
    for (volume, _), e0 in zip(PHASES.values(), above, strict=True):
        curves.append(energy(volume * SCALES, EquationOfState(volume, 140.0, 4.9, -3.5 + e0)))
    return np.concatenate(curves)


def metrics(energy_: Float, failed: tuple[int, ...] = (), data: Dataset = DATA) -> dict[str, Metric]:
    failure, answered = np.zeros(len(energy_), np.int8), energy_.copy()
    failure[list(failed)], answered[list(failed)] = Cause.ERROR, np.nan
    return dict(KIND.measure(observed(answered, failure), data, SHAPE, None).metrics)


def test_phases_by_hand() -> None:
    # hcp lies 4 meV below fcc, not 10 above; bcc 50 above, not 30. Of three pairs one has the wrong order.
    measured = metrics(energies(0.0, -0.004, 0.05))
    assert measured["phase_energy_mae"].value == pytest.approx((14 + 20) / 2, rel=1e-6)
    assert measured["phase_energy_mae"].baseline == pytest.approx((10 + 30) / 2)
    assert measured["phase_order_percent"].value == pytest.approx(200 / 3)
    assert measured["epsilon"].value == pytest.approx(0.0, abs=1e-6)
    assert measured["delta"].value == pytest.approx(0.0, abs=1e-6)


def test_phases_of_equal_energy_have_the_baseline_that_the_card_states() -> None:
    equal = tuple(
        curve.model_copy(update={"reference": {"PBE": curve.reference["PBE"].model_copy(update={"e0_per_atom": 0.0})}})
        for curve in DATA.table.curves
    )
    data = replace(DATA, table=DATA.table.model_copy(update={"curves": equal}))
    answers = energies(0.0, -0.004, 0.05)
    with pytest.raises(ValueError, match=r"phase_energy_mae: the baseline is 0: state one under \[baselines\]"):
        metrics(answers, data=data)
    stated = {"PBE": {"phase_energy_mae": 20.0}}
    measured = metrics(answers, data=replace(data, card=DATA.card.model_copy(update={"baselines": stated})))
    assert measured["phase_energy_mae"].value == pytest.approx((4 + 50) / 2, rel=1e-6)
    assert measured["phase_energy_mae"].baseline == 20.0
    assert "phase_order_percent" not in measured


def test_a_failed_phase_costs_the_order_and_the_lowest_one_all() -> None:
    good = energies(0.0, 0.01, 0.03)
    without_bcc, without_fcc = metrics(good, (15,)), metrics(good, (0,))
    assert (without_bcc["phase_energy_mae"].n_failed, without_fcc["phase_energy_mae"].n_failed) == (1, 2)
    assert without_fcc["phase_energy_mae"].charged == pytest.approx(200.0)
    assert without_bcc["phase_order_percent"].charged == 0.0


def test_a_single_well_has_its_shape() -> None:
    measured = metrics(energies(0.0, 0.01, 0.03))
    values = {name: measured[name].value for name in ("flips_error", "volume_tortuosity", "compression_spearman")}
    assert values == pytest.approx({"flips_error": 0.0, "volume_tortuosity": 1.0, "compression_spearman": -1.0})
    assert measured["stiffening_spearman"].value == measured["tension_spearman"].value == pytest.approx(1.0)
    failed = metrics(energies(0.0, 0.01, 0.03), (3,))
    assert failed["flips_error"].charged == pytest.approx(5 / 3)
    assert failed["volume_tortuosity"].charged == pytest.approx(12 / 3)
    assert failed["compression_spearman"].charged == pytest.approx(-1 / 3)
    assert failed["tension_spearman"].charged == pytest.approx(1 / 3)


def test_shapes_need_no_reference() -> None:
    data = phases(labelled=False)
    alone = EquationOfStateParameters(shape=True, references=False)
    assert SHAPE.scored
    assert not alone.scored
    measured = KIND.measure(observed(energies(0.0, 0.01, 0.03)), data, alone, None)
    assert {name.partition("_")[0] for name in measured.metrics} >= {"flips", "volume", "tension"}
    assert "v0_mae_percent" not in measured.metrics
    with pytest.raises(ValueError, match="there is no None"):
        KIND.measure(observed(energies(0.0, 0.01, 0.03)), data, EquationOfStateParameters(), None)
    for other in ({"references": False}, {"references": False, "shape": True, "distances": True}):
        with pytest.raises(ValidationError, match="references: without any, the shape is measured alone"):
            EquationOfStateParameters.model_validate(other)


NUMBER = st.floats(-10, 10)


@given(st.lists(NUMBER, min_size=21, max_size=21), st.sets(st.integers(0, 20), min_size=1, max_size=3))
def test_failing_never_helps(noise: list[float], failed: set[int]) -> None:
    answers = energies(0.0, 0.01, 0.03) + np.array(noise) * 10.0 ** np.array([-3, 0, 2]).repeat(7)
    before, after = metrics(answers), metrics(answers, tuple(failed))
    assert before.keys() == after.keys()
    for name, metric in before.items():
        worse, better = after[name].charged, metric.charged
        assert worse is not None
        assert better is not None
        sign = 1 if name in HIGHER_IS_BETTER else -1
        assert sign * (worse - better) <= 1e-9 * max(1.0, abs(better)), name
