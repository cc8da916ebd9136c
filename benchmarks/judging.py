"""The cost of judging beside the calculator itself: the same frames through the sandbox and in a bare loop.

Both run in containers of the same image under the same limits, in turn. Only the time of the frames is compared.
"""

from __future__ import annotations

import secrets
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from ase import Atoms

from benchmarks.frames import copper
from benchmarks.report import Figure
from sandbox.driver import Question
from sandbox.drivers.docker_create import create_container
from sandbox.drivers.docker_driver import DockerDriver, connect_engine, container_options
from sandbox.limits import Limits
from sandbox.wire.remote import RemoteCalculator
from sandbox.wire.session import run_session
from tasks.structures.frames import Frames
from tasks.structures.predictions import ALL_PROPERTIES

LOOP = Path(__file__).parent / "bare_loop.py"


def rattled(atoms: Atoms, count: int) -> list[Atoms]:
    """`count` + 1 copies, each with its own random displacements; the first is the warm-up."""
    rng = np.random.default_rng(1)
    copies = []
    for _ in range(count + 1):
        copy = atoms.copy()
        copy.positions += rng.normal(0.0, 0.02, atoms.positions.shape)
        copies.append(copy)
    return copies


def judged_s(driver: DockerDriver, reference: str, structures: list[Atoms]) -> float:
    """Seconds for all structures but the first, one message each, through the sandbox."""
    frames = [Frames.from_atoms([atoms]) for atoms in structures]

    def body(remote: RemoteCalculator) -> float:
        remote.compute(frames[0], ALL_PROPERTIES)
        begin = time.perf_counter()
        for frame in frames[1:]:
            remote.compute(frame, ALL_PROPERTIES)
        return time.perf_counter() - begin

    outcome = run_session(driver, driver.resolve(reference), Limits(), Question(), body)
    if outcome.value is None:
        raise SystemExit(f"{reference} failed: {outcome.sentence}\n{outcome.private}")
    return outcome.value


def bare_s(driver: DockerDriver, reference: str, structures: list[Atoms]) -> float:
    """Seconds for all structures but the first in a bare loop, in the same image under the same limits."""
    image = driver.resolve(reference)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        place.chmod(0o755)
        (place / "loop.py").write_bytes(LOOP.read_bytes())
        first = structures[0]
        positions = np.array([atoms.positions for atoms in structures])
        np.savez(place / "frames.npz", numbers=first.numbers, positions=positions, cell=first.cell.array)
        options = container_options(image, Limits(), Question(), place)
        options["entrypoint"] = [*image.python, "/lambench/loop.py", "/lambench/frames.npz"]
        del options["log_config"]
        api = connect_engine().api
        container = create_container(api, image.id, f"lambench-bench-{secrets.token_hex(4)}", {}, options)
        try:
            api.start(container)
            api.wait(container)
            return float(api.logs(container, stderr=False))
        finally:
            api.remove_container(container, force=True)


def measure_judging(driver: DockerDriver, rounds: int = 5) -> Iterator[Figure]:
    """Wall time of judging over that of a bare loop: EMT on 864 atoms, CHGNet on 64."""
    chgnet_atoms = copper(32).repeat((2, 1, 1))
    cases = {
        "EMT on 864 atoms": ("lambench/emt:latest", rattled(copper(864), 8)),
        "CHGNet on 64 atoms": ("lambench/chgnet:latest", rattled(chgnet_atoms, 24)),
    }
    for name, (reference, structures) in cases.items():
        pairs = [
            (judged_s(driver, reference, structures), bare_s(driver, reference, structures)) for _ in range(rounds)
        ]
        ratio = float(np.median([judged / bare for judged, bare in pairs]))
        per_frame = float(np.median([bare for _, bare in pairs])) / (len(structures) - 1) * 1e3
        yield Figure(f"{name}, bare loop", per_frame, "ms/frame")
        yield Figure(f"{name}, judged over bare", ratio, "times", 1.05)
