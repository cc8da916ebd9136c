"""Leak probes: each finds what breaks the law that it stands for, with the size that it should have, and no other."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, fcc111, molecule
from ase.calculators.calculator import Calculator, all_changes
from ase.calculators.emt import EMT
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring.lambench.release import load_release, packaged_releases
from tasks.datasets.dataset import Dataset
from tasks.kind import Kind, Observation, Watch, Work
from tasks.kinds.registry import KINDS
from tasks.metrics.contributions import Contributing
from tasks.metrics.measurement import Measurement
from tasks.model.calculator import InProcessCalculator
from tasks.observing.frames_observation import questions
from tasks.observing.memorisation_probes import ROW, Probe, draw_copies, stored_answers, stored_copies, transformed
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause, Labels, Predictions, Properties
from tests.tasks.made_up import make_dataset
from tests.tasks.worlds import PBE, WORLDS

WATCH = Watch(clock=lambda: 0.0)
FRAMES = KINDS["labelled_frames"]
ENERGIES = [f"probe_{probe}_max" for probe in Probe]
INVARIANT = ENERGIES[:3]
FORCES = [name.replace("_max", "_force_max") for name in INVARIANT]
EXACT = 1e-9  # eV/atom and eV/Å: rounding


def molecules(n: int = 12) -> list[Atoms]:
    made = []
    for k in range(n):
        atoms = molecule(("H2O", "CH3CH2OH", "NH3")[k % 3])
        # EMT's forces stay below 10 eV/Å, so that no displacement of 0.01 Å changes its energy by 100 meV/atom.
        atoms.rattle(0.01, seed=k)
        # What is drawn by the structures' hash is the same on every processor.
        atoms.positions = atoms.positions.round(9)
        made.append(atoms)
    return made


def all_sorts(n: int = 12) -> list[Atoms]:
    """Molecules, crystals and slabs, one of them with one atom."""
    made = molecules(n)
    for k in range(0, n, 3):
        made[k] = bulk("Cu", cubic=True) if k % 2 else fcc111("Pt", (2, 2, 2), vacuum=6.0)
        made[k].rattle(0.05, seed=k)
    return [bulk("Al"), *made]


def labelled(structures: list[Atoms], **card: Any) -> Dataset:
    frames, rng = Frames.from_atoms(structures), np.random.default_rng(0)
    labels = Labels(rng.normal(size=len(frames)), rng.normal(size=(len(frames.numbers), 3)))
    return make_dataset(frames, labels, **card)


class Seen(NamedTuple):
    observation: Observation
    measured: Measurement
    calls: int

    def value(self, name: str) -> float:
        found = self.measured.metrics[name].value
        assert found is not None, name
        return found


class Counting(InProcessCalculator):
    """Counts the structures and atoms that it is asked about."""

    def __init__(self, calculator: Any) -> None:
        super().__init__(calculator, max_atoms_per_batch=40)
        self.work = Work(0, 0)

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        self.work = Work(self.work.frames + len(frames), self.work.atoms + len(frames.numbers))
        return super().compute(frames, properties)


def see(calculator: Any, dataset: Dataset, kind: Kind = FRAMES, watch: Watch = WATCH) -> Seen:
    model = Counting(calculator)
    observation = kind.observe(dataset.structures, kind.parameters(), model, watch)
    return Seen(observation, kind.measure(observation, dataset, kind.parameters(), None), int(model.work.frames))


class Wrong(Calculator):
    """EMT, and an energy [eV] added of which the forces know nothing; without forces if there are to be none."""

    def __init__(self, added: Callable[[Atoms], float], forces: bool = True) -> None:
        super().__init__()
        self.implemented_properties = ["energy", "forces"] if forces else ["energy"]
        self._emt, self._added = EMT(), added

    def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
        super().calculate(atoms, properties, system_changes)
        own = atoms.copy()
        own.calc = self._emt
        self.results = {"energy": own.get_potential_energy() + self._added(atoms), "forces": own.get_forces()}


def key(atoms: Atoms) -> bytes:
    return atoms.numbers.tobytes() + atoms.positions.tobytes() + atoms.cell.array.tobytes()


OFF, FORCE_OFF = 0.3, 3.0  # eV/atom, eV/Å: how far what is remembered is from what is computed


class Memory(Wrong):
    """Knows structures by heart; others it computes, or not at all."""

    def __init__(self, known: list[Atoms], computes: bool = True) -> None:
        super().__init__(lambda atoms: 0.0)
        self._known, self._computes = {key(atoms) for atoms in known}, computes

    def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
        super().calculate(atoms, properties, system_changes)
        if key(atoms) in self._known:
            self.results["energy"] += OFF * len(atoms)
            self.results["forces"] = self.results["forces"] + FORCE_OFF
        elif not self._computes:
            raise ValueError("never seen before")


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


def test_copies_are_told_from_the_stored_observation_whatever_they_were_drawn_with() -> None:
    dataset = labelled(molecules(60))
    plain, own = see(EMT(), dataset), see(EMT(), dataset, watch=replace(WATCH, secret=b"of one store"))
    for name in ("probe_structure", "probe_rotation", "probe_displacement"):
        assert not np.array_equal(plain.observation.arrays[name], own.observation.arrays[name]), name
    for name in (*INVARIANT, *FORCES):
        assert own.value(name) < EXACT, name
    for name in ("energy", "forces"):  # what is not a probe is as in any other store
        assert plain.observation.arrays[name].tobytes() == own.observation.arrays[name].tobytes()
    assert b"of one store" not in b"".join(array.tobytes() for array in own.observation.arrays.values())
    assert "of one store" not in repr(replace(WATCH, secret=b"of one store"))


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


@pytest.mark.parametrize(("n", "k"), [(1, 1), (3, 3), (4, 4), (200, 4), (201, 5), (1000, 20), (5000, 64)])
def test_so_many_structures_are_sent_again(n: int, k: int) -> None:
    one = Frames.from_atoms([molecule("H2O")])
    frames = one.take([0] * n)
    copies = draw_copies(frames, np.random.default_rng(n))
    assert len(copies) == k
    assert (np.diff(copies.original) > 0).all()
    assert len(transformed(frames, copies)) == 4 * k


@pytest.mark.parametrize("name", ["labelled_frames", "energy_differences", "energy_profiles", "equation_of_state"])
def test_a_hidden_data_set_costs_what_its_work_says_and_a_public_one_no_more_than_itself(name: str) -> None:
    world = WORLDS[name]()
    public = replace(world.dataset, card=world.dataset.card.model_copy(update={"public_since": "2020"}))
    n, atoms = len(world.dataset.frames), len(world.dataset.frames.numbers)
    asked, found = {}, {}
    for dataset in (world.dataset, public):
        model = Counting(EMT())
        observation = world.kind.observe(dataset.structures, world.parameters, model, WATCH)
        hidden = dataset.structures.hidden
        found[hidden] = world.kind.measure(observation, dataset, world.parameters, PBE)
        asked[hidden] = model.work
        assert model.work == world.kind.work(dataset.structures, world.parameters)
    assert asked[False] == (n, atoms)
    assert asked[True].frames == n + 4 * 4
    probes = {metric for metric in found[True].metrics if metric.startswith("probe_")}
    assert probes == {*ENERGIES, *(FORCES if name == "labelled_frames" else ())}
    assert found[False].metrics.keys() == found[True].metrics.keys() - probes
    for metric, record in found[False].metrics.items():
        assert found[True].metrics[metric].value == pytest.approx(record.value, rel=1e-9), metric


@pytest.mark.parametrize("name", ["labelled_frames", "energy_differences", "energy_profiles", "equation_of_state"])
def test_no_score_and_no_interval_is_made_of_them(name: str) -> None:
    world = WORLDS[name]()
    observation = world.kind.observe(world.dataset.structures, world.parameters, InProcessCalculator(EMT()), WATCH)
    measured = world.kind.measure(observation, world.dataset, world.parameters, PBE)
    assert isinstance(world.kind, Contributing)
    said = world.kind.contributions(measured.items, measured.metrics)
    assert said
    assert not [c.metric for c in said if c.metric.startswith("probe")]
    assert not [m for m in KINDS[name].traits.scored(measured.metrics) if m.startswith("probe")]
    for release in packaged_releases():
        rules = load_release(release)
        assert not [m for m in rules.force_field.columns.values() if m.startswith("probe")]


def test_a_copy_that_is_not_answered_fails_its_probe_and_no_structure() -> None:
    structures = molecules()
    found = see(Memory(structures, computes=False), labelled(structures), watch=replace(WATCH, failed_share=0.1))
    assert found.calls == 12 + 16  # sixteen failures are no reason to stop: they are not the structures'
    assert not found.measured.items.failures()
    for name in (*ENERGIES, *FORCES):
        metric = found.measured.metrics[name]
        assert (metric.value, metric.n_items, metric.n_failed) == (None, 4, 4), name
    assert found.measured.notes["translation probe"] == "Asked again about 4 structures, moved: 4 were not answered."


class Refusing(Wrong):
    """Does no molecule with nitrogen."""

    def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
        super().calculate(atoms, properties, system_changes)
        if 7 in atoms.numbers:
            raise ValueError("no nitrogen")


def test_a_structure_that_is_itself_not_answered_has_no_part_in_the_probes() -> None:
    dataset = labelled(molecules(4))  # the third is ammonia
    found = see(Refusing(lambda atoms: 0.0), dataset)
    assert found.measured.items.failures() == {Cause.ERROR: 1}
    for name in (*ENERGIES, *FORCES):
        metric = found.measured.metrics[name]
        assert (metric.n_items, metric.n_failed) == (3, 0)
        assert metric.value < 1e-4
    nothing = see(Refusing(lambda atoms: 0.0), labelled([molecule("NH3")] * 2))
    assert nothing.measured.metrics["probe_rotation_max"].value is None
    assert nothing.measured.metrics["probe_rotation_max"].n_items == 0


@pytest.mark.parametrize("batches", [1, 3])
def test_copies_that_nobody_had_time_for_are_not_held_against_a_model(batches: int) -> None:
    dataset, clock = labelled(molecules()), iter(range(1000))
    watch = Watch(clock=lambda: float(next(clock)), deadline=batches - 2.0)
    found = see(EMT(), dataset, watch=watch)
    late = found.observation.arrays["probe_failure"] == Cause.OVER_TIME
    assert late.any() or batches > 1  # one batch holds 40 atoms, fewer than the 16 copies have in any order
    for probe in Probe:
        metric = found.measured.metrics[f"probe_{probe}_max"]
        assert metric.n_failed == 0
        assert metric.n_items <= 4 - late[ROW[probe]].sum()


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
        own = frames.atoms(int(i))
        turned, moved, reordered, displaced = (sent.atoms(ROW[probe] * k + j) for probe in Probe)
        for other in (turned, moved, reordered, displaced):
            assert other.info == own.info
            assert (other.pbc == own.pbc).all()
        mic = bool(own.pbc.any())
        distances = own.get_all_distances(mic=mic)
        np.testing.assert_allclose(turned.get_all_distances(mic=mic), distances, atol=1e-9)
        np.testing.assert_allclose(turned.cell.cellpar(), own.cell.cellpar(), atol=1e-9)
        np.testing.assert_allclose(moved.get_all_distances(mic=mic), distances, atol=1e-9)
        shift = moved.positions - own.positions - copies.translation[j]
        np.testing.assert_allclose(shift[:, ~own.pbc], 0.0, atol=1e-9)
        inside = moved.get_scaled_positions(wrap=False)[:, own.pbc] if mic else np.zeros((1, 3))
        assert inside.min() > -1e-6
        assert inside.max() < 1.0
        order = copies.atom[sent.n_atoms[:j].sum() :][: len(own)] - sent.n_atoms[:j].sum()
        np.testing.assert_array_equal(reordered.positions, own.positions[order])
        np.testing.assert_array_equal(reordered.numbers, own.numbers[order])
        assert len(own) == 1 or (order != np.arange(len(own))).any()
        length = np.sqrt(((displaced.positions - own.positions) ** 2).sum(axis=1).mean())
        assert length == pytest.approx(0.01)


def test_copies_are_sent_among_the_others_and_none_is_sent_twice() -> None:
    dataset = labelled(molecules(40))
    asked = questions(dataset.structures, 1)
    assert len(asked.order) == 40 + 16
    is_copy = asked.order >= 40
    # Runs of transformed copies or of others: a block of them at either end would make two.
    assert 1 + sum(a != b for a, b in pairwise(is_copy)) > 8
    assert len({asked.frames.take([i]).sha256() for i in range(56)}) == 56


@pytest.fixture(scope="module")
def five_sent_again() -> tuple[Dataset, dict[str, Any]]:
    """A data set of which five structures are sent again, so that their answers turned about have another shape."""
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
