"""The consistency check with a fresh start: an honest model agrees with itself, made-up answers are detected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, molecule
from ase.calculators.calculator import all_changes
from ase.calculators.emt import EMT

from tasks.simulation.supercells import part_of, replicated, spread_over
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause
from tasks.timing.efficiency_metrics import FAILURE_COST
from tests.tasks.made_up import make_dataset
from tests.tasks.timing.timed_models import KIND, Records, cells, measure, observe, rechecked, small, value

pytestmark = pytest.mark.usefixtures("short_looks")


def test_an_honest_model_agrees_with_itself_to_rounding() -> None:
    slab = bulk("Pt", cubic=True).repeat((1, 1, 2))
    slab.center(vacuum=5.0, axis=2)
    slab.pbc = (True, True, False)
    data = make_dataset(Frames.from_atoms([bulk("Cu", cubic=True), slab, molecule("C2H6")]), None)
    fresh, parameters = Records(), small(n_frames=9, recheck_fraction=1.0)
    again, measured = rechecked(Records(), fresh, parameters, data)
    assert measured.items.failures() == {}
    assert (value(measured, "n_rechecked"), value(measured, "n_inconsistent")) == (9, 0)
    assert value(measured, "time_mean") > 0
    for name, tolerance in (("energy", 1e-8), ("forces", 1e-9), ("stress", 1e-10)):
        for before, after in (("kept", "again"), ("whole", "part")):
            difference = again.arrays[f"{before}_{name}"] - again.arrays[f"{after}_{name}"]
            assert np.nanmax(np.abs(difference)) < tolerance
    for name, tolerance in (("energy", 1e-8), ("forces", 1e-9), ("stress", 1e-10)):
        difference = again.arrays[f"source_{name}"] - again.arrays[f"late_{name}"]
        assert np.nanmax(np.abs(difference)) < tolerance
    # The fresh start sees the structures, then two frames of each timed shape in any order, then small ones again.
    begin = next(number for number, (frames, _) in enumerate(fresh.calls) if len(frames) == 1)
    asked = [frames for frames, _ in fresh.calls[begin:]]
    assert all(len(frames) == 1 for frames in asked)
    elements = sorted(tuple(sorted(frames.numbers.tolist())) for frames in asked[:18])
    assert elements[::2] == elements[1::2]
    assert all(len(frames.numbers) <= 20 for frames in asked[18:])
    assert len({frames.sha256() for frames, _ in fresh.calls}) == len(fresh.calls)


class Answers(EMT):
    """EMT that answers `rubbish` of more than 20 atoms."""

    def __init__(self, rubbish: Callable[[Atoms, dict[str, Any]], dict[str, Any]]) -> None:
        super().__init__()
        self.rubbish = rubbish

    def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
        super().calculate(atoms, properties, system_changes)
        if len(atoms) > 20:
            self.results = self.rubbish(atoms, self.results)


def zeros(atoms: Atoms, true: dict[str, Any]) -> dict[str, Any]:
    return {"energy": 0.0, "forces": np.zeros((len(atoms), 3)), "stress": np.zeros(6)}


def numbers_at_random(atoms: Atoms, true: dict[str, Any]) -> dict[str, Any]:
    noise = np.random.default_rng(abs(hash(atoms.positions.tobytes())))
    return {**true, "forces": noise.normal(0.0, 0.5, (len(atoms), 3))}


def no_stress(atoms: Atoms, true: dict[str, Any]) -> dict[str, Any]:
    return {**true, "stress": 0.3 * true["stress"]}


@pytest.mark.parametrize("rubbish", [zeros, numbers_at_random, no_stress])
def test_rubbish_of_the_timed_sizes_is_caught(rubbish: Any) -> None:
    """Fast and wrong: no time counts, also if the fresh start gives the same wrong answers."""
    parameters = small(n_batches=2)
    _, measured = rechecked(Records(Answers(rubbish)), Records(Answers(rubbish)), parameters)
    assert measured.items.failures() == {Cause.INCONSISTENT: 3}
    assert value(measured, "n_inconsistent") == 3
    for name in ("time_mean", "time_median", "time_p95", "time_cold", "batched_time"):
        assert measured.metrics[name].value is None
        assert measured.metrics[name].charged == FAILURE_COST
    assert "no time counts" in measured.notes["asked again"]


def test_a_model_that_answers_rubbish_only_while_it_is_timed_is_caught() -> None:
    _, measured = rechecked(Records(Answers(zeros)), Records(), small())
    assert measured.items.failures() == {Cause.INCONSISTENT: 3}


def test_a_model_that_is_a_little_off_when_turned_is_not_blamed() -> None:
    """Like models that are not equivariant: 3 meV/atom and 3 % of the forces depend on the orientation."""

    def turned(atoms: Atoms, true: dict[str, Any]) -> dict[str, Any]:
        lean = np.sin(atoms.cell[0, 1])
        return {
            **true,
            "energy": true["energy"] + 0.003 * lean * len(atoms),
            "forces": true["forces"] * (1 + 0.03 * lean),
        }

    _, measured = rechecked(Records(Answers(turned)), Records(Answers(turned)), small())
    assert measured.items.failures() == {}


def test_what_could_not_be_asked_again_confirms_nothing() -> None:
    parameters, fresh = small(), Records()
    seen = observe(Records(), parameters)
    assert measure(seen, parameters).notes["asked again"] == "no frame: no fresh start was asked"
    late = KIND.recheck(seen, cells().structures, parameters, fresh, fresh.watch(deadline=0.0))
    measured = measure(late, parameters)
    assert measured.items.failures() == {}
    assert measured.metrics["time_mean"].value is None
    assert (measured.metrics["n_rechecked"].value, measured.metrics["n_rechecked"].n_failed) == (0, 3)


def test_a_part_makes_up_the_whole() -> None:
    assert [part_of(c) for c in ((6, 6, 6), (7, 6, 5), (9, 5, 5), (5, 5, 5), (1, 1, 1), (2, 1, 1))] == [
        (3, 3, 3), (7, 3, 5), (3, 5, 5), (1, 5, 5), (1, 1, 1), (1, 1, 1)
    ]  # fmt: skip
    frames = Frames.from_atoms([Atoms("NaCl", [(0, 0, 0), (2, 2, 2)], cell=np.diag([4.0, 5.0, 6.0]), pbc=True)])
    part, whole = replicated(frames, 0, (1, 3, 2)), replicated(frames, 0, (2, 3, 4))
    moves = np.random.default_rng(0).normal(size=(12, 3))
    by_ase = part.moved(part.positions + moves).atoms(0).repeat((2, 1, 2))
    ours = whole.moved(whole.positions + spread_over(moves, (1, 3, 2), (2, 3, 4))).atoms(0)
    key = [np.lexsort(np.round(a.positions, 6).T) for a in (by_ase, ours)]
    np.testing.assert_allclose(by_ase.positions[key[0]], ours.positions[key[1]], atol=1e-12)
    assert by_ase.numbers[key[0]].tolist() == ours.numbers[key[1]].tolist()
