"""The first minutes of two users: a newcomer runs the demonstration, a maintainer asks for help and imports frames.

Each command runs in a folder of its own, with an empty store. Images and wheels that this machine has are used.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from ase import Atoms
from ase.build import bulk
from ase.calculators.singlepoint import SinglePointCalculator
from ase.io import write

from benchmarks.report import Figure
from judge.demo.examples import MODELS

JUDGE = Path(sys.executable).with_name("judge")
N_FRAMES, ATOMS_PER_FRAME = 100_000, 4
FIRST_PAGE_S, JUDGING_S, DEMO_S = 180.0, 120.0, 360.0
IMPORT = "data import extxyz frames.extxyz --units ase --name frames --version 1 --label-set PBE"


def measure_first_minutes() -> Iterator[Figure]:
    """The demonstration from an empty store, `judge --help`, and the import of 100,000 frames."""
    with tempfile.TemporaryDirectory(prefix="lambench-") as folder:
        yield from measure_demo(Path(folder))
        yield from measure_help(Path(folder))
        yield from measure_import(Path(folder))


def measure_demo(folder: Path) -> Iterator[Figure]:
    """The times of `judge demo` in `folder`: of its first page, of its judging and of the whole."""
    begin, output, pages_s = time.monotonic(), "", []
    command = [JUDGE, "demo", "--json"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr or ():
            output += line
            if line.startswith("The leaderboard is file://"):
                pages_s.append(time.monotonic() - begin)
        summary = process.stdout.read() if process.stdout else ""
    if process.returncode or not pages_s:
        raise SystemExit(f"judge demo failed ({process.returncode}):\n{output}")
    stated = json.loads(summary)
    yield Figure("judge demo: first page, of two models", pages_s[0], "s", FIRST_PAGE_S)
    yield Figure(f"judge demo: judging of {len(MODELS)} models", stated["judging_s"], "s", JUDGING_S)
    yield Figure("judge demo: the whole", time.monotonic() - begin, "s", DEMO_S)


def measure_help(folder: Path, rounds: int = 5) -> Iterator[Figure]:
    """The CPU time of `judge --help`, of the fastest run."""
    times_s = []
    for _ in range(rounds):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([JUDGE, "--help"], cwd=folder, stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times_s.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    yield Figure("judge --help, CPU time", min(times_s), "s")


def measure_import(folder: Path, n_frames: int = N_FRAMES) -> Iterator[Figure]:
    """The time of `judge data import` of labelled crystals in one file of extended XYZ."""
    write(folder / "frames.extxyz", labelled_frames(n_frames), format="extxyz")
    begin = time.monotonic()
    command = [JUDGE, *IMPORT.split(), "--domain", "Inorganic Materials"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - begin
    if done.returncode:
        raise SystemExit(f"judge data import failed ({done.returncode}):\n{done.stdout}{done.stderr}")
    yield Figure(f"judge data import of {n_frames:,} frames of {ATOMS_PER_FRAME} atoms", seconds, "s")


def labelled_frames(n_frames: int) -> Iterator[Atoms]:
    """Displaced copper crystals of four atoms, with the energy, forces and stress of a harmonic potential."""
    rng, crystal = np.random.default_rng(1), bulk("Cu", cubic=True)
    for _ in range(n_frames):
        atoms = crystal.copy()
        moves = rng.normal(0.0, 0.05, (len(crystal), 3))
        atoms.positions += moves
        atoms.calc = SinglePointCalculator(
            atoms, energy=-3.7 * len(atoms) + float((moves**2).sum()), forces=-2.0 * moves, stress=np.zeros(6)
        )
        yield atoms
