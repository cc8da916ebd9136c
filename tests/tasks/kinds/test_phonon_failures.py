"""Phonons: failures have their causes and costs, and unfit data sets are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.calculators.emt import EMT

from tasks.kind import Observation
from tasks.kinds.phonons import relaxed_crystal
from tasks.model.calculator import ItemFailed
from tasks.simulation.displaced_supercells import supercell_arrays
from tasks.simulation.lockstep_batches import Done
from tasks.simulation.relaxation import Relaxation
from tasks.simulation.vibrations import crystal, displace
from tasks.structures.predictions import Cause
from tests.tasks.kinds.phonon_crystals import (
    FACE_CENTRED,
    METALS,
    QUICK,
    SETTINGS,
    Case,
    answers,
    copper,
    measure,
    numbers,
    observe,
    ordered_alloy,
    simple_cubic,
    structures,
)


def test_an_unstable_crystal_is_counted_and_charged(metals: Observation) -> None:
    assert metals.arrays["failure"].tolist() == [0, 0, 0]  # every question was answered
    first = measure(metals, METALS)
    reference = [numbers(first, 0).tolist(), numbers(first, 1).tolist(), [100.0, 100.0, 100.0, 100.0]]
    measured = measure(metals, METALS, reference)
    assert measured.items.cause.tolist() == [0, 0, Cause.UNSTABLE]
    assert np.isnan(numbers(measured, 2)).all()
    for expected, metric in zip(np.abs(reference).mean(axis=0), measured.metrics.values(), strict=True):
        assert (metric.n_items, metric.n_failed, metric.value) == (3, 1, 0.0)
        # The trivial model answers zero; a third of the items is charged ten times its mean error.
        assert metric.baseline == pytest.approx(expected)
        assert metric.failure_cost == pytest.approx(10 * expected)
        assert metric.charged == pytest.approx(10 * expected / 3)
    tolerant = measure(metals, METALS, reference, SETTINGS.model_copy(update={"imaginary_tolerance_thz": 50.0}))
    assert tolerant.items.cause.tolist() == [0, 0, 0]


class Overflowing(EMT):
    """EMT on a machine with memory for `room` atoms."""

    room = 40

    def calculate(self, atoms: Any = None, *args: Any, **kwargs: Any) -> None:
        if len(atoms) > self.room:
            raise MemoryError
        super().calculate(atoms, *args, **kwargs)


class LostInDisplacements(EMT):
    """EMT without a finite answer for a displaced supercell with gold."""

    def calculate(self, atoms: Any = None, *args: Any, **kwargs: Any) -> None:
        super().calculate(atoms, *args, **kwargs)
        if len(atoms) > 4 and "Au" in atoms.symbols and np.abs(self.results["forces"]).max() > 1e-3:
            self.results["forces"] = np.full((len(atoms), 3), np.nan)


def test_failures_of_supercells_have_their_causes(metals: Observation) -> None:
    cases = [copper(), ordered_alloy(), copper()._replace(supercell=np.diag([2, 2, 3]))]
    assert observe(Overflowing(), cases[1:], QUICK).arrays["failure"].tolist() == [0, Cause.OUT_OF_MEMORY]
    observation = observe(LostInDisplacements(), cases)
    assert observation.arrays["failure"].tolist() == [0, Cause.NON_FINITE, 0]
    assert observation.arrays["n_displacements"][1] == 0
    measured = measure(observation, cases)
    assert measured.items.cause.tolist() == [0, Cause.NON_FINITE, 0]
    # The values of the crystals beside the failed one are unchanged.
    np.testing.assert_allclose(numbers(measured, 0), numbers(measure(metals, METALS), 0), rtol=1e-9)
    short = SETTINGS.model_copy(update={"relaxation": Relaxation(fmax=1e-5, max_steps=1)})
    assert set(observe(EMT(), cases, short).arrays["failure"].tolist()) == {Cause.NOT_CONVERGED}


def test_forces_at_the_edge_of_what_a_number_can_be_are_unstable_and_no_panic(metals: Observation) -> None:
    """Over denormal numbers phonopy's compiled part panics, with an exception that no `except Exception` holds."""
    rng, shape = np.random.default_rng(0), metals.arrays["forces"].shape
    still = np.zeros_like(metals.arrays["residual_forces"])
    tiny = Observation({**metals.arrays, "forces": 1e-310 * rng.normal(size=shape), "residual_forces": still})
    measured = measure(tiny, METALS)
    assert set(measured.items.cause.tolist()) == {int(Cause.UNSTABLE)}
    assert all(metric.charged == metric.failure_cost for metric in measured.metrics.values())


def test_failing_never_pays(metals: Observation) -> None:
    answered, frames = answers(metals), structures(METALS).frames
    # One exact reference, and one so far off that its error is clipped.
    reference = [numbers(measure(metals, METALS)).tolist(), [1e-3] * 4, [1.0] * 4]
    honest = measure(metals, METALS, reference)
    for index in range(3):
        done = [Done(None, Cause.ERROR) if i == index else Done(answered[i], Cause.NONE) for i in range(3)]
        failing = measure(Observation(supercell_arrays(frames, done)), METALS, reference)
        assert failing.items.cause[index] == Cause.ERROR
        for name, metric in honest.metrics.items():
            charged = failing.metrics[name].charged
            assert charged is not None
            assert metric.charged is not None
            assert charged >= metric.charged


def test_an_observation_of_other_crystals_is_refused(metals: Observation) -> None:
    with pytest.raises(ValueError, match="observation: failure"):
        measure(metals, METALS[:2])
    with pytest.raises(ValueError, match="observation: forces"):
        measure(metals, [METALS[0]._replace(supercell=3 * np.eye(3)), *METALS[1:]])
    other = Observation({**metals.arrays, "n_displacements": np.array([1, 0, 4])})
    with pytest.raises(ValueError, match="observation: n_displacements"):
        measure(other, METALS)


def test_what_does_not_fit_is_the_datasets_fault() -> None:
    wrong = ordered_alloy()._replace(primitive=FACE_CENTRED)  # gold and copper would fall on each other
    with pytest.raises(ValueError, match=r"made-up@1: structure 1: supercell and primitive: do not fit"):
        observe(EMT(), [copper(), wrong])
    slab = Case(Atoms("Cu", cell=3 * np.eye(3), pbc=(True, True, False)))
    with pytest.raises(ValueError, match="structure 0 is not periodic"):
        observe(EMT(), [slab])


@pytest.mark.parametrize("cell", [np.diag([1e-4, 3.0, 3.0]), [[3, 0, 0], [3, 1e-6, 0], [0, 0, 3]]])
def test_a_crystal_that_a_model_has_crushed_has_not_converged(cell: Any) -> None:
    case, crushed = simple_cubic(), Atoms("Cu", cell=cell, pbc=True)
    with pytest.raises(ItemFailed) as caught:
        relaxed_crystal(crushed, case.atoms, case.supercell, case.primitive)
    assert caught.value.cause == Cause.NOT_CONVERGED
    with pytest.raises(ValueError, match="do not fit the structure"):
        relaxed_crystal(crushed, crushed, case.supercell, case.primitive)


def test_displacements_from_which_nothing_follows_are_refused() -> None:
    case = copper()
    phonon = crystal(case.atoms, case.supercell, case.primitive)
    u, forces = np.array([[0.01, 0.0, 0.0]]), np.zeros((1, 32, 3))
    displace(phonon, np.array([0]), u, forces)  # symmetry makes the other directions of it
    tetragonal = Case(Atoms("Cu", cell=[3.0, 3.0, 4.0], pbc=True))
    phonon = crystal(tetragonal.atoms, tetragonal.supercell, tetragonal.primitive)
    with pytest.raises(ValueError, match="three directions"):
        displace(phonon, np.array([0]), u, np.zeros((1, 8, 3)))
