"""The wire compared with its floor (a bare echo), with ASE's SocketIOCalculator and with a direct call, in one run."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import numpy as np
from ase.calculators.socketio import SocketIOCalculator

from benchmarks.frames import copper
from benchmarks.free.calculator import Free
from benchmarks.peers import receive
from benchmarks.report import Figure
from sandbox.driver import Question
from sandbox.drivers.docker_driver import DockerDriver, connect_engine
from sandbox.guest.wire import FRAME_FIELDS, pack_header
from sandbox.limits import Limits
from sandbox.wire.guard import expected_result
from sandbox.wire.remote import RemoteCalculator
from sandbox.wire.session import run_session
from tasks.model.calculator import InProcessCalculator
from tasks.structures.frames import Frames
from tasks.structures.predictions import ALL_PROPERTIES

T = TypeVar("T")
ROUNDS, CALLS, WARM_UP = 10, 300, 300  # long enough for the scheduler to part the two processes
FREE = Path(__file__).parent / "free"


def median_us(calls: list[float]) -> float:
    """Median of times in seconds, in µs."""
    return float(np.median(calls) * 1e6)


def timed(call: Callable[[], object], repeats: int) -> list[float]:
    """Seconds of each of `repeats` calls."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return times


def message_bytes(frames: Frames) -> tuple[int, int]:
    """Bytes of a request for `frames` and of its answer, with headers."""
    arrays = [(name, getattr(frames, name)) for name in FRAME_FIELDS] + [("id", np.zeros(1, np.int64))]
    header = pack_header(arrays, {"op": "compute", "properties": "energy,forces,stress"})
    request = len(header) + sum(a.nbytes for _, a in arrays)
    expected = expected_result(len(frames), len(frames.numbers), ALL_PROPERTIES)
    answer_arrays = [(name, np.zeros(shape, dtype)) for name, dtype, shape in expected.arrays]
    return request, len(pack_header(answer_arrays, {"op": "result"})) + expected.nbytes


@contextmanager
def peer(*arguments: object) -> Iterator[subprocess.Popen[bytes]]:
    """A process of `benchmarks.peers`."""
    command = [sys.executable, "-m", "benchmarks.peers", *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def floor(request: int, answer: int, flags: int = 0) -> Iterator[Callable[[], None]]:
    """One round trip of the same bytes over a Unix socket, and nothing else; with MSG_DONTWAIT both ends poll."""
    path = f"/tmp/floor-{os.getpid()}-{secrets.token_hex(3)}"
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    listener.listen(1)
    with peer("echo", path, request, answer, flags):
        connection, _ = listener.accept()
        message, buffer = bytes(request), bytearray(answer)

        def trip() -> None:
            connection.sendall(message)
            receive(connection, buffer, flags)

        try:
            yield trip
        finally:
            connection.close()
            listener.close()
            os.unlink(path)


@contextmanager
def socketio(n_atoms: int) -> Iterator[Callable[[], None]]:
    """One evaluation through ASE's SocketIOCalculator over a Unix socket."""
    name = f"bench_{os.getpid()}_{secrets.token_hex(3)}"
    atoms = copper(n_atoms)
    atoms.calc = SocketIOCalculator(unixsocket=name)
    with peer("socketio", name, n_atoms):

        def trip() -> None:
            atoms.positions[0, 0] += 1e-6
            atoms.get_potential_energy()
            atoms.get_forces()
            atoms.get_stress()

        try:
            trip()
            yield trip
        finally:
            atoms.calc.close()


def single_frames(remote: RemoteCalculator, n_atoms: int) -> dict[str, float]:
    """Medians [µs] for one frame of `n_atoms` in each way, in interleaved rounds."""
    frames = Frames.from_atoms([copper(n_atoms)])
    atoms, direct = copper(n_atoms), Free()
    here = InProcessCalculator(Free())
    sizes, awake = message_bytes(frames), int(socket.MSG_DONTWAIT)
    with socketio(n_atoms) as ipi:
        ways: dict[str, Callable[[], object]] = {
            "wire": lambda: remote.compute(frames, ALL_PROPERTIES),
            "socketio": ipi,
            "in-process": lambda: here.compute(frames, ALL_PROPERTIES),
            "direct": lambda: direct.calculate(atoms, ["energy", "forces", "stress"], ["positions"]),
        }
        times: dict[str, list[float]] = {name: [] for name in ("floor", "floor, awake", *ways)}
        for _ in range(ROUNDS):
            # A peer that polls takes a core from the others: it runs only during its own turn.
            for name, flags in (("floor", 0), ("floor, awake", awake)):
                with floor(*sizes, flags) as bare:
                    times[name] += timed(bare, CALLS + WARM_UP)[WARM_UP:]
            for name, way in ways.items():
                times[name] += timed(way, CALLS + WARM_UP)[WARM_UP:]
    return {name: median_us(values) for name, values in times.items()}


def batch_us_per_frame(remote: RemoteCalculator) -> float:
    """Median [µs a frame] of batches of 64 frames of 108 atoms."""
    frames = Frames.from_atoms([copper(108, seed) for seed in range(64)])
    timed(lambda: remote.compute(frames, ALL_PROPERTIES), 5)
    return median_us(timed(lambda: remote.compute(frames, ALL_PROPERTIES), 200)) / len(frames)


def measure_wire(driver: DockerDriver) -> list[Figure]:
    """All figures of the wire."""
    figures = []

    def singles(remote: RemoteCalculator) -> dict[int, dict[str, float]]:
        return {n: single_frames(remote, n) for n in (4, 108, 864)}

    measured = in_container(driver, "one_by_one", singles)
    for n, ways in measured.items():
        figures += [Figure(f"{name}, one frame of {n} atoms", value, "µs") for name, value in ways.items()]
    at_108 = measured[108]
    lowest = min(at_108["floor"], at_108["floor, awake"])
    figures.append(Figure("wire above the lower floor, 108 atoms", at_108["wire"] - lowest, "µs", 90.0))
    figures.append(
        Figure("SocketIOCalculator over wire, 108 atoms", at_108["socketio"] / at_108["wire"], "times", 8.0, True)
    )
    single = in_container(driver, "one_by_one", batch_us_per_frame)
    batched = in_container(driver, "whole_batches", batch_us_per_frame)
    figures.append(Figure("64 frames of 108 atoms, ASE calculator", single, "µs/frame", 60.0))
    figures.append(Figure("64 frames of 108 atoms, whole batches", batched, "µs/frame", 25.0))
    return figures


def in_container(driver: DockerDriver, factory: str, body: Callable[[RemoteCalculator], T]) -> T:
    """The result of `body` for the calculator that costs nothing, in a container."""
    tag = f"lambench-bench/{factory.replace('_', '-')}:latest"
    connect_engine().images.build(path=str(FREE), tag=tag, buildargs={"FACTORY": factory}, rm=True)
    outcome = run_session(driver, driver.resolve(tag), Limits(), Question(), body)
    if outcome.value is None:
        raise SystemExit(f"the benchmark's own container failed: {outcome.sentence}\n{outcome.private}")
    return outcome.value
