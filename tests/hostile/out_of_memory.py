"""Submissions that run out of memory: the process itself, a child of it, or a GPU."""

import os
import time

import numpy as np
from zero import Zero, judge_socket


def eats_memory():
    class Eats(Zero):
        def calculate(self, atoms=None, properties=(), system_changes=()):
            held = []
            while True:
                held.append(np.ones(1 << 22))

    return Eats()


def in_a_child(action):
    """Runs `action` in a forked child, and waits for it."""
    pid = os.fork()
    if not pid:
        action()
        os._exit(0)
    os.waitpid(pid, 0)


def fill_memory():
    held = []
    while True:
        held.append(np.ones(1 << 20))


class LosesAChild(Zero):
    """Its child is killed for memory while it calculates; it goes on."""

    def calculate(self, atoms=None, properties=(), system_changes=()):
        in_a_child(fill_memory)
        super().calculate(atoms)


def child_out_of_memory():
    return LosesAChild()


def child_out_of_memory_then_exit():
    class Leaves(LosesAChild):
        def calculate(self, atoms=None, properties=(), system_changes=()):
            super().calculate(atoms)
            os._exit(1)

    return Leaves()


def child_out_of_memory_then_hang():
    class Hangs(LosesAChild):
        def calculate(self, atoms=None, properties=(), system_changes=()):
            super().calculate(atoms)
            time.sleep(3600)

    return Hangs()


def child_out_of_memory_then_garbage():
    class Garbles(LosesAChild):
        def calculate(self, atoms=None, properties=(), system_changes=()):
            super().calculate(atoms)
            judge_socket().sendall((64).to_bytes(8, "little") + b"\xff" * 64)
            time.sleep(60)

    return Garbles()


def child_out_of_memory_at_start():
    in_a_child(fill_memory)
    raise RuntimeError("a worker is gone")


def gpu_out_of_memory():
    class OutOfMemoryError(RuntimeError):  # as PyTorch calls its own
        pass

    raise OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")


def jax_out_of_memory():
    raise RuntimeError("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 21474836480 bytes.")
