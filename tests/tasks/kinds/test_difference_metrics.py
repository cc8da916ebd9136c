"""The metrics of energy differences by hand: quantities, groups, units, tolerances, and the cost of a failure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ase import Atoms
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tasks.datasets.card import Card, Difference, LabelSet, Summand, Table
from tasks.datasets.dataset import Dataset
from tasks.kinds.energy_differences import EnergyDifferences, EnergyDifferencesParameters
from tasks.metrics.metric import Metric, MetricPart
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause
from tests.tasks.made_up import observed

KIND, NOTHING = EnergyDifferences(), EnergyDifferencesParameters()


def differences(*rows: Difference, **card: Any) -> Dataset:
    """A dataset of `rows`, whose structures are hydrogen atoms."""
    n = 1 + max(term.structure for row in rows for term in row.terms)
    frames = Frames.from_atoms([Atoms("H", [[0.0, 0.0, float(i)]]) for i in range(n)])
    names = tuple(f"s{i}" for i in range(n))
    stated = Card(
        name="table", version="1", title="Table", domain="Catalysis", periodic=False,
        label_sets={"PBE": LabelSet(theory="PBE", dispersion=False)}, default_label_set="PBE", **card,
    )  # fmt: skip
    table = Table(id=names, group=("",) * n, cluster=names, differences=rows)
    return Dataset(stated, frames, table, {})


def row(name: str, reference: float, *terms: tuple[float, int], **fields: Any) -> Difference:
    sums = tuple(Summand(structure=structure, coefficient=coefficient) for coefficient, structure in terms)
    return Difference(id=name, terms=sums, reference={"PBE": reference}, **fields)


def path(k: int, kind: str, barrier: float, change: float) -> tuple[Difference, Difference]:
    """A NEB path of three structures: initial, highest, final."""
    first = 3 * k
    return (
        row(f"{k} Ea", barrier, (1, first + 1), (-1, first), quantity="barrier", group=kind, cluster=str(k)),
        row(f"{k} dE", change, (1, first + 2), (-1, first), quantity="reaction energy", group=kind, cluster=str(k)),
    )


NEB = (
    *path(0, "Desorption", 1.00, 0.50),
    *path(1, "Desorption", 0.80, -0.20),
    *path(2, "C-H transfer", 0.60, -0.90),
    *path(3, "C-H transfer", 0.05, -0.30),
)

# Barriers 1.02, 0.89, 0.75, 0.20 (off by 0.02, 0.09, 0.15, 0.15); reaction energies 0.40, −0.20, −0.50, 0.00.
NEB_ENERGIES = np.array([10, 11.02, 10.40, -5, -4.11, -5.20, 0, 0.75, -0.50, 2, 2.20, 2.00])
NEB_PARAMETERS = EnergyDifferencesParameters(tolerance=0.1, tolerance_quantity="barrier")


def test_neb_single_points_by_hand() -> None:
    measured = KIND.measure(observed(NEB_ENERGIES), differences(*NEB), NEB_PARAMETERS, None)
    values = {name: metric.value for name, metric in measured.metrics.items()}
    assert values == pytest.approx(
        {
            "barrier_mae": (0.02 + 0.09 + 0.15 + 0.15) / 4,
            "barrier_rmse": ((0.0004 + 0.0081 + 0.0225 + 0.0225) / 4) ** 0.5,
            "reaction_energy_mae": (0.1 + 0.0 + 0.4 + 0.3) / 4,
            "reaction_energy_rmse": ((0.01 + 0.16 + 0.09) / 4) ** 0.5,
            "barrier_off_percent": 50.0,
            "barrier_off_percent:desorption": 0.0,  # none is off: 0 %, not missing
            "barrier_off_percent:c_h_transfer": 100.0,
        }
    )
    baselines = {name: metric.baseline for name, metric in measured.metrics.items() if "percent" in name}
    # The zero model's error is the barrier: all exceed 0.05 eV.
    assert baselines == {
        "barrier_off_percent": 75.0,
        "barrier_off_percent:desorption": 100.0,
        "barrier_off_percent:c_h_transfer": 50.0,
    }
    assert measured.metrics["barrier_mae"].baseline == pytest.approx((1.0 + 0.8 + 0.6 + 0.05) / 4)
    assert measured.metrics["barrier_off_percent:desorption"].charged == 0.0
    shown = {(part.metric, part.name): part.value for part in measured.parts}
    assert shown[("barrier_mae", "C-H transfer")] == pytest.approx(0.15)
    assert shown[("reaction_energy_mae", "Desorption")] == pytest.approx(0.05)


@pytest.mark.parametrize("left", [np.nan, 0.0])
def test_a_failed_transition_state_costs_its_barrier_alone(left: float) -> None:
    """The stored number of a failed structure has no effect."""
    failure = np.zeros(12, np.int8)
    failure[1] = Cause.UNSUPPORTED
    answer = observed(np.where(failure, left, NEB_ENERGIES), failure)
    measured = KIND.measure(answer, differences(*NEB), NEB_PARAMETERS, None)
    assert measured.items.cause.tolist() == [Cause.UNSUPPORTED, 0, 0, 0, 0, 0, 0, 0]
    assert measured.metrics["reaction_energy_mae"].n_failed == 0
    barrier = measured.metrics["barrier_mae"]
    assert barrier.value == pytest.approx((0.09 + 0.15 + 0.15) / 3)
    assert barrier.charged == pytest.approx((10 * 2.45 / 4 + 0.09 + 0.15 + 0.15) / 4)
    off = measured.metrics["barrier_off_percent:desorption"]
    assert off == Metric(0.0, "%", 2, 1, charged=50.0, baseline=100.0, failure_cost=100.0)
    assert MetricPart("group", "Desorption", "barrier_mae", pytest.approx(0.09), "eV", 2, 1) in measured.parts


def test_a_group_of_which_all_failed_has_no_share_and_the_whole_charge() -> None:
    answer = NEB_ENERGIES.copy()
    answer[:6] = np.nan  # failures without a stated cause
    metrics = KIND.measure(observed(answer), differences(*NEB), NEB_PARAMETERS, None).metrics
    assert metrics["barrier_off_percent:desorption"].value is None
    assert metrics["barrier_off_percent:desorption"].charged == 100.0
    assert metrics["barrier_off_percent"].charged == 100.0
    assert metrics["barrier_mae"].n_failed == 2


def test_a_share_of_which_the_zero_model_has_none_has_no_baseline() -> None:
    rows = (row("a", 0.01, (1, 0)), row("b", -0.02, (1, 1)))
    parameters = EnergyDifferencesParameters(tolerance=0.1)
    metrics = KIND.measure(observed(np.zeros(2)), differences(*rows), parameters, None).metrics
    assert set(metrics) == {"mae", "rmse", "off_percent"}
    assert (metrics["off_percent"].value, metrics["off_percent"].baseline) == (0.0, None)


@pytest.mark.parametrize(
    ("unit", "area", "per_ev"),
    [
        ("eV", None, 1.0),
        ("meV", None, 1000.0),
        ("kcal/mol", None, 23.060548),  # CODATA 2014, as ase.units
        ("kJ/mol", None, 96.485333),
        ("eV/Å²", 4.0, 0.25),
        ("meV/Å²", 4.0, 250.0),
        ("J/m²", 4.0, 16.021766 / 4),
        ("mJ/m²", 4.0, 16021.766 / 4),
    ],
)
def test_units(unit: str, area: float | None, per_ev: float) -> None:
    """Predicted 3 eV over the area against a reference of twice that."""
    dataset = differences(row("a", 6.0 / (area or 1.0), (1, 0), (-1, 1), area=area))
    parameters = EnergyDifferencesParameters(unit=unit, tolerance=2.999 * per_ev)  # type: ignore[arg-type]
    measured = KIND.measure(observed([5.0, 2.0]), dataset, parameters, None)
    assert measured.metrics["mae"].unit == unit
    assert measured.metrics["mae"].value == pytest.approx(3.0 * per_ev, rel=1e-6)
    assert measured.metrics["rmse"].baseline == pytest.approx(6.0 * per_ev, rel=1e-6)
    assert measured.metrics["off_percent"].value == 100.0
    assert measured.items.columns["predicted"][0] == pytest.approx(3.0 * per_ev, rel=1e-6)


@pytest.mark.parametrize(
    ("parameters", "rows", "says"),
    [
        ({"unit": "mJ/m²"}, [row("a", 1.0, (1, 0))], r"unit: mJ/m² .* have no area: take one of eV, meV, kcal/mol"),
        ({}, [row("a", 1.0, (1, 0), area=2.0)], r"unit: eV .* divided by an area: take one of eV/Å²"),
        ({"tolerance": 0.1}, NEB, r"tolerance_quantity: there is no '': take one of barrier, reaction energy"),
        ({"tolerance": 0.1, "tolerance_quantity": "Barrier"}, NEB, r"there is no 'Barrier'"),
        ({}, [NEB[0], row("a", 1.0, (1, 0))], r"quantity: some items have one and some have none"),
        (
            {},
            [row("a", 1.0, (1, 0), quantity="d E"), row("b", 1.0, (1, 0), quantity="d-E")],
            r"'d-E' and another name, or nothing, would be called 'd_e'",
        ),
    ],
)
def test_what_does_not_fit_is_refused(parameters: dict[str, Any], rows: list[Difference], says: str) -> None:
    dataset = differences(*rows)
    with pytest.raises(ValueError, match=says) as refused:
        KIND.measure(observed(np.zeros(len(dataset.frames))), dataset, EnergyDifferencesParameters(**parameters), None)
    assert str(refused.value).startswith("table@1: table.json: differences")


def test_settings_that_make_no_sense_are_refused() -> None:
    for stated in ({"unit": "Ry"}, {"tolerance": 0.0}, {"tolerance_quantity": "barrier"}):
        with pytest.raises(ValidationError):
            EnergyDifferencesParameters.model_validate(stated)
    # The unit sign Å (U+212B) is the letter Å.
    assert EnergyDifferencesParameters.model_validate({"unit": "meV/\u212b²"}).unit == "meV/Å²"


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_failing_never_improves_a_metric(data: st.DataObject) -> None:
    energies = np.array(data.draw(st.lists(st.floats(-40, 40), min_size=12, max_size=12)))
    codes = np.array(data.draw(st.lists(st.sampled_from([0, 0, 0, 1, 3, 9]), min_size=12, max_size=12)), np.int8)
    more, named = data.draw(st.lists(st.integers(0, 11), min_size=1, max_size=3)), data.draw(st.booleans())
    dataset, energies = differences(*NEB), np.where(codes, np.nan, energies)
    before = KIND.measure(observed(energies, codes), dataset, NEB_PARAMETERS, None).metrics
    energies[more] = np.nan
    if named:
        codes[more] = Cause.ERROR
    after = KIND.measure(observed(energies, codes), dataset, NEB_PARAMETERS, None).metrics
    assert before.keys() == after.keys()
    for name, metric in after.items():
        charged = before[name].charged
        assert charged is not None
        assert metric.charged is not None
        assert metric.charged >= charged - 1e-9 * charged, name
        assert metric.n_failed >= before[name].n_failed
