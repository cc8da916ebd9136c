"""Missing properties of a model, and the cost of failures."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.kind import Observation
from tasks.metrics.measurement import Measurement
from tasks.physicality.measures import METRICS, STRESS_GROUPS
from tasks.structures.predictions import Cause
from tests.tasks.physicality.pair_potential import KIND, MIXED, WITH_LAWS, Pairs, column, measured, observed, part


def test_a_model_without_stress_fails_the_strains_alone() -> None:
    class NoStress(Pairs):
        implemented_properties = ["energy", "forces"]  # noqa: RUF012

    measurement = measured(NoStress(), parameters=WITH_LAWS)
    n_groups = 1 + len(STRESS_GROUPS)
    assert measurement.items.failures() == {Cause.UNSUPPORTED: n_groups * int(MIXED.frames.periodic.sum())}
    for name, metric in measurement.metrics.items():
        assert (metric.n_failed > 0) == ("_stress" in name), name
    assert measurement.metrics["strain_stress"].charged == METRICS["strain_stress"].cost
    assert measurement.metrics["strain_stress"].value is None


def test_a_model_without_forces_still_has_its_energies_measured() -> None:
    class NoForces(Pairs):
        implemented_properties = ["energy"]  # noqa: RUF012

    measurement = measured(NoForces(), parameters=WITH_LAWS)
    energies = {name for name in METRICS if name.endswith("_energy") or name in SEEN_IN_ENERGIES}
    for name in METRICS:
        metric = measurement.metrics[name]
        assert metric.n_failed == (0 if name in energies else metric.n_items), name
        assert (metric.charged == METRICS[name].cost) == (name not in energies)
    assert set(measurement.items.failures()) == {Cause.UNSUPPORTED}


SEEN_IN_ENERGIES = ("diatomics_tortuosity", "diatomics_energy_jump", "single_precision")


def test_one_frame_that_fails_fails_its_item_alone_and_keeps_its_cause() -> None:
    observation, before = observed(Pairs(), MIXED, WITH_LAWS)
    failure = observation.arrays["variant_failure"].copy()
    rotation_of_rutile = (observation.arrays["variant_probe"] == 0) & (observation.arrays["variant_original"] == 1)
    failure[np.flatnonzero(rotation_of_rutile)[1]] = Cause.OUT_OF_MEMORY
    after = KIND.measure(Observation({**observation.arrays, "variant_failure": failure}), MIXED, WITH_LAWS, None)
    assert after.items.failures() == {Cause.OUT_OF_MEMORY: 1}
    assert list(after.items.id)[int(np.flatnonzero(after.items.cause)[0])] == "TiO2: rotation"
    assert np.isnan(column(after, "TiO2: rotation", "energy_error"))
    n = len(MIXED.frames)
    assert after.metrics["rotation_energy"].charged == pytest.approx(METRICS["rotation_energy"].cost / n)
    assert after.metrics["rotation_energy_largest"].charged == METRICS["rotation_energy"].cost
    assert after.metrics["permutation_energy"] == before.metrics["permutation_energy"]


ANSWERS = [
    f"{name}{array}"
    for name in (
        *("", "variant_", "displaced_", "strained_", "stressed_", "restressed_"),
        *("diatomic_", "moved_", "distant_", "slab_"),
    )
    for array in ("energy", "failure")
    if array == "failure" or name not in ("stressed_", "restressed_", "moved_", "distant_")  # nothing is made of these
]
ANSWERS += [
    "forces",
    "variant_forces",
    "diatomic_forces",
    "stressed_stress",
    "restressed_stress",
    "moved_forces",
    "time_step_failure",
]


@cache
def bad_answers() -> tuple[Observation, Measurement]:
    """Of a model that is off everywhere, in places beyond W."""
    rng = np.random.default_rng(5)
    observation, _ = observed(Pairs(), part("Cu", "H2O"), WITH_LAWS)
    arrays = dict(observation.arrays)
    for name in ANSWERS:
        if not name.endswith("failure"):
            arrays[name] = arrays[name] + rng.standard_cauchy(arrays[name].shape)
    bad = Observation(arrays)
    return bad, KIND.measure(bad, part("Cu", "H2O"), WITH_LAWS, None)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(ANSWERS), st.integers(0, 10**6), st.sampled_from([np.nan, np.inf]))
def test_failing_never_helps(name: str, place: int, value: float) -> None:
    bad, before = bad_answers()
    changed = bad.arrays[name].copy()
    changed.reshape(-1)[place % changed.size] = Cause.ERROR if name.endswith("failure") else value
    after = KIND.measure(Observation({**bad.arrays, name: changed}), part("Cu", "H2O"), WITH_LAWS, None)
    assert after.metrics.keys() == before.metrics.keys()
    for metric, measurement in after.metrics.items():
        assert measurement.charged >= before.metrics[metric].charged - 1e-12, metric
        assert measurement.n_failed >= before.metrics[metric].n_failed
    assert after.items.failures()
