"""Reading and writing what is not its own: files, processes, environments, neighbours."""

import ctypes
import errno
import os
import socket
import stat
import subprocess
import time

from report import outcome, reported

LIBC = ctypes.CDLL(None, use_errno=True)
SECRET = b"lambench-selftest-secret-"
CANARY = "lambench-selftest-canary"
# Where anyone may write by design: memory that is limited and gone with the container.
OWN = ("/proc", "/sys", "/tmp", "/dev/shm", "/dev/mqueue", "/dev/pts")


@reported
def write_anywhere(*_):
    """Makes a file in every folder, and opens what lies open: how many it could write; whether it could in /tmp."""
    files = ["/model/open/file", "/etc/passwd", "/etc/ld.so.preload"]
    written = sum(outcome(create, os.path.join(folder, ".lambench-selftest")) == 0 for folder in folders())
    written += sum(outcome(os.open, path, os.O_WRONLY) == 0 for path in files)
    return written, outcome(create, "/tmp/.lambench-selftest") == 0, os.access("/model/open/file", os.R_OK)


def folders():
    for folder, names, _ in os.walk("/"):
        names[:] = [name for name in names if os.path.join(folder, name) not in OWN]
        yield folder


def create(path):
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o666))


@reported
def write_kernel_settings(*_):
    """Opens everything in /proc/sys and /sys for writing, and writes nothing: how many it could have written."""
    tops = ["/proc/" + name for name in ("sysrq-trigger", "irq", "bus", "fs", "mtrr")]
    paths = [*tops, *below("/proc/sys"), *below("/sys")]
    opened = [path for path in paths if outcome(open_only, path) == 0]
    return len(opened), len(paths), outcome(open_only, "/proc/self/comm") == 0


def below(top):
    for folder, _, names in os.walk(top):
        for name in names:
            yield os.path.join(folder, name)


def open_only(path):
    """Opens a file for writing. A masked one is the device /dev/null, which anyone may write."""
    handle = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    masked = stat.S_ISCHR(os.fstat(handle).st_mode)
    os.close(handle)
    if masked:
        raise OSError(errno.EACCES, "masked")


@reported
def replace_guest(*_):
    """Does to the guest and the socket all that one can do to a file; the same in /tmp."""
    os.mkdir("/tmp/own")
    for name in ("guest.pyz", "judge.sock"):
        create("/tmp/own/" + name)
    return sum(tamper("/lambench")), sum(tamper("/tmp/own"))


def tamper(folder):
    guest, listener = folder + "/guest.pyz", folder + "/judge.sock"
    create("/tmp/other")
    yield outcome(os.chmod, guest, 0o777) == 0
    yield outcome(create, guest) == 0
    yield outcome(os.link, guest, folder + "/link") == 0
    yield outcome(os.rename, guest, folder + "/renamed") == 0
    yield outcome(os.unlink, listener) == 0
    yield outcome(os.symlink, "/tmp/other", listener) == 0
    yield outcome(create, folder + "/more") == 0


@reported
def environment(*_):
    """Looks for secrets in all environments and command lines: how many of the judge's, how many of its own."""
    texts = [name.encode() + b"=" + value.encode() for name, value in os.environ.items()]
    for pid in pids():
        texts += [content for name in ("environ", "cmdline") for content in read("/proc/%s/%s" % (pid, name))]
    everything = b"\0".join(texts)
    return everything.count(SECRET + b"of-the-judge"), everything.count(SECRET + b"of-the-image")


def pids():
    return [name for name in os.listdir("/proc") if name.isdigit()]


def read(path):
    try:
        with open(path, "rb") as file:
            return [file.read()]
    except OSError:
        return []


@reported
def processes(number, *_):
    """How many processes it sees, how many of them are strangers of the given number, and whether it sees itself."""
    commands = [command for pid in pids() for command in read("/proc/%s/cmdline" % pid)]
    strangers = sum(b"lambench-selftest-%d" % number in command for command in commands)
    return len(commands), strangers, sum(b"guest.pyz" in command for command in commands)


@reported
def host_files(*_):
    """Looks for canaries of the host everywhere, and for one of its own; last, how much of /lambench it can list."""
    os.mkdir("/tmp/decoy")
    create("/tmp/decoy/" + CANARY)
    in_own_folder = elsewhere = 0
    for path in canaries():
        if path.startswith("/tmp/decoy/"):
            in_own_folder += 1
        else:
            elsewhere += 1
    return elsewhere, in_own_folder, outcome(os.listdir, "/lambench/../lambench")


def canaries():
    """Paths that lead to a canary: in the whole tree, and where the host keeps the folder that is mounted here."""
    for folder, names, files in os.walk("/"):
        names[:] = [name for name in names if os.path.join(folder, name) not in ("/proc", "/sys")]
        if CANARY in files:
            yield os.path.join(folder, CANARY)
    with open("/proc/self/mountinfo") as file:
        sources = [line.split()[3] for line in file]
    for source in sources:
        for start in ("", "/run", "/var/run", "/proc/1/root", "/proc/1/cwd", "/lambench/.."):
            for up in ("", "/..", "/../..", "/../../.."):
                path = start + source + up + "/" + CANARY
                if outcome(os.stat, path) == 0:
                    yield path


KEY = 0x1A3B
IPC_CREAT = 0o1000
held = []


@reported
def neighbour(what, number, *_):
    """Told 1, leaves things that a neighbour could find; told anything else, looks for them: how many of five it finds.

    The first number is what to do, the second marks the process.
    """
    if what == 1:
        create("/dev/shm/lambench-selftest-neighbour")
        create("/tmp/lambench-selftest-neighbour")
        LIBC.shmget(KEY, ctypes.c_size_t(4096), IPC_CREAT | 0o666)
        server = socket.socket(socket.AF_UNIX)
        server.bind("\0lambench-selftest-neighbour")
        server.listen(8)
        held.append(server)
        held.append(start("lambench-selftest-%d" % number))
    return found(number)


def start(command):
    """A process that sleeps under the name of `command`, which stands in /proc once its program is loaded."""
    process = subprocess.Popen([command, "60"], executable="/bin/sleep")
    until = time.monotonic() + 2
    while not any(read("/proc/%d/cmdline" % process.pid)) and time.monotonic() < until:
        time.sleep(0.01)
    return process


def found(number):
    commands = [command for pid in pids() for command in read("/proc/%s/cmdline" % pid)]
    with socket.socket(socket.AF_UNIX) as sock:
        reached = outcome(sock.connect, "\0lambench-selftest-neighbour") == 0
    return (
        os.path.exists("/dev/shm/lambench-selftest-neighbour")
        + os.path.exists("/tmp/lambench-selftest-neighbour")
        + (LIBC.shmget(KEY, ctypes.c_size_t(0), 0) != -1)
        + reached
        + any(b"lambench-selftest-%d" % number in command for command in commands)
    )
