"""Many relaxations at once over one model, compared with the same relaxations one after another."""

from __future__ import annotations

import time

import numpy as np
from ase import Atoms
from ase.build import bulk
from ase.calculators.calculator import Calculator
from ase.optimize import BFGS

from benchmarks.report import Figure
from tasks.kind import Watch
from tasks.model.calculator import AseCalculator, BatchCalculator, InProcessCalculator
from tasks.simulation.lockstep_batches import Job, run_concurrently
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import Predictions, Properties

N_STRUCTURES, N_STEPS, CALL_S = 64, 30, 0.02


class Wells(Calculator):
    """Each atom of a copper cell in its own well: energies take no time, and the relaxation does not end."""

    implemented_properties = ["energy", "forces"]  # noqa: RUF012
    bottoms = bulk("Cu", cubic=True).repeat(2).positions
    stiffness = np.linspace(1.0, 30.0, 32)[:, None]

    def calculate(self, atoms: Atoms, properties: list[str], system_changes: list[str]) -> None:
        displacement = atoms.positions - self.bottoms
        energy = 0.5 * float((self.stiffness * displacement**2).sum())
        self.results = {"energy": energy, "forces": -self.stiffness * displacement}


class Costly(InProcessCalculator):
    """Takes 20 ms for each call, whatever the batch, or 20 ms for each structure."""

    def __init__(self, batching: bool) -> None:
        super().__init__(Wells())
        self._batching = batching

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        time.sleep(CALL_S if self._batching else CALL_S * len(frames))
        return super().compute(frames, properties)


def relaxation(seed: int) -> Job[Float]:
    """30 steps of BFGS from rattled positions."""

    def run(model: BatchCalculator) -> Float:
        atoms = bulk("Cu", cubic=True).repeat(2)
        atoms.rattle(0.1, seed=seed)
        atoms.calc = AseCalculator(model, ("energy", "forces"))
        BFGS(atoms, logfile=None).run(fmax=0.0, steps=N_STEPS)
        return np.array(atoms.positions)

    return Job(32, run)


def at_once(batching: bool) -> tuple[float, bytes]:
    """Seconds of all relaxations at once, and the bytes of the final positions."""
    jobs = [relaxation(seed) for seed in range(N_STRUCTURES)]
    begin = time.perf_counter()
    done = run_concurrently(jobs, Costly(batching), Watch(time.monotonic))
    elapsed = time.perf_counter() - begin
    return elapsed, b"".join(each.value.tobytes() for each in done if each.value is not None)


def one_after_another() -> tuple[float, bytes]:
    """The same with a plain loop."""
    model = Costly(batching=True)
    begin = time.perf_counter()
    values = [relaxation(seed).run(model) for seed in range(N_STRUCTURES)]
    return time.perf_counter() - begin, b"".join(value.tobytes() for value in values)


def measure_concurrency() -> list[Figure]:
    """64 relaxations of 32 atoms, 30 BFGS steps, with a calculator that costs 20 ms a call."""
    sequential_s, expected = one_after_another()
    batched_s, first = at_once(batching=True)
    _, second = at_once(batching=True)
    single_s, third = at_once(batching=False)
    same = first == second == third == expected
    return [
        Figure("64 relaxations one after another", sequential_s, "s"),
        Figure("at once / one after another, 20 ms a batch", batched_s / sequential_s, "", 0.1),
        Figure("at once / one after another, 20 ms a structure", single_s / sequential_s, "", 1.1),
        Figure("runs that gave the same bytes, of 3", 3.0 if same else 0.0, "", 3.0, at_least=True),
    ]
