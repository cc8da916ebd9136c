"""Trains an example, or measures a model that it left: run in an interpreter that has the example's packages.

trainer_program.py train FOLDER DATA OUT WALL_S SEED [SIGTERM_AFTER_S]
trainer_program.py measure FOLDER DATA OUT

Both print facts as JSON. It imports nothing of the project, for it also runs in the examples' images.
"""

import inspect
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np
from ase import Atoms

STEP = 1e-3  # Å, for differences of energies


def train(data, out, wall_s, seed, sigterm_after_s=None):
    """Calls the trainer as the judge's guest does."""
    started = time.monotonic()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    import train as module

    if sigterm_after_s is not None:
        timer = threading.Timer(float(sigterm_after_s), os.kill, (os.getpid(), signal.SIGTERM))
        timer.daemon = True
        timer.start()
    offered = {"data_dir": data, "out_dir": out, "device": "cpu", "wall_s": float(wall_s), "seed": int(seed)}
    accepted = inspect.signature(module.train).parameters
    module.train(**{key: value for key, value in offered.items() if key in accepted})
    return {"used_s": time.monotonic() - started}


def measure(data, out):
    """Errors of the model on the frames of `asked.npz` in `data`, and how well it obeys the laws of physics."""
    import calculator

    model = calculator.make_calculator(model_dir=out)
    with np.load(Path(data) / "asked.npz") as asked:
        n = int(asked["n_atoms"][0])
        numbers = asked["numbers"][:n]
        positions, right = asked["positions"].reshape(-1, n, 3), asked["forces"].reshape(-1, n, 3)
    forces = np.array([answer(model, numbers, x)[1] for x in positions])
    energy, force = answer(model, numbers, positions[0])
    rng = np.random.default_rng(0)
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    turned_energy, turned_force = answer(model, numbers, positions[0] @ rotation)
    hydrogens = np.flatnonzero(numbers == 1)
    order = np.arange(n)
    order[hydrogens] = np.roll(hydrogens, 1)
    exchanged_energy, exchanged_force = answer(model, numbers[order], positions[0][order])
    untrained = calculator.make_calculator(model_dir=data)
    zero, _ = answer(untrained, numbers, positions[0])
    copper = Atoms("Cu", cell=[2.5, 2.5, 2.5], pbc=True)
    copper.calc = calculator.make_calculator(model_dir=data)
    return {
        "force_mae": float(np.abs(forces - right).mean()),
        "mean_force": float(np.abs(right).mean()),
        "largest_force": float(np.abs(force).max()),
        "gradient_error": float(np.abs(gradient(model, numbers, positions[0]) + force).max()),
        "rotation_energy": abs(turned_energy - energy),
        "rotation_force": float(np.abs(turned_force - force @ rotation).max()),
        "exchange_energy": abs(exchanged_energy - energy),
        "exchange_force": float(np.abs(exchanged_force - force[order]).max()),
        "untrained": [zero, float(copper.get_potential_energy())],
        "unknown_element": refusal(model, np.where(numbers == 8, 16, numbers), positions[0]),
        "apart": apart(model, numbers, positions[0]),
    }


def answer(model, numbers, positions):
    """Energy [eV] and forces (N, 3) [eV/Å]."""
    atoms = Atoms(numbers, positions)
    atoms.calc = model
    return float(atoms.get_potential_energy()), atoms.get_forces()


def gradient(model, numbers, positions):
    """The derivative of the energy [eV/Å] by central differences."""
    slopes = np.zeros_like(positions)
    for index in np.ndindex(positions.shape):
        plus, minus = positions.copy(), positions.copy()
        plus[index] += STEP
        minus[index] -= STEP
        slopes[index] = (answer(model, numbers, plus)[0] - answer(model, numbers, minus)[0]) / (2 * STEP)
    return slopes


def refusal(model, numbers, positions):
    """The class of the error that the model raises, or empty."""
    try:
        answer(model, numbers, positions)
    except Exception as error:  # noqa: BLE001 - the fact is its class
        return type(error).__name__
    return ""


def apart(model, numbers, positions):
    """How much the energy of two molecules far from each other differs from that of both alone [eV]."""
    two = np.concatenate([positions, positions + np.array([30.0, 0.0, 0.0])])
    return abs(answer(model, np.tile(numbers, 2), two)[0] - 2 * answer(model, numbers, positions)[0])


if __name__ == "__main__":
    command, folder, *arguments = sys.argv[1:]
    sys.path.insert(0, folder)
    sys.dont_write_bytecode = True
    print(json.dumps({"train": train, "measure": measure}[command](*arguments)))
