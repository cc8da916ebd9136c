"""Energy profiles: tables computed by hand, an EMT stacking fault computed with ASE, and the cost of failures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ase import Atoms, units
from ase.build import fcc111
from ase.calculators.emt import EMT
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy.interpolate import PchipInterpolator

from tasks.datasets.card import Card, LabelSet, Scan, Table
from tasks.datasets.dataset import Dataset
from tasks.kinds.energy_profiles import EnergyProfiles, EnergyProfilesParameters
from tasks.metrics.metric import MetricPart
from tasks.model.calculator import InProcessCalculator
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause
from tests.tasks.made_up import observed

KIND = EnergyProfiles()
ENERGY, FAULT = EnergyProfilesParameters(), EnergyProfilesParameters(quantity="stacking_fault")
KCAL = units.kcal / units.mol
MJ = 16021.76634  # mJ/m² in an eV/Å²: e × 1e20 × 1e3


def profiles(*scans: Scan, frames: Frames | None = None, **card: Any) -> Dataset:
    """A dataset of `scans`; their structures are hydrogen atoms where no others are given."""
    n = 1 + max(max(scan.structures) for scan in scans)
    frames = frames or Frames.from_atoms([Atoms("H", [[0.0, 0.0, float(i)]]) for i in range(n)])
    names = tuple(f"s{i}" for i in range(len(frames)))
    stated = Card(
        name="scans", version="1", title="Scans", domain="Molecules", periodic=bool(frames.periodic.all()),
        label_sets={"PBE": LabelSet(theory="PBE", dispersion=False)}, default_label_set="PBE", **card,
    )  # fmt: skip
    return Dataset(stated, frames, Table(id=names, group=("",) * len(frames), cluster=names, scans=scans), {})


def scan(name: str, first: int, reference: list[float], unit: float = 1.0, **fields: Any) -> Scan:
    """A scan of consecutive structures, its reference in `unit` eV."""
    n = len(reference)
    fields = {"x": tuple(float(i) for i in range(n))} | fields
    structures = tuple(range(first, first + n))
    return Scan(id=name, structures=structures, reference={"PBE": tuple(v * unit for v in reference)}, **fields)


# kcal/mol, from any zero: profiles (0, 1, 3, 0) and (0, 2, 4, 2, 1); of the third nothing is right.
TORSIONS = (
    scan("a", 0, [-7.0, -6.0, -4.0, -7.0], KCAL, group="amide"),
    scan("b", 4, [0.0, 2.0, 4.0, 2.0, 1.0], KCAL, group="biaryl"),
    scan("c", 9, [5.0, 5.5, 5.0], KCAL, group="biaryl"),
)
# (1, 0, 2.5, 0) has errors 1, −1, −0.5, 0 and barrier 2.5; (0, 1, 6, 1, 0) has 0, −1, 2, −1, −1 and 6; c is flat.
ANSWER = np.array([101.0, 100.0, 102.5, 100.0, -50.0, -49.0, -44.0, -49.0, -50.0, 3.0, 3.0, 3.0]) * KCAL


def test_torsions_by_hand() -> None:
    measured = KIND.measure(observed(ANSWER), profiles(*TORSIONS), ENERGY, None)
    metrics = measured.metrics
    assert {name: m.unit for name, m in metrics.items()} == {
        "profile_mae": "kcal/mol", "profile_rmse": "kcal/mol", "barrier_mae": "kcal/mol", "n_barriers_off": "",
    }  # fmt: skip
    # Absolute errors: 2.5 over 4 points, 5 over 5, 0.5 over 3. Each point counts once.
    assert metrics["profile_mae"].value == pytest.approx((2.5 + 5.0 + 0.5) / 12)
    assert metrics["profile_rmse"].value == pytest.approx(((2.25 + 7.0 + 0.25) / 12) ** 0.5)
    assert metrics["barrier_mae"].value == pytest.approx((0.5 + 2.0 + 0.5) / 3)
    assert metrics["n_barriers_off"].value == 1  # b: 6 instead of 4
    # The flat profile is off by the profile itself: 4, 9 and 0.5 in sum; barriers of 3, 4 and 0.5.
    assert metrics["profile_mae"].baseline == pytest.approx(13.5 / 12)
    assert metrics["profile_rmse"].baseline == pytest.approx(((10 + 25 + 0.25) / 12) ** 0.5)
    assert metrics["barrier_mae"].baseline == pytest.approx(7.5 / 3)
    assert metrics["n_barriers_off"].baseline == 2
    for metric in metrics.values():
        assert metric.charged == pytest.approx(metric.value)
        assert (metric.n_items, metric.n_failed) == (3, 0)
    columns = measured.items.columns
    np.testing.assert_allclose(columns["barrier"], [2.5, 6.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(columns["barrier_reference"], [3.0, 4.0, 0.5], atol=1e-9)
    assert columns["n_points"].tolist() == [4, 5, 3]
    by_hand = {("profile_mae", "amide"): 2.5 / 4, ("profile_mae", "biaryl"): 5.5 / 8, ("barrier_mae", "amide"): 0.5}
    parts = {(part.metric, part.name): part.value for part in measured.parts}
    assert parts == pytest.approx(by_hand | {("barrier_mae", "biaryl"): 1.25})


def test_the_tolerance_says_which_barriers_are_off() -> None:
    for tolerance, off in ((0.4, 3), (0.6, 1), (2.1, 0)):
        parameters = EnergyProfilesParameters(tolerance=tolerance)
        count = KIND.measure(observed(ANSWER), profiles(*TORSIONS), parameters, None).metrics["n_barriers_off"]
        assert count.value == off
        assert count.charged == off


@pytest.mark.parametrize("left", [np.nan, 0.0])
def test_one_failed_point_fails_its_scan_and_is_charged(left: float) -> None:
    """The stored number of a failed point has no effect."""
    failure = np.zeros(12, np.int8)
    failure[[2, 3]] = Cause.ERROR, Cause.OUT_OF_MEMORY
    measured = KIND.measure(observed(np.where(failure, left, ANSWER), failure), profiles(*TORSIONS), ENERGY, None)
    assert measured.items.cause.tolist() == [Cause.OUT_OF_MEMORY, 0, 0]
    metrics = measured.metrics
    mae = metrics["profile_mae"]
    assert (mae.value, mae.n_failed) == (pytest.approx(5.5 / 8), 1)
    cost = 10 * 13.5 / 12
    assert mae.failure_cost == pytest.approx(cost)
    assert mae.charged == pytest.approx((4 * cost + 5.5) / 12)
    assert metrics["barrier_mae"].charged == pytest.approx((25.0 + 2.0 + 0.5) / 3)
    assert (metrics["n_barriers_off"].value, metrics["n_barriers_off"].charged) == (1, 2)
    assert MetricPart("group", "amide", "profile_mae", None, "kcal/mol", 1, 1) in measured.parts


def test_nothing_answered_is_no_value_and_the_whole_charge() -> None:
    for fault in (FAULT, ENERGY):
        area = {"area": 10.0} if fault is FAULT else {}
        rows = [scan("a", 0, [0.0, 1.0, 0.2, 0.0], **area)]
        measured = KIND.measure(observed(np.full(4, np.nan)), profiles(*rows), fault, None)
        assert measured.items.cause.tolist() == [Cause.NON_FINITE]  # a NaN without a stated cause
        for metric in measured.metrics.values():
            assert metric.value is None
            assert metric.charged == pytest.approx(metric.failure_cost)


def test_straight_flanks_of_a_stacking_fault_by_hand() -> None:
    """γ of points on straight lines has slopes ±2 of its maximum, whatever the curve's height: shape is right."""
    reference, area = [0.0, 0.05, 0.1, 0.05, 0.0], 8.0
    dataset = profiles(scan("a", 0, reference, area=area, x=(0.0, 0.25, 0.5, 0.75, 1.0)))
    answer = 3.0 + 1.5 * np.array(reference)
    measured = KIND.measure(observed(answer), dataset, FAULT, None)
    energy, slope = measured.metrics["energy_mae"], measured.metrics["slope_mae"]
    assert (energy.unit, slope.unit) == ("mJ/m²", "")
    assert slope.value == pytest.approx(0.0, abs=1e-12)
    # Half as much again: half of the reference's own mean, which is the baseline.
    assert energy.value == pytest.approx(0.5 * (energy.baseline or 0.0))
    # It rises by its maximum over half the range and falls again: 2 on average; LAMBench publishes 2.0 as well.
    assert slope.baseline == pytest.approx(2.0, abs=0.02)
    assert measured.items.columns["maximum_reference"][0] == pytest.approx(0.1 / area * MJ, rel=1e-3)


def test_a_displacement_in_other_units_is_the_same_shape() -> None:
    reference, answer = [0.0, 0.07, 0.1, 0.02], observed(np.array([0.0, 0.02, 0.12, 0.05]))
    narrow, wide = (
        KIND.measure(answer, profiles(scan("a", 0, reference, area=5.0, x=x)), FAULT, None).metrics
        for x in ((0.0, 0.2, 0.7, 1.0), (10.0, 12.0, 17.0, 20.0))
    )
    for name in narrow:
        assert narrow[name].value == pytest.approx(wide[name].value)


def test_a_flat_curve_stands_where_the_baseline_stands() -> None:
    """Exactly zero, and the rounding of −40,000 eV."""
    reference, rng = [0.0, 0.03, 0.1, 0.08, 0.0], np.random.default_rng(0)
    dataset = profiles(scan("a", 0, reference, area=8.0))
    for answer in (np.zeros(5), np.full(5, -4e4) + 1e-11 * rng.standard_normal(5)):
        measured = KIND.measure(observed(answer), dataset, FAULT, None)
        assert measured.items.cause.tolist() == [0]
        for metric in measured.metrics.values():
            assert metric.value == pytest.approx(metric.baseline)


def slipped(steps: int) -> list[Atoms]:
    """Copper whose upper half slips along [11-2] from fcc towards the intrinsic stacking fault and on."""
    made = []
    for share in np.linspace(0.0, 1.0, steps):
        atoms = fcc111("Cu", (1, 1, 6), a=3.6, vacuum=6.0)
        atoms.pbc = True
        upper = atoms.positions[:, 2] > atoms.positions[:, 2].mean()
        atoms.positions[upper] += share * (atoms.cell[0] + atoms.cell[1])
        made.append(atoms)
    return made


def test_a_stacking_fault_of_emt_copper_is_that_of_ase(run: Any) -> None:
    made = slipped(9)
    energies = []
    for atoms in made:
        copy = atoms.copy()
        copy.calc = EMT()
        energies.append(copy.get_potential_energy())
    area = float(np.linalg.norm(np.cross(made[0].cell[0], made[0].cell[1])))
    assert area == pytest.approx(3.6**2 * np.sqrt(3) / 4)
    x, reference = np.linspace(0.0, 1.0, 9), np.sin(np.pi * np.linspace(0.0, 1.0, 9)) ** 2
    row = scan("Cu", 0, reference.tolist(), area=area, x=tuple(x))
    measured = run(KIND, profiles(row, frames=Frames.from_atoms(made)), InProcessCalculator(EMT()), FAULT)
    fine = np.linspace(0.0, 1.0, 200)
    gamma = (np.array(energies) - min(energies)) / area * MJ
    ours = PchipInterpolator(x, gamma)(fine)
    right = PchipInterpolator(x, reference / area * MJ)(fine)
    assert measured.metrics["energy_mae"].value == pytest.approx(np.mean(np.abs(ours - right)))
    slopes = [(c[1:] - c[:-1]) / (fine[1:] - fine[:-1]) / c.max() for c in (ours, right)]
    assert measured.metrics["slope_mae"].value == pytest.approx(np.mean(np.abs(slopes[0] - slopes[1])))
    assert 50 < measured.items.columns["maximum"][0] < 5000  # mJ/m²: a metal's


def test_a_quantity_that_does_not_fit_is_refused() -> None:
    energies = observed(np.zeros(12))
    with pytest.raises(ValueError, match=r"scans@1: table.json: scans: quantity: .* have no area: take energy"):
        KIND.measure(energies, profiles(*TORSIONS), FAULT, None)
    with pytest.raises(ValueError, match=r"have an area: take stacking_fault"):
        KIND.measure(observed(np.zeros(3)), profiles(scan("a", 0, [0.0, 1.0, 0.0], area=2.0)), ENERGY, None)
    with pytest.raises(ValidationError, match=r"tolerance is of barriers"):
        EnergyProfilesParameters(quantity="stacking_fault", tolerance=2.0)


def test_a_stated_baseline_takes_the_place_of_the_flat_profile() -> None:
    baselines = {"PBE": {"profile_mae": 2.4939, "n_barriers_off": 493.0}}
    metrics = KIND.measure(observed(ANSWER), profiles(*TORSIONS, baselines=baselines), ENERGY, None).metrics
    assert (metrics["profile_mae"].baseline, metrics["profile_mae"].failure_cost) == (2.4939, 24.939)
    assert metrics["n_barriers_off"].baseline == 493


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_failing_never_improves_a_metric(data: st.DataObject) -> None:
    energies = np.array(data.draw(st.lists(st.floats(-30, 30), min_size=12, max_size=12)))
    codes = np.array(data.draw(st.lists(st.sampled_from([0, 0, 0, 1, 3, 9]), min_size=12, max_size=12)), np.int8)
    more = data.draw(st.lists(st.integers(0, 11), min_size=1, max_size=3))
    named = data.draw(st.booleans())
    with_area = tuple(s.model_copy(update={"area": 7.0}) for s in TORSIONS)
    for rows, parameters in ((TORSIONS, ENERGY), (with_area, FAULT)):
        dataset = profiles(*rows)
        before = KIND.measure(observed(np.where(codes, np.nan, energies), codes), dataset, parameters, None).metrics
        worse, failure = np.where(codes, np.nan, energies), codes.copy()
        worse[more] = np.nan
        if named:
            failure[more] = Cause.ERROR
        after = KIND.measure(observed(worse, failure), dataset, parameters, None).metrics
        for name, metric in after.items():
            assert metric.charged is not None
            assert before[name].charged is not None
            assert metric.charged >= before[name].charged - 1e-9 * abs(before[name].charged), name
            assert metric.n_failed >= before[name].n_failed
