"""The kinds that train: learning curves that fall, what failing costs, and a model without a trainer apart."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np
import pytest
from ase import Atoms
from pydantic import ValidationError

from tasks.datasets.dataset import Dataset
from tasks.kind import Kind, Observation, Watch
from tasks.kinds.cross_molecule import CrossMolecule, CrossMoleculeParameters
from tasks.kinds.registry import KINDS
from tasks.kinds.sample_efficiency import SampleEfficiency, SampleEfficiencyParameters
from tasks.kinds.time_extrapolation import TimeExtrapolation, TimeExtrapolationParameters
from tasks.learning.training import FailedTraining, Learning, joined, training_frames
from tasks.metrics.measurement import Measurement
from tasks.observing.frames_observation import observe_frames
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import Cause, Labels, Predictions
from tests.tasks.kind_examples import EXAMPLES, PBE, Failing, KindExample, observed
from tests.tasks.made_up import make_dataset

LEARNING = ("sample_efficiency", "time_extrapolation", "cross_molecule")
N_ATOMS, N_FRAMES = 4, 1000


def harmonic(noise: float = 0.0) -> tuple[Dataset, Float]:
    """A data set of one molecule in a harmonic potential whose trajectory drifts, and (n, 12) its displacements.

    Args:
        noise: of the forces that are learned from [eV/Å].
    """
    rng = np.random.default_rng(5)
    root = rng.normal(size=(3 * N_ATOMS, 3 * N_ATOMS))
    hessian = root @ root.T / 12
    start = np.array([(0, 0, 0), (1.1, 0, 0), (0, 1.1, 0), (0, 0, 1.1)], float)
    moved = 0.2 * rng.normal(size=(N_FRAMES, 12)) + np.linspace(0, 0.1, N_FRAMES)[:, None]
    frames = [Atoms("CH2O", start + each.reshape(-1, 3)) for each in moved]
    energy = -100.0 + 0.5 * np.einsum("ni,ij,nj->n", moved, hessian, moved)
    forces = -(moved @ hessian)
    forces[: 9 * N_FRAMES // 10] += noise * rng.normal(size=(9 * N_FRAMES // 10, 12))
    return make_dataset(Frames.from_atoms(frames), Labels(energy, forces.reshape(-1, 3))), moved


def ridge(moved: Float, energy: Float, forces: Float) -> Callable[[Float], tuple[Float, Float]]:
    """Energy and forces at displacements: forces linear in them, by ridge regression, and their potential."""
    square = moved.T @ moved + 1e-9 * np.eye(12)
    matrix = np.linalg.solve(square, moved.T @ forces)
    symmetric = (matrix + matrix.T) / 2
    offset = (energy + 0.5 * np.einsum("ni,ij,nj->n", moved, symmetric, moved)).mean()
    return lambda new: (offset - 0.5 * np.einsum("ni,ij,nj->n", new, symmetric, new), new @ matrix)


def learned(dataset: Dataset, moved: Float, kind: Any, parameters: Any, fails: Collection[str] = ()) -> Measurement:
    """The measurement of `ridge`, trained as the judge trains; trainings in `fails` leave no model."""
    parts: dict[str, Observation | FailedTraining] = {}
    labels = dataset.labels()
    forces = labels.forces.reshape(len(moved), -1)
    for training in kind.trainings(parameters):
        chosen, asked = training_frames(dataset, training)
        predict = ridge(moved[chosen], labels.energy[chosen], forces[chosen])
        energies, predicted = predict(moved[asked])
        answer = Predictions(energies, predicted.reshape(-1, 3), None, np.zeros(len(asked), np.int8))
        parts[training.name] = Observation(answer.arrays(("energy", "forces")))
        if training.name in fails:
            parts[training.name] = FailedTraining(Cause.ERROR, "Nothing lies in out_dir at the end.")
    return kind.measure(joined(parts), dataset, parameters, None)


CURVE = SampleEfficiencyParameters(sizes=(20, 60, 200, 600), seeds=(1, 2), n_asked=50)


def test_a_linear_model_of_harmonic_data_goes_to_zero() -> None:
    dataset, moved = harmonic()
    measured = learned(dataset, moved, SampleEfficiency(), CURVE)
    assert measured.metrics["learned_force_mae"].value < 1e-8
    assert measured.metrics["learned_energy_mae"].value < 1e-8
    assert measured.metrics["force_learning_ratio"].value == pytest.approx(1e-6)  # as small as it gets


def test_the_curve_of_noisy_labels_falls_as_least_squares_says() -> None:
    """The fit of p = 12 coefficients to n labels with noise σ has an expected squared error σ² p / (n − p − 1)."""
    dataset, moved = harmonic(noise=0.1)
    measured = learned(dataset, moved, SampleEfficiency(), CURVE)
    sums, counts = (measured.items.columns[f"force_{name}"][:4] for name in ("abs", "count"))
    errors = sums / counts
    expected = [np.sqrt(2 / np.pi) * 0.1 * np.sqrt(12 / (n - 13)) for n in CURVE.sizes]
    assert errors == pytest.approx(expected, rel=0.25)
    ratios = np.log10(errors / measured.items.columns["force_baseline"][:4])
    area = np.trapezoid(ratios, np.log10(CURVE.sizes))
    assert measured.metrics["force_learning_area"].value == pytest.approx(area)
    width = np.log10(30)
    assert measured.metrics["force_learning_ratio"].value == pytest.approx(10 ** (area / width))
    assert measured.metrics["force_learning_ratio_se"].value == pytest.approx(0.0, abs=1e-12)


def test_parts_and_items_tell_each_training() -> None:
    dataset, moved = harmonic(noise=0.1)
    measured = learned(dataset, moved, SampleEfficiency(), CURVE)
    assert list(measured.items.id) == [f"n{n}-s{seed}" for seed in (1, 2) for n in CURVE.sizes]
    assert list(measured.items.group[:2]) == ["n20", "n60"]
    assert set(measured.items.cluster) == {"seed 1", "seed 2"}
    columns = measured.items.columns
    for name in ("H", "C", "O"):
        assert columns[f"force_{name}_count"].tolist() == [50 * 3 * (2 if name == "H" else 1)] * 8
    assert sum(columns[f"force_{name}_abs"] for name in ("H", "C", "O")) == pytest.approx(columns["force_abs"])
    of = {(part.by, part.name, part.metric): part for part in measured.parts}
    assert of["training", "n60", "learned_force_mae"].value == pytest.approx(columns["force_abs"][1] / 600)
    assert of["element", "C", "learned_force_mae"].n_items == 8


def test_windows_of_the_past_extrapolate_and_their_similarity_is_told() -> None:
    dataset, moved = harmonic(noise=0.1)
    parameters = TimeExtrapolationParameters(sizes=(50,), lengths=(30, 90), seeds=(1,), n_asked=50)
    measured = learned(dataset, moved, TimeExtrapolation(), parameters)
    windows = [part for part in measured.parts if part.by == "window"]
    assert [part.name for part in windows] == ["0–30 %", "15–45 %", "30–60 %", "45–75 %", "60–90 %"]
    assert all(0.9 < part.value < 1 for part in windows)
    assert "dscribe" in measured.notes["soap_similarity"]
    columns = measured.items.columns
    ratios = columns["force_abs"] / columns["force_count"] / columns["force_baseline"]
    assert measured.metrics["force_learning_ratio"].value == pytest.approx(np.exp(np.log(ratios).mean()))
    off = parameters.model_copy(update={"similarity": False})
    assert not [part for part in learned(dataset, moved, TimeExtrapolation(), off).parts if part.by == "window"]


@pytest.mark.parametrize(
    "fails",
    [
        ["n600-s1", "n600-s2"],  # refuses the largest n
        ["n20-s1", "n60-s1", "n200-s1", "n600-s1"],  # a seed without a model
        ["n60-s2"],
    ],
)
def test_a_training_without_a_model_costs_ten_times_composition_alone(fails: list[str]) -> None:
    dataset, moved = harmonic(noise=0.1)
    whole = learned(dataset, moved, SampleEfficiency(), CURVE)
    worse = learned(dataset, moved, SampleEfficiency(), CURVE, fails)
    columns = whole.items.columns
    logs = np.log10(columns["force_abs"] / columns["force_count"] / columns["force_baseline"])
    logs[[name in fails for name in whole.items.id]] = 1.0
    areas = [np.trapezoid(each, np.log10(CURVE.sizes)) for each in logs.reshape(2, 4)]
    expected = 10 ** (np.mean(areas) / np.log10(30))
    metric = worse.metrics["force_learning_ratio"]
    assert metric.charged == pytest.approx(expected)
    assert metric.charged > whole.metrics["force_learning_ratio"].charged
    assert metric.n_failed == len(fails) == sum(worse.items.failures().values())
    assert worse.metrics["energy_learning_ratio"].charged > whole.metrics["energy_learning_ratio"].charged
    for name in fails:
        assert worse.notes[f"training {name}"] == "Nothing lies in out_dir at the end."


@pytest.mark.parametrize("name", LEARNING)
def test_no_model_at_all_has_ten_in_each_score_and_no_value(name: str) -> None:
    example = EXAMPLES[name]()
    kind = example.kind
    assert isinstance(kind, Learning)
    trainings = kind.trainings(example.parameters)
    parts = {training.name: FailedTraining(Cause.OVER_TIME, "") for training in trainings}
    measured = kind.measure(joined(parts), example.dataset, example.parameters, PBE)
    for metric in kind.traits.scored(measured.metrics):
        record = measured.metrics[metric]
        assert (record.value, record.baseline, record.failure_cost) == (None, 1.0, 10.0)
        assert record.charged == pytest.approx(10.0)
        assert f"{metric}_se" not in measured.metrics
    assert set(measured.items.failures()) == {Cause.OVER_TIME}


def zero_shot(example: KindExample, fails: dict[int, Cause]) -> Measurement:
    model = Failing(fails)
    observation = example.kind.observe(example.dataset.structures, example.parameters, model, Watch(model.clock))
    return example.kind.measure(observation, example.dataset, example.parameters, PBE)


@pytest.mark.parametrize("name", LEARNING)
def test_a_model_without_a_trainer_is_measured_apart(name: str) -> None:
    example = EXAMPLES[name]()
    apart, trained = zero_shot(example, {}), observed(example, {})[0]
    assert set(apart.metrics) == {"zero_shot_force_mae", "zero_shot_energy_mae"}
    assert not set(apart.metrics) & set(trained.metrics)
    assert not example.kind.traits.scored(apart.metrics)
    assert "no trainer" in apart.notes["trainer"]
    n = len(set(example.dataset.table.group)) * 2
    assert example.kind.work(example.dataset.structures, example.parameters).frames == n == len(apart.items)
    assert apart.metrics["zero_shot_force_mae"].value == pytest.approx(0.08, abs=0.02)  # the noise of the labels


@pytest.mark.parametrize("name", LEARNING)
def test_zero_shot_a_failure_never_improves_an_error(name: str) -> None:
    example = EXAMPLES[name]()
    parameters = example.parameters.model_copy(update={"n_asked": 4})
    example = example._replace(parameters=parameters)
    whole = zero_shot(example, {})
    n = len(whole.items)
    for index in range(n):
        worse, more = (zero_shot(example, dict.fromkeys(failed, Cause.ERROR)) for failed in ([index], range(index, n)))
        for metric, record in whole.metrics.items():
            charges = [m.metrics[metric].charged for m in (whole, worse, more)]
            assert charges == sorted(charges), metric
            assert record.charged <= record.failure_cost
    nothing = zero_shot(example, dict.fromkeys(range(n), Cause.ERROR))
    for record in nothing.metrics.values():
        assert (record.value, record.n_failed) == (None, n)
        assert record.charged == pytest.approx(record.failure_cost)


@pytest.mark.parametrize("name", LEARNING)
def test_energies_of_a_model_without_a_trainer_may_count_from_another_zero(name: str) -> None:
    example = EXAMPLES[name]()
    observation = example.kind.observe(example.dataset.structures, example.parameters, Failing({}), Watch(lambda: 0.0))
    shifted = {**observation.arrays, "energy": observation.arrays["energy"] + 100.0}
    plain, moved = (
        example.kind.measure(each, example.dataset, example.parameters, PBE).metrics["zero_shot_energy_mae"].value
        for each in (observation, Observation(shifted))
    )
    assert moved == pytest.approx(plain, abs=1e-9)


def test_one_failed_frame_of_a_training_is_told_and_costs() -> None:
    example = EXAMPLES["sample_efficiency"]()
    whole, one = observed(example, {})[0], observed(example, {3: Cause.ERROR})[0]
    assert one.notes["failed frames"] == "1 of 12: each has the failure cost"
    assert not one.items.failures()
    assert one.items.columns["n_failed"].tolist() == [0, 1, 0, 0, 0, 0]
    for metric in ("force_learning_ratio", "energy_learning_ratio"):
        assert one.metrics[metric].charged > whole.metrics[metric].charged


@pytest.mark.parametrize(
    ("kind", "parameters", "says"),
    [
        ("sample_efficiency", {"sizes": (200, 100)}, "sizes: must increase"),
        ("sample_efficiency", {"sizes": (200,)}, "at least 2 items"),
        ("sample_efficiency", {"seeds": (1, 1)}, "one is there twice"),
        ("sample_efficiency", {"wall_s": 0}, "greater than 0"),
        ("time_extrapolation", {"starts": (60,), "lengths": (45,)}, "every stretch ends after 90 %"),
        ("time_extrapolation", {"lengths": (45, 30)}, "lengths: must increase"),
        ("cross_molecule", {"sets": ("ba",)}, "ba: must be in alphabetical order"),
        ("cross_molecule", {"sets": ("az",)}, "there is no molecule z"),
        ("cross_molecule", {"sets": ("abcdefg",)}, "none can be asked about"),
        ("cross_molecule", {"sets": ("a", "a")}, "sets: one is there twice"),
        (
            "cross_molecule",
            {"molecules": {name: {"group": "x", "formula": "CH4"} for name in "ab"}, "sets": ("a",)},
            "two have the same group",
        ),
        (
            "cross_molecule",
            {"molecules": {name: {"group": name, "formula": "C?"} for name in "ab"}, "sets": ("a",)},
            "is no formula",
        ),
    ],
)
def test_parameters_that_make_no_sense_are_refused(kind: str, parameters: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        KINDS[kind].parameters.model_validate(parameters)


def test_molecules_are_those_of_the_data_set() -> None:
    example = EXAMPLES["cross_molecule"]()
    kind: Kind = example.kind
    stated = example.parameters.model_dump()
    for change, says in (
        ({"group": "CuAl5", "formula": "CuAl3"}, r"law@1: molecules\.c\.group: 'CuAl5' is no group of the data set"),
        ({"group": "CuAl3", "formula": "Cu3Al"}, r"law@1: molecules\.c\.formula: Cu3Al, but its frames are of Al3Cu"),
    ):
        molecules = {**stated["molecules"], "c": change}
        parameters = CrossMoleculeParameters.model_validate({**stated, "molecules": molecules})
        with pytest.raises(ValueError, match=says):
            kind.measure(Observation({}), example.dataset, parameters, PBE)


def test_too_few_frames_are_named() -> None:
    example = EXAMPLES["sample_efficiency"]()
    parameters = SampleEfficiencyParameters(n_asked=5)
    with pytest.raises(ValueError, match=r"law@1: n_asked: 5 frames are wanted, and there are 4"):
        example.kind.work(example.dataset.structures, parameters)


def test_a_trained_answer_has_the_form_that_frames_have() -> None:
    """As the judge stores it: the questions of a training, answered by its model."""
    example = EXAMPLES["cross_molecule"]()
    kind = CrossMolecule()
    first = kind.trainings(example.parameters)[0]
    frames = example.dataset.frames.take(training_frames(example.dataset, first).asked)
    observation = observe_frames(frames, ("energy", "forces"), Failing({}), Watch(lambda: 0.0))
    assert set(joined({first.name: observation}).arrays) == {f"a-n10-s1/{n}" for n in ("energy", "forces", "failure")}
