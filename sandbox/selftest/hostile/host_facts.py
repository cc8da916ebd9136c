"""Facts about the host, and counters that all its containers share; names that tell of the judge."""

import os
import re
import socket
import stat

from report import reported

FACTS = (
    *("/proc/sys/kernel/random/boot_id", "/proc/cmdline", "/proc/config.gz", "/proc/kallsyms", "/proc/modules"),
    *("/proc/partitions", "/proc/diskstats", "/proc/fs", "/proc/swaps", "/sys/block", "/sys/class", "/sys/bus"),
    *("/proc/pressure", "/proc/vmstat", "/proc/zoneinfo", "/proc/buddyinfo", "/proc/slabinfo", "/proc/interrupts"),
    *("/proc/softirqs", "/proc/schedstat", "/proc/locks", "/proc/cgroups", "/proc/key-users", "/proc/sys/fs/file-nr"),
    *("/proc/sys/fs/inode-state", "/proc/sys/fs/dentry-state", "/sys/kernel", "/sys/module", "/sys/fs/ext4"),
    *("/sys/firmware", "/sys/devices/virtual/block", "/sys/devices/virtual/dmi", "/sys/devices/platform"),
    *("/sys/devices/system/node/node0/vmstat", "/sys/devices/system/cpu/cpufreq"),
)
# What OpenMP, PyTorch and psutil read; they are not hidden.
NEEDED = ("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/sys/devices/system/cpu", "/proc/self/status")


@reported
def host_facts(pid, token, *_):
    """Told the judge's process and token: how many facts it reads, traces of the judge, and needed files it reads."""
    return sum(map(holds, FACTS)), traces(int(pid), int(token)), sum(map(holds, NEEDED))


def holds(path):
    """Whether a file or folder can be read and is not empty."""
    try:
        if os.path.isdir(path):
            return bool(os.listdir(path))
        with open(path, "rb") as file:
            return bool(file.read(1))
    except OSError:
        return False


def traces(pid, token):
    """In how many names that it sees the judge's token, its process or the session's folder shows."""
    with open("/proc/self/mountinfo") as file:
        mounts = [line.split() for line in file]
    (folder,) = (fields[3] for fields in mounts if fields[4] == "/lambench")
    peers = list(peer_names())
    texts = [*(" ".join(fields) for fields in mounts), *peers, *os.environ.values()]
    marks = re.compile(r"%08x|(?<![0-9A-Za-z])%d-" % (token, pid))
    return sum(bool(marks.search(text)) for text in texts) + sum(folder in peer for peer in peers)


def peer_names():
    """The addresses at the other end of all its sockets."""
    for name in os.listdir("/proc/self/fd"):
        try:
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                with socket.socket(fileno=os.dup(int(name))) as sock:
                    yield str(sock.getpeername())
        except OSError:
            continue
