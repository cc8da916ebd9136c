"""Hostile trainers. Each reports its attempt as a list of numbers in `report.json`, which it leaves as its model.

`number` among the data is for the trainer: its way, or a label that it learned.
"""

import ctypes
import errno
import json
import os
import socket
import sys
import time

from lifetime import ignore_signals, leave
from reading import CANARY, LIBC, OWN, canaries, create, pids, read
from report import outcome, reported

NOTE = "lambench-selftest-note"
KEY = 0x5A17
CHUNK = b"\1" * 65536
MOST_BYTES = 1 << 26


def number_of(data_dir):
    with open(os.path.join(data_dir, "number")) as file:
        return int(file.read())


def report(out_dir, *numbers):
    with open(os.path.join(out_dir, "report.json"), "w") as file:
        json.dump([float(number) for number in numbers], file)


def read_outside(data_dir, out_dir):
    """How many canaries it finds outside of its data, and how many in them."""
    paths = set(canaries()) | {path for path in [os.path.join(data_dir, CANARY)] if os.path.exists(path)}
    own = {path for path in paths if path.startswith(data_dir + "/")}
    report(out_dir, len(paths - own), len(own))


def folders():
    """All folders; those that anyone may write are not looked into."""
    for folder, names, _ in os.walk("/"):
        names[:] = [name for name in names if os.path.join(folder, name) not in ("/proc", "/sys")]
        yield folder
        if folder in OWN:
            names.clear()


def ipc():
    """How many of three things of System V IPC are there."""
    return sum(
        got != -1 for got in (LIBC.shmget(KEY, ctypes.c_size_t(0), 0), LIBC.semget(KEY, 0, 0), LIBC.msgget(KEY, 0))
    )


def leave_notes(data_dir, out_dir):
    """How many notes of an earlier training it finds, how many it leaves, and how many of them where it must not."""
    places = sorted(folders())
    notes = [os.path.join(place, NOTE) for place in places]
    n_found = sum(map(os.path.exists, notes)) + ipc()
    written = [note for note in notes if outcome(create, note) == 0]
    written += [path for path in (data_dir + "/number", "/model/open/file") if outcome(os.open, path, os.O_WRONLY) == 0]
    LIBC.shmget(KEY, ctypes.c_size_t(4096), 0o1666)
    LIBC.semget(KEY, 1, 0o1666)
    LIBC.msgget(KEY, 0o1666)
    elsewhere = [path for path in written if os.path.dirname(path) not in (*OWN, out_dir)]
    report(out_dir, n_found, len(written) + ipc(), len(elsewhere))


def leave_processes(data_dir, out_dir):
    """Leaves a process that sleeps, and one that changes a file of its model for ever; how many of them it sees."""
    number = number_of(data_dir)
    leave("lambench-selftest-%d" % number, ignore_signals)
    path = os.path.join(out_dir, "beats")
    if os.fork() == 0:
        os.setsid()
        ignore_signals()
        if os.fork():
            os._exit(0)
        file = os.open(path, os.O_CREAT | os.O_WRONLY, 0o644)
        while True:
            os.pwrite(file, b"%020d" % time.monotonic_ns() * 1000, 0)
    while not os.path.exists(path) or not os.path.getsize(path):
        time.sleep(0.01)
    report(out_dir, sum(b"lambench-selftest-%d" % number in text for pid in pids() for text in commands(pid)))


def commands(pid):
    return read("/proc/%s/cmdline" % pid)


def fill(data_dir, out_dir):
    """Fills its folder and leaves it full; told 1, it removes what it wrote, and reports bytes and error."""
    path, written, error = os.path.join(out_dir, "filling"), 0, 0
    try:
        with open(path, "wb", buffering=0) as file:
            while written < MOST_BYTES:
                written += file.write(CHUNK)
    except OSError as full:
        error = full.errno
    if number_of(data_dir) == 1:
        os.unlink(path)
        report(out_dir, written, error)


def work_on(data_dir, out_dir):
    """Works for ever, and notes how long, by a clock that nothing in Python has slowed."""
    begin = time.clock_gettime(time.CLOCK_MONOTONIC)
    while True:
        report(out_dir, time.clock_gettime(time.CLOCK_MONOTONIC) - begin)
        os.replace(out_dir + "/report.json", out_dir + "/worked.json")
        time.sleep(0.02)


def encode(data_dir, out_dir):
    """Puts a label into everything of its model that could be seen from outside: names, sizes, times, and its log."""
    number = number_of(data_dir)
    for index in range(3):
        path = os.path.join(out_dir, "label-%d-%d" % (number, index))
        with open(path, "wb") as file:
            file.write(CHUNK[: number % 60000 + index])
        os.utime(path, (number, number))
    print("label", number, flush=True)
    time.sleep(number % 3 / 4)
    sys.exit(number % 200)


SHIPPED = """
from trainers import look_back

def make_calculator(model_dir):
    return look_back(model_dir)
"""


def ship(data_dir, out_dir):
    """Leaves code as its model, and things of its container that the code looks for."""
    create("/tmp/" + NOTE)
    with open(os.path.join(out_dir, "shipped.py"), "w") as file:
        file.write(SHIPPED)


def shipped(model_dir):
    """The calculator that the shipped code makes."""
    sys.path.insert(0, model_dir)
    import shipped as code

    return code.make_calculator(model_dir)


def look_back(model_dir):
    """A calculator that answers: it ran; what it sees of the training; what it can write; whom it can reach."""

    def look(*_):
        seen = sum(map(os.path.exists, ("/tmp/" + NOTE, "/lambench/data", "/lambench/.data", "/out/shipped.py")))
        found = sum(CANARY in names for _, _, names in os.walk("/lambench"))
        written = [model_dir + "/more", model_dir + "/shipped.py", "/lambench/more", "/model/more"]
        n_written = sum(outcome(create, path) == 0 for path in written)
        reached = sum(outcome(reach, address) == 0 for address in (("1.1.1.1", 53), ("172.17.0.1", 22)))
        return 1, seen + found, n_written, reached, os.getuid() == 0

    return reported(look)()


def reach(address):
    with socket.socket() as sock:
        sock.settimeout(1)
        try:
            sock.connect(address)
        except socket.timeout:
            raise OSError(errno.ETIMEDOUT, "late") from None
