"""The order of frames: random, the same each time, and dependent on the structures and the store's secret alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from ase.build import bulk, fcc111, molecule
from ase.calculators.emt import EMT
from hypothesis import given
from hypothesis import strategies as st

from tasks.datasets.dataset import Structures
from tasks.kind import Observation, Watch
from tasks.model.calculator import InProcessCalculator
from tasks.observing.frames_observation import observe_structures, questions
from tasks.observing.question_order import put_back
from tasks.structures.frames import Frames
from tasks.structures.predictions import ALL_PROPERTIES, Cause, FrameError, Predictions, Properties

WATCH = Watch(clock=lambda: 0.0)


class Recording(InProcessCalculator):
    """EMT that records its questions, and optionally fails at all of them."""

    def __init__(self, max_atoms_per_batch: int = 30, fails: bool = False) -> None:
        super().__init__(EMT(), max_atoms_per_batch)
        self.calls: list[Frames] = []
        self._fails = fails

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        self.calls.append(frames)
        answer = super().compute(frames, properties)
        if not self._fails:
            return answer
        errors = {i: FrameError(Cause.ERROR, "Recording", "on purpose") for i in range(len(frames))}
        return Predictions.checked(frames, answer.energy, answer.forces, answer.stress, errors)

    @property
    def sent(self) -> Frames:
        return Frames.concatenate(self.calls)


def mixed(n: int, seed: int = 0) -> Frames:
    """Crystals, molecules and slabs of two to nine atoms in turn, each rattled on its own."""
    made = []
    for k in range(n):
        atoms = [bulk("Cu", cubic=True), molecule("CH3CH2OH"), fcc111("Pt", (1, 1, 2), vacuum=6.0), molecule("H2O")][
            k % 4
        ]
        atoms.rattle(0.05, seed=1000 * seed + k)
        made.append(atoms)
    return Frames.from_atoms(made)


def observe(structures: Structures, model: InProcessCalculator, watch: Watch = WATCH, version: int = 1) -> Observation:
    return observe_structures(structures, version, ALL_PROPERTIES, model, watch)


def keys(frames: Frames) -> list[str]:
    """The identities of structures, in their order."""
    return [frames.take([i]).sha256() for i in range(len(frames))]


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 20))
def test_answers_are_put_back_as_they_were_asked(seed: int, n: int) -> None:
    frames = mixed(20).take(np.random.default_rng(seed).integers(0, 20, n))
    order = np.random.default_rng(seed).permutation(n)
    sent = frames.take(order)
    np.testing.assert_array_equal(put_back(sent.cell, order), frames.cell)
    np.testing.assert_array_equal(put_back(sent.positions, frames.atom_indices(order)), frames.positions)


def test_a_public_data_set_is_asked_about_once_in_another_order_and_answered_in_its_own() -> None:
    frames, model = mixed(40), Recording()
    seen = observe(Structures("public@1", frames), model)
    assert sorted(keys(model.sent)) == sorted(keys(frames))
    assert keys(model.sent) != keys(frames)
    alone = InProcessCalculator(EMT()).compute(frames, ALL_PROPERTIES)
    assert set(seen.arrays) == {"energy", "forces", "stress", "failure"}
    np.testing.assert_allclose(seen.arrays["energy"], alone.energy, rtol=0, atol=1e-10)
    np.testing.assert_allclose(seen.arrays["forces"], alone.forces, rtol=0, atol=1e-10)
    np.testing.assert_allclose(seen.arrays["stress"], alone.stress, rtol=0, atol=1e-10)


@pytest.mark.parametrize("hidden", [False, True])
def test_the_same_bytes_are_sent_whatever_the_data_set_is_called(hidden: bool) -> None:
    frames = mixed(30)
    models = [Recording(), Recording()]
    seen = [
        observe(Structures(name, frames, hidden=hidden), model)
        for name, model in zip(("one@1", "two@7"), models, strict=True)
    ]
    assert [batch.sha256() for batch in models[0].calls] == [batch.sha256() for batch in models[1].calls]
    for name, array in seen[0].arrays.items():
        assert array.tobytes() == seen[1].arrays[name].tobytes(), name


def test_other_structures_or_another_version_are_sent_in_another_order() -> None:
    frames = mixed(30)
    orders = [
        questions(Structures("a@1", frames), 1).order.tolist(),
        questions(Structures("a@1", frames), 2).order.tolist(),
        questions(Structures("a@1", mixed(30, seed=1)), 1).order.tolist(),
        questions(Structures("a@1", frames, {"pressure_gpa": np.ones(30)}), 1).order.tolist(),
        list(range(30)),
    ]
    assert len({tuple(order) for order in orders}) == len(orders)


def test_with_another_secret_hidden_structures_are_sent_in_another_order_and_public_ones_are_not() -> None:
    frames = mixed(30)
    hidden = [questions(Structures("a@1", frames, hidden=True), 1, secret) for secret in (b"", b"one", b"two", b"one")]
    orders = [tuple(question.order.tolist()) for question in hidden]
    assert len(set(orders)) == 3
    assert orders[1] == orders[3]
    copies = [question.frames.sha256() for question in hidden]
    assert len(set(copies)) == 3
    public = [questions(Structures("a@1", frames), 1, secret).order.tolist() for secret in (b"", b"one")]
    assert public[0] == public[1]


def test_batches_are_filled_as_before() -> None:
    model = Recording(max_atoms_per_batch=30)
    observe(Structures("a@1", mixed(40), hidden=True), model)
    for batch, following in zip(model.calls, model.calls[1:], strict=False):
        assert len(batch.numbers) <= 30 < len(batch.numbers) + following.n_atoms[0]


@pytest.mark.parametrize("hidden", [False, True])
def test_a_place_tells_neither_an_index_nor_a_copy(hidden: bool) -> None:
    """Over many data sets each question is as often early as late. A biased order would be off by many deviations."""
    base, n_sets = mixed(8), 400
    places = []
    for k in range(n_sets):
        structures = Structures("a@1", base.moved(base.positions + k), hidden=hidden)
        places.append(np.argsort(questions(structures, 1).order))
    m = len(places[0])
    assert m == (8 + 16 if hidden else 8)
    deviation = np.sqrt((m**2 - 1) / 12.0 / n_sets)
    assert (np.abs(np.mean(places, axis=0) - (m - 1) / 2.0) < 4.0 * deviation).all()


def test_what_is_missing_after_an_early_stop_follows_the_order() -> None:
    model = Recording(max_atoms_per_batch=1, fails=True)
    seen = observe(Structures("public@1", mixed(40)), model, replace(WATCH, failed_share=0.25))
    assert len(model.calls) == 11  # the first that are more than a quarter
    missing = seen.arrays["failure"] == Cause.MISSING
    assert missing.sum() == 29
    unsent = ~np.isin(keys(mixed(40)), keys(model.sent))
    np.testing.assert_array_equal(missing, unsent)
    assert not missing[11:].all()


@pytest.mark.parametrize("share", [0.0, 0.1, 0.29, 0.5, 0.7, 1.0])
def test_a_task_stops_at_the_failure_that_is_too_many(share: float) -> None:
    model = Recording(max_atoms_per_batch=1, fails=True)
    observe(Structures("public@1", mixed(20)), model, replace(WATCH, failed_share=share))
    too_many = next((k for k in range(21) if k > share * 20), 20)
    assert len(model.calls) == too_many


@pytest.mark.parametrize("hidden", [False, True])
def test_progress_ends_with_all_that_is_asked_and_a_deadline_leaves_the_rest_over_time(hidden: bool) -> None:
    reported: list[tuple[int, int, str]] = []
    structures = Structures("a@1", mixed(20), hidden=hidden)

    def progress(done: int, total: int, unit: str) -> None:
        reported.append((done, total, unit))

    total = 20 + (16 if hidden else 0)
    observe(structures, Recording(), replace(WATCH, progress=progress))
    assert reported[-1] == (total, total, "frames")
    assert [done for done, *_ in reported] == sorted(done for done, *_ in reported)
    late = Recording(max_atoms_per_batch=1)
    clock: Any = iter(range(1000))
    seen = observe(structures, late, replace(WATCH, clock=lambda: next(clock), deadline=4))
    over = seen.arrays["failure"] == Cause.OVER_TIME
    np.testing.assert_array_equal(over, ~np.isin(keys(structures.frames), keys(late.sent)))
    assert 0 < over.sum() < 20
