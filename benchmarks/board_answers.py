"""What an invented model would have answered: observations that the kinds measure as they measure real ones.

A model's error of an item is its quality × how hard the item is for everyone × noise of its own. Kinds whose
observations are large beside what is made of them (elasticity, phonons, physicality) are given what they would have
found in them: see `ready`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.board_models import Model
from benchmarks.board_tasks import (
    N_POINTS,
    PROPERTIES,
    curve_energies,
    generator,
    nve_parameters,
    timing_parameters,
)
from judge.evaluation.plan import Unit
from tasks.datasets.dataset import Dataset
from tasks.kind import Kind, Observation, Parameters
from tasks.metrics.measurement import Items, Measurement
from tasks.metrics.property_errors import property_measurement, references
from tasks.physicality.kind import PhysicalityParameters
from tasks.physicality.measures import DIATOMICS, METRICS, ProbeItem, as_items, diatomic_rows, metrics
from tasks.simulation.diatomics import distances
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import Cause

FAILURES = (Cause.ERROR, Cause.NON_FINITE, Cause.UNSUPPORTED, Cause.OUT_OF_MEMORY)
READY = ("elasticity", "phonons", "physicality")


@dataclass(frozen=True)
class Asked:
    """One model at one task.

    Args:
        share: of the items that fail.
        rng: of this model at this task.
        hard: of this task: the same for all models.
    """

    model: Model
    unit: Unit
    dataset: Dataset
    share: float
    rng: np.random.Generator
    hard: np.random.Generator

    @property
    def error(self) -> float:
        """The model's typical error beside the trivial model's, in this task."""
        return self.model.quality * float(
            np.exp(generator("skill", self.model.number, self.unit.task.name).normal(0, 0.3))
        )

    def failure(self, n: int) -> np.ndarray:
        """(n,) codes of `Cause`."""
        cause = np.zeros(n, np.int8)
        failed = self.rng.uniform(0, 1, n) < self.share
        cause[failed] = FAILURES[int(self.rng.integers(0, len(FAILURES)))]
        return cause

    def errors(self, n: int) -> Float:
        """(n,) of the size of the references."""
        hardness = np.exp(self.hard.normal(0, 0.6, n))
        return np.asarray(self.error * hardness * self.rng.normal(0.2, 1.0, n))


def ask(model: Model, unit: Unit, dataset: Dataset, share: float) -> Asked:
    """The model at the task, with its generators."""
    name = unit.task.name
    return Asked(model, unit, dataset, share, generator("answers", model.number, name), generator("hard", name))


def observe(asked: Asked) -> Observation:
    """The observation of the task, or what stands in for it."""
    observation = _OBSERVED[asked.unit.kind.name](asked)
    return Observation({name: np.asarray(array) for name, array in observation.arrays.items()}, observation.notes)


def ready(unit: Unit) -> Unit:
    """The unit, with a kind that measures what `observe` gives in place of a large observation."""
    return replace(unit, kind=_Ready(unit.kind)) if unit.kind.name in READY else unit


class _Ready:
    """As the kind, but that it is given in the observation what it would have made of it."""

    def __init__(self, kind: Kind) -> None:
        self.name, self.parameters, self.traits = kind.name, kind.parameters, kind.traits
        self.observe_version, self.measure_version = kind.observe_version, kind.measure_version
        self.observe, self.work = kind.observe, kind.work

    def measure(
        self, observation: Observation, dataset: Dataset, parameters: Parameters, label_set: str | None
    ) -> Measurement:
        if isinstance(parameters, PhysicalityParameters):
            items = _laws(observation, dataset, parameters)
            return Measurement(metrics(items), items)
        properties, crystals = PROPERTIES[self.name], dataset.table.crystals
        chosen = dataset.label_set(label_set)
        reference = references(crystals, chosen, properties)
        cause = observation.causes(len(crystals))
        relative = observation.array("relative", (len(crystals), len(properties)))
        predicted = np.where(cause[:, None] == 0, reference * (1 + relative), np.nan)
        stated, trivial = dataset.baselines(chosen), np.zeros_like(reference)
        return property_measurement(properties, crystals, cause, predicted, reference, trivial, stated)


def _laws(observation: Observation, dataset: Dataset, parameters: PhysicalityParameters) -> Items:
    """The items of physicality: of each structure and probe, and of each pair."""
    probes: dict[str, list[tuple[str, float]]] = {}
    for of in METRICS.values():
        if of.group != DIATOMICS and (of.group != "strain" or dataset.frames.periodic.all()):
            probes.setdefault(of.group, []).append((of.column, of.cost))
    n = len(dataset.frames)
    cause, size = observation.causes(n), observation.array("size", (len(probes), n))
    rows = []
    for group, sizes in zip(probes.items(), size, strict=True):
        name, columns = group
        for i, id in enumerate(dataset.table.id):
            values = {column: np.nan if cause[i] else cost * float(sizes[i]) for column, cost in columns}
            rows.append(ProbeItem(f"{id}: {name}", name, dataset.clusters[i], int(cause[i]), values, True))
    return as_items([*rows, *diatomic_rows(observation, parameters.diatomics, parameters.n_distances)])


def _relative(asked: Asked) -> Observation:
    crystals = asked.dataset.table.crystals
    n, p = len(crystals), len(PROPERTIES[asked.unit.kind.name])
    errors = np.stack([asked.errors(n) for _ in range(p)], axis=1)
    return Observation({"relative": 0.5 * errors, "failure": asked.failure(n)})


def _physicality(asked: Asked) -> Observation:
    parameters, n = asked.unit.parameters, len(asked.dataset.frames)
    assert isinstance(parameters, PhysicalityParameters)
    groups = {of.group for of in METRICS.values()} - {DIATOMICS}
    kept = len(groups) - (not asked.dataset.frames.periodic.all())
    size = 10 ** asked.rng.normal(-5 + 3 * asked.error, 0.7, (kept, n))
    k, m = len(parameters.diatomics), parameters.n_distances
    distance = np.stack([distances(symbol, m) for symbol in parameters.diatomics])
    well, at = np.linspace(1, 9, k)[:, None], 1.6 * distance[:, :1]
    x = np.exp(-1.5 * (distance - at))
    energy = well * (x**2 - 2 * x)
    slope = well * -3.0 * (x**2 - x)
    ripple = 0.3 * asked.error * asked.rng.normal(0, 1, (k, 1))
    energy = energy + ripple * np.sin(8 * distance)
    slope = slope + ripple * 8 * np.cos(8 * distance)
    forces = np.zeros((k, m, 2, 3))
    forces[..., 1, 0], forces[..., 0, 0] = -slope, slope
    failure = np.zeros((k, m), np.int8)
    failure[asked.failure(k) != 0] = Cause.UNSUPPORTED
    return Observation(
        {
            "size": size,
            "failure": asked.failure(n),
            "diatomic_distance": distance,
            "diatomic_energy": np.where(failure == 0, energy, np.nan).ravel(),
            "diatomic_forces": np.where(failure[..., None, None] == 0, forces, np.nan).reshape(-1, 3),
            "diatomic_failure": failure.ravel(),
        }
    )


def _frames(asked: Asked, energy: Float) -> Observation:
    """Energies alone, those of failed structures absent."""
    failure = asked.failure(len(energy))
    return Observation({"energy": np.where(failure == 0, energy, np.nan), "failure": failure}, {"properties": "energy"})


def _labelled(asked: Asked) -> Observation:
    frames: Frames = asked.dataset.frames
    labels = asked.dataset.labels(asked.unit.measured_label_set)
    assert labels.energy is not None
    assert labels.forces is not None
    n, total, failure = len(frames), len(frames.numbers), asked.failure(len(frames))
    there = failure == 0
    energy = labels.energy + 0.3 * frames.n_atoms * asked.errors(n)
    by_atom = np.repeat(np.abs(asked.errors(n)), frames.n_atoms)[:, None]
    forces = labels.forces + by_atom * asked.rng.normal(0, 1, (total, 3))
    arrays = {
        "energy": np.where(there, energy, np.nan),
        "forces": np.where(np.repeat(there, frames.n_atoms)[:, None], forces, np.nan),
        "failure": failure,
    }
    if labels.stress is not None and asked.model.number % 5:  # some models have no stress
        stress = labels.stress + 0.03 * asked.errors(n)[:, None] * asked.rng.normal(0, 1, (n, 6))
        arrays["stress"] = np.where(there[:, None], stress, np.nan)
    return Observation(arrays, {"properties": "energy,forces,stress"})


def _differences(asked: Asked) -> Observation:
    rows, chosen = asked.dataset.table.differences, asked.dataset.label_set(asked.unit.measured_label_set)
    energy = np.zeros(len(asked.dataset.frames))
    energy[::2] = np.array([row.reference[chosen] for row in rows]) + asked.errors(len(rows))
    return _frames(asked, energy)


def _scans(asked: Asked) -> Observation:
    scans, chosen = asked.dataset.table.scans, asked.dataset.label_set(asked.unit.measured_label_set)
    reference = np.array([scan.reference[chosen] for scan in scans])
    energy = reference * (1 + asked.errors(len(scans))[:, None]) + 0.02 * asked.errors(reference.size).reshape(
        -1, N_POINTS
    )
    return _frames(asked, energy.ravel())


def _curves(asked: Asked) -> Observation:
    curves, chosen = asked.dataset.table.curves, asked.dataset.label_set(asked.unit.measured_label_set)
    volumes = asked.dataset.frames.volumes.reshape(-1, N_POINTS)
    off = np.tanh(0.03 * asked.errors(len(curves)))
    softer = np.exp(0.2 * asked.errors(len(curves)))
    found = [curve.reference[chosen] for curve in curves]
    rows = zip(volumes, found, off, softer, strict=True)
    return _frames(
        asked, np.concatenate([curve_energies(v, r.v0_per_atom * (1 + o), r.b0_gpa * s) for v, r, o, s in rows])
    )


def _pressed(asked: Asked) -> Observation:
    crystals, chosen = asked.dataset.table.crystals, asked.dataset.label_set(asked.unit.measured_label_set)
    frames, failure = asked.dataset.frames, asked.failure(len(crystals))
    reference = np.array([crystal.reference[chosen]["volume_per_atom"] for crystal in crystals])
    trivial = frames.volumes / frames.n_atoms - reference
    volume = np.maximum(reference + trivial * asked.errors(len(crystals)), 1.0) * frames.n_atoms
    cell = np.cbrt(volume)[:, None, None] * np.eye(3)
    return Observation({"cell": np.where(failure[:, None, None] == 0, cell, np.nan), "failure": failure})


def _dynamics(asked: Asked) -> Observation:
    parameters, n = nve_parameters(asked.unit.parameters), len(asked.dataset.frames)
    frames, times = asked.dataset.frames, parameters.times_ps
    slope = asked.model.drift * np.exp(asked.rng.normal(0, 0.8, n)) * asked.rng.choice((-1, 1), n)
    noise = 1e-6 * np.cumsum(asked.rng.normal(0, 1, (n, len(times))), axis=1)
    total = frames.n_atoms[:, None] * (-4.0 + slope[:, None] * times + noise - noise[:, :1])
    failure, completed = np.zeros(n, np.int8), np.full(n, parameters.steps)
    bad = asked.rng.uniform(0, 1, n) < 0.4 * asked.model.quality
    failure[bad] = asked.rng.choice((Cause.EXPLODED, Cause.EXPLODED, Cause.OVER_TIME, Cause.ERROR), int(bad.sum()))
    completed[bad] = asked.rng.integers(parameters.stride, parameters.steps, int(bad.sum()))
    sample = np.arange(parameters.n_samples) * parameters.stride
    total = np.where(sample <= completed[:, None], total, np.nan)
    return Observation({"total_energy": total, "completed_steps": completed, "failure": failure})


def _times(asked: Asked) -> Observation:
    parameters, n_structures = timing_parameters(asked.unit.parameters), len(asked.dataset.frames)
    n = parameters.n_frames
    atoms = asked.rng.integers(800, 1001, n)
    per_atom = 1e-6 * asked.model.speed * np.exp(asked.rng.normal(0, 0.1, n))
    failure = asked.failure(n)
    batches = parameters.n_batches
    return Observation(
        {
            "seconds": np.where(failure == 0, per_atom * atoms, np.nan),
            "failure": failure,
            "n_atoms": atoms,
            "planned_atoms": atoms,
            "source": np.arange(n) % n_structures,
            "reduced": np.zeros(n, np.int8),
            "with_stress": np.ones(n, np.int8),
            "cold": np.array([5e-5 * asked.model.speed, 900.0]),
            "batch_s": 4e-6 * asked.model.speed * 900 * np.exp(asked.rng.normal(0, 0.05, batches)),
            "batch_atoms": np.full(8, 900),
            "batch_planned_atoms": np.full(8, 900),
            "reference_s": np.array([[1e-3, 1.05e-3], [1e-3, 1.1e-3]]),
            "wire_s": np.full(5, 1.1e-4),
        },
        {"properties": "energy,forces,stress"},
    )


_OBSERVED: dict[str, Callable[[Asked], Observation]] = {
    "labelled_frames": _labelled,
    "energy_differences": _differences,
    "energy_profiles": _scans,
    "equation_of_state": _curves,
    "elasticity": _relative,
    "phonons": _relative,
    "compression": _pressed,
    "nve": _dynamics,
    "efficiency": _times,
    "physicality": _physicality,
}
