"""Equations of state about a model's own minimum: the draws of a store tell nothing, and change nothing."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase.build import bulk
from ase.calculators.emt import EMT
from ase.calculators.lj import LennardJones

from tasks.adversaries.volumes import CentredVolumes
from tasks.datasets.card import Curve, CurveReference, Table
from tasks.datasets.dataset import Dataset, load_dataset
from tasks.kind import Watch
from tasks.kinds.equation_of_state import EquationOfStateKind, EquationOfStateParameters
from tasks.model.calculator import InProcessCalculator
from tasks.observing.curve_observation import curve_faults
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import Cause, FrameError, Predictions, Properties
from tests.tasks.made_up_crystals import Argon, Counting

KIND, DRAWN = EquationOfStateKind(), EquationOfStateParameters()
SCORED = ("v0_mae_percent", "b0_mae_percent", "b0_prime_mae")
EMT_ELEMENTS = ["Al", "Cu", "Ag", "Au", "Ni", "Pd", "Pt"]


def watch(secret: bytes = b"", **fields: Any) -> Watch:
    return Watch(time.monotonic, secret=secret, **fields)


@pytest.fixture(scope="module")
def metals(quickstart: Path) -> Dataset:
    return load_dataset(quickstart / "wien2k-eos@1")


@pytest.fixture(scope="module")
def argon(metals: Dataset) -> Dataset:
    """Argon in two lattices, at volumes about one that is 3 % off the model's."""
    shares, structures, curves = np.linspace(0.94, 1.06, 7), [], []
    for lattice, a in (("fcc", 5.25), ("bcc", 4.2)):
        for share in shares:
            atoms = bulk("Ar", lattice, a=a * np.cbrt(1.03 * share), cubic=True)
            structures.append(atoms)
        points = tuple(range(len(structures) - 7, len(structures)))
        reference = CurveReference(v0_per_atom=37.0, b0_gpa=2.9, b0_prime=7.0)
        curves.append(Curve(id=lattice, structures=points, reference={"PBE": reference}))
    names = tuple(map(str, range(14)))
    table = Table(id=names, group=("",) * 14, cluster=names, curves=tuple(curves))
    return Dataset(metals.card, Frames.from_atoms(structures), table, {})


def emt_metals(metals: Dataset) -> Dataset:
    curves = [curve for curve in metals.table.curves if curve.id in EMT_ELEMENTS]
    rows = [i for curve in curves for i in curve.structures]
    moved = tuple(
        curve.model_copy(update={"structures": tuple(range(7 * k, 7 * k + 7))}) for k, curve in enumerate(curves)
    )
    names = tuple(metals.table.id[i] for i in rows)
    table = Table(id=names, group=("",) * len(rows), cluster=names, curves=moved)
    return replace(metals, frames=metals.frames.take(rows), table=table)


def fitted(dataset: Dataset, model: Any, secret: bytes) -> Float:
    """(k, 3) V0, B0 and B0′ of each curve."""
    observation = KIND.observe(dataset.structures, DRAWN, InProcessCalculator(model), watch(secret))
    items = KIND.measure(observation, dataset, DRAWN, None).items
    return np.stack([items.columns[name] for name in ("v0_per_atom", "b0_gpa", "b0_prime")], axis=1)


@pytest.mark.parametrize("model", ["EMT", "Lennard-Jones"])
def test_an_honest_model_has_the_same_curves_in_every_store(metals: Dataset, argon: Dataset, model: str) -> None:
    dataset, make = (emt_metals(metals), EMT) if model == "EMT" else (argon, Argon)
    first = fitted(dataset, make(), b"one store")
    assert np.isfinite(first).all()
    for secret in (b"another store", b"a third"):
        other = fitted(dataset, make(), secret)
        assert np.abs(other / first - 1)[:, :2].max() < 1e-3
        assert np.abs(other / first - 1)[:, 2].max() < 1e-2
    published = EquationOfStateParameters(volumes="published")
    observation = KIND.observe(dataset.structures, published, InProcessCalculator(make()), watch())
    columns = KIND.measure(observation, dataset, published, None).items.columns
    np.testing.assert_allclose(columns["v0_per_atom"], first[:, 0], rtol=5e-3)


def test_one_secret_gives_the_same_bytes_and_two_give_other_volumes(metals: Dataset) -> None:
    dataset = emt_metals(metals)
    one, same, other = (
        KIND.observe(dataset.structures, DRAWN, InProcessCalculator(EMT()), watch(secret)).arrays
        for secret in (b"one store", b"one store", b"another store")
    )
    assert one.keys() == same.keys() == {"energy", "volume", "failure"}
    for name, array in one.items():
        assert array.tobytes() == same[name].tobytes(), name
    assert (one["volume"] != other["volume"]).all()
    assert b"one store" not in b"".join(array.tobytes() for array in one.values())


def test_a_curve_is_asked_the_same_with_others_or_alone(metals: Dataset) -> None:
    dataset = emt_metals(metals)
    whole = fitted(dataset, EMT(), b"a store")
    only = (
        replace(
            dataset.table.curves[2],
        )
        if False
        else dataset.table.curves[2]
    )
    rows = list(only.structures)
    names = tuple(dataset.table.id[i] for i in rows)
    curve = only.model_copy(update={"structures": tuple(range(7))})
    table = Table(id=names, group=("",) * 7, cluster=names, curves=(curve,))
    alone = fitted(replace(dataset, frames=dataset.frames.take(rows), table=table), EMT(), b"a store")
    np.testing.assert_allclose(alone[0], whole[2], rtol=1e-9)


def test_a_model_that_takes_the_middle_is_worse_than_the_baseline(metals: Dataset) -> None:
    """With 20 secrets, also by the lower end of a 95 % interval over the curves."""
    secrets = [b"store %d" % i for i in range(20)]
    for secret in secrets:
        observation = KIND.observe(
            metals.structures, DRAWN, InProcessCalculator(CentredVolumes("middle")), watch(secret)
        )
        measured = KIND.measure(observation, metals, DRAWN, None)
        for name in SCORED:
            charged, baseline = measured.metrics[name].charged, measured.metrics[name].baseline
            assert charged is not None
            assert baseline is not None
            assert charged >= baseline, (secret, name)
        errors = np.abs(measured.items.columns["v0_error_percent"])
        assert len(errors) == 10
        low = errors.mean() - 2.26 * errors.std(ddof=1) / np.sqrt(10)  # Student's t for nine degrees of freedom
        assert low > 1.5 * 3.16, secret
    published = EquationOfStateParameters(volumes="published")
    observation = KIND.observe(metals.structures, published, InProcessCalculator(CentredVolumes("middle")), watch())
    measured = KIND.measure(observation, metals, published, None)
    assert measured.metrics["v0_mae_percent"].value == pytest.approx(0.0, abs=1e-6)  # the answer is in the questions
    assert "near the answer" in measured.notes["volumes"]


def test_the_questions_are_at_most_two_and_a_half_times_those_of_the_data_set(metals: Dataset) -> None:
    dataset = emt_metals(metals)
    for secret in (b"1", b"2", b"3"):
        model = Counting(EMT())
        KIND.observe(dataset.structures, DRAWN, model, watch(secret))
        assert sum(map(len, model.calls)) <= 2.5 * len(dataset.frames)
        assert len(model.calls) <= 8  # all curves together
    work = KIND.work(dataset.structures, DRAWN)
    assert work.frames == pytest.approx(sum(map(len, model.calls)), rel=0.1)


class Failing(InProcessCalculator):
    """EMT that fails on elements."""

    def __init__(self, numbers: set[int], max_atoms: int = 20_000) -> None:
        super().__init__(EMT(), max_atoms)
        self._numbers, self.n_asked = numbers, 0

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        self.n_asked += len(frames)
        answer = super().compute(frames, properties)
        first = frames.numbers[frames.offsets[:-1]]
        errors = {i: FrameError(Cause.ERROR, "Odd", "no") for i, z in enumerate(first) if z in self._numbers}
        return Predictions.checked(frames, answer.energy, answer.forces, answer.stress, errors)


def test_a_failed_point_fails_its_curve_and_many_stop_the_task(metals: Dataset) -> None:
    dataset = emt_metals(metals)

    def causes(model: Failing, around: Watch) -> list[int]:
        observation = KIND.observe(dataset.structures, DRAWN, model, around)
        return [int(cause) for cause in KIND.measure(observation, dataset, DRAWN, None).items.cause]

    gold = [curve.id for curve in dataset.table.curves].index("Au")
    expected = [Cause.ERROR if i == gold else 0 for i in range(7)]
    assert causes(Failing({79}), watch()) == expected
    most = {13, 29, 47, 79}
    model = Failing(most)
    stopped = causes(model, watch(failed_share=0.5))
    assert sorted(stopped) == [Cause.ERROR] * 4 + [Cause.MISSING] * 3
    assert model.n_asked == 4 * 7  # the first volumes alone
    late = Watch(clock=lambda: 1.0, deadline=0.0)
    assert set(causes(Failing(set()), late)) == {Cause.OVER_TIME}


class Slope(LennardJones):
    """Falls with the volume, as an ideal gas does."""

    def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = ()) -> None:
        self.results = {"energy": -atoms.get_volume(), "forces": np.zeros((len(atoms), 3))}


def test_without_a_minimum_within_the_limits_a_curve_has_not_converged(metals: Dataset) -> None:
    dataset = emt_metals(metals)
    observation = KIND.observe(dataset.structures, DRAWN, InProcessCalculator(Slope()), watch(failed_share=0.1))
    measured = KIND.measure(observation, dataset, DRAWN, None)
    assert set(measured.items.cause.tolist()) == {Cause.NOT_CONVERGED}
    assert np.isnan(observation.arrays["volume"]).all()
    for name in SCORED:
        assert measured.metrics[name].charged == pytest.approx(10 * measured.metrics[name].baseline)


def test_curves_that_observing_does_not_find_are_named(metals: Dataset) -> None:
    """Two curves of copper in a row, the second at larger volumes: no table tells them apart."""
    copper = [bulk("Cu", a=3.6 * np.cbrt(share)) for share in (*np.linspace(0.9, 1.0, 5), *np.linspace(1.1, 1.2, 5))]
    reference = {"PBE": CurveReference(v0_per_atom=12.0, b0_gpa=140.0, b0_prime=4.5)}
    curves = tuple(Curve(id=f"c{k}", structures=tuple(range(5 * k, 5 * k + 5)), reference=reference) for k in (0, 1))
    names = tuple(map(str, range(10)))
    table = Table(id=names, group=("",) * 10, cluster=names, curves=curves)
    dataset = Dataset(metals.card, Frames.from_atoms(copper), table, {})
    assert [fault.split(": import")[0] for fault in curve_faults(dataset)] == [
        f"curves: c{k}: structures: their atoms and volumes do not tell them from those beside them" for k in (0, 1)
    ]
    numbered = replace(dataset, conditions={"curve": np.repeat([0, 1], 5)})
    assert curve_faults(numbered) == []
    assert KIND.build_faults(numbered) == []


def test_molecules_are_refused(metals: Dataset) -> None:
    molecule = bulk("Cu")
    molecule.pbc = False
    structures = replace(metals.structures, frames=Frames.from_atoms([molecule] * 5))
    with pytest.raises(ValueError, match="pbc: structure 0 is no crystal"):
        KIND.observe(structures, DRAWN, InProcessCalculator(EMT()), watch())
