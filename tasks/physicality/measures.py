"""What stored answers to variants, displacements, strains and pairs say: items by structure and probe, and metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tasks.datasets.dataset import Dataset
from tasks.kind import Observation
from tasks.metrics.contributions import Charged, Contribution, mean_of, stored_column
from tasks.metrics.failure_cost import charged_mean
from tasks.metrics.measurement import Items, Metric
from tasks.observing.frames_observation import read_frames
from tasks.physicality.variants import PROBES, VOIGT
from tasks.simulation import diatomics
from tasks.structures.frames import Float
from tasks.structures.predictions import Cause

GRADIENT, STRAIN, DIATOMICS = "gradient", "strain", "diatomics"


class _Of(NamedTuple):
    """Where a metric comes from.

    Args:
        group: of the items it is the mean of.
        cost: W, in `unit`.
        largest: whether the largest of the items is a metric, too.
    """

    group: str
    column: str
    unit: str
    cost: float
    largest: bool = False


METRICS: dict[str, _Of] = {
    **{f"{p}_energy": _Of(p, "energy_error", "eV/atom", 1.0, p in ("rotation", "repeat")) for p in PROBES},
    **{f"{p}_forces": _Of(p, "force_error", "eV/Å", 10.0, p in ("rotation", "repeat")) for p in PROBES},
    "gradient_forces": _Of(GRADIENT, "force_error", "eV/Å", 10.0, True),
    "strain_stress": _Of(STRAIN, "stress_error", "eV/Å³", 0.3, True),
    "diatomics_extra_flips": _Of(DIATOMICS, "extra_flips", "", 20.0),
    "diatomics_tortuosity": _Of(DIATOMICS, "tortuosity", "", 10.0),
    "diatomics_energy_jump": _Of(DIATOMICS, "energy_jump", "eV", 15.0),
    "diatomics_conservation": _Of(DIATOMICS, "conservation", "", 1.0),
}


def curve_columns(n: int) -> tuple[str, ...]:
    """Names of the items' columns that hold a pair's energies at its n distances: `diatomics.DiatomicCurve`."""
    return tuple(f"curve_{i:02d}" for i in range(n))


class Row(NamedTuple):
    """One item.

    Args:
        values: by column; NaN where it failed, or where the model has no such property.
        failure: the largest code of `Cause` of the frames it is made of.
        supported: whether the model offers the properties that it takes.
    """

    id: str
    group: str
    cluster: str
    failure: int
    values: Mapping[str, float]
    supported: bool

    @property
    def cause(self) -> int:
        """Why it failed: in a frame, for want of a property, or by numbers beyond all bounds."""
        needed = [of.column for of in METRICS.values() if of.group == self.group]
        if self.failure or all(np.isfinite(self.values[name]) for name in needed):
            return self.failure
        return Cause.NON_FINITE if self.supported else Cause.UNSUPPORTED


def as_items(rows: Sequence[Row]) -> Items:
    """The rows as a table; NaN in columns that others have."""
    names = list(dict.fromkeys(name for row in rows for name in row.values))
    return Items(
        id=[row.id for row in rows],
        group=[row.group for row in rows],
        cluster=[row.cluster for row in rows],
        cause=np.array([row.cause for row in rows], np.int8),
        columns={name: np.array([row.values.get(name, np.nan) for row in rows], np.float64) for name in names},
    )


def metrics(items: Items) -> dict[str, Metric]:
    """Every metric of which there is an item."""
    groups, found = np.array(items.group), {}
    for name, of in METRICS.items():
        error = items.columns[of.column][groups == of.group] if of.column in items.columns else np.zeros(0)
        if not len(error):
            continue
        finite = np.isfinite(error)
        counts = len(error), int((~finite).sum())
        mean = charged_mean(error, np.ones(len(error)), of.cost)
        found[name] = Metric(mean.value, of.unit, *counts, mean.charged, None, of.cost)
        if of.largest:
            value = float(error[finite].max()) if finite.any() else None
            worst = float(np.fmin(error, of.cost).max())  # fmin takes the cost where the error is NaN
            found[f"{name}_largest"] = Metric(value, of.unit, *counts, worst, None, of.cost)
    return found


def mean_contributions(items: Items, metrics: Mapping[str, Charged]) -> list[Contribution]:
    """Of the means; the largest of some items is no mean of them."""
    groups = np.array(items.group)
    found: list[Contribution] = []
    for name, of in METRICS.items():
        if name in metrics:
            mine = (groups == of.group).astype(np.float64)
            found += mean_of(metrics, name, stored_column(items, of.column), mine)
    return found


def variant_rows(observation: Observation, dataset: Dataset) -> list[Row]:
    """How far the answers to each structure's variants lie from what its own says: by probe, the largest of each.

    `energy_error` [eV/atom] and `force_error` [eV/Å], the length of the difference vector of one atom.
    """
    original, probe, n_atoms = (_flat(observation, f"variant_{name}") for name in ("original", "probe", "n_atoms"))
    v, total = len(original), int(n_atoms.sum())
    reference = read_frames(observation, dataset.frames)
    energy = observation.array("variant_energy", (v,))
    expected = n_atoms // dataset.frames.n_atoms[original] * reference.energy[original]
    energy_error = np.abs(energy - expected) / n_atoms
    force_error = np.full(v, np.nan)
    known = reference.forces is not None
    if reference.forces is not None and "variant_forces" in observation.arrays:
        rotation = np.repeat(observation.array("variant_rotation", (v, 3, 3)), n_atoms, axis=0)
        turned = np.einsum("aij,aj->ai", rotation, reference.forces[_flat(observation, "variant_atom")])
        difference = observation.array("variant_forces", (total, 3)) - turned
        starts = np.concatenate([[0], np.cumsum(n_atoms)[:-1]])
        force_error = np.maximum.reduceat(np.linalg.norm(difference, axis=1), starts)
    failure = np.maximum(_causes(observation, "variant", (v,)), reference.failure[original])
    rows = []
    for code, name in enumerate(PROBES):
        for index in np.unique(original[probe == code]):
            mine = (probe == code) & (original == index)
            # max, not nanmax: one variant that failed fails the item.
            values = {"energy_error": float(energy_error[mine].max()), "force_error": float(force_error[mine].max())}
            rows.append(_row(dataset, int(index), name, failure[mine], values, known))
    return rows


def gradient_rows(observation: Observation, dataset: Dataset, steps: Sequence[float]) -> list[Row]:
    """How far forces are from −∇E along random directions.

    `force_error` is the root mean square over directions of dE(x + hd)/dh + F·d [eV/Å]. Over random d of length 1 it
    estimates the root mean square error of a force component. `scale` is that of F·d itself, `step` where differences
    were taken.
    """
    n, total = len(dataset.frames), len(dataset.frames.numbers)
    reference = read_frames(observation, dataset.frames)
    n_directions = _length(observation, "direction")
    along = observation.array("direction", (n_directions, total, 3))
    shape = (n_directions, len(steps), 2, n)
    slope, step = _slopes(observation.array("displaced_energy", shape), steps)
    forces = np.full((total, 3), np.nan) if reference.forces is None else reference.forces
    work = np.add.reduceat((along * forces).sum(axis=2), dataset.frames.offsets[:-1], axis=1)
    failure = np.maximum(_causes(observation, "displaced", shape).max(axis=(0, 1, 2)), reference.failure)
    known = reference.forces is not None
    columns = {"force_error": _root_mean_square(slope + work), "scale": _root_mean_square(work), "step": step}
    return [_row(dataset, i, GRADIENT, failure[i], _at(columns, i), known) for i in range(n)]


def strain_rows(observation: Observation, dataset: Dataset, steps: Sequence[float]) -> list[Row]:
    """How far the stress is from (1/V) dE/dε, for structures that are periodic in all directions.

    `stress_error` is the root mean square over the six components [eV/Å³], `scale` that of the stress itself,
    `step` where differences were taken.
    """
    chosen = np.flatnonzero(dataset.frames.periodic)
    if not len(chosen):
        return []
    shape = (len(VOIGT), len(steps), 2, len(chosen))
    # A shear strains two components of the symmetric matrix at once.
    weight = np.array([1.0 if row == column else 0.5 for row, column in VOIGT])[:, None]
    slope, step = _slopes(observation.array("strained_energy", shape), steps)
    derived = weight * slope / dataset.frames.volumes[chosen]
    known = "stressed_stress" in observation.arrays
    stress = observation.array("stressed_stress", (len(chosen), 6)) if known else np.full((len(chosen), 6), np.nan)
    failure = _causes(observation, "strained", shape).max(axis=(0, 1, 2))
    if known:
        failure = np.maximum(failure, _causes(observation, "stressed", (len(chosen),)))
    columns = {
        "stress_error": _root_mean_square(derived - stress.T),
        "scale": _root_mean_square(stress.T),
        "step": step,
    }
    return [
        # A stress that is not there is no failure of the frame.
        _row(dataset, int(index), STRAIN, failure[i], _at(columns, i), bool(np.isfinite(stress[i]).all()))
        for i, index in enumerate(chosen)
    ]


def diatomic_rows(observation: Observation, symbols: Sequence[str], n: int) -> list[Row]:
    """What each element's curve is like: the measures of `tasks.simulation.diatomics`, and the curve itself."""
    if not symbols:
        return []
    k = len(symbols)
    distance = observation.array("diatomic_distance", (k, n))
    energy = observation.array("diatomic_energy", (k * n,)).reshape(k, n)
    force, known = np.full((k, n), np.nan), "diatomic_forces" in observation.arrays
    if known:
        force = diatomics.radial_force(observation.array("diatomic_forces", (2 * k * n, 3)).reshape(k, n, 2, 3))
    causes = _causes(observation, "diatomic", (k * n,)).reshape(k, n)
    failure, relative = causes.max(axis=1), diatomics.relative_energies(energy, causes != 0)
    rows = []
    for i, symbol in enumerate(symbols):
        values = diatomics.measures(distance[i], energy[i], force[i])._asdict()
        if failure[i]:
            values = dict.fromkeys(values, np.nan)
        # The curve has a gap where the pair failed: a reader sees where.
        values |= zip(curve_columns(n), relative[i].tolist(), strict=True)
        rows.append(Row(f"{symbol}2", DIATOMICS, symbol, int(failure[i]), values, known))
    return rows


def _slopes(energy: Float, steps: Sequence[float]) -> tuple[Float, Float]:
    """(k, n) derivatives from energies (k, steps, 2, n), forth and back, and (n,) the finer of the two steps used.

    A coarse step sees the anharmonicity of the energy, a fine one the energy's rounding. So the central differences of
    each step and the next finer one are extrapolated to a step of zero, and of these estimates the one is taken that
    lies closest to its neighbours, whatever the model's forces say (after C. J. F. Ridders, Adv. Eng. Softw. 4, 75
    (1982), doi:10.1016/S0141-1195(82)80057-0). NaN where an energy at any step is not finite.
    """
    h = np.array(steps)
    plain = (energy[:, :, 0] - energy[:, :, 1]) / (2.0 * h[:, None])
    coarse, fine = h[:-1, None] ** 2, h[1:, None] ** 2
    estimates = (coarse * plain[:, 1:] - fine * plain[:, :-1]) / (coarse - fine)
    gaps = _root_mean_square(np.diff(estimates, axis=1))
    edge = np.zeros((1, gaps.shape[1]))
    best = np.maximum(np.concatenate([edge, gaps]), np.concatenate([gaps, edge])).argmin(axis=0)
    slopes = np.take_along_axis(estimates, best[None, None], axis=1)[:, 0]
    sound = np.isfinite(energy).all(axis=(0, 1, 2))
    return np.where(sound, slopes, np.nan), np.where(sound, h[1:][best], np.nan)


def _root_mean_square(values: Float) -> Float:
    """Of (k, …) over k."""
    return np.asarray(np.sqrt((values**2).mean(axis=0)))


def _at(columns: Mapping[str, Float], index: int) -> dict[str, float]:
    return {name: float(column[index]) for name, column in columns.items()}


def _row(
    dataset: Dataset, index: int, group: str, failure: NDArray[np.int8], values: Mapping[str, float], known: bool
) -> Row:
    name, cause = dataset.table.id[index], int(np.max(failure))
    if cause:
        values = dict.fromkeys(values, np.nan)
    return Row(f"{name}: {group}", group, dataset.clusters[index], cause, values, known)


def _length(observation: Observation, name: str) -> int:
    if name not in observation.arrays:
        raise ValueError(f"observation: {name} is missing")
    return len(observation.arrays[name])


def _flat(observation: Observation, name: str) -> NDArray[np.int64]:
    return observation.array(name, (_length(observation, name),), np.int64)


def _causes(observation: Observation, name: str, shape: tuple[int, ...]) -> NDArray[np.int8]:
    """The codes of `Cause` stored under `name`, in that shape."""
    failure = observation.array(f"{name}_failure", shape, np.int8)
    if failure.size and not (failure.min() >= 0 and failure.max() <= max(Cause)):
        raise ValueError(f"observation: {name}_failure has codes that name no cause")
    return failure
