"""The questions of the memorisation probes: structures, transformations, and their cost."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from ase.build import molecule
from ase.calculators.emt import EMT
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring.lambench.release import load_release, packaged_releases
from tasks.datasets.dataset import Dataset
from tasks.kind import Observation
from tasks.kinds.equation_of_state import EquationOfStateParameters
from tasks.kinds.registry import KINDS
from tasks.metrics.contributions import Contributing
from tasks.model.calculator import InProcessCalculator
from tasks.model.work import Work
from tasks.observing.frames_observation import questions
from tasks.observing.memorisation_probes import ROW, Probe, draw_copies, transformed
from tasks.structures.frames import Frames
from tests.tasks.kind_examples import EXAMPLES, PBE
from tests.tasks.observing.probed_models import (
    ENERGIES,
    EXACT,
    FORCES,
    FRAMES,
    INVARIANT,
    WATCH,
    Counting,
    all_sorts,
    labelled,
    molecules,
    see,
)


def test_copies_are_told_from_the_stored_observation_whatever_they_were_drawn_with() -> None:
    dataset = labelled(molecules(60))
    plain, salted = see(EMT(), dataset), see(EMT(), dataset, watch=replace(WATCH, secret=b"of one store"))
    for name in ("probe_structure", "probe_rotation", "probe_displacement"):
        assert not np.array_equal(plain.observation.arrays[name], salted.observation.arrays[name]), name
    for name in (*INVARIANT, *FORCES):
        assert salted.value(name) < EXACT, name
    for name in ("energy", "forces"):  # answers outside the probes are the same in any store
        assert plain.observation.arrays[name].tobytes() == salted.observation.arrays[name].tobytes()
    assert b"of one store" not in b"".join(array.tobytes() for array in salted.observation.arrays.values())
    assert "of one store" not in repr(replace(WATCH, secret=b"of one store"))


@pytest.mark.parametrize(("n", "k"), [(1, 1), (3, 3), (4, 4), (200, 4), (201, 5), (1000, 20), (5000, 64)])
def test_so_many_structures_are_sent_again(n: int, k: int) -> None:
    water = Frames.from_atoms([molecule("H2O")])
    frames = water.take([0] * n)
    copies = draw_copies(frames, np.random.default_rng(n))
    assert len(copies) == k
    assert (np.diff(copies.original) > 0).all()
    assert len(transformed(frames, copies)) == 4 * k


def amounts(work: Work) -> tuple[float, float]:
    """The structures and atoms of `work`."""
    return work.frames, work.atoms


@pytest.mark.parametrize("name", ["labelled_frames", "energy_differences", "energy_profiles", "equation_of_state"])
def test_a_hidden_data_set_costs_what_its_work_says_and_a_public_one_no_more_than_itself(name: str) -> None:
    example = EXAMPLES[name]()
    if name == "equation_of_state":  # whose search asks as often as the answers need
        example = example._replace(parameters=EquationOfStateParameters(volumes="published"))
    public = replace(example.dataset, card=example.dataset.card.model_copy(update={"public_since": "2020"}))
    n, atoms = len(example.dataset.frames), len(example.dataset.frames.numbers)
    works, measurements = {}, {}
    for dataset in (example.dataset, public):
        model = Counting(EMT())
        observation = example.kind.observe(dataset.structures, example.parameters, model, WATCH)
        hidden = dataset.structures.hidden
        measurements[hidden] = example.kind.measure(observation, dataset, example.parameters, PBE)
        works[hidden] = amounts(model.work)
        assert works[hidden] == amounts(example.kind.work(dataset.structures, example.parameters))
    assert works[False] == (n, atoms)
    assert works[True][0] == n + 4 * 4
    probes = {metric for metric in measurements[True].metrics if metric.startswith("probe_")}
    assert probes == {*ENERGIES, *(FORCES if name == "labelled_frames" else ())}
    assert measurements[False].metrics.keys() == measurements[True].metrics.keys() - probes
    for metric, record in measurements[False].metrics.items():
        assert measurements[True].metrics[metric].value == pytest.approx(record.value, rel=1e-9), metric


@pytest.mark.parametrize("name", ["labelled_frames", "energy_differences", "energy_profiles", "equation_of_state"])
def test_no_score_and_no_interval_is_made_of_them(name: str) -> None:
    example = EXAMPLES[name]()
    observation = example.kind.observe(
        example.dataset.structures, example.parameters, InProcessCalculator(EMT()), WATCH
    )
    measured = example.kind.measure(observation, example.dataset, example.parameters, PBE)
    assert isinstance(example.kind, Contributing)
    contributions = example.kind.contributions(measured.items, measured.metrics)
    assert contributions
    assert not [c.metric for c in contributions if c.metric.startswith("probe")]
    assert not [m for m in KINDS[name].traits.scored(measured.metrics) if m.startswith("probe")]
    for release in packaged_releases():
        rules = load_release(release)
        assert not [m for m in rules.force_field.columns.values() if m.startswith("probe")]


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_copies_are_the_same_structures_in_other_words(seed: int) -> None:
    structures = all_sorts(6)
    structures[1].info = {"charge": 1, "spin": 2}
    frames = Frames.from_atoms(structures)
    copies = draw_copies(frames, np.random.default_rng(seed))
    k, sent = len(copies), transformed(frames, copies)
    np.testing.assert_allclose(np.linalg.det(copies.rotation), 1.0)
    for j, i in enumerate(copies.original):
        original = frames.atoms(int(i))
        turned, moved, reordered, displaced = (sent.atoms(ROW[probe] * k + j) for probe in Probe)
        for other in (turned, moved, reordered, displaced):
            assert other.info == original.info
            assert (other.pbc == original.pbc).all()
        mic = bool(original.pbc.any())
        distances = original.get_all_distances(mic=mic)
        np.testing.assert_allclose(turned.get_all_distances(mic=mic), distances, atol=1e-9)
        np.testing.assert_allclose(turned.cell.cellpar(), original.cell.cellpar(), atol=1e-9)
        np.testing.assert_allclose(moved.get_all_distances(mic=mic), distances, atol=1e-9)
        shift = moved.positions - original.positions - copies.translation[j]
        np.testing.assert_allclose(shift[:, ~original.pbc], 0.0, atol=1e-9)
        inside = moved.get_scaled_positions(wrap=False)[:, original.pbc] if mic else np.zeros((1, 3))
        assert inside.min() > -1e-6
        assert inside.max() < 1.0
        order = copies.atom[sent.n_atoms[:j].sum() :][: len(original)] - sent.n_atoms[:j].sum()
        np.testing.assert_array_equal(reordered.positions, original.positions[order])
        np.testing.assert_array_equal(reordered.numbers, original.numbers[order])
        assert len(original) == 1 or (order != np.arange(len(original))).any()
        length = np.sqrt(((displaced.positions - original.positions) ** 2).sum(axis=1).mean())
        assert length == pytest.approx(0.01)


def test_copies_are_sent_among_the_others_and_none_is_sent_twice() -> None:
    dataset = labelled(molecules(40))
    sent = questions(dataset.structures, 1)
    assert len(sent.order) == 40 + 16
    is_copy = sent.order >= 40
    # The number of runs of copies and others: a block of copies at either end would give two.
    assert 1 + sum(a != b for a, b in pairwise(is_copy)) > 8
    assert len({sent.frames.take([i]).sha256() for i in range(56)}) == 56


@pytest.fixture(scope="module")
def five_sent_again() -> tuple[Dataset, dict[str, Any]]:
    """A data set with five structures sent again, so that transposed answers have another shape."""
    dataset = labelled(molecules(201))
    return dataset, dict(see(EMT(), dataset).observation.arrays)


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("probe_structure", lambda a: a[::-1].copy(), "structures that do not exist"),
        ("probe_structure", lambda a: a + 201, "structures that do not exist"),
        ("probe_structure", lambda a: a * 1.0, "probe_structure is float64"),
        ("probe_atom", lambda a: a * 0, "no order of atoms"),
        ("probe_rotation", lambda a: a[:2], "probe_rotation is"),
        ("probe_energy", lambda a: a.T.copy(), "probe_energy is"),
        ("probe_forces", lambda a: a[:, :2], "probe_forces is"),
        ("probe_failure", lambda a: a[:3], "probe_failure is"),
    ],
)
def test_an_observation_of_other_structures_is_refused(
    five_sent_again: tuple[Dataset, dict[str, Any]], name: str, change: Any, says: str
) -> None:
    dataset, arrays = five_sent_again
    changed = Observation({**arrays, name: change(arrays[name])})
    with pytest.raises(ValueError, match=says):
        FRAMES.measure(changed, dataset, FRAMES.parameters(), None)
