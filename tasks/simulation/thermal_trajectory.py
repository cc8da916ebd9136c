"""A trajectory of one molecule in contact with a heat bath, with energies and forces of the frames that are kept.

The bath is that of `tasks.simulation.langevin`. Momenta and noise follow from one seed. The state is handed out at the
beginning of each block of steps; a run that continues from it makes the same frames.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from ase.units import kB
from numpy.typing import NDArray

from tasks.model.calculator import BatchCalculator
from tasks.simulation.langevin import LangevinRun
from tasks.simulation.velocities import thermal_momenta
from tasks.simulation.velocity_verlet import RunBounds
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import Cause, FrameError, Predictions, Properties

BLOCK = 500  # steps with one stream of noise
# A molecule hotter than this, or whose energy grew by this much, has exploded.
BOUNDS = RunBounds(energy_ev_per_atom=10.0, temperature_k=50_000.0)
# The names of the kept frames' arrays in a checkpoint, beside those of the state.
KEPT = ("kept_positions", "kept_energy", "kept_forces", "kept_temperature")

Checkpoint = Mapping[str, NDArray[Any]]


class TrajectoryError(ValueError):
    """A trajectory that ends before its last frame: one line with the step and the reason."""


@dataclass(frozen=True)
class ThermalSettings:
    """How a trajectory is made.

    Args:
        n_frames: that are kept.
        every: steps from one to the next.
        equilibration: steps before the first.
        temperature_k: of the heat bath [K].
        timestep_fs: [fs].
        friction_per_ps: [1/ps].
    """

    n_frames: int
    every: int
    equilibration: int
    temperature_k: float
    timestep_fs: float
    friction_per_ps: float

    @property
    def n_steps(self) -> int:
        """The number of steps up to the last frame."""
        return self.equilibration + self.every * (self.n_frames - 1)

    def step_of(self, frame: int) -> int:
        """The step at which a frame is kept."""
        return self.equilibration + self.every * frame


@dataclass(frozen=True, eq=False)
class ThermalFrames:
    """The kept frames of a molecule with n atoms, in the order of time.

    Args:
        positions: (f, n, 3) [Å].
        energy: (f,) potential energy [eV].
        forces: (f, n, 3) [eV/Å].
        temperature: (f,) of the kinetic energy over 3n degrees of freedom [K].
    """

    positions: Float
    energy: Float
    forces: Float
    temperature: Float


class _Listened:
    """A model, with the words of its last failure."""

    def __init__(self, model: BatchCalculator) -> None:
        self._model = model
        self.properties: Properties = model.properties
        self.max_atoms_per_batch = model.max_atoms_per_batch
        self.error: FrameError | None = None

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        """The model's answers."""
        answer = self._model.compute(frames, properties)
        if answer.errors:
            self.error = next(iter(answer.errors.values()))
        return answer


def thermal_trajectory(
    start: Frames,
    settings: ThermalSettings,
    seed: int,
    model: BatchCalculator,
    *,
    checkpoint: Checkpoint | None = None,
    keep: Callable[[Checkpoint], None] = lambda state: None,
    progress: Callable[[int], None] = lambda step: None,
) -> ThermalFrames:
    """The trajectory that begins at the one structure `start`.

    Args:
        seed: of momenta and noise.
        checkpoint: what an interrupted run gave to `keep` last; None: the run begins.
        keep: called at the beginning of each block with all that the rest of the run needs.
        progress: called after each step with the number of steps done.

    Raises:
        TrajectoryError: the model failed, or the molecule exploded.
    """
    n, listened = len(start.numbers), _Listened(model)
    run = LangevinRun(
        start,
        thermal_momenta(start, settings.temperature_k, seed),
        settings.timestep_fs,
        listened,
        BOUNDS,
        temperature_k=float(settings.temperature_k),
        friction_per_ps=settings.friction_per_ps,
        seeds=[seed],
        state=None if checkpoint is None else {k: v for k, v in checkpoint.items() if k not in KEPT},
    )
    frames = _empty(settings.n_frames, n)
    n_kept = 0 if checkpoint is None else len(checkpoint["kept_energy"])
    if checkpoint is not None:
        for name, array in frames.items():
            array[:n_kept] = checkpoint[name]
    done = int(run.completed[0])
    while True:
        _check(run, listened, done)
        if n_kept < settings.n_frames and done == settings.step_of(n_kept):
            frames["kept_positions"][n_kept], frames["kept_forces"][n_kept] = run.positions, run.forces
            frames["kept_energy"][n_kept] = run.potential[0]
            frames["kept_temperature"][n_kept] = run.kinetic[0] / (1.5 * n * kB)
            n_kept += 1
        if n_kept == settings.n_frames:
            return ThermalFrames(*(frames[f"kept_{name}"] for name in ("positions", "energy", "forces", "temperature")))
        if done % BLOCK == 0:
            run.begin_block(done // BLOCK)
            state = {**run.state, **{name: array[:n_kept] for name, array in frames.items()}}
            keep({name: np.array(array) for name, array in state.items()})  # the run changes its own
        run.step()
        done += 1
        progress(done)


def _empty(n_frames: int, n: int) -> dict[str, Float]:
    shapes = ((n_frames, n, 3), (n_frames,), (n_frames, n, 3), (n_frames,))
    return {name: np.full(shape, np.nan) for name, shape in zip(KEPT, shapes, strict=True)}


def _check(run: LangevinRun, listened: _Listened, step: int) -> None:
    """The molecule is alive."""
    cause = Cause(int(run.failure[0]))
    if cause == Cause.NONE:
        return
    if listened.error is not None:
        raise TrajectoryError(f"step {step}: no energy: {listened.error.text} ({listened.error.kind})")
    raise TrajectoryError(f"step {step}: the molecule has {cause.word}")
