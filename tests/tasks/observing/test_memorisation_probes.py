"""Memorisation probes: each finds what breaks its law, with the right size, and no other probe finds it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.calculators.calculator import Calculator, all_changes
from ase.calculators.emt import EMT

from tasks.model.calculator import InProcessCalculator
from tasks.observing.memorisation_probes import ROW, Probe, stored_answers, stored_copies, transformed
from tasks.structures.frames import Frames
from tests.tasks.observing.probed_models import (
    ENERGIES,
    EXACT,
    FORCE_OFF,
    FORCES,
    INVARIANT,
    OFF,
    WATCH,
    Memory,
    Wrong,
    all_sorts,
    labelled,
    molecules,
    see,
)
from tests.tasks.worlds import PBE, WORLDS


def test_emt_passes_all_of_them_at_rounding_level() -> None:
    dataset = labelled(all_sorts())
    found = see(EMT(), dataset)
    for name in (*INVARIANT, *FORCES):
        assert found.value(name) < EXACT, name
    assert found.value("probe_displacement_max") < 1e-4
    units = {metric.unit for name, metric in found.measured.metrics.items() if name in ENERGIES}
    assert units == {"eV/atom"}
    assert not any("probe" in name for name in found.measured.notes)
    for name in (*ENERGIES, *FORCES):
        metric = found.measured.metrics[name]
        assert (metric.n_items, metric.n_failed) == (4, 0)
        assert (metric.charged, metric.baseline, metric.failure_cost) == (None, None, None)


def test_what_the_trapezoidal_rule_leaves_is_of_the_third_order() -> None:
    """Without forces at both ends the same displacements would be found a hundred times larger."""
    found = see(EMT(), labelled(molecules()))
    copies = stored_copies(found.observation, labelled(molecules()).frames)
    assert copies is not None
    answers = stored_answers(found.observation, copies)
    change = answers.energy[ROW[Probe.DISPLACEMENT]] - found.observation.arrays["energy"][copies.original]
    assert np.abs(change).max() > 100 * found.value("probe_displacement_max")


def test_a_memory_of_the_structures_is_found_by_every_probe() -> None:
    structures = molecules()
    dataset = labelled(structures)
    found = see(Memory(structures), dataset)
    for name in INVARIANT:
        assert found.value(name) == pytest.approx(OFF, abs=EXACT)
    for name in FORCES:
        assert found.value(name) == pytest.approx(FORCE_OFF, abs=EXACT)
    copies = stored_copies(found.observation, dataset.frames)
    assert copies is not None
    # Of ½ (F(x) + F(x + δ)) · δ what is remembered has its part in the first half.
    own = dataset.frames.n_atoms[copies.original]
    along = np.add.reduceat(copies.displacement.sum(axis=1), np.cumsum(own) - own)
    expected = np.abs(FORCE_OFF * along / 2 / own - OFF).max()
    assert found.value("probe_displacement_max") == pytest.approx(expected, abs=1e-4)
    said = found.measured.notes
    assert said["rotation probe"] == (
        "Asked again about 4 structures, rotated: "
        "the energy changed by up to 0.3 eV/atom, the forces changed by up to 3 eV/Å."
    )
    assert set(said) >= {f"{probe} probe" for probe in Probe}
    assert " eV/atom more than the forces explain." in said["displacement probe"]


def test_a_memory_without_forces_is_found_too() -> None:
    world = WORLDS["energy_differences"]()
    structures = [world.dataset.frames.atoms(i) for i in range(len(world.dataset.frames))]
    found = see(Memory(structures), world.dataset, world.kind)
    for name in INVARIANT:
        assert found.value(name) == pytest.approx(OFF, abs=EXACT)
    # Of the step without forces 100 meV/atom are taken off; EMT's own change is far less.
    assert OFF - 0.13 < found.value("probe_displacement_max") < OFF - 0.07
    assert not any(name in found.measured.metrics for name in FORCES)
    assert "more than so small a step explains." in found.measured.notes["displacement probe"]


class LookUp(Calculator):
    """Computes nothing: the energy of the structure that it knows whose sorted distances are nearest."""

    implemented_properties = ("energy",)

    def __init__(self, known: list[Atoms]) -> None:
        super().__init__()
        self._known = []
        for atoms in known:
            own = atoms.copy()
            own.calc = EMT()
            self._known.append((spectrum(atoms), own.get_potential_energy()))

    def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
        super().calculate(atoms, properties, system_changes)
        asked = spectrum(atoms)
        alike = [(np.abs(known - asked).max(), energy) for known, energy in self._known if len(known) == len(asked)]
        self.results = {"energy": min(alike)[1]}


def spectrum(atoms: Atoms) -> Any:
    """What neither rotation, translation nor order changes; the cell tells most of it, and is not displaced."""
    distances = np.sort(atoms.get_all_distances(mic=bool(atoms.pbc.any())).ravel())
    return np.concatenate([distances, 100.0 * atoms.cell.lengths()])


@pytest.mark.parametrize("name", ["energy_differences", "energy_profiles", "equation_of_state"])
def test_a_look_up_of_the_nearest_structure_is_found_by_energies_that_stay_the_same(name: str) -> None:
    world = WORLDS[name]()
    frames = world.dataset.frames
    known = [frames.atoms(i).repeat((2, 1, 1) if frames.n_atoms[i] == 1 else 1) for i in range(len(frames))]
    world = world._replace(dataset=replace(world.dataset, frames=Frames.from_atoms(known)))
    model = InProcessCalculator(LookUp(known))
    observation = world.kind.observe(world.dataset.structures, world.parameters, model, WATCH)
    found = world.kind.measure(observation, world.dataset, world.parameters, PBE)
    assert [found.metrics[probe].value for probe in ENERGIES] == [0.0] * 4  # of which no size tells
    assert [key for key in found.notes if key.endswith("probe")] == ["displacement probe"]
    k = found.metrics["probe_displacement_max"].n_items
    assert found.notes["displacement probe"] == (
        f"Asked again about {k} structures, with their atoms displaced by 0.01 Å: "
        f"{k} had the very same energy, as if looked up."
    )
    honest = world.kind.observe(world.dataset.structures, world.parameters, InProcessCalculator(EMT()), WATCH)
    assert "displacement probe" not in world.kind.measure(honest, world.dataset, world.parameters, PBE).notes


PULL = 0.05  # eV/Å


def along_x(atoms: Atoms) -> float:
    return PULL * float(atoms.positions[:, 0].sum())


def longer_in_x(atoms: Atoms) -> float:
    x = atoms.positions[:, 0]
    return float(((x - x.mean()) ** 2).sum())


def first_atom(atoms: Atoms) -> float:
    return 0.1 * float(atoms.numbers[0]) * len(atoms)


def rough(atoms: Atoms) -> float:
    """Up to 10 meV/atom, drawn by the distances to 1e-6 Å, which no rotation, translation or order changes."""
    distances = np.sort(np.round(atoms.get_all_distances().ravel(), 6))
    return 0.01 * len(atoms) * float(int(hashlib.sha256(distances.tobytes()).hexdigest()[:8], 16) / 2**32)


@pytest.mark.parametrize(
    ("added", "probe", "forces"),
    [
        (along_x, Probe.TRANSLATION, False),
        (longer_in_x, Probe.ROTATION, False),
        (first_atom, Probe.PERMUTATION, False),
        (first_atom, Probe.PERMUTATION, True),
        (rough, Probe.DISPLACEMENT, True),
    ],
)
def test_what_breaks_one_law_is_found_by_its_probe_alone(
    added: Callable[[Atoms], float], probe: Probe, forces: bool
) -> None:
    dataset = labelled(molecules())
    found = see(Wrong(added, forces), dataset)
    copies = stored_copies(found.observation, dataset.frames)
    assert copies is not None
    sent, k, row = transformed(dataset.frames, copies), len(copies), ROW[probe]
    sizes = []
    for j, i in enumerate(copies.original):
        before, after = dataset.frames.atoms(int(i)), sent.atoms(row * k + j)
        sizes.append(abs(added(after) - added(before)) / len(before))
    name = f"probe_{probe}_max"
    assert max(sizes) > 1e-3
    assert found.value(name) == pytest.approx(max(sizes), abs=EXACT if probe is not Probe.DISPLACEMENT else 1e-4)
    for other in ENERGIES:
        assert other == name or found.value(other) < 1e-4, other
    assert [key for key in found.measured.notes if key.endswith("probe")] == [f"{probe} probe"]


class Answering(Wrong):
    """The energies that are added are among what the forces say: a model whose forces are turned wrongly alone."""

    def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
        super().calculate(atoms, properties, system_changes)
        self.results["forces"] = self.results["forces"] - np.array([PULL, 0.0, 0.0])


def test_a_field_along_x_turns_no_forces_and_is_smooth() -> None:
    found = see(Answering(along_x), labelled(molecules()))
    assert found.value("probe_translation_force_max") < EXACT
    assert found.value("probe_displacement_max") < 1e-4
    assert 0.01 < found.value("probe_rotation_force_max") <= 2 * PULL / 3**0.5 + EXACT
    assert found.value("probe_rotation_max") < EXACT  # the centroid stays where it is
