"""A calculator that answers zero, and the connection of the guest to the judge."""

import os
import socket

import numpy as np
from ase.calculators.calculator import Calculator


class Zero(Calculator):
    """Zero energy, zero forces."""

    implemented_properties = ("energy", "forces", "stress")

    def calculate(self, atoms=None, properties=(), system_changes=()):
        self.results = {"energy": 0.0, "forces": np.zeros((len(atoms), 3)), "stress": np.zeros(6)}


def judge_socket():
    """The guest's own connection, found among the open files."""
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                return socket.socket(fileno=os.dup(int(name)))
        except OSError:
            continue
    raise RuntimeError("no socket")
