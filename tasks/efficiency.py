"""Efficiency: microseconds per atom for energy, forces and stress of one frame a message, on the judge's clock.

Each timed frame follows an untimed one of the same shape, and all are rattled after replication, so that none repeats
and no cache helps. The cost of the wire is measured and shown, never subtracted. A reference calculator in this
process is timed before and after, so that a noisy host can be told from a slow model; nothing is done about it here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from ase.build import bulk
from ase.calculators.emt import EMT
from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt

from tasks.calculator import BatchCalculator, InProcessCalculator
from tasks.dataset import Dataset, Structures
from tasks.frames import Float, Frames
from tasks.kind import Observation, Parameters, Watch, Work
from tasks.measurement import Items, Measurement, Metric
from tasks.pace import Pace
from tasks.predictions import ALL_PROPERTIES, Cause, Predictions, Properties
from tasks.replicate import rattled, replicated

N_REFERENCE = 5
N_ECHO = 20
MICROSECOND = 1e-6


class EfficiencyParameters(Parameters):
    """What is timed.

    Args:
        n_frames: timed frames, made of the dataset's cells in turn.
        max_atoms: a cell is replicated to at most so many.
        rattle: standard deviation of the displacements [Å].
        warm_up_fraction: of the timed frames, left out of the means at the beginning; one at least.
    """

    n_frames: PositiveInt = 20
    max_atoms: PositiveInt = 128
    rattle: PositiveFloat = 0.05
    seed: NonNegativeInt = 0
    warm_up_fraction: float = Field(0.1, ge=0, lt=1)

    @property
    def n_warm_up(self) -> int:
        """Timed frames that do not count."""
        return max(1, round(self.warm_up_fraction * self.n_frames))


class Efficiency:
    """Time per atom."""

    name: str = "efficiency"
    observe_version: int = 1
    measure_version: int = 1
    parameters: type[Parameters] = EfficiencyParameters

    def observe(
        self, structures: Structures, parameters: EfficiencyParameters, model: BatchCalculator, watch: Watch
    ) -> Observation:
        """Times the model.

        Arrays: seconds, n_atoms, failure (n_frames,) of each timed frame, NaN where it failed; cold_s (1,) of the very
        first call, of the first frame's shape; wire_s (k,) of echoes as large as a frame, empty where there is no wire;
        reference_s (2,) before and after.
        """
        rng = np.random.default_rng(parameters.seed)
        cells = [replicated(structures.frames, i, parameters.max_atoms) for i in range(len(structures.frames))]
        chosen = [cells[i % len(cells)] for i in range(parameters.n_frames)]
        wanted = asked_for(model, all(bool(cell.periodic.all()) for cell in cells))
        n = parameters.n_frames
        seconds, failure = np.full(n, np.nan), np.full(n, Cause.OVER_TIME, np.int8)
        before = time_reference(watch.clock)
        cold, pace = np.nan, Pace(watch, n)
        for i, cell in enumerate(chosen):
            if not pace.may_go_on(i):
                break
            first, _ = _timed(model, rattled(cell, parameters.rattle, rng), wanted, watch.clock)
            cold = first if i == 0 else cold
            elapsed, answer = _timed(model, rattled(cell, parameters.rattle, rng), wanted, watch.clock)
            failure[i] = answer.failure[0]
            seconds[i] = elapsed if failure[i] == 0 else np.nan
            watch.progress(i + 1, n, "frames")
        arrays = {
            "seconds": seconds,
            "n_atoms": np.array([len(cell.numbers) for cell in chosen], np.int64),
            "failure": failure,
            "cold_s": np.array([cold]),
            "wire_s": time_wire(watch, chosen[0]),  # last: an echo tells the model that it is being timed
            "reference_s": np.array([before, time_reference(watch.clock)]),
        }
        return Observation(arrays, {"properties": ",".join(wanted)})

    def work(self, structures: Structures, parameters: EfficiencyParameters) -> Work:
        """Two calls a timed frame."""
        return Work(2 * parameters.n_frames, 2 * parameters.n_frames * parameters.max_atoms)

    def measure(
        self, observation: Observation, dataset: Dataset, parameters: EfficiencyParameters, label_set: str | None
    ) -> Measurement:
        """Times per atom over the frames after the warm-up; one item a timed frame."""
        n = parameters.n_frames
        seconds, cause = observation.array("seconds", (n,)), observation.causes(n)
        n_atoms = observation.array("n_atoms", (n,), np.int64).astype(np.float64)
        time = seconds / n_atoms / MICROSECOND
        warm = np.arange(n) >= parameters.n_warm_up
        counted = time[warm & (cause == 0)]
        failed = int((cause != 0).sum())

        def metric(value: float, unit: str = "µs/atom") -> Metric:
            return Metric(value if np.isfinite(value) else None, unit, n, failed)

        statistics = (counted.mean(), np.median(counted), np.percentile(counted, 95)) if counted.size else (np.nan,) * 3
        names = ("time_mean", "time_median", "time_p95")
        metrics = {name: metric(float(value)) for name, value in zip(names, statistics, strict=True)}
        metrics["time_cold"] = metric(float(observation.array("cold_s", (1,))[0] / n_atoms[0] / MICROSECOND))
        wire = observation.arrays.get("wire_s", np.zeros(0))
        if wire.size:
            metrics["wire_cost"] = metric(float(np.median(wire)) / MICROSECOND, "µs")
        columns = {"seconds": seconds, "n_atoms": n_atoms, "time": time, "warm_up": np.where(warm, 0.0, 1.0)}
        source = [i % len(dataset.frames) for i in range(n)]
        items = Items(
            [f"{dataset.table.id[s]} {i + 1}" for i, s in enumerate(source)],
            [dataset.table.group[s] for s in source],
            [dataset.table.id[s] for s in source],
            cause,
            columns,
        )
        return Measurement(metrics, items, _notes(observation))


def asked_for(model: BatchCalculator, periodic: bool) -> Properties:
    """Energy, forces and stress, of these what the model offers; stress of periodic structures only."""
    return tuple(p for p in ALL_PROPERTIES if p in model.properties and (p != "stress" or periodic))


def time_reference(clock: Callable[[], float]) -> float:
    """Median seconds of EMT in this process on a fixed copper cell of 32 atoms."""
    atoms = bulk("Cu", cubic=True).repeat(2)
    atoms.rattle(0.05, seed=0)
    model, frames = InProcessCalculator(EMT()), Frames.from_atoms([atoms])
    return float(np.median([_timed(model, frames, ("energy", "forces"), clock)[0] for _ in range(N_REFERENCE)]))


def time_wire(watch: Watch, frames: Frames) -> Float:
    """(k,) seconds of round trips of as many bytes as `frames` has; (0,) where there is no wire."""
    if watch.echo is None:
        return np.zeros(0)
    nbytes = sum(array.nbytes for array in frames.arrays().values())
    return np.array([watch.echo(nbytes) for _ in range(N_ECHO)])


def _timed(
    model: BatchCalculator, frames: Frames, wanted: Properties, clock: Callable[[], float]
) -> tuple[float, Predictions]:
    begin = clock()
    answer = model.compute(frames, wanted)
    return clock() - begin, answer


def _notes(observation: Observation) -> dict[str, str]:
    properties = observation.notes.get("properties", "")
    before, after = observation.array("reference_s", (2,))
    reference = f"{1e3 * before:.2f} ms before, {1e3 * after:.2f} ms after"
    stress = {} if "stress" in properties.split(",") else {"stress": "not offered: energy and forces alone were timed"}
    return {"timed": properties, "reference calculator": reference} | stress
