"""Filling up: /tmp, memory, processes, files, the log."""

import os
import time

import numpy as np
from report import reported

MIB = 1 << 20
MOST_MIB = 640


def fill(folder):
    """Writes until it is stopped; MiB that went in, and the error at the end."""
    path = os.path.join(folder, "filling")
    written = 0
    try:
        with open(path, "wb", buffering=0) as file:
            while written < MOST_MIB * MIB:
                written += file.write(b"\1" * MIB)
    except OSError as error:
        return written / MIB, error.errno
    finally:
        os.unlink(path)
    return written / MIB, 0


tmp = reported(lambda *_: fill("/tmp"))
shared_memory = reported(lambda *_: fill("/dev/shm"))
volume = reported(lambda *_: fill("/tmp/cache/volume"))


@reported
def tiny_files(*_):
    """Empty files in /tmp: they take no room of its size, but the kernel's memory."""
    os.mkdir("/tmp/tiny")
    for number in range(2_000_000):
        try:
            os.close(os.open("/tmp/tiny/%d" % number, os.O_CREAT | os.O_WRONLY))
        except OSError as error:
            return number, error.errno
    return number, 0


def take(mib):
    return [np.ones(MIB // 8) for _ in range(int(mib))]


@reported
def memory(*_):
    return len(take(MOST_MIB))


@reported
def memory_of_children(*_):
    """Children whose memory together is above the limit: how many were killed, and how many got all their memory."""
    reading, writing = os.pipe()

    def take_and_stay():
        held = take(200)
        os.write(writing, b"1")
        time.sleep(60)
        return held

    children = {child(take_and_stay) for _ in range(4)}
    os.set_blocking(reading, False)
    killed = taken = 0
    until = time.monotonic() + 50  # near the limit the kernel reads the image's files again and again
    while killed + taken < len(children) and time.monotonic() < until:
        time.sleep(0.02)
        killed += sum(ended_by_kill(pid) for pid in children)
        taken += len(some(reading))
    return killed, taken


def ended_by_kill(pid):
    """Whether the child has been killed; its process ID stays reserved until this call."""
    try:
        return os.waitpid(pid, os.WNOHANG)[1] == 9
    except ChildProcessError:
        return False


def some(handle):
    try:
        return os.read(handle, 64)
    except BlockingIOError:
        return b""


def child(action):
    pid = os.fork()
    if pid == 0:
        try:
            action()
        finally:
            os._exit(0)
    return pid


@reported
def processes(*_):
    """Forks until it is stopped; how many children there are."""
    for number in range(400):
        try:
            child(lambda: time.sleep(60))
        except OSError as error:
            return number, error.errno
    return number, 0


@reported
def open_files(*_):
    handles = []
    error = 0
    try:
        while len(handles) < 10_000:
            handles.append(os.open("/dev/null", os.O_RDONLY))
    except OSError as raised:
        error = raised.errno
    for handle in handles:
        os.close(handle)
    return len(handles), error


@reported
def log(seconds, *_):
    """Writes a gigabyte to its output, or as much as is taken in the given seconds; MiB written."""
    block = (b"x" * 1023 + b"\n") * 1024
    until = time.monotonic() + seconds
    written = 0
    while written < 1024 and time.monotonic() < until:
        os.write(1, block)
        written += 1
    return written
