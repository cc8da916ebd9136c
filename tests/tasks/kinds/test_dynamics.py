"""Dynamics as a kind: quantities with known values, one batch a step, charge and spin, and comparability."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from ase import Atoms, units
from ase.calculators.emt import EMT

from tasks.dynamics.item_columns import (
    DENSITY_COLUMNS,
    RDF_COLUMNS,
    RDF_REFERENCE_COLUMNS,
    distribution_curves,
    rdf_curves,
)
from tasks.kind import Observation, Watch
from tasks.kinds.dynamics import Dynamics, DynamicsParameters
from tasks.metrics.measurement import Measurement
from tasks.model.calculator import InProcessCalculator
from tasks.quickstart.registry import BUILDERS
from tasks.suites.rehearsal import rehearse
from tests.tasks.kinds.simulated import LABEL_SET, Bonds, dataset_of, diatomics

KIND = Dynamics()
REFERENCE = {LABEL_SET: 1.0}


def measured(analyses: list[dict[str, Any]], parameters: DynamicsParameters, atoms: Atoms, model: Bonds) -> Measurement:
    dataset = dataset_of([atoms], [analyses])
    observation = KIND.observe(dataset.structures, parameters, model, Watch(time.monotonic))
    return KIND.measure(observation, dataset, parameters, None)


def test_the_mean_bond_length_and_its_spread_are_those_of_a_harmonic_oscillator() -> None:
    """<l> of a stiff rotor in three dimensions is l₀ + 2kT/(K l₀); the spread of l is √(kT/K)."""
    parameters = DynamicsParameters(
        steps=6000, store_every=20, equilibration_steps=1000, friction_per_ps=20.0, replicas=2, seed=3
    )
    pairs = [(2 * i, 2 * i + 1) for i in range(64)]
    bonds = {"measure": "bond_length", "pairs": pairs, "reference": REFERENCE}
    spread = {**bonds, "name": "spread", "each_frame": True}
    result = measured([bonds, spread], parameters, diatomics(64), Bonds())
    kt = units.kB * 300.0
    error = dict(zip(result.items.id, result.items.columns["error"], strict=True))
    expected = 2 * kt / 20.0
    assert error["s0/bond_length"] == pytest.approx(expected, abs=6e-4)
    # Mean |x| of a Gaussian of that width, moved by the mean.
    assert error["s0/spread"] == pytest.approx(np.sqrt(2 / np.pi * kt / 20.0), rel=0.03)
    assert result.metrics["bond_length_mae"].value == pytest.approx((error["s0/bond_length"] + error["s0/spread"]) / 2)
    assert result.metrics["bond_length_mae"].baseline == pytest.approx(1.0)
    assert result.metrics["unstable_percent"].value == 0.0
    assert result.items.columns["progress"].tolist() == [1.0] * 3
    drawn, same = distribution_curves("bond_length", result.items, parameters)
    assert (drawn.item, same.item) == ("s0/bond_length", "s0/spread")
    mean = float(drawn.x @ drawn.y) / 100
    assert mean == pytest.approx(expected, abs=1.5e-3)
    assert np.sqrt((drawn.x - mean) ** 2 @ drawn.y / 100) == pytest.approx(np.sqrt(kt / 20.0), rel=0.05)
    assert distribution_curves("planarity", result.items, parameters) == []


def test_molecules_that_do_not_interact_have_the_density_of_an_ideal_gas() -> None:
    """The Monte Carlo barostat: <V> of N molecules is (N + 1) kT/P, which for 27 molecules at 500 bar is 2320 Å³."""
    n, pressure = 27, 500.0
    side = float(np.cbrt((n + 1) * units.kB * 300.0 / (pressure * units.bar)))
    parameters = DynamicsParameters(
        ensemble="npt",
        steps=8000,
        store_every=20,
        equilibration_steps=1000,
        pressure_bar=pressure,
        barostat_every=2,
        molecules="bonded",
        replicas=8,
        friction_per_ps=20.0,
    )
    exact = 2 * n * 14.007 / units.mol * 1e24 / side**3
    density = {"measure": "density", "reference": {LABEL_SET: exact}}
    dataset = dataset_of([diatomics(n, side)], [[density]])
    observation = KIND.observe(dataset.structures, parameters, Bonds(), Watch(time.monotonic))
    result = KIND.measure(observation, dataset, parameters, None)
    # <1/V> is larger than 1/<V> by 1/(N + 1) of it, and Gamma-distributed: <1/V> = P/(N kT).
    predicted = result.items.columns["predicted"][1]
    assert predicted == pytest.approx(exact * (n + 1) / n, rel=0.05)
    absolute = parameters.model_copy(update={"absolute_density": True})
    by_mass = KIND.measure(observation, dataset, absolute, None)
    metric = by_mass.metrics["density_mae"]
    assert (metric.value, metric.unit) == (pytest.approx(abs(predicted - exact)), "g/cm³")
    assert metric.baseline == pytest.approx(exact)
    assert "density_mae" in {c.metric for c in KIND.contributions(by_mass.items, by_mass.metrics)}
    assert "density_mae" not in result.metrics
    curve = [result.items.columns[name][1] for name in DENSITY_COLUMNS]
    assert curve[0] == pytest.approx(exact, rel=1e-6)
    assert np.isfinite(curve).all()


def test_g_of_r_of_free_molecules_is_one_and_its_error_is_the_distance_from_the_reference() -> None:
    parameters = DynamicsParameters(
        steps=3000, store_every=10, equilibration_steps=500, replicas=2, friction_per_ps=5.0
    )
    between = {"first": list(range(0, 128, 2)), "r_max": 5.9, "bin_width": 0.1}
    known = {"x": [2.0, 6.0], "y": [1.0, 1.0]}
    off = {"x": [2.0, 6.0], "y": [1.5, 1.5]}
    analyses = [
        {"measure": "rdf", "name": "known", **between, "reference": {LABEL_SET: known}},
        {"measure": "rdf", "name": "off", **between, "reference": {LABEL_SET: off}},
    ]
    dataset = dataset_of([diatomics(64)], [analyses])
    observation = KIND.observe(dataset.structures, parameters, Bonds(), Watch(time.monotonic))
    result = KIND.measure(observation, dataset, parameters, None)
    values = dict(zip(result.items.id, result.items.columns["predicted"], strict=True))
    assert values["s0/known"] < 0.06
    assert values["s0/off"] == pytest.approx(0.5, abs=0.03)
    assert result.metrics["rdf_error"].baseline == pytest.approx(0.25)
    columns = result.items.columns
    g = np.array([columns[name][2] for name in RDF_COLUMNS])
    reference = np.array([columns[name][2] for name in RDF_REFERENCE_COLUMNS])
    r = (np.arange(60) + 0.5) * columns["r_max"][2] / 60
    assert columns["r_max"][2] == pytest.approx(5.9)
    assert np.isnan(reference[r < 1.9]).all()
    assert (reference[r > 2.1] == 1.5).all()
    assert g[r > 2.5].mean() == pytest.approx(1.0, abs=0.03)
    assert np.isnan(columns[RDF_COLUMNS[0]][0])


@pytest.mark.parametrize("measure", [{"measure": "rdf", "r_max": 5.0}, {"measure": "rdf_rmse", "above": 3, "up_to": 5}])
def test_further_curves_are_drawn_and_enter_no_error(measure: dict[str, Any]) -> None:
    """Lines are kept as they are; a name is that of the curve; NaN where it has no point."""
    parameters = DynamicsParameters(steps=40, store_every=10)
    flat = {"x": [0.0, 4.0, 9.0], "y": [1.5, 1.5, 1.5]}
    further = {"TIP3P": {"x": [2.0, 6.0], "y": [0.2, 0.6]}, "TIP4P/2005": {"x": [0.0, 6.0], "y": [3.0, 3.0]}}
    plain = {"first": list(range(0, 54, 2)), "bin_width": 0.1, "reference": {LABEL_SET: flat}, **measure}
    results = [measured([{**plain, **also}], parameters, diatomics(27), Bonds()) for also in ({}, {"also": further})]
    assert results[0].metrics == results[1].metrics
    (without,), (curve,) = (rdf_curves(result.items, parameters) for result in results)
    assert without.also == ()
    np.testing.assert_array_equal(without.y, curve.y)
    assert [name for name, _ in curve.also] == ["TIP3P", "TIP4P/2005"]
    (_, line), (_, constant) = curve.also
    inside = (curve.x > 2.2) & (curve.x < 4.9)
    np.testing.assert_allclose(line[inside], curve.x[inside] / 10, rtol=1e-9)
    assert np.isnan(line[curve.x < 1.9]).all()
    np.testing.assert_allclose(constant, 3.0)


def test_charge_and_spin_reach_the_model_in_every_step_and_a_step_is_one_batch() -> None:
    charged, spinning = diatomics(2), diatomics(3)
    charged.info["charge"], spinning.info["spin"] = -1, 3
    dataset, model = dataset_of([charged, spinning], [[], []]), Bonds()
    parameters = DynamicsParameters(steps=10, store_every=5, replicas=2)
    KIND.observe(dataset.structures, parameters, model, Watch(time.monotonic))
    assert KIND.work(dataset.structures, parameters).frames == 2 * 2 * 11
    steps = [batch for batch in model.batches if len(batch) == 4]
    assert len(steps) == 11
    assert len(model.batches) == 11  # the first and the last structure differ: nothing else is asked
    assert all(batch.charge.tolist() == [-1, -1, 0, 0] for batch in steps)
    assert all(batch.multiplicity.tolist() == [0, 0, 3, 3] for batch in steps)


def test_numbers_follow_from_the_stored_observation_alone() -> None:
    dataset = dataset_of([diatomics(8)], [[{"measure": "bond_length", "pairs": [(0, 1)], "reference": REFERENCE}]])
    parameters = DynamicsParameters(steps=20, store_every=5)
    observation = KIND.observe(dataset.structures, parameters, Bonds(), Watch(time.monotonic))
    stored = Observation({name: np.array(array) for name, array in observation.arrays.items()}, {})
    first, again = (KIND.measure(o, dataset, parameters, None) for o in (observation, stored))
    assert first.metrics == again.metrics
    with pytest.raises(ValueError, match="observation: positions is float32"):
        KIND.measure(observation, dataset, DynamicsParameters(steps=25, store_every=5), None)


@pytest.mark.parametrize(
    ("analysis", "settings", "line"),
    [
        ({"measure": "density", "reference": REFERENCE}, {}, "density: the volume is constant in nvt: run it in npt"),
        (
            {"measure": "temperature"},
            {"ensemble": "nve"},
            "temperature: there is no heat bath in nve: run it in nvt or npt",
        ),
        ({"measure": "energy_drift"}, {}, "energy_drift: the energy is not conserved in nvt: run it in nve"),
        (
            {"measure": "diffusion", "atoms": [0], "from_ps": 0.0, "to_ps": 1.0, "reference": REFERENCE},
            {},
            "diffusion: to_ps: 1 ps, but each of 2 blocks has 0.005 ps: run longer",
        ),
        (
            {"measure": "bond_length", "pairs": [(1, 1)], "reference": REFERENCE},
            {},
            "bond_length: pairs: an atom is given twice in one of them: name 2 different atoms",
        ),
    ],
)
def test_runs_that_cannot_be_analysed_are_refused_before_any_run(
    analysis: dict[str, Any], settings: dict[str, Any], line: str
) -> None:
    parameters = DynamicsParameters.model_validate({"steps": 20, "store_every": 5, **settings})
    dataset, model = dataset_of([diatomics(2)], [[analysis]]), Bonds(nan_at=1)
    observation = KIND.observe(dataset.structures, parameters, model, Watch(time.monotonic))
    with pytest.raises(ValueError, match=r"simulated@1: table\.json: systems: s0: ") as error:
        KIND.measure(observation, dataset, parameters, None)
    assert str(error.value).endswith(line)


def test_copper_and_aluminium_at_room_temperature_have_their_measured_densities() -> None:
    """Of the quickstart data set, by EMT, whose lattice constants are right within 0.7 %."""
    dataset = BUILDERS["simulated-metals"]()
    parameters = DynamicsParameters.model_validate(
        {
            "ensemble": "npt",
            "steps": 300,
            "store_every": 10,
            "equilibration_steps": 100,
            "timestep_fs": 4.0,
            "barostat_every": 5,
            "friction_per_ps": 10.0,
        }
    )
    model = InProcessCalculator(EMT())
    observation = KIND.observe(dataset.structures, parameters, model, Watch(time.monotonic))
    result = KIND.measure(observation, dataset, parameters, None)
    errors = dict(zip(result.items.id, result.items.columns["error"], strict=True))
    assert errors["Cu/density"] == pytest.approx(0.0, abs=3.0)
    assert errors["Al/density"] == pytest.approx(0.0, abs=3.0)
    assert abs(errors["Cu/first_peak"]) < 0.08
    assert result.metrics["unstable_percent"].value == 0.0


def test_a_rehearsal_without_any_answer_has_references_and_causes() -> None:
    dataset = BUILDERS["simulated-metals"]()
    rehearse(KIND, dataset, DynamicsParameters(ensemble="npt", steps=20, store_every=10))
    with pytest.raises(ValueError, match="Cu: density: the volume is constant in nvt: run it in npt"):
        rehearse(KIND, dataset, DynamicsParameters(steps=20, store_every=10))
    with pytest.raises(
        ValueError, match="simulated-metals@1: the trajectories take 1536 MB: set store_every to 8 or more"
    ):
        rehearse(KIND, dataset, DynamicsParameters(ensemble="npt", steps=2_000_000, store_every=1))


def test_the_work_counts_the_steps_of_the_minimisation_once_for_all_replicas() -> None:
    structures = dataset_of([diatomics(4)], [[]]).structures
    plain = DynamicsParameters(steps=100, store_every=10, replicas=3)
    minimised = plain.model_copy(update={"minimise_steps": 50})
    assert KIND.work(structures, minimised).frames == KIND.work(structures, plain).frames + 50 == 3 * 101 + 50


@pytest.mark.parametrize("ensemble", ["nvt", "npt"])
def test_a_system_at_its_own_temperature_runs_as_a_task_at_that_temperature(ensemble: str) -> None:
    settings: dict[str, Any] = {"ensemble": ensemble, "steps": 60, "store_every": 20, "seed": 5, "molecules": "bonded"}
    if ensemble == "nvt":
        del settings["molecules"]
    both = dataset_of([diatomics(8), diatomics(8)], [[], []])
    baths = np.array([250.0, 400.0])
    structures = replace(both.structures, conditions={**both.structures.conditions, "temperature_k": baths})
    together = KIND.observe(structures, DynamicsParameters(**settings), Bonds(), Watch(time.monotonic))
    for k, temperature in enumerate(baths.tolist()):
        alone = dataset_of([diatomics(8)], [[]])
        parameters = DynamicsParameters(**settings, temperature_k=temperature)
        stored = KIND.observe(alone.structures, parameters, Bonds(), Watch(time.monotonic))
        for name in ("potential", "kinetic"):
            np.testing.assert_array_equal(together.arrays[name][k], stored.arrays[name][0])
    ramp = DynamicsParameters(**settings, end_temperature_k=500.0)
    with pytest.raises(ValueError, match="the data set states the temperature of each system"):
        KIND.observe(structures, ramp, Bonds(), Watch(time.monotonic))


def test_survival_is_the_mean_share_of_sound_runs_and_a_failing_model_has_less() -> None:
    parameters = DynamicsParameters(steps=40, store_every=10, survival=True)
    data = dataset_of([diatomics(8), diatomics(4)], [[], []])

    values = []
    for model in (Bonds(), Bonds(nan_at=21)):  # NaN of the first system, half-way
        observation = KIND.observe(data.structures, parameters, model, Watch(time.monotonic))
        metric = KIND.measure(observation, data, parameters, None).metrics["survival_percent"]
        assert metric.charged == metric.value
        values.append((metric.value, metric.n_failed))
    assert values[0] == (100.0, 0)
    assert values[1][1] == 1
    assert values[1][0] is not None
    assert 70.0 < values[1][0] < 80.0
    assert (
        "survival_percent"
        not in KIND.measure(observation, data, parameters.model_copy(update={"survival": False}), None).metrics
    )


def test_the_pressure_goes_to_its_end_in_a_straight_line() -> None:
    """A gas that does not interact: its volume at the end of the ramp is that of the end's pressure."""
    settings: dict[str, Any] = {"ensemble": "npt", "steps": 4000, "store_every": 100, "barostat_every": 1, "seed": 2}
    settings |= {"molecules": "bonded", "pressure_bar": 500.0, "adapts_throughout": True}
    ramp = DynamicsParameters(**settings, end_pressure_bar=2000.0)
    assert [ramp.pressure_at(step) for step in (0, 2000, 4000)] == [500.0, 1250.0, 2000.0]
    assert DynamicsParameters(**settings).pressure_at(3000) == 500.0
    n = 27
    side = float(np.cbrt((n + 1) * units.kB * 300.0 / (500.0 * units.bar)))
    data = dataset_of([diatomics(n, side)], [[]])
    stored = KIND.observe(data.structures, ramp, Bonds(), Watch(time.monotonic))
    volumes = np.abs(np.linalg.det(stored.arrays["cells"][:, 0]))
    assert volumes[-8:].mean() == pytest.approx(volumes[0] / 4, rel=0.4)
    with pytest.raises(ValueError, match="end_pressure_bar: there is a barostat"):
        DynamicsParameters(end_pressure_bar=1.0)
