"""Diatomics: means over elements, pairs without a reference, and what a failure costs."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from ase.calculators.lj import LennardJones
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.datasets.card import Card, DatasetError, LabelSet, Table
from tasks.datasets.dataset import Dataset
from tasks.datasets.diatomic_pairs import Diatomic, DiatomicReference
from tasks.kind import Observation, Watch
from tasks.kinds.diatomic_curves import Well
from tasks.kinds.diatomics import ERRORS, OWN, Diatomics, DiatomicsParameters, pair_curves
from tasks.metrics.measurement import Measurement
from tasks.model.calculator import InProcessCalculator
from tasks.simulation.diatomics import pair_frames, pair_window
from tasks.structures.frames import Float
from tasks.structures.predictions import Cause, FrameError, Predictions, Properties
from tests.tasks.made_up import observed

KIND, PARAMETERS = Diatomics(), DiatomicsParameters()
N = 60
GRID = np.geomspace(0.1, 6.0, N)
# By pair: atomic numbers, and depth, width and bond length of its Morse curve.
PAIRS = {"O2": ((8, 8), (5.0, 2.2, 1.25)), "N2": ((7, 7), (9.9, 2.7, 1.1)), "Cu2": ((29, 29), (2.0, 1.4, 2.22))}


def morse(depth: float, width: float, bond: float, r: Float = GRID) -> tuple[Float, Float]:
    """Energy [eV], zero far apart, and force [eV/Å]."""
    decay = np.exp(-width * (r - bond))
    return depth * ((1 - decay) ** 2 - 1), -2 * depth * width * (1 - decay) * decay


def reference_of(name: str, scale: float = 1.0) -> DiatomicReference:
    r = np.geomspace(0.3, 6.0, 45)
    energy, force = morse(*PAIRS[name][1], r)
    return DiatomicReference(distances=tuple(r), energies=tuple(scale * energy + 7.0), forces=tuple(scale * force))


def dataset_of(rows: dict[str, dict[str, DiatomicReference]], grid: Float = GRID, **card: Any) -> Dataset:
    """A data set of pairs with these references by label set."""
    pairs = [
        Diatomic(id=name, structures=tuple(range(len(grid) * i, len(grid) * (i + 1))), reference=reference)
        for i, (name, reference) in enumerate(rows.items())
    ]
    numbers = [PAIRS[name][0] if name in PAIRS else (1, 8) for name in rows]
    names = tuple(f"{row.id} {i}" for row in pairs for i in range(len(grid)))
    stated = Card(
        name="pairs",
        version="1",
        title="Pairs",
        domain="Inorganic Materials",
        periodic=True,
        default_label_set="PBE",
        label_sets={name: LabelSet(theory=name, dispersion=False) for name in ("PBE", "r2SCAN")},
        **card,
    )
    frames = pair_frames(numbers, np.tile(grid, (len(rows), 1)), 50.0)
    table = Table(id=names, group=("",) * len(names), cluster=names, pairs=tuple(pairs))
    return Dataset(stated, frames, table, {})


DATASET = dataset_of({name: {"PBE": reference_of(name)} for name in PAIRS})


def answers(scale: float = 1.0, forces: bool = True, failure: Any = None) -> Observation:
    """Those of a model with Morse curves `scale` times as deep, by structure."""
    curves = [morse(*constants) for _, constants in PAIRS.values()]
    energy = scale * np.concatenate([energy for energy, _ in curves]) - 40.0
    force = np.zeros((len(energy), 2, 3))
    force[:, 1, 0] = scale * np.concatenate([each for _, each in curves])
    force[:, 0, 0] = -force[:, 1, 0]
    return observed(energy, failure, **({"forces": force.reshape(-1, 3)} if forces else {}))


def measured(observation: Observation, dataset: Dataset = DATASET, **parameters: Any) -> Measurement:
    return KIND.measure(observation, dataset, DiatomicsParameters(**parameters), None)


def test_the_reference_itself_has_no_errors_beyond_those_of_its_grid() -> None:
    measurement = measured(answers())
    assert set(measurement.metrics) == {*ERRORS, *OWN}
    for name, most in {"curve_energy_mae": 0.2, "wall_distance_mae": 0.01, "pair_bond_length_mae": 0.02}.items():
        assert 0 < (measurement.metrics[name].value or 0.0) < most, name
    assert [measurement.metrics[name].value for name in ("energy_flips", "force_flips")] == [1, 1]
    assert measurement.items.cause.tolist() == [0, 0, 0]


def test_a_metric_is_the_mean_of_its_items() -> None:
    measurement = measured(answers(1.3))
    for name in (*ERRORS, *OWN):
        column = measurement.items.columns[name]
        assert measurement.metrics[name].value == pytest.approx(column.mean())
        assert measurement.items.columns[f"{name}_counted"].tolist() == [1, 1, 1]
    # All is 1.3 times as deep and as wide: depths and forces are off by 0.3 of those without interaction.
    flat = measured(without_interaction())
    for name in ("well_depth_mae", "curve_force_mae"):
        assert measurement.metrics[name].value == pytest.approx(0.3 * (flat.metrics[name].value or 0.0), rel=0.05)
    wavenumbers = [morse_wavenumber(name) for name in PAIRS]
    assert measurement.metrics["wavenumber_mae"].value == pytest.approx(
        (np.sqrt(1.3) - 1) * np.mean(wavenumbers), rel=0.2
    )


def without_interaction(n: int = 3) -> Observation:
    """The answers to n pairs of a model whose energies are all the same."""
    return observed(np.full(n * N, -3.0), forces=np.zeros((2 * n * N, 3)))


def morse_wavenumber(name: str) -> float:
    """[cm⁻¹] of the harmonic vibration, from the curvature 2 D a²."""
    numbers, (depth, width, bond) = PAIRS[name]
    return Well(bond, 2 * depth * width**2).wavenumber(numbers)


def test_a_model_without_interaction_stands_where_the_baseline_of_one_pair_stands() -> None:
    dataset = dataset_of({"O2": {"PBE": reference_of("O2")}})
    measurement = measured(without_interaction(1), dataset)
    for name in ERRORS:
        metric = measurement.metrics[name]
        if name == "wavenumber_mae":  # it has none
            assert (metric.value, metric.n_failed) == (None, 1)
            assert metric.charged == pytest.approx(metric.failure_cost)
        else:
            assert metric.value == pytest.approx(metric.baseline), name
        assert metric.failure_cost == pytest.approx(10 * (metric.baseline or 0.0))
    assert measurement.metrics["tortuosity"].value is None
    assert measurement.metrics["tortuosity"].charged == OWN["tortuosity"][1]


def test_of_three_pairs_a_well_at_two_covalent_radii_is_the_baseline() -> None:
    """Which no reference fits: 1.32, 1.42 and 2.64 Å for bonds of 1.25, 1.1 and 2.22 Å."""
    metric = measured(without_interaction()).metrics["pair_bond_length_mae"]
    assert metric.baseline == pytest.approx(np.mean([1.32 - 1.25, 1.42 - 1.1, 2.64 - 2.22]), abs=0.02)
    assert metric.value is not None
    assert metric.value > 1.5 * (metric.baseline or 0.0)


def test_one_hole_is_the_whole_published_mean_and_not_the_corrected_one() -> None:
    hole = answers()
    energy = hole.arrays["energy"].copy()
    at = int(np.searchsorted(GRID, 1.6))
    energy[at] -= 1200.0
    metric = measured(Observation({**hole.arrays, "energy": energy})).metrics["well_depth_mae"]
    assert metric.value == pytest.approx(1200 / 3, rel=0.01)
    assert metric.charged == pytest.approx((metric.failure_cost or 0.0) / 3, rel=0.01)
    # Of the baseline, a well of 2.5 eV for depths of 5, 9.9 and 2 eV.
    assert metric.failure_cost == pytest.approx(10 * np.mean([5.0 - 2.5, 9.9 - 2.5, 2.5 - 2.0]), rel=0.04)


def failures(at: dict[int, Cause]) -> np.ndarray:
    code = np.zeros(len(DATASET.frames), np.int8)
    code[list(at)] = list(at.values())
    return code


def inside(low: float) -> int:
    """The first structure of oxygen that is at least so far apart."""
    return int(np.searchsorted(GRID, low))


def test_a_failure_in_the_window_fails_the_pair_and_one_beyond_it_nothing() -> None:
    low, high = pair_window((8, 8))
    within = measured(answers(failure=failures({inside(low): Cause.ERROR, inside(1.0): Cause.OUT_OF_MEMORY})))
    assert within.items.cause.tolist() == [Cause.OUT_OF_MEMORY, 0, 0]
    for name in (*ERRORS, *OWN):
        metric = within.metrics[name]
        assert (metric.n_items, metric.n_failed) == (3, 1)
        rest = within.items.columns[name][1:]
        assert metric.value == pytest.approx(rest.mean())
        assert metric.charged == pytest.approx((rest.sum() + (metric.failure_cost or 0.0)) / 3)
        assert np.isnan(within.items.columns[name][0])
    whole = measured(answers())
    beyond = measured(
        answers(failure=failures({0: Cause.ERROR, inside(0.5) - 1: Cause.ERROR, inside(high): Cause.ERROR}))
    )
    assert beyond.items.cause.tolist() == [0, 0, 0]
    assert beyond.metrics == whole.metrics


def test_a_failure_on_the_wall_above_the_window_fails_the_wall_alone() -> None:
    place = inside(0.8 * 0.66)
    assert GRID[place] < 0.9 * 0.66
    whole, metrics = measured(answers()).metrics, measured(answers(failure=failures({place: Cause.ERROR}))).metrics
    assert metrics["wall_distance_mae"].n_failed == 1
    assert (metrics["wall_distance_mae"].charged or 0) > (whole["wall_distance_mae"].charged or 0)
    assert {**metrics, "wall_distance_mae": None} == {**whole, "wall_distance_mae": None}


def test_a_model_without_forces_fails_in_what_needs_them() -> None:
    measurement = measured(answers(forces=False))
    failed = {name for name, metric in measurement.metrics.items() if metric.n_failed}
    assert failed == {"curve_force_mae", "force_flips", "force_variation", "force_jump"}
    for name in failed:
        assert measurement.metrics[name].charged == measurement.metrics[name].failure_cost
    assert measurement.items.cause.tolist() == [0, 0, 0]


def test_a_vibration_that_the_model_lacks_is_skipped_as_published_and_costs_in_the_corrected_mean() -> None:
    falling = answers()
    energy = falling.arrays["energy"].copy()
    energy[:N] = np.sqrt(GRID)  # oxygen falls inwards, and bends down
    metric = measured(Observation({**falling.arrays, "energy": energy})).metrics["wavenumber_mae"]
    assert metric.n_failed == 1
    assert (metric.charged or 0.0) > (metric.failure_cost or 0.0) / 3


def test_pairs_of_two_elements_and_label_sets_without_a_reference() -> None:
    references = {
        "O2": {"PBE": reference_of("O2"), "r2SCAN": reference_of("O2", 2.0)},
        "HO": {},
        "N2": {"PBE": reference_of("N2")},
    }
    dataset = dataset_of(references)
    energy, force = (np.tile(values, 3) for values in morse(5.0, 2.2, 1.25))
    forces = np.zeros((len(energy), 2, 3))
    forces[:, 1, 0], forces[:, 0, 0] = force, -force
    observation = observed(energy, forces=forces.reshape(-1, 3))
    for label_set, n in (("PBE", 2), ("r2SCAN", 1)):
        metrics = KIND.measure(observation, dataset, PARAMETERS, label_set).metrics
        assert {metrics[name].n_items for name in ERRORS} == {n}
        assert {metrics[name].n_items for name in OWN} == {3}
    alone = dataset_of({"HO": {}})
    single = Observation({name: array[: len(array) // 3] for name, array in observation.arrays.items()})
    assert set(measured(single, alone).metrics) == set(OWN)


def test_a_reference_that_jumps_or_is_not_bound_is_not_compared_with() -> None:
    smooth = reference_of("O2")
    energies = np.array(smooth.energies)
    energies[25:33:2] += 2.0
    jumpy = smooth.model_copy(update={"energies": tuple(energies)})
    counted = measured(answers(), dataset_of({"O2": {"PBE": jumpy}, "N2": {"PBE": reference_of("N2")}, "Cu2": {}}))
    for name in ERRORS:
        assert counted.items.columns[f"{name}_counted"].tolist() == [0, 1, 0]
    weak = dataset_of({"O2": {"PBE": reference_of("O2", 0.009)}, "N2": {"PBE": reference_of("N2")}, "Cu2": {}})
    metrics = measured(answers(), weak).metrics
    wells = ("pair_bond_length_mae", "well_depth_mae", "wavenumber_mae")
    less = (*wells, "wall_distance_mae")  # nor does so weak a pair reach 1 eV
    assert {name: metrics[name].n_items for name in ERRORS} == {name: 1 if name in less else 2 for name in ERRORS}
    deeper = measured(answers(), weak, least_depth=0.04).metrics
    assert {deeper[name].n_items for name in wells} == {2}


def test_too_few_distances_in_the_window_are_named() -> None:
    few = dataset_of({"O2": {"PBE": reference_of("O2")}}, np.linspace(0.1, 6.0, 6))
    with pytest.raises(
        ValueError, match=r"pairs@1: table.json: pairs: O2: structures: 3 distances from 0.594 to 4.650"
    ):
        measured(observed(np.zeros(6)), few)
    short = reference_of("O2").model_copy(update={"distances": tuple(np.linspace(5.0, 6.0, 45))})
    with pytest.raises(ValueError, match=r"O2: reference.PBE: 0 distances .* at least 5 are needed"):
        measured(answers(), dataset_of({"O2": {"PBE": short}, "N2": {}, "Cu2": {}}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"structures": tuple(reversed(range(N)))}, "must be in the order of increasing distance"),
        ({"structures": tuple(range(N - 4, N + 4))}, "are of several pairs of elements"),
    ],
)
def test_structures_of_a_pair_are_checked(change: dict[str, Any], message: str) -> None:
    first = DATASET.table.pairs[0].model_copy(update=change)
    table = DATASET.table.model_copy(update={"pairs": (first, *DATASET.table.pairs[1:])})
    with pytest.raises(DatasetError, match=rf"table.json: pairs.0.structures \(O2\): {message}"):
        Dataset(DATASET.card, DATASET.frames, table, {})


class FailsInside(InProcessCalculator):
    """Lennard-Jones that fails below a distance."""

    def __init__(self, below: float) -> None:
        super().__init__(LennardJones(sigma=1.0, rc=12.0))
        self.below = below

    def compute(self, frames: Any, properties: Properties) -> Predictions:
        answer = super().compute(frames, properties)
        r = np.linalg.norm(np.diff(frames.positions.reshape(-1, 2, 3), axis=1)[:, 0], axis=1)
        errors = {int(i): FrameError(Cause.ERROR, "Overlap", "too near") for i in np.flatnonzero(r < self.below)}
        return Predictions.checked(frames, answer.energy, answer.forces, answer.stress, errors)


def test_a_model_that_fails_deep_inside_every_wall_is_asked_about_all_distances() -> None:
    """Most distances are below the windows, so their failures must not end the task."""
    watch = Watch(time.monotonic, failed_share=0.1)
    observation = KIND.observe(DATASET.structures, PARAMETERS, FailsInside(0.5), watch)
    assert np.count_nonzero(observation.arrays["failure"]) > 0.3 * len(DATASET.frames)
    assert set(observation.arrays["failure"].tolist()) <= {0, Cause.ERROR}
    measurement = measured(observation)
    assert measurement.items.cause.tolist() == [0, 0, 0]
    assert measurement.items.columns["force_flips"][0] == 1


def test_curves_are_drawn_up_to_ten_electronvolts_with_the_reference_beside_them() -> None:
    failed = failures(dict.fromkeys(range(N, 2 * N), Cause.ERROR))
    curves = pair_curves(measured(answers(1.1, failure=failed)).items)
    assert [curve.item for curve in curves] == ["O2", "Cu2"]
    low, high = pair_window((8, 8), 0.8)
    assert curves[0].x[0] >= low
    assert curves[0].x[-1] <= high
    energy, _ = morse(*PAIRS["O2"][1], curves[0].x)
    expected = energy - energy[-1]
    drawn = np.isfinite(curves[0].y)
    np.testing.assert_allclose(curves[0].y[drawn], 1.1 * expected[drawn])
    assert drawn.tolist() == (1.1 * expected <= 10.0).tolist()
    reference = curves[0].reference
    assert reference is not None
    both = np.isfinite(reference)
    np.testing.assert_allclose(reference[both], expected[both], atol=0.3)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_failing_never_improves_a_metric(data: st.DataObject) -> None:
    scale = data.draw(st.floats(-2.0, 5.0))
    n = len(DATASET.frames)
    some = st.lists(st.integers(0, n - 1), min_size=1, max_size=6)
    codes = failures(dict.fromkeys(data.draw(some), Cause.ERROR))
    noise = np.random.default_rng(data.draw(st.integers(0, 99))).normal(0, data.draw(st.floats(0, 20)), n)
    arrays = dict(answers(scale).arrays)
    arrays["energy"] = arrays["energy"] + noise
    before = measured(Observation({**arrays, "failure": codes})).metrics
    more = codes.copy()
    more[data.draw(some)] = Cause.OUT_OF_MEMORY
    after = measured(Observation({**arrays, "failure": more})).metrics
    for name, metric in after.items():
        assert metric.charged is not None
        assert before[name].charged is not None
        assert metric.charged >= before[name].charged - 1e-9 * abs(before[name].charged), name
        assert metric.n_failed >= before[name].n_failed
