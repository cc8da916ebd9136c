"""Submissions that misbehave: each factory breaks one rule, and the judge must find out which."""

import os
import time

import numpy as np
from ase.calculators.emt import EMT

# ruff: noqa: F401 - all are factories that a label names in this module
from looks_around import look_around
from out_of_memory import (
    child_out_of_memory,
    child_out_of_memory_at_start,
    child_out_of_memory_then_exit,
    child_out_of_memory_then_garbage,
    child_out_of_memory_then_hang,
    eats_memory,
    fill_memory,
    gpu_out_of_memory,
    jax_out_of_memory,
)
from zero import Zero, judge_socket


def honest():
    return EMT()


def no_elements():
    class Picky(Zero):
        def calculate(self, atoms=None, properties=(), system_changes=()):
            raise NotImplementedError("no element at all")

    return Picky()


def raises():
    raise ValueError("the factory raised on purpose")


def needs_root():
    if os.getuid() != 0:
        raise RuntimeError("must be root to run this model")
    return Zero()


def writes_root():
    with open("/model/compiled.bin", "w") as file:
        file.write("cache")
    return Zero()


def reads_weights():
    with open("/weights/secret.bin") as file:
        file.read()
    return Zero()


def sleeps():
    time.sleep(3600)


def exits():
    os._exit(0)


def segfaults():
    os.kill(os.getpid(), 11)


def wrong_type():
    return object()


def nan():
    class Nan(Zero):
        def calculate(self, atoms=None, properties=(), system_changes=()):
            super().calculate(atoms)
            self.results["energy"] = float("nan")

    return Nan()


def infinite_forces():
    class Infinite(Zero):
        def calculate(self, atoms=None, properties=(), system_changes=()):
            super().calculate(atoms)
            self.results["forces"][0, 0] = np.inf

    return Infinite()


def wrong_shape():
    class Wrong(Zero):
        def calculate(self, atoms=None, properties=(), system_changes=()):
            super().calculate(atoms)
            self.results["forces"] = np.zeros((len(atoms) + 1, 3))

    return Wrong()


def wrong_units():
    class Raising(Zero):
        def calculate(self, atoms=None, properties=(), system_changes=()):
            raise ValueError("x" * 100_000)

    return Raising()


def garbage():
    class Garbage(Zero):
        def calculate(self, atoms=None, properties=(), system_changes=()):
            judge_socket().sendall((64).to_bytes(8, "little") + b"\xff" * 64)
            time.sleep(60)

    return Garbage()


def flood():
    class Flood(Zero):
        def calculate(self, atoms=None, properties=(), system_changes=()):
            judge_socket().sendall((1 << 32).to_bytes(8, "little") + b"\0" * 4096)
            time.sleep(60)

    return Flood()


def trickle():
    class Trickle(Zero):
        def calculate(self, atoms=None, properties=(), system_changes=()):
            connection = judge_socket()
            connection.sendall((1024).to_bytes(8, "little"))
            while True:
                connection.sendall(b"\x40")
                time.sleep(1)

    return Trickle()


def dies():
    class Dies(Zero):
        def calculate(self, atoms=None, properties=(), system_changes=()):
            os.kill(os.getpid(), 9)

    return Dies()


def hangs():
    class Hangs(Zero):
        def calculate(self, atoms=None, properties=(), system_changes=()):
            time.sleep(3600)

    return Hangs()


def ends_by(action):
    class Ends(Zero):
        def calculate(self, atoms=None, properties=(), system_changes=()):
            action()
            time.sleep(60)

    return Ends()


def segfaults_for_real():
    import ctypes

    return ends_by(lambda: ctypes.string_at(0))


def aborts():
    return ends_by(os.abort)


def bus_error():
    def touch_beyond_the_end():
        import mmap

        with open("/tmp/short", "w+b") as file:
            file.truncate(mmap.PAGESIZE)
            view = mmap.mmap(file.fileno(), mmap.PAGESIZE)
            file.truncate(0)
            view[0]

    return ends_by(touch_beyond_the_end)


def exits_137():
    return ends_by(lambda: os._exit(137))


def half_an_answer():
    def half():
        connection = judge_socket()
        connection.sendall((64).to_bytes(8, "little") + b"{}")
        os._exit(5)

    return ends_by(half)
