"""Trains a small network for each element, in the time that there is.

The descriptors of all frames and their derivatives are computed once; then each step costs little. Steps are Adam's on
batches of frames, with errors of forces and energies. Their number follows from the time that there is, not from the
speed of the machine: the same seed gives the same model again. A machine that is too slow stops at SIGTERM or 90 % of
the time. Of the weights, a running mean is kept whenever its error on frames that are held out is the smallest so far;
these are a tenth of all, but at most 30.
"""

from __future__ import annotations

import time

STARTED = time.monotonic()  # before PyTorch is imported, which takes seconds of the time that there is

# ruff: noqa: E402
import copy
import os
import signal
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from environments import Described, Environments, Structure
from network import MODEL, AtomicNetworks, energies_and_forces, tensors

N_COLUMNS = 120
STEPS_PER_S = 30  # of the time that there is; one slow core makes about a hundred a second
DESCRIBING_SHARE = 0.6  # of the time, after which no further frame is described
MAX_BYTES = 3 << 30  # of derivatives; frames beyond are left out
FRAMES_AT_ONCE = 8
FEWEST = 20  # frames that are described in any case
LEARNING_RATE = 3e-3
ENERGY_WEIGHT = 0.02  # of a squared energy error of a frame [eV²], by that of a force component [eV²/Å²]
AVERAGED = 0.99  # share of the running mean of weights that a step keeps
CHECKS = 30  # of the error on frames that are held out
MOST_HELD_OUT = 30


class Frame(NamedTuple):
    """A described structure with its energy without that of the atoms [eV] and forces (N, 3) [eV/Å]."""

    described: Described
    energy: float
    forces: np.ndarray


def train(data_dir: str, out_dir: str, device: str, wall_s: float, seed: int) -> None:
    """Writes the model into `out_dir` whenever it got better."""
    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stopped.append(number))
    torch.set_num_threads(1)  # the matrices are small: threads would wait for one another
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)

    def share() -> float:
        """Of the time that may be used, how much has passed; all of it after SIGTERM."""
        return 1.0 if stopped else (time.monotonic() - STARTED) / (0.9 * wall_s)

    with np.load(Path(data_dir) / "frames.npz") as data:
        starts = np.cumsum(data["n_atoms"])[:-1]
        numbers, positions = np.split(data["numbers"], starts), np.split(data["positions"], starts)
        structures = [Structure(*fields) for fields in zip(numbers, positions, data["cell"], data["pbc"], strict=True)]
        energies, forces = data["energy"], np.split(data["forces"], starts)
    order = rng.permutation(len(structures))
    environments = Environments.learn([structures[i] for i in order], N_COLUMNS)
    counts = np.array([[np.count_nonzero(n == z) for z in environments.elements] for n in numbers])
    atomic = np.linalg.lstsq(counts, energies, rcond=None)[0]
    energies = energies - counts @ atomic

    networks = AtomicNetworks(len(environments.elements), N_COLUMNS).to(device)
    networks.atomic.copy_(torch.from_numpy(atomic))
    write(environments, networks, out_dir)

    frames: list[Frame] = []
    n_bytes = 0
    for i in order:
        if (share() > DESCRIBING_SHARE or n_bytes > MAX_BYTES) and (len(frames) >= FEWEST or share() >= 1):
            break
        frames.append(Frame(environments.describe([structures[i]]), energies[i], forces[i]))
        n_bytes += frames[-1].described.slopes.nbytes
    if not frames:
        return
    n_held_out = min(len(frames) // 10 or 1, MOST_HELD_OUT)
    held_out, learned = frames[:n_held_out], frames[n_held_out:] or frames

    prepare(networks, learned)
    averaged = copy.deepcopy(networks).eval()
    optimizer = torch.optim.Adam(networks.parameters(), lr=LEARNING_RATE)
    begun, best, checked, step = share(), np.inf, 0, 0
    n_steps = int(STEPS_PER_S * wall_s)
    while (passed := share()) < 1 and step < n_steps:
        progress = max(step, int(n_steps * (passed - begun) / (1 - begun))) / n_steps
        for group in optimizer.param_groups:
            group["lr"] = LEARNING_RATE * (0.5 * (1 + np.cos(np.pi * progress)) + 0.005)
        batch = [learned[i] for i in rng.integers(len(learned), size=FRAMES_AT_ONCE)]
        optimizer.zero_grad()
        loss_of(networks, batch, device).backward()
        torch.nn.utils.clip_grad_norm_(networks.parameters(), 10.0)
        optimizer.step()
        step += 1
        kept = min(AVERAGED, step / (step + 10))
        with torch.no_grad():
            for mean, weight in zip(averaged.parameters(), networks.parameters(), strict=True):
                mean.lerp_(weight, 1 - kept)
        if progress * CHECKS > checked + 1:
            checked = int(progress * CHECKS)
            error = float(loss_of(averaged, held_out, device).detach())
            if error < best:
                best = error
                write(environments, averaged, out_dir)


def prepare(networks: AtomicNetworks, frames: list[Frame]) -> None:
    """Brings each element's descriptors to a spread of one on average, and the unit of energy to the size of forces."""
    species = np.concatenate([frame.described.species for frame in frames])
    values = np.concatenate([frame.described.values for frame in frames])
    for index in range(len(networks.scale)):
        spread = values[species == index].std(axis=0) if np.any(species == index) else np.ones(values.shape[1])
        scale = 1 / np.sqrt(np.maximum(spread, 0.01 * spread.max() + 1e-3))
        # An element with one atom in one frame has no spread.
        networks.scale[index] = torch.as_tensor(scale / max(float(np.sqrt(np.mean((spread * scale) ** 2))), 0.1))
    networks.unit.fill_(float(np.sqrt(np.mean(np.concatenate([frame.forces for frame in frames]) ** 2))))


def loss_of(networks: AtomicNetworks, frames: list[Frame], device: str) -> torch.Tensor:
    """The mean squared error of the forces, with that of the energies at its weight."""
    sizes = [len(frame.forces) for frame in frames]
    starts = np.cumsum([0, *sizes])
    parts = zip(*(frame.described for frame in frames), strict=True)
    species, values, centre, neighbour, slopes = parts
    joined = Described(
        np.concatenate(species),
        np.concatenate(values),
        np.concatenate([index + start for index, start in zip(centre, starts, strict=False)]),
        np.concatenate([index + start for index, start in zip(neighbour, starts, strict=False)]),
        np.concatenate(slopes),
    )
    atoms, forces = energies_and_forces(networks, *tensors(joined, device))
    frame = torch.as_tensor(np.repeat(np.arange(len(frames)), sizes), device=device)
    energies = atoms.new_zeros(len(frames)).index_add(0, frame, atoms)
    right = torch.as_tensor(np.concatenate([f.forces for f in frames]), device=device).float()
    energy_error = energies - torch.tensor([f.energy for f in frames], device=device).float()
    return ((forces - right) ** 2).mean() + ENERGY_WEIGHT * (energy_error**2).mean()


def write(environments: Environments, networks: AtomicNetworks, out_dir: str) -> None:
    """Writes the model as a whole: a trainer that is stopped leaves the one before."""
    arrays = {key: torch.from_numpy(np.ascontiguousarray(array)) for key, array in environments.arrays().items()}
    temporary = Path(out_dir) / "unfinished.pt"
    torch.save({"environments": arrays, "networks": networks.state_dict()}, temporary)
    os.replace(temporary, Path(out_dir) / MODEL)
