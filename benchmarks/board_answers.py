"""Observations of invented models. The kinds measure them in the same way as real ones.

The error of a model at an item is its quality × the difficulty of the item for all models × random noise. Some kinds
have large observations and few numbers in the end (elasticity, phonons, conductivities, physicality). They get these
numbers instead: see `ready`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.board_models import Model
from benchmarks.board_runs import bands, relaxed, runs
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
from tasks.kinds.conductivity_items import measured_errors
from tasks.metrics.measurement import Items, Measurement
from tasks.metrics.property_errors import property_measurement, references
from tasks.physicality.kind import PhysicalityParameters
from tasks.physicality.measures import (
    DIATOMICS,
    METRICS,
    STRAIN,
    STRESS_GROUPS,
    ProbeItem,
    as_items,
    diatomic_rows,
    metrics,
)
from tasks.simulation.diatomics import distances
from tasks.simulation.heat_transport import ModeConductivity
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import Cause

FAILURES = (Cause.ERROR, Cause.NON_FINITE, Cause.UNSUPPORTED, Cause.OUT_OF_MEMORY)
READY = ("elasticity", "phonons", "physicality", "thermal_conductivity")
OF_CRYSTALS = {STRAIN, *STRESS_GROUPS.values()}  # groups of items of physicality


@dataclass(frozen=True)
class ModelCase:
    """One model at one task.

    Args:
        share: of the items that fail.
        rng: of this model at this task.
        hard: generator of the items' difficulty: the same for all models.
    """

    model: Model
    unit: Unit
    dataset: Dataset
    share: float
    rng: np.random.Generator
    hard: np.random.Generator

    @property
    def error(self) -> float:
        """The model's typical error in this task, relative to that of the trivial model."""
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
        """(n,) errors, relative to the size of the references."""
        hardness = np.exp(self.hard.normal(0, 0.6, n))
        return np.asarray(self.error * hardness * self.rng.normal(0.2, 1.0, n))


def make_case(model: Model, unit: Unit, dataset: Dataset, share: float) -> ModelCase:
    """The model at the task, with its generators."""
    name = unit.task.name
    return ModelCase(model, unit, dataset, share, generator("answers", model.number, name), generator("hard", name))


def observe(case: ModelCase) -> Observation:
    """The observation of the task, or the small one that replaces it."""
    observation = _OBSERVED[case.unit.kind.name](case)
    return Observation({name: np.asarray(array) for name, array in observation.arrays.items()}, observation.notes)


def ready(unit: Unit) -> Unit:
    """The unit, with a kind that measures the small observation of `observe`, if the real one would be large."""
    return replace(unit, kind=_Ready(unit.kind)) if unit.kind.name in READY else unit


class _Ready:
    """A kind whose observation already contains the numbers that it would compute."""

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
        if dataset.table.conductivities:
            return _measured_conductivities(observation, dataset, dataset.label_set(label_set))
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
    left_out = {DIATOMICS} if dataset.frames.periodic.all() else {DIATOMICS, *OF_CRYSTALS}
    for measure in METRICS.values():
        if measure.group not in left_out:
            probes.setdefault(measure.group, []).append((measure.column, measure.cost))
    n = len(dataset.frames)
    cause, size = observation.causes(n), observation.array("size", (len(probes), n))
    rows = []
    for group, sizes in zip(probes.items(), size, strict=True):
        name, columns = group
        for i, id in enumerate(dataset.table.id):
            values = {column: np.nan if cause[i] else cost * float(sizes[i]) for column, cost in columns}
            rows.append(ProbeItem(f"{id}: {name}", name, dataset.clusters[i], int(cause[i]), values, True))
    return as_items([*rows, *diatomic_rows(observation, parameters.diatomics, parameters.n_distances)])


def _relative(case: ModelCase) -> Observation:
    crystals = case.dataset.table.crystals
    n, p = len(crystals), len(PROPERTIES[case.unit.kind.name])
    errors = np.stack([case.errors(n) for _ in range(p)], axis=1)
    return Observation({"relative": 0.5 * errors, "failure": case.failure(n)})


def _conductivities(case: ModelCase) -> Observation:
    n = len(case.dataset.frames)
    return Observation({"relative": case.errors(n), "failure": case.failure(n)})


def _measured_conductivities(observation: Observation, dataset: Dataset, label_set: str) -> Measurement:
    rows, cause = dataset.table.conductivities, observation.causes(len(dataset.frames))
    kappa = np.exp(observation.array("relative", (len(cause),))) * [row.reference[label_set].kappa for row in rows]
    none = np.zeros((0, 3))
    ends = {i: ModeConductivity(float(kappa[i]), np.zeros(0, np.int64), none) for i in np.flatnonzero(cause == 0)}
    return measured_errors(rows, label_set, ends, cause)


def _physicality(case: ModelCase) -> Observation:
    parameters, n = case.unit.parameters, len(case.dataset.frames)
    assert isinstance(parameters, PhysicalityParameters)
    groups = {measure.group for measure in METRICS.values()} - {DIATOMICS}
    kept = len(groups if case.dataset.frames.periodic.all() else groups - OF_CRYSTALS)
    size = 10 ** case.rng.normal(-5 + 3 * case.error, 0.7, (kept, n))
    k, m = len(parameters.diatomics), parameters.n_distances
    distance = np.stack([distances(symbol, m) for symbol in parameters.diatomics])
    well, at = np.linspace(1, 9, k)[:, None], 1.6 * distance[:, :1]
    x = np.exp(-1.5 * (distance - at))
    energy = well * (x**2 - 2 * x)
    slope = well * -3.0 * (x**2 - x)
    ripple = 0.3 * case.error * case.rng.normal(0, 1, (k, 1))
    energy = energy + ripple * np.sin(8 * distance)
    slope = slope + ripple * 8 * np.cos(8 * distance)
    forces = np.zeros((k, m, 2, 3))
    forces[..., 1, 0], forces[..., 0, 0] = -slope, slope
    failure = np.zeros((k, m), np.int8)
    failure[case.failure(k) != 0] = Cause.UNSUPPORTED
    return Observation(
        {
            "size": size,
            "failure": case.failure(n),
            "diatomic_distance": distance,
            "diatomic_energy": np.where(failure == 0, energy, np.nan).ravel(),
            "diatomic_forces": np.where(failure[..., None, None] == 0, forces, np.nan).reshape(-1, 3),
            "diatomic_failure": failure.ravel(),
        }
    )


def _frames(case: ModelCase, energy: Float) -> Observation:
    """Energies alone, those of failed structures absent."""
    failure = case.failure(len(energy))
    return Observation({"energy": np.where(failure == 0, energy, np.nan), "failure": failure}, {"properties": "energy"})


def _labelled(case: ModelCase) -> Observation:
    frames: Frames = case.dataset.frames
    labels = case.dataset.labels(case.unit.measured_label_set)
    assert labels.energy is not None
    assert labels.forces is not None
    n, total, failure = len(frames), len(frames.numbers), case.failure(len(frames))
    answered = failure == 0
    energy = labels.energy + 0.3 * frames.n_atoms * case.errors(n)
    by_atom = np.repeat(np.abs(case.errors(n)), frames.n_atoms)[:, None]
    forces = labels.forces + by_atom * case.rng.normal(0, 1, (total, 3))
    arrays = {
        "energy": np.where(answered, energy, np.nan),
        "forces": np.where(np.repeat(answered, frames.n_atoms)[:, None], forces, np.nan),
        "failure": failure,
    }
    if labels.stress is not None and case.model.number % 5:  # some models have no stress
        stress = labels.stress + 0.03 * case.errors(n)[:, None] * case.rng.normal(0, 1, (n, 6))
        arrays["stress"] = np.where(answered[:, None], stress, np.nan)
    return Observation(arrays, {"properties": "energy,forces,stress"})


def _differences(case: ModelCase) -> Observation:
    rows, chosen = case.dataset.table.differences, case.dataset.label_set(case.unit.measured_label_set)
    energy = np.zeros(len(case.dataset.frames))
    energy[::2] = np.array([row.reference[chosen] for row in rows]) + case.errors(len(rows))
    return _frames(case, energy)


def _scans(case: ModelCase) -> Observation:
    scans, chosen = case.dataset.table.scans, case.dataset.label_set(case.unit.measured_label_set)
    reference = np.array([scan.reference[chosen] for scan in scans])
    energy = reference * (1 + case.errors(len(scans))[:, None]) + 0.02 * case.errors(reference.size).reshape(
        -1, N_POINTS
    )
    return _frames(case, energy.ravel())


def _curves(case: ModelCase) -> Observation:
    curves, chosen = case.dataset.table.curves, case.dataset.label_set(case.unit.measured_label_set)
    volumes = case.dataset.frames.volumes.reshape(-1, N_POINTS)
    off = np.tanh(0.03 * case.errors(len(curves)))
    softer = np.exp(0.2 * case.errors(len(curves)))
    curve_references = [curve.reference[chosen] for curve in curves]
    rows = zip(volumes, curve_references, off, softer, strict=True)
    return _frames(
        case, np.concatenate([curve_energies(v, r.v0_per_atom * (1 + o), r.b0_gpa * s) for v, r, o, s in rows])
    )


def _pressed(case: ModelCase) -> Observation:
    crystals, chosen = case.dataset.table.crystals, case.dataset.label_set(case.unit.measured_label_set)
    frames, failure = case.dataset.frames, case.failure(len(crystals))
    reference = np.array([crystal.reference[chosen]["volume_per_atom"] for crystal in crystals])
    trivial = frames.volumes / frames.n_atoms - reference
    volume = np.maximum(reference + trivial * case.errors(len(crystals)), 1.0) * frames.n_atoms
    cell = np.cbrt(volume)[:, None, None] * np.eye(3)
    return Observation({"cell": np.where(failure[:, None, None] == 0, cell, np.nan), "failure": failure})


def _systems(case: ModelCase) -> Observation:
    n = len(case.dataset.frames)
    return runs(case.dataset.frames, case.unit.parameters, case.errors(n), case.failure(n))


def _relaxed(case: ModelCase) -> Observation:
    rows, chosen = case.dataset.table.differences, case.dataset.label_set(case.unit.measured_label_set)
    energy = np.zeros(len(case.dataset.frames))
    energy[::2] = np.array([row.reference[chosen] for row in rows]) + case.errors(len(rows))
    return relaxed(case.dataset.frames, energy, case.failure(len(energy)))


def _paths(case: ModelCase) -> Observation:
    rows, chosen = case.dataset.table.paths, case.dataset.label_set(case.unit.measured_label_set)
    references = np.array([row.reference[chosen].barrier for row in rows], np.float64)
    barriers = references * (1 + case.errors(len(rows)))
    return bands(len(case.dataset.frames.numbers) // 2, barriers, case.failure(len(rows)), case.unit.parameters)


def _pairs(case: ModelCase) -> Observation:
    rows, chosen = case.dataset.table.pairs, case.dataset.label_set(case.unit.measured_label_set)
    scale = 1.0 + case.errors(len(rows))[:, None]
    energy = (scale * np.array([row.reference[chosen].energies for row in rows])).ravel()
    force = (scale * np.array([row.reference[chosen].forces for row in rows])).ravel()
    failure = np.repeat(case.failure(len(rows)), len(energy) // len(rows))
    forces = np.zeros((len(energy), 2, 3))
    forces[:, 0, 0], forces[:, 1, 0] = -force, force
    energy[failure != 0], forces[failure != 0] = np.nan, np.nan
    return Observation({"energy": energy, "forces": forces.reshape(-1, 3), "failure": failure})


def _dynamics(case: ModelCase) -> Observation:
    parameters, n = nve_parameters(case.unit.parameters), len(case.dataset.frames)
    frames, times = case.dataset.frames, parameters.times_ps
    slope = case.model.drift * np.exp(case.rng.normal(0, 0.8, n)) * case.rng.choice((-1, 1), n)
    noise = 1e-6 * np.cumsum(case.rng.normal(0, 1, (n, len(times))), axis=1)
    total = frames.n_atoms[:, None] * (-4.0 + slope[:, None] * times + noise - noise[:, :1])
    failure, completed = np.zeros(n, np.int8), np.full(n, parameters.steps)
    bad = case.rng.uniform(0, 1, n) < 0.4 * case.model.quality
    failure[bad] = case.rng.choice((Cause.EXPLODED, Cause.EXPLODED, Cause.OVER_TIME, Cause.ERROR), int(bad.sum()))
    completed[bad] = case.rng.integers(parameters.stride, parameters.steps, int(bad.sum()))
    sample = np.arange(parameters.n_samples) * parameters.stride
    reached = sample <= completed[:, None]
    kinetic = 0.04 * frames.n_atoms[:, None] * (1 + 0.1 * np.cos(100 * times))
    energies = {"total_energy": np.where(reached, total, np.nan), "kinetic": np.where(reached, kinetic, np.nan)}
    return Observation(energies | {"completed_steps": completed, "failure": failure})


def _times(case: ModelCase) -> Observation:
    parameters, n_structures = timing_parameters(case.unit.parameters), len(case.dataset.frames)
    n = parameters.n_frames
    atoms = case.rng.integers(800, 1001, n)
    per_atom = 1e-6 * case.model.speed * np.exp(case.rng.normal(0, 0.1, n))
    failure = case.failure(n)
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
            "cold": np.array([5e-5 * case.model.speed, 900.0]),
            "batch_s": 4e-6 * case.model.speed * 900 * np.exp(case.rng.normal(0, 0.05, batches)),
            "batch_atoms": np.full(8, 900),
            "batch_planned_atoms": np.full(8, 900),
            "reference_s": np.array([[1e-3, 1.05e-3], [1e-3, 1.1e-3]]),
            "wire_s": np.full(5, 1.1e-4),
        },
        {"properties": "energy,forces,stress"},
    )


_OBSERVED: dict[str, Callable[[ModelCase], Observation]] = {
    "labelled_frames": _labelled,
    "energy_differences": _differences,
    "energy_profiles": _scans,
    "equation_of_state": _curves,
    "elasticity": _relative,
    "phonons": _relative,
    "compression": _pressed,
    "dynamics": _systems,
    "relaxed_structures": _relaxed,
    "reaction_paths": _paths,
    "diatomics": _pairs,
    "nve": _dynamics,
    "efficiency": _times,
    "physicality": _physicality,
    "thermal_conductivity": _conductivities,
}
