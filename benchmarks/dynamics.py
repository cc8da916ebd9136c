"""The judge's own cost of a step of molecular dynamics, and of replicas, beside ASE's Langevin over a socket."""

from __future__ import annotations

import os
import secrets
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from ase import units
from ase.calculators.socketio import SocketIOCalculator
from ase.md.langevin import Langevin

from benchmarks.frames import copper
from benchmarks.report import Figure
from benchmarks.wire import in_container, peer
from judge.evaluation.checkpoint_file import CheckpointFile
from sandbox.drivers.docker_driver import DockerDriver
from sandbox.wire.remote import RemoteCalculator
from tasks.model.calculator import BatchCalculator
from tasks.simulation.langevin import LangevinRun
from tasks.simulation.velocities import thermal_momenta
from tasks.simulation.velocity_verlet import RunBounds
from tasks.structures.frames import Frames
from tasks.structures.predictions import Predictions, Properties

N_ATOMS, TEMPERATURE_K, FRICTION_PER_PS = 1503, 300.0, 1.0
ROUNDS, STEPS, BLOCK = 5, 500, 100
REPLICAS, REPLICA_STEPS, CALL_S = 16, 25, 0.02


class Costly:
    """No forces, after 20 ms a batch."""

    properties: Properties = ("energy", "forces")
    max_atoms_per_batch = 100_000

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        time.sleep(CALL_S)
        return Predictions.checked(frames, np.zeros(len(frames)), np.zeros_like(frames.positions), None, {})


def langevin(model: BatchCalculator, replicas: int = 1) -> LangevinRun:
    """Copper in a heat bath."""
    frames = Frames.from_atoms([copper(N_ATOMS)] * replicas)
    seeds = list(range(replicas))
    momenta = thermal_momenta(frames, TEMPERATURE_K, seeds)
    bounds = RunBounds(np.inf, np.inf)
    return LangevinRun(
        frames, momenta, 1.0, model, bounds, temperature_k=TEMPERATURE_K, friction_per_ps=FRICTION_PER_PS, seeds=seeds
    )


def our_steps_s(run: LangevinRun, stored: list[Any], checkpoint: CheckpointFile) -> float:
    """Seconds of 500 steps; after each block a stored frame and a checkpoint."""
    begin = time.perf_counter()
    for block in range(STEPS // BLOCK):
        run.begin_block(block)
        for _ in range(BLOCK):
            run.step()
        stored.append(run.positions.astype(np.float32))
        checkpoint.save({**run.state, "frames": np.array(stored[-1])})
    return time.perf_counter() - begin


def step_costs(remote: RemoteCalculator) -> tuple[float, float]:
    """Medians of rounds in turn [ms a step]: ours, and ASE's Langevin over its SocketIOCalculator."""
    name = f"bench_{os.getpid()}_{secrets.token_hex(3)}"
    atoms = copper(N_ATOMS)
    atoms.calc = SocketIOCalculator(unixsocket=name)
    run, stored, ours, theirs = langevin(remote), list[Any](), [], []
    dynamics = Langevin(
        atoms,
        timestep=units.fs,
        temperature_K=TEMPERATURE_K,
        friction=FRICTION_PER_PS / (1000 * units.fs),
        rng=np.random.default_rng(0),
    )
    with peer("socketio", name, N_ATOMS), tempfile.TemporaryDirectory() as folder:
        try:
            dynamics.run(20)
            our_steps_s(run, [], CheckpointFile(Path(folder) / "checkpoint"))
            for _ in range(ROUNDS):
                ours.append(our_steps_s(run, stored, CheckpointFile(Path(folder) / "checkpoint")))
                begin = time.perf_counter()
                dynamics.run(STEPS)
                theirs.append(time.perf_counter() - begin)
        finally:
            atoms.calc.close()
    return float(np.median(ours)) * 1000 / STEPS, float(np.median(theirs)) * 1000 / STEPS


def replicas_s(replicas: int) -> float:
    """Seconds of 25 steps of so many replicas with a calculator that costs 20 ms a batch."""
    run = langevin(Costly(), replicas)
    begin = time.perf_counter()
    for _ in range(REPLICA_STEPS):
        run.step()
    return time.perf_counter() - begin


def measure_dynamics(driver: DockerDriver) -> list[Figure]:
    """A step of 1503 atoms with a model that costs nothing in a container, and 16 replicas at once."""
    ours, theirs = in_container(driver, "one_by_one", step_costs)
    share = replicas_s(REPLICAS) / (REPLICAS * replicas_s(1))
    return [
        Figure("Langevin step of 1503 atoms, free model", ours, "ms", 1.0),
        Figure("ASE's Langevin over SocketIOCalculator", theirs, "ms"),
        Figure("ASE's / ours", theirs / ours, "times", 3.0, at_least=True),
        Figure("16 replicas at once / one after another, 20 ms a batch", share, "", 1 / 8),
    ]
