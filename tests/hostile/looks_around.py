"""A submission that answers with what it can see and do, one number for each question."""

import os
import socket

from zero import Zero


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


def interfaces():
    with open("/proc/net/dev") as file:
        return len(file.readlines()) - 2


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
    interfaces,
    reach(("169.254.169.254", 80)),
    reach(("172.17.0.1", 2375)),
    core_limit,
    open_files,
    compiled_code_runs,
    can(lambda: os.listdir("/var/run/docker.sock")),
    lambda: int(os.environ["HOME"] == "/tmp/home"),
    lambda: int(any("SECRET" in name for name in os.environ)),
    can(lambda: os.listdir("/root")),
]
