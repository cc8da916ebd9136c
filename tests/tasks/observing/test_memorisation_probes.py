"""Memorisation probes: each probe finds the violation of its law, with the right size, and no other probe does."""

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
from tests.tasks.kind_examples import EXAMPLES, PBE
from tests.tasks.observing.probed_models import (
    ENERGIES,
    EXACT,
    FORCE_OFF,
    FORCES,
    FORMULAS,
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


def test_emt_passes_all_of_them_at_rounding_level() -> None:
    dataset = labelled(all_sorts())
    probed = see(EMT(), dataset)
    for name in (*INVARIANT, *FORCES):
        assert probed.value(name) < EXACT, name
    assert probed.value("probe_displacement_max") < 1e-4
    units = {metric.unit for name, metric in probed.measured.metrics.items() if name in ENERGIES}
    assert units == {"eV/atom"}
    assert not any("probe" in name for name in probed.measured.notes)
    for name in (*ENERGIES, *FORCES):
        metric = probed.measured.metrics[name]
        assert (metric.n_items, metric.n_failed) == (4, 0)
        assert (metric.charged, metric.baseline, metric.failure_cost) == (None, None, None)


def test_what_the_trapezoidal_rule_leaves_is_of_the_third_order() -> None:
    """Without forces at both ends the same displacements would give a value a hundred times larger."""
    probed = see(EMT(), labelled(molecules()))
    copies = stored_copies(probed.observation, labelled(molecules()).frames)
    assert copies is not None
    answers = stored_answers(probed.observation, copies)
    change = answers.energy[ROW[Probe.DISPLACEMENT]] - probed.observation.arrays["energy"][copies.original]
    assert np.abs(change).max() > 100 * probed.value("probe_displacement_max")


def test_a_memory_of_the_structures_is_found_by_every_probe() -> None:
    structures = molecules()
    dataset = labelled(structures)
    probed = see(Memory(structures), dataset)
    for name in INVARIANT:
        assert probed.value(name) == pytest.approx(OFF, abs=EXACT)
    for name in FORCES:
        assert probed.value(name) == pytest.approx(FORCE_OFF, abs=EXACT)
    copies = stored_copies(probed.observation, dataset.frames)
    assert copies is not None
    # In ½ (F(x) + F(x + δ)) · δ the remembered forces are F(x).
    n_atoms = dataset.frames.n_atoms[copies.original]
    along = np.add.reduceat(copies.displacement.sum(axis=1), np.cumsum(n_atoms) - n_atoms)
    expected = np.abs(FORCE_OFF * along / 2 / n_atoms - OFF).max()
    assert probed.value("probe_displacement_max") == pytest.approx(expected, abs=1e-4)
    notes = probed.measured.notes
    assert notes["rotation probe"] == (
        "Asked again about 4 structures, rotated: "
        "the energy changed by up to 0.3 eV/atom, the forces changed by up to 3 eV/Å."
    )
    assert set(notes) >= {f"{probe} probe" for probe in Probe}
    assert " eV/atom more than the forces explain." in notes["displacement probe"]


def test_a_memory_without_forces_is_found_too() -> None:
    example = EXAMPLES["energy_differences"]()
    structures = [example.dataset.frames.atoms(i) for i in range(len(example.dataset.frames))]
    probed = see(Memory(structures), example.dataset, example.kind)
    for name in INVARIANT:
        assert probed.value(name) == pytest.approx(OFF, abs=EXACT)
    # Without forces 100 meV/atom are subtracted from the change; EMT's own change is far smaller.
    assert OFF - 0.13 < probed.value("probe_displacement_max") < OFF - 0.07
    assert not any(name in probed.measured.metrics for name in FORCES)
    assert "more than so small a step explains." in probed.measured.notes["displacement probe"]


class LookUp(Calculator):
    """Computes nothing: answers the energy of the known structure with the nearest sorted distances."""

    implemented_properties = ("energy",)

    def __init__(self, known: list[Atoms]) -> None:
        super().__init__()
        self._known = []
        for atoms in known:
            copy = atoms.copy()
            copy.calc = EMT()
            self._known.append((spectrum(atoms), copy.get_potential_energy()))

    def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
        super().calculate(atoms, properties, system_changes)
        distances = spectrum(atoms)
        alike = [
            (np.abs(known - distances).max(), energy) for known, energy in self._known if len(known) == len(distances)
        ]
        self.results = {"energy": min(alike)[1]}


def spectrum(atoms: Atoms) -> Any:
    """A descriptor that rotation, translation and order do not change. It weighs the cell, which is not displaced."""
    distances = np.sort(atoms.get_all_distances(mic=bool(atoms.pbc.any())).ravel())
    return np.concatenate([distances, 100.0 * atoms.cell.lengths()])


@pytest.mark.parametrize("name", ["energy_differences", "energy_profiles", "equation_of_state"])
def test_a_look_up_of_the_nearest_structure_is_found_by_energies_that_stay_the_same(name: str) -> None:
    example = EXAMPLES[name]()
    frames = example.dataset.frames
    known = [frames.atoms(i).repeat((2, 1, 1) if frames.n_atoms[i] == 1 else 1) for i in range(len(frames))]
    example = example._replace(dataset=replace(example.dataset, frames=Frames.from_atoms(known)))
    model = InProcessCalculator(LookUp(known))
    observation = example.kind.observe(example.dataset.structures, example.parameters, model, WATCH)
    measurement = example.kind.measure(observation, example.dataset, example.parameters, PBE)
    assert [measurement.metrics[probe].value for probe in ENERGIES] == [0.0] * 4  # no size shows the look-up
    assert [key for key in measurement.notes if key.endswith("probe")] == ["displacement probe"]
    k = measurement.metrics["probe_displacement_max"].n_items
    assert measurement.notes["displacement probe"] == (
        f"Asked again about {k} structures, with their atoms displaced by 0.01 Å: "
        f"{k} had the very same energy, as if looked up."
    )
    honest = example.kind.observe(example.dataset.structures, example.parameters, InProcessCalculator(EMT()), WATCH)
    assert "displacement probe" not in example.kind.measure(honest, example.dataset, example.parameters, PBE).notes


PULL = 0.05  # eV/Å


def along_x(atoms: Atoms) -> float:
    return PULL * float(atoms.positions[:, 0].sum())


def longer_in_x(atoms: Atoms) -> float:
    x = atoms.positions[:, 0]
    return float(((x - x.mean()) ** 2).sum())


def order(atoms: Atoms) -> float:
    """Another energy for each order of three atoms of three elements."""
    return 0.1 * float(atoms.numbers @ np.arange(len(atoms)))


def rough(atoms: Atoms) -> float:
    """Up to 1 eV/atom, drawn by the distances to 1e-6 Å, which no rotation, translation or order changes."""
    distances = np.sort(np.round(atoms.get_all_distances().ravel(), 6))
    return 1.0 * len(atoms) * float(int(hashlib.sha256(distances.tobytes()).hexdigest()[:8], 16) / 2**32)


@pytest.mark.parametrize(
    ("added", "probe", "forces"),
    [
        (along_x, Probe.TRANSLATION, False),
        (longer_in_x, Probe.ROTATION, False),
        (order, Probe.PERMUTATION, False),
        (order, Probe.PERMUTATION, True),
        (rough, Probe.DISPLACEMENT, True),
    ],
)
def test_what_breaks_one_law_is_found_by_its_probe_alone(
    added: Callable[[Atoms], float], probe: Probe, forces: bool
) -> None:
    # Every order of HCN's atoms but its own has another sequence of elements.
    dataset = labelled(molecules(formulas=("HCN",) if probe is Probe.PERMUTATION else FORMULAS))
    probed = see(Wrong(added, forces), dataset)
    copies = stored_copies(probed.observation, dataset.frames)
    assert copies is not None
    sent, k, row = transformed(dataset.frames, copies), len(copies), ROW[probe]
    sizes = []
    for j, i in enumerate(copies.original):
        before, after = dataset.frames.atoms(int(i)), sent.atoms(row * k + j)
        sizes.append(abs(added(after) - added(before)) / len(before))
    name = f"probe_{probe}_max"
    assert max(sizes) > 1e-3
    assert probed.value(name) == pytest.approx(max(sizes), abs=EXACT if probe is not Probe.DISPLACEMENT else 1e-4)
    for other in ENERGIES:
        assert other == name or probed.value(other) < 1e-4, other
    assert [key for key in probed.measured.notes if key.endswith("probe")] == [f"{probe} probe"]


class Answering(Wrong):
    """The forces contain the added energy: the only error of the model is how its forces rotate."""

    def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
        super().calculate(atoms, properties, system_changes)
        self.results["forces"] = self.results["forces"] - np.array([PULL, 0.0, 0.0])


def test_a_field_along_x_turns_no_forces_and_is_smooth() -> None:
    probed = see(Answering(along_x), labelled(molecules()))
    assert probed.value("probe_translation_force_max") < EXACT
    assert probed.value("probe_displacement_max") < 1e-4
    assert 0.01 < probed.value("probe_rotation_force_max") <= 2 * PULL / 3**0.5 + EXACT
    assert probed.value("probe_rotation_max") < EXACT  # the centroid stays where it is
