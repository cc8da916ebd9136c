"""Curves of pairs in the items table: they hold the model's energies, with a gap where the model failed."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from ase.build import molecule
from ase.calculators.lj import LennardJones

from tasks.kind import Observation, Watch
from tasks.metrics.measurement import Items, Measurement
from tasks.model.calculator import InProcessCalculator
from tasks.physicality.kind import Physicality, PhysicalityParameters, diatomic_curves
from tasks.physicality.measures import DIATOMICS, curve_columns
from tasks.simulation.diatomics import DiatomicCurve, distances, relative_energies
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause
from tests.tasks.made_up import make_dataset

PARAMETERS = PhysicalityParameters(n_variants=1, n_directions=1, diatomics=("H", "C", "Ar"), n_distances=30)
WATER = make_dataset(Frames.from_atoms([molecule("H2O")]), None)


def observed(calculator: Any, parameters: PhysicalityParameters = PARAMETERS) -> Observation:
    """Of a molecule of water, and the pairs."""
    model, watch = InProcessCalculator(calculator), Watch(time.monotonic)
    return Physicality().observe(WATER.structures, parameters, model, watch)


def measured(calculator: Any, parameters: PhysicalityParameters = PARAMETERS) -> Measurement:
    return Physicality().measure(observed(calculator, parameters), WATER, parameters, None)


def cause_of(items: Items, name: str) -> int:
    return int(items.cause[list(items.id).index(name)])


class Failing(LennardJones):
    """Lennard-Jones that raises for two carbons, or knows no energy of two argons, at distances between two bounds."""

    def __init__(self, least: float, most: float) -> None:
        super().__init__(rc=10.0)
        self.least, self.most = least, most

    def calculate(self, atoms: Any = None, *args: Any, **kwargs: Any) -> None:
        super().calculate(atoms, *args, **kwargs)
        if len(atoms) != 2 or not self.least < atoms.get_distance(0, 1) < self.most:
            return
        if "C" in atoms.symbols:
            raise RuntimeError("no such pair")
        if "Ar" in atoms.symbols:
            self.results["energy"] = np.inf


def test_a_pair_potential_has_its_own_curve() -> None:
    curves = diatomic_curves(measured(LennardJones(rc=10.0)).items, PARAMETERS)
    assert [curve.symbol for curve in curves] == ["H", "C", "Ar"]
    for symbol, r, energies in curves:
        np.testing.assert_array_equal(r, distances(symbol, 30))
        expected = 4 * (r**-12.0 - r**-6.0) - 4 * (r[-1] ** -12.0 - r[-1] ** -6.0)
        np.testing.assert_allclose(energies, expected, rtol=1e-9, atol=1e-12)
        assert energies[-1] == 0.0


def test_what_is_no_pair_has_no_curve_and_no_metric_sees_the_columns() -> None:
    measurement = measured(LennardJones(rc=10.0))
    names = curve_columns(30)
    assert names[:2] + names[-1:] == ("curve_00", "curve_01", "curve_29")
    curves = np.array([measurement.items.columns[name] for name in names]).T
    assert np.isfinite(curves).all(axis=1).tolist() == [group == DIATOMICS for group in measurement.items.group]
    assert np.isnan(curves[[group != DIATOMICS for group in measurement.items.group]]).all()
    assert not any(name.startswith("curve") for name in measurement.metrics)


def test_a_curve_has_a_gap_where_the_model_failed_and_its_item_has_failed_all_the_same() -> None:
    whole = measured(LennardJones(rc=10.0))
    broken = measured(Failing(1.5, 2.0))
    assert [cause_of(broken.items, f"{symbol}2") for symbol in ("H", "C", "Ar")] == [0, Cause.ERROR, Cause.NON_FINITE]
    assert broken.metrics["diatomics_tortuosity"].n_failed == 2
    pairs = zip(diatomic_curves(whole.items, PARAMETERS), diatomic_curves(broken.items, PARAMETERS), strict=True)
    for before, after in pairs:
        inside = (before.distances > 1.5) & (before.distances < 2.0) & (before.symbol != "H")
        assert inside.any() == (before.symbol != "H")
        np.testing.assert_array_equal(after.energies, np.where(inside, np.nan, before.energies))


def test_a_point_that_failed_counts_for_nothing_though_it_has_an_energy() -> None:
    seen = observed(LennardJones(rc=10.0))
    failure = seen.arrays["diatomic_failure"].copy()
    failure[30 + 4] = Cause.OUT_OF_MEMORY  # the fifth distance of carbon
    measurement = Physicality().measure(
        Observation({**seen.arrays, "diatomic_failure": failure}), WATER, PARAMETERS, None
    )
    gaps = [
        np.flatnonzero(np.isnan(curve.energies)).tolist() for curve in diatomic_curves(measurement.items, PARAMETERS)
    ]
    assert gaps == [[], [4], []]


def test_nothing_is_relative_to_an_energy_that_is_not_there() -> None:
    hydrogen, *others = diatomic_curves(measured(Failing(5.4, 6.1)).items, PARAMETERS)
    assert np.isfinite(hydrogen.energies).all()
    for curve in others:
        assert 5.4 < curve.distances[-1] < 6.1
        assert np.isnan(curve.energies).all()


def test_energies_that_are_not_finite_and_differences_that_are_not() -> None:
    energy = np.array([[3.0, np.inf, 2.0, 1.0], [1e308, 0.0, np.nan, -1e308], [1.0, 1.0, 1.0, -np.inf]])
    failed = np.array([[False, False, True, False], [False] * 4, [False] * 4])
    expected = [[2.0, np.nan, np.nan, 0.0], [np.nan, 1e308, np.nan, 0.0], [np.nan] * 4]
    np.testing.assert_array_equal(relative_energies(energy, failed), expected)


def test_curves_come_in_the_order_of_the_parameters_whatever_that_of_the_items() -> None:
    items = measured(LennardJones(rc=10.0)).items
    turned = Items(
        items.id[::-1],
        items.group[::-1],
        items.cluster[::-1],
        items.cause[::-1],
        {name: column[::-1] for name, column in items.columns.items()},
    )
    for curve, other in zip(diatomic_curves(items, PARAMETERS), diatomic_curves(turned, PARAMETERS), strict=True):
        assert curve.symbol == other.symbol
        np.testing.assert_array_equal(curve.energies, other.energies)


def test_items_of_an_older_version_or_of_other_parameters_have_no_curves() -> None:
    items = measured(LennardJones(rc=10.0)).items
    none: list[DiatomicCurve] = []
    older = replace(items, columns={n: c for n, c in items.columns.items() if not n.startswith("curve_")})
    assert "tortuosity" in older.columns
    assert diatomic_curves(older, PARAMETERS) == none
    for n in (29, 31):
        assert diatomic_curves(items, PARAMETERS.model_copy(update={"n_distances": n})) == none
    without = PARAMETERS.model_copy(update={"diatomics": ()})
    assert diatomic_curves(measured(LennardJones(rc=10.0), without).items, without) == none
    assert Physicality.measure_version > 1  # else items without curves would count as current
