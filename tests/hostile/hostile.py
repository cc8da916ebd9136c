"""Submissions that misbehave: each factory breaks one rule, and the judge must find out which."""

import os
import socket
import time

import numpy as np
from ase.calculators.calculator import Calculator
from ase.calculators.emt import EMT


class Zero(Calculator):
    """Zero energy, zero forces."""

    implemented_properties = ("energy", "forces", "stress")

    def calculate(self, atoms=None, properties=(), system_changes=()):
        self.results = {"energy": 0.0, "forces": np.zeros((len(atoms), 3)), "stress": np.zeros(6)}


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


def judge_socket():
    """The guest's own connection, found among the open files."""
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                return socket.socket(fileno=os.dup(int(name)))
        except OSError:
            continue
    raise RuntimeError("no socket")


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


def look_around():
    """Answers with what it can see: one number a question, as the energy of frames of that many atoms."""

    class Looks(Zero):
        def calculate(self, atoms=None, properties=(), system_changes=()):
            super().calculate(atoms)
            self.results["energy"] = float(QUESTIONS[len(atoms) - 1]())

    return Looks()


def can(action):
    def ask():
        try:
            action()
        except OSError:
            return 0
        return 1

    return ask


def write(path):
    return can(lambda: open(path, "w").close())


def capabilities():
    with open("/proc/self/status") as file:
        fields = dict(line.split(":", 1) for line in file)
    return sum(int(fields[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"))


def status(field):
    def ask():
        with open("/proc/self/status") as file:
            return int(dict(line.split(":", 1) for line in file)[field])

    return ask


def reach(address):
    def connect():
        with socket.socket() as sock:
            sock.settimeout(2)
            sock.connect(address)

    return can(connect)


def core_limit():
    import resource

    return resource.getrlimit(resource.RLIMIT_CORE)[1]


def open_files():
    import resource

    return resource.getrlimit(resource.RLIMIT_NOFILE)[1]


def compiled_code_runs():
    import stat

    with open("/tmp/program", "w") as file:
        file.write("#!/bin/sh\nexit 7\n")
    os.chmod("/tmp/program", stat.S_IRWXU)
    return os.waitstatus_to_exitcode(os.system("/tmp/program"))


QUESTIONS = [
    os.getuid,
    os.getgid,
    write("/model/x"),
    write("/etc/x"),
    write("/lambench/x"),
    write("/tmp/x"),
    write("/dev/shm/x"),
    capabilities,
    status("NoNewPrivs"),
    status("Seccomp"),
    lambda: len(os.listdir("/sys/class/net")),
    reach(("169.254.169.254", 80)),
    reach(("172.17.0.1", 2375)),
    core_limit,
    open_files,
    compiled_code_runs,
    can(lambda: os.listdir("/var/run/docker.sock")),
    lambda: int(os.environ["HOME"] == "/tmp"),
    lambda: int(any("SECRET" in name for name in os.environ)),
    can(lambda: os.listdir("/root")),
]
