"""From stored answers to variants, displacements, strains and pairs: items by structure and probe, and metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tasks.datasets.dataset import Dataset
from tasks.kind import Observation
from tasks.metrics.averages import Average
from tasks.metrics.contributions import stored_column
from tasks.metrics.measurement import Items
from tasks.metrics.metric import Metric
from tasks.observing.frames_observation import read_frames
from tasks.physicality.variants import PROBES, VOIGT
from tasks.simulation import diatomics
from tasks.structures.frames import Float
from tasks.structures.predictions import Cause

GRADIENT, STRAIN, DIATOMICS = "gradient", "strain", "diatomics"
# By probe whose copies are also asked for their stress, the group of its items.
STRESS_GROUPS = {"rotation": "rotation_stress", "lattice": "lattice_stress"}


class MetricSource(NamedTuple):
    """The items that a metric is computed from.

    Args:
        group: of the items.
        cost: W, in `unit`.
        largest: whether the largest of the items is also a metric.
    """

    group: str
    column: str
    unit: str
    cost: float
    largest: bool = False


METRICS: dict[str, MetricSource] = {
    **{f"{p}_energy": MetricSource(p, "energy_error", "eV/atom", 1.0, p in ("rotation", "repeat")) for p in PROBES},
    **{f"{p}_forces": MetricSource(p, "force_error", "eV/Å", 10.0, p in ("rotation", "repeat")) for p in PROBES},
    **{group: MetricSource(group, "stress_error", "eV/Å³", 0.3) for group in STRESS_GROUPS.values()},
    "gradient_forces": MetricSource(GRADIENT, "force_error", "eV/Å", 10.0, True),
    "strain_stress": MetricSource(STRAIN, "stress_error", "eV/Å³", 0.3, True),
    "diatomics_extra_flips": MetricSource(DIATOMICS, "extra_flips", "", 20.0),
    "diatomics_tortuosity": MetricSource(DIATOMICS, "tortuosity", "", 10.0),
    "diatomics_energy_jump": MetricSource(DIATOMICS, "energy_jump", "eV", 15.0),
    "diatomics_conservation": MetricSource(DIATOMICS, "conservation", "", 1.0),
}
FURTHER_LAWS: dict[str, MetricSource] = {
    "net_force": MetricSource("net_force", "force_error", "eV/Å", 10.0),
    "torque": MetricSource("torque", "torque_error", "eV", 10.0),
    "jacobian_antisymmetry": MetricSource("jacobian", "antisymmetry", "", 1.0, True),
    "ghosts_forces": MetricSource("ghosts", "force_error", "eV/Å", 10.0),
    "distant_atom_forces": MetricSource("distant_atom", "force_error", "eV/Å", 10.0),
    "slabs_energy": MetricSource("slabs", "energy_error", "eV/atom", 1.0),
    "time_step_exponent": MetricSource("time_step", "exponent_error", "", 2.0),
    "single_precision": MetricSource("precision", "single_precision", "", 1.0),
}
METRICS |= FURTHER_LAWS


def curve_columns(n: int) -> tuple[str, ...]:
    """Names of the items' columns that hold a pair's energies at its n distances: `diatomics.DiatomicCurve`."""
    return tuple(f"curve_{i:02d}" for i in range(n))


class ProbeItem(NamedTuple):
    """One item.

    Args:
        values: by column; NaN where it failed, or where the model has no such property.
        failure: the largest code of `Cause` of its frames.
        supported: whether the model offers the properties that it needs.
    """

    id: str
    group: str
    cluster: str
    failure: int
    values: Mapping[str, float]
    supported: bool

    @property
    def cause(self) -> int:
        """The code of `Cause`: a frame failed, a property is missing, or a number is not finite."""
        needed = [source.column for source in METRICS.values() if source.group == self.group]
        if self.failure or all(np.isfinite(self.values[name]) for name in needed):
            return self.failure
        return Cause.NON_FINITE if self.supported else Cause.UNSUPPORTED


def as_items(rows: Sequence[ProbeItem]) -> Items:
    """The rows as a table; a column that a row lacks is NaN there."""
    names = list(dict.fromkeys(name for row in rows for name in row.values))
    return Items(
        id=[row.id for row in rows],
        group=[row.group for row in rows],
        cluster=[row.cluster for row in rows],
        cause=np.array([row.cause for row in rows], np.int8),
        columns={name: np.array([row.values.get(name, np.nan) for row in rows], np.float64) for name in names},
    )


def metrics(items: Items) -> dict[str, Metric]:
    """Every metric that has items; for some of them also the largest value of the items."""
    metrics: dict[str, Metric] = {}
    for average in averages(items):
        source = METRICS[average.name]
        metrics[average.name] = mean = average.metric(None, source.cost)
        if source.largest:
            error = average.sums[average.counts > 0]
            finite = error[np.isfinite(error)]
            value = float(finite.max()) if finite.size else None
            worst = float(np.fmin(error, source.cost).max())  # fmin gives the cost if the error is NaN
            metrics[f"{average.name}_largest"] = replace(mean, value=value, charged=worst)
    return metrics


def averages(items: Items) -> list[Average]:
    """The mean over the items of each metric's group, of the metrics that have items."""
    groups = np.array(items.group)
    members = {name: (groups == source.group).astype(np.float64) for name, source in METRICS.items()}
    return [
        Average(name, source.unit, stored_column(items.columns, source.column), members[name])
        for name, source in METRICS.items()
        if members[name].any()
    ]


def variant_rows(observation: Observation, dataset: Dataset) -> list[ProbeItem]:
    """By probe and structure, the largest errors of the answers to its variants.

    `energy_error` [eV/atom] and `force_error` [eV/Å], the length of the difference vector of one atom, are differences
    from the values that follow from the answer to the structure itself.
    """
    original, probe, n_atoms = (flat_array(observation, f"variant_{name}") for name in ("original", "probe", "n_atoms"))
    v, total = len(original), int(n_atoms.sum())
    reference = read_frames(observation, dataset.frames)
    energy = observation.array("variant_energy", (v,))
    energy_error = np.abs(energy - n_atoms // dataset.frames.n_atoms[original] * reference.energy[original]) / n_atoms
    force_error = np.full(v, np.nan)
    with_forces = reference.forces is not None
    if reference.forces is not None and "variant_forces" in observation.arrays:
        rotation = np.repeat(observation.array("variant_rotation", (v, 3, 3)), n_atoms, axis=0)
        expected = np.einsum("aij,aj->ai", rotation, reference.forces[flat_array(observation, "variant_atom")])
        difference = observation.array("variant_forces", (total, 3)) - expected
        starts = np.concatenate([[0], np.cumsum(n_atoms)[:-1]])
        force_error = np.maximum.reduceat(np.linalg.norm(difference, axis=1), starts)
    failure = np.maximum(observation.causes(v, name="variant_failure"), reference.failure[original])
    rows = []
    for code, name in enumerate(PROBES):
        for index in np.unique(original[probe == code]):
            copies = (probe == code) & (original == index)
            # max, not nanmax: one failed variant fails the item.
            errors = {"energy_error": energy_error[copies].max(), "force_error": force_error[copies].max()}
            rows.append(structure_item(dataset, int(index), name, failure[copies], errors, with_forces))
    return rows


def gradient_rows(observation: Observation, dataset: Dataset, steps: Sequence[float]) -> list[ProbeItem]:
    """By structure, the difference of its forces from −∇E along random directions.

    `force_error` is the root mean square over directions of dE(x + hd)/dh + F·d [eV/Å]. Over random d of length 1 it
    estimates the root mean square error of a force component. `scale` is the root mean square of F·d, and `step` the
    step [Å] of the differences.
    """
    n, total = len(dataset.frames), len(dataset.frames.numbers)
    reference = read_frames(observation, dataset.frames)
    n_directions = _length(observation, "direction")
    along = observation.array("direction", (n_directions, total, 3))
    shape = (n_directions, len(steps), 2, n)
    slope, step = _slopes(observation.array("displaced_energy", shape), steps)
    forces = np.full((total, 3), np.nan) if reference.forces is None else reference.forces
    work = np.add.reduceat((along * forces).sum(axis=2), dataset.frames.offsets[:-1], axis=1)
    failure = np.maximum(observation.causes(*shape, name="displaced_failure").max(axis=(0, 1, 2)), reference.failure)
    columns = {"force_error": root_mean_square(slope + work), "scale": root_mean_square(work), "step": step}
    with_forces = reference.forces is not None
    return [structure_item(dataset, i, GRADIENT, failure[i], _at(columns, i), with_forces) for i in range(n)]


def strain_rows(observation: Observation, dataset: Dataset, steps: Sequence[float]) -> list[ProbeItem]:
    """By structure that is periodic in all directions, the difference of its stress from (1/V) dE/dε.

    `stress_error` is the root mean square over the six components [eV/Å³], `scale` that of the stress itself, and
    `step` the step of the differences.
    """
    chosen = np.flatnonzero(dataset.frames.periodic)
    if not len(chosen):
        return []
    shape = (len(VOIGT), len(steps), 2, len(chosen))
    # A shear strains two components of the symmetric matrix at once.
    weight = np.array([1.0 if row == column else 0.5 for row, column in VOIGT])[:, None]
    slope, step = _slopes(observation.array("strained_energy", shape), steps)
    derived = weight * slope / dataset.frames.volumes[chosen]
    stress = np.full((len(chosen), 6), np.nan)
    failure = observation.causes(*shape, name="strained_failure").max(axis=(0, 1, 2))
    if "stressed_stress" in observation.arrays:
        stress = observation.array("stressed_stress", (len(chosen), 6))
        failure = np.maximum(failure, observation.causes(len(chosen), name="stressed_failure"))
    columns = {
        "stress_error": root_mean_square(derived - stress.T),
        "scale": root_mean_square(stress.T),
        "step": step,
    }
    return [
        # A missing stress is no failure of the frame.
        structure_item(dataset, int(index), STRAIN, failure[i], _at(columns, i), bool(np.isfinite(stress[i]).all()))
        for i, index in enumerate(chosen)
    ]


def diatomic_rows(observation: Observation, symbols: Sequence[str], n: int) -> list[ProbeItem]:
    """By element, the measures of `tasks.simulation.diatomics`, and the curve of `n` distances."""
    if not symbols:
        return []
    k = len(symbols)
    distance = observation.array("diatomic_distance", (k, n))
    energy = observation.array("diatomic_energy", (k * n,)).reshape(k, n)
    force, with_forces = np.full((k, n), np.nan), "diatomic_forces" in observation.arrays
    if with_forces:
        force = diatomics.radial_force(observation.array("diatomic_forces", (2 * k * n, 3)).reshape(k, n, 2, 3))
    causes = observation.causes(k * n, name="diatomic_failure").reshape(k, n)
    failure, relative = causes.max(axis=1), diatomics.relative_energies(energy, causes != 0)
    rows = []
    for i, symbol in enumerate(symbols):
        values = diatomics.measures(distance[i], energy[i], force[i])._asdict()
        if failure[i]:
            values = dict.fromkeys(values, np.nan)
        # The curve of a failed pair is kept at the distances that were answered.
        values |= zip(curve_columns(n), relative[i].tolist(), strict=True)
        rows.append(ProbeItem(f"{symbol}2", DIATOMICS, symbol, int(failure[i]), values, with_forces))
    return rows


def _slopes(energy: Float, steps: Sequence[float]) -> tuple[Float, Float]:
    """(k, n) derivatives from energies (k, steps, 2, n), forward and back, and (n,) the finer of the two steps used.

    A coarse step shows the anharmonicity of the energy, a fine one its rounding. So the central differences of each
    step and the next finer one are extrapolated to a step of zero, and the estimate that lies closest to its neighbours
    counts, whatever the model's forces are (after C. J. F. Ridders, Adv. Eng. Softw. 4, 75 (1982),
    doi:10.1016/S0141-1195(82)80057-0). NaN where an energy at any step is not finite.
    """
    h = np.array(steps)
    plain = (energy[:, :, 0] - energy[:, :, 1]) / (2.0 * h[:, None])
    coarse, fine = h[:-1, None] ** 2, h[1:, None] ** 2
    estimates = (coarse * plain[:, 1:] - fine * plain[:, :-1]) / (coarse - fine)
    gaps = root_mean_square(np.diff(estimates, axis=1))
    edge = np.zeros((1, gaps.shape[1]))
    best = np.maximum(np.concatenate([edge, gaps]), np.concatenate([gaps, edge])).argmin(axis=0)
    slopes = np.take_along_axis(estimates, best[None, None], axis=1)[:, 0]
    finite = np.isfinite(energy).all(axis=(0, 1, 2))
    return np.where(finite, slopes, np.nan), np.where(finite, h[1:][best], np.nan)


def root_mean_square(values: Float) -> Float:
    """The root mean square of (k, …) over k."""
    return np.asarray(np.sqrt((values**2).mean(axis=0)))


def _at(columns: Mapping[str, Float], index: int) -> dict[str, float]:
    return {name: float(column[index]) for name, column in columns.items()}


def structure_item(
    dataset: Dataset, index: int, group: str, failure: NDArray[np.int8], values: Mapping[str, float], supported: bool
) -> ProbeItem:
    """The item of a structure in a group; its values are NaN if a frame of it failed."""
    name, cause = dataset.table.id[index], int(np.max(failure))
    if cause:
        values = dict.fromkeys(values, np.nan)
    return ProbeItem(f"{name}: {group}", group, dataset.clusters[index], cause, values, supported)


def _length(observation: Observation, name: str) -> int:
    if name not in observation.arrays:
        raise ValueError(f"observation: {name} is missing")
    return len(observation.arrays[name])


def flat_array(observation: Observation, name: str) -> NDArray[np.int64]:
    """The integers (k,) of an observation. Raises ValueError if they are missing."""
    return observation.array(name, (_length(observation, name),), np.int64)
