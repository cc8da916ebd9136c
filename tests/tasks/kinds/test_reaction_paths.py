"""Reaction paths as a kind: numbers beside ASE's own search, and what is charged."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from ase.calculators.emt import EMT
from ase.mep import NEB
from ase.mep.neb import idpp_interpolate, interpolate
from ase.optimize import BFGS

from tasks.datasets.card import MinimumEnergyPath, PathReference
from tasks.datasets.path_roles import PathRole, path_structures
from tasks.kind import Observation, Watch
from tasks.kinds.reaction_paths import ReactionPathsParameters, distance_between
from tasks.model.calculator import InProcessCalculator
from tasks.simulation.reaction_path import BandSettings
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause, Predictions, Properties
from tests.tasks.kind_examples import PBE, KindExample, hops, observed, reaction_paths
from tests.tasks.kind_examples import example as make_example


class Seen(InProcessCalculator):
    """EMT that keeps the structures that it gets."""

    def __init__(self) -> None:
        super().__init__(EMT(), max_atoms_per_batch=100_000)
        self.frames: list[Frames] = []

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        self.frames.append(frames)
        return super().compute(frames, properties)


@pytest.fixture(scope="module")
def example() -> KindExample:
    return reaction_paths()


def band_of(example: KindExample) -> BandSettings:
    assert isinstance(example.parameters, ReactionPathsParameters)
    return example.parameters.band


def test_barrier_and_reaction_energy_are_those_of_ase_alone(example: KindExample) -> None:
    measured, _ = observed(example, {})
    band = band_of(example)
    for index in range(2):
        ends = hops()[3 * index : 3 * index + 2]
        for end in ends:
            end.calc = EMT()
            BFGS(end, logfile=None).run(fmax=band.end_fmax, steps=band.end_steps)
        images = [ends[0].copy() for _ in range(band.n_images - 1)] + [ends[1].copy()]
        interpolate(images, mic=True)
        idpp_interpolate(NEB(images, method="improvedtangent"), traj=None, log=None, mic=True)
        for image in images:
            image.calc = EMT()
        for climb, fmax in ((False, band.fmax), (True, band.climbing_fmax)):
            neb = NEB(images, k=band.spring, climb=climb, method="improvedtangent")
            assert BFGS(neb, logfile=None, maxstep=band.max_step).run(fmax=fmax, steps=300)
        energies = np.array([image.get_potential_energy() for image in images])
        profile = energies - energies[0]
        np.testing.assert_allclose(
            [measured.items.columns[f"path_{k:03d}"][index] for k in range(band.n_images)], profile, atol=1e-6
        )
        assert measured.items.columns["barrier"][index] == pytest.approx(profile.max(), abs=1e-6)
        assert measured.items.columns["reaction_energy"][index] == pytest.approx(profile[-1], abs=1e-6)


def test_the_saddle_of_a_symmetric_hop_is_at_the_bridge(example: KindExample) -> None:
    measured, _ = observed(example, {})
    distance, frames = measured.items.columns["distance"], example.dataset.frames
    for found, of_role in zip(distance, path_structures(example.dataset.structures), strict=True):
        reactant = frames.positions[frames.atom_slice(of_role[PathRole.REACTANT])]
        assert found < 0.5 * distance_between(frames, of_role, reactant)


class Bump:
    """No forces; an energy that is highest, by `height` [eV], halfway between the first two structures that it gets."""

    properties: Properties = ("energy", "forces")
    max_atoms_per_batch = 100_000

    def __init__(self, height: float) -> None:
        self.height, self.ends = height, dict[int, list[Any]]()

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        energy = np.zeros(len(frames))
        for index in range(len(frames)):
            x = frames.positions[frames.atom_slice(index)][-1, 0]
            ends = self.ends.setdefault(int(frames.n_atoms[index]), [])
            if len(ends) < 2 and x not in ends:
                ends.append(x)
            share = (x - ends[0]) / (ends[-1] - ends[0]) if len(ends) == 2 else 0.0
            energy[index] = self.height * (1.0 - (2.0 * share - 1.0) ** 2)
        return Predictions.checked(frames, energy, np.zeros_like(frames.positions), None, {})


def hops_with(barriers: list[float]) -> KindExample:
    """The hop over two layers, once for each barrier."""
    made, n = reaction_paths(), len(barriers)
    rows = [
        MinimumEnergyPath(id=f"hop {i}", path=i, reference={PBE: PathReference(barrier=barrier)})
        for i, barrier in enumerate(barriers)
    ]
    roles = [PathRole.REACTANT, PathRole.PRODUCT, PathRole.TRANSITION_STATE]
    conditions = {"path": np.repeat(np.arange(n), 3), "role": np.tile([int(role) for role in roles], n)}
    parameters = made.parameters.model_dump()
    return make_example("reaction_paths", hops()[3:] * n, parameters, table={"paths": rows}, conditions=conditions)


def test_a_bump_without_forces_is_no_better_than_the_baseline() -> None:
    """The best constant is the median, 0.5 eV, with a mean error of (0.3 + 0.1 + 0.1 + 0.5) / 4 eV."""
    judged = hops_with([0.2, 0.4, 0.6, 1.0])
    for height in (0.0, 0.3, 0.5, 0.7):
        observation = judged.kind.observe(
            judged.dataset.structures, judged.parameters, Bump(height), Watch(time.monotonic)
        )
        metrics = judged.kind.measure(observation, judged.dataset, judged.parameters, PBE).metrics
        assert metrics["barrier_mae"].baseline == pytest.approx(0.25)
        for name in ("barrier_mae", "transition_state_distance"):
            assert metrics[name].charged >= metrics[name].baseline * (1 - 1e-9), (height, name)
    assert metrics["transition_state_distance"].value == pytest.approx(metrics["transition_state_distance"].baseline)


def test_a_transition_state_that_the_first_band_meets_is_not_compared() -> None:
    """In a symmetric hop at one height it is the middle of the two ends."""
    judged = reaction_paths()
    positions = judged.dataset.frames.positions.copy()
    for state in (2, 5):
        atoms = judged.dataset.frames.atom_slice(state)
        positions[atoms][-1, 2] -= 0.2
    dataset = replace(judged.dataset, frames=judged.dataset.frames.moved(positions))
    measured, _ = observed(judged._replace(dataset=dataset), {})
    assert "transition_state_distance" not in measured.metrics
    assert np.isnan(measured.items.columns["distance"]).all()


def test_the_transition_state_of_the_reference_is_never_sent(example: KindExample) -> None:
    model, dataset = Seen(), example.dataset
    states = [of_role[PathRole.TRANSITION_STATE] for of_role in path_structures(dataset.structures)]
    moved = dataset.frames.positions.copy()
    for state in states:
        moved[dataset.frames.atom_slice(state)] += 0.37
    other = replace(dataset, frames=replace(dataset.frames, positions=moved))
    first = example.kind.observe(dataset.structures, example.parameters, model, Watch(time.monotonic))
    second = example.kind.observe(
        other.structures, example.parameters, InProcessCalculator(EMT()), Watch(time.monotonic)
    )
    for name, array in first.arrays.items():
        np.testing.assert_allclose(second.arrays[name], array, atol=1e-9, err_msg=name)
    sent = np.concatenate([frames.positions for frames in model.frames])
    for state in states:
        atom = dataset.frames.positions[dataset.frames.atom_slice(state)][-1]
        assert np.linalg.norm(sent - atom, axis=1).min() > 1e-6


def test_a_path_that_has_not_converged_is_charged(example: KindExample) -> None:
    band = band_of(example).model_copy(update={"climbing_steps": 1, "climbing_fmax": 1e-4})
    short = example._replace(parameters=example.parameters.model_copy(update={"band": band}))
    measured, _ = observed(short, {})
    assert measured.items.failures() == {Cause.NOT_CONVERGED: 2}
    for metric in ("barrier_mae", "reaction_energy_mae", "transition_state_distance"):
        assert measured.metrics[metric].charged == pytest.approx(measured.metrics[metric].failure_cost)
    assert measured.metrics["not_converged_percent"].value == 100.0
    assert np.isfinite(measured.items.columns["path_000"]).all()  # a reader sees the last band


def with_energies(observation: Observation, energies: list[list[float]]) -> Observation:
    return Observation({**observation.arrays, "energies": np.array(energies)})


def measured_with(example: KindExample, energies: list[list[float]], **changes: Any) -> Mapping[str, np.ndarray]:
    observation = example.kind.observe(
        example.dataset.structures, example.parameters, InProcessCalculator(EMT()), Watch(time.monotonic)
    )
    parameters = example.parameters.model_copy(update=changes)
    made = with_energies(observation, energies)
    return example.kind.measure(made, example.dataset, parameters, PBE).items.columns


def test_a_path_downhill_has_no_barrier_and_one_uphill_that_of_its_product(example: KindExample) -> None:
    columns = measured_with(example, [[5.0, 4.8, 4.5, 4.2, 4.0], [1.0, 1.1, 1.2, 1.3, 1.5]])
    np.testing.assert_allclose(columns["barrier"], [0.0, 0.5])
    np.testing.assert_allclose(columns["reaction_energy"], [-1.0, 0.5])


def test_errors_are_in_the_stated_unit(example: KindExample) -> None:
    energies = [[0.0, 0.1, 0.4, 0.2, 0.1], [0.0, 0.1, 0.2, 0.1, 0.1]]
    in_ev, in_mev = (measured_with(example, energies, unit=unit) for unit in ("eV", "meV"))
    for name in ("barrier", "barrier_reference", "reaction_energy_error", "path_002"):
        np.testing.assert_allclose(in_mev[name], 1000 * in_ev[name])
    np.testing.assert_allclose(in_ev["barrier_error"], [0.1, -0.1])


@pytest.mark.parametrize(
    ("path", "role", "message"),
    [
        ([0, 0, 0, 2, 2, 2], [0, 1, 3, 0, 1, 3], "path: must number the reactions from 0 on"),
        ([0, 0, 0, 1, 1, 1], [0, 0, 3, 0, 1, 3], "structures 0 and 1 of path 0 have one role: 0"),
        ([0, 0, 0, 1, 1, 1], [0, 1, 3, 0, 2, 3], "path 1 has no product"),
        ([0, 0, 0, 1, 1, 1], [0, 1, 7, 0, 1, 3], "role: 7 of structure 2 is none of 0, 1, 2, 3"),
    ],
)
def test_roles_that_do_not_fit_are_named(example: KindExample, path: list[int], role: list[int], message: str) -> None:
    conditions = {"path": np.array(path), "role": np.array(role)}
    structures = replace(example.dataset.structures, conditions=conditions)
    with pytest.raises(ValueError, match=message):
        example.kind.observe(structures, ReactionPathsParameters(), Seen(), Watch(time.monotonic))
