"""A hidden data set with canaries, submissions that try to leak them, and the search for them."""

from __future__ import annotations

import base64
import struct
from pathlib import Path

import numpy as np
from ase import Atoms
from ase.build import bulk
from ase.calculators.emt import EMT

from judge.view.assets import plotly
from tasks.datasets.card import Card, LabelSet, Table
from tasks.datasets.dataset import Dataset, save_dataset
from tasks.structures.frames import Frames
from tasks.structures.predictions import Labels

COORDINATES = (1.234567891, 0.918273645)
ENERGY = -98.765432187
RARE = "Tm"
ID, CLUSTER = "CANARY-7f3a", "CANARY-cluster-90c1"
GROUP, LONE_GROUP = "canary group", "lone canary group"
WORD = "LEAKWORD"  # in every text that the hostile submissions write
N_FRAMES = 7

SUITE = """
name = "hidden"
version = "1"
title = "A hidden suite"

[[tasks]]
name = "secret"
kind = "labelled_frames"
dataset = "secret@1"
domain = "Inorganic Materials"
time_limit_s = 60

[[tasks]]
name = "drift"
kind = "nve"
dataset = "secret@1"
domain = "Inorganic Materials"
time_limit_s = 60
parameters = { steps = 20, sample_every = 1 }
"""


def save_secret(data: Path) -> None:
    """Writes secret@1: crystals whose first atoms lie at the canary coordinates, the last of them with thulium."""
    frames = [crystal(k) for k in range(N_FRAMES)]
    energy, forces = [], []
    for atoms in frames[:-1]:
        atoms.calc = EMT()
        energy.append(atoms.get_potential_energy())
        forces.append(atoms.get_forces())
    card = Card(
        name="secret",
        version="1",
        title="Not to be seen",
        domain="Inorganic Materials",
        periodic=True,
        default_label_set="EMT",
        label_sets={"EMT": LabelSet(theory="ASE's EMT", dispersion=False)},
    )
    table = Table(
        id=tuple(f"{ID}-{k}" for k in range(N_FRAMES)),
        group=(GROUP,) * (N_FRAMES - 1) + (LONE_GROUP,),
        cluster=tuple(f"{CLUSTER}-{k}" for k in range(N_FRAMES)),
    )
    labels = Labels(np.array([*energy, ENERGY]), np.concatenate([*forces, np.full((4, 3), COORDINATES[1])]))
    save_dataset(Dataset(card, Frames.from_atoms(frames), table, {"EMT": labels}), data)


def crystal(number: int) -> Atoms:
    atoms = bulk("Cu", cubic=True)
    atoms.positions += np.random.default_rng(number).normal(0, 0.03, (4, 3))
    atoms.positions[0] = (*COORDINATES, 0.0)
    if number == N_FRAMES - 1:
        atoms.symbols[1] = RARE
    return atoms


_COMMON = f'''
import os, struct, sys, tempfile
import numpy as np
from ase.calculators.calculator import Calculator
from ase.calculators.emt import EMT

WORD = "{WORD}"
KEPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "__pycache__", "kept")  # survives the process

def leak(atoms):
    return "%s %s %s" % (WORD, atoms.get_chemical_formula(), atoms.positions.tolist())

def keep(atoms):
    os.makedirs(os.path.dirname(KEPT), exist_ok=True)
    with open(KEPT, "w") as file:
        file.write(leak(atoms))

def kept():
    return open(KEPT).read() if os.path.exists(KEPT) else ""

def named(text):
    return type("".join(c if c.isalnum() else "_" for c in text)[:120], (ValueError,), {{}})

class Honest(EMT):
    def calculate(self, atoms=None, properties=("energy",), system_changes=()):
        self.before(atoms)
        super().calculate(atoms, list(properties), list(system_changes))
        self.after(atoms)
    def before(self, atoms):
        pass
    def after(self, atoms):
        pass
'''

HOSTILE = {
    "prints": """
class Model(Honest):
    def before(self, atoms):
        print(leak(atoms), flush=True)
        print(leak(atoms), file=sys.stderr, flush=True)
def make_calculator():
    return Model()
""",
    "raises": """
class Model(Honest):
    def before(self, atoms):
        raise named(leak(atoms))(leak(atoms))
def make_calculator():
    return Model()
""",
    "says-it-in-its-hello": """
class Model(Honest):
    elements = [1, 69]
    def before(self, atoms):
        keep(atoms)
def make_calculator():
    model = type("".join(c for c in "Model" + kept() if c.isalnum()), (Model,), {})()
    if kept():
        number = int("".join(c for c in kept() if c.isdigit())[:14])
        methods = {"parameters": lambda self: [self], "data_ptr": lambda self: 1, "numel": lambda self: number}
        torch = sys.modules["torch"] = type(sys)("torch")
        torch.nn = type("nn", (), {"Module": type("Module", (), methods)})
        torch.cuda = type("cuda", (), {"is_available": lambda: True, "get_device_name": lambda _: kept()})
        model.network = torch.nn.Module()
    return model
""",
    "fails-to-start-again": """
class Model(Honest):
    def before(self, atoms):
        keep(atoms)
def make_calculator():
    if kept():
        raise named(kept())(kept())
    return Model()
""",
    "answers-not-a-number": """
def payload(value):
    bits = struct.unpack("<Q", struct.pack("<d", value))[0]
    return struct.unpack("<d", struct.pack("<Q", 0x7FF8000000000000 | bits >> 13))[0]
class Model(Honest):
    def after(self, atoms):
        self.results["energy"] = payload(atoms.positions[0, 0])
        self.results["forces"] = np.full((len(atoms), 3), payload(atoms.positions[0, 1]))
def make_calculator():
    return Model()
""",
    "answers-coordinates": """
class Model(Honest):
    def after(self, atoms):
        self.results["energy"] = float(atoms.positions[0, 0])
        self.results["forces"] = np.full((len(atoms), 3), 1e6 * atoms.positions[0, 0])
def make_calculator():
    return Model()
""",
    "ends-with-a-number": """
class Model(Honest):
    def before(self, atoms):
        os._exit(int(atoms.positions[0, 0] * 62.4))
def make_calculator():
    return Model()
""",
    "writes-to-the-wire": """
import socket, time
class Model(Honest):
    def before(self, atoms):
        header = ('{"__metadata__":{"op":"%s"}}' % leak(atoms)).encode()
        message = struct.pack("<QQ", 8 + len(header), len(header)) + header
        for name in os.listdir("/proc/self/fd"):
            try:
                if os.readlink("/proc/self/fd/" + name).startswith("socket:"):
                    socket.socket(fileno=os.dup(int(name))).sendall(message)
            except OSError:
                pass
        time.sleep(60)
def make_calculator():
    return Model()
""",
}
HOSTILE = {name: _COMMON + code for name, code in HOSTILE.items()}


def forms(value: float) -> set[bytes]:
    """Encodings of a number: decimal with five places or more, cut or rounded, and its eight bytes in several forms."""
    texts = {repr(value), f"{value:.5f}", f"{value:.6f}", f"{value:.7f}", f"{value:.8f}", repr(value)[:8]}
    for order in "<>":
        raw = struct.pack(f"{order}d", value)
        texts |= {raw.hex(), raw.hex().upper(), base64.b64encode(raw).decode().rstrip("=")[:10]}
    texts.add(value.hex().partition("p")[0].removeprefix("-0x1."))
    return {text.encode() for text in texts} | {struct.pack("<d", value), struct.pack(">d", value)}


NUMBERS = {form for value in (*COORDINATES, ENERGY) for form in forms(value)}
NAMES = {ID.encode(), CLUSTER.encode(), WORD.encode()}
"""Refused in every record and every output."""

PUBLIC = NUMBERS | NAMES | {RARE.encode(), LONE_GROUP.encode(), b"exit status", b"1234567"}
"""Refused in public data: also an element or a group of one structure, and a number that the submission chose."""


def needles_in(data: bytes, needles: set[bytes]) -> list[bytes]:
    """The needles that are in `data`."""
    return sorted(needle for needle in needles if needle in data)


def needles_below(folder: Path, needles: set[bytes]) -> dict[str, list[bytes]]:
    """The needles in the content or name of each file below a folder. plotly.js, third-party code, is not searched."""
    leaks = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = path.read_bytes()
        hits = needles_in((b"" if content == plotly() else content) + str(path.relative_to(folder)).encode(), needles)
        if hits:
            leaks[str(path)] = hits
    return leaks
