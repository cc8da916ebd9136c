"""Attacks to gain privileges: capabilities, root, mounts, forbidden system calls, core dumps."""

import ctypes
import os
import platform
import resource
import socket
import stat
import struct
import subprocess

from report import outcome, reported

LIBC = ctypes.CDLL(None, use_errno=True)
# Numbers of system calls on (x86-64, aarch64).
CALLS = {
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "unshare": (272, 97),
    "setns": (308, 268),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "init_module": (175, 105),
    "settimeofday": (164, 170),
    "sethostname": (170, 161),
    "acct": (163, 89),
    "swapon": (167, 224),
    "chroot": (161, 51),
    "open_by_handle_at": (304, 265),
    "mount": (165, 40),
    "umount2": (166, 39),
    "fsopen": (430, 430),
    "capset": (126, 91),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
}
NEW_USER, NEW_MOUNTS, NEW_NET = 0x10000000, 0x00020000, 0x40000000
SESSION_KEYRING = -3
PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, PR_SET_NAME = 47, 2, 15


def call(name, *arguments):
    """A system call by its number, without a library."""
    number = CALLS[name][platform.machine() == "aarch64"]
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    if LIBC.syscall(ctypes.c_long(number), *words) == -1:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def prctl(*arguments):
    if LIBC.prctl(*(ctypes.c_ulong(a) if isinstance(a, int) else a for a in arguments)) == -1:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def alone(action, *arguments):
    """As `outcome`, in a child with one thread, as some system calls want it."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(writing, struct.pack("i", outcome(action, *arguments)))
        os._exit(0)
    os.close(writing)
    reply = os.read(reading, 4)
    os.close(reading)
    os.waitpid(pid, 0)
    return struct.unpack("i", reply)[0] if reply else -1


def ends_of(*calls):
    """How each call ends in a child; last, how a call ends that anyone may make."""
    return (*(alone(call, *arguments) for arguments in calls), alone(os.getpriority, 0, 0))


@reported
def capabilities(*_):
    """Tries to take capabilities and to become root; last, a call that anyone may make."""
    header = struct.pack("Ii", 0x20080522, 0)  # version 3 of the call, this process
    everything = struct.pack("6I", *[0xFFFFFFFF] * 6)
    return (
        outcome(call, "capset", header, everything),
        outcome(prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 21, 0, 0),
        outcome(os.setuid, 0),
        outcome(os.setgid, 0),
        outcome(os.setgroups, [0]),
        outcome(os.chown, "/tmp", 0, 0),
        outcome(prctl, PR_SET_NAME, b"python3"),
    )


@reported
def setuid_root(*_):
    """Runs setuid-root programs: returns the user that the first reports; the second stays for the judge to see."""
    mode = os.stat("/model/setuid-sleep")
    user = int(subprocess.run(["/model/setuid-id", "-u"], capture_output=True, check=True).stdout)
    subprocess.Popen(["/model/setuid-sleep", "60"])
    return user, bool(mode.st_mode & stat.S_ISUID) and mode.st_uid == 0


@reported
def mounts(*_):
    """Tries to mount, to remount and to unmount; last, whether a folder to mount on is there."""
    os.makedirs("/tmp/place", exist_ok=True)
    remount, bind = 32, 4096
    return (
        alone(call, "mount", b"none", b"/tmp/place", b"tmpfs", 0, None),
        alone(call, "mount", b"/", b"/tmp/place", None, bind, None),
        alone(call, "mount", None, b"/", None, remount, None),
        alone(call, "mount", None, b"/lambench", None, remount | bind, None),
        alone(call, "umount2", b"/lambench", 2),
        alone(call, "umount2", b"/proc", 2),
        alone(call, "fsopen", b"tmpfs", 0),
        alone(os.listdir, "/tmp/place"),
    )


@reported
def namespaces(*_):
    """Tries to make namespaces of its own, and to enter those of process 1; last, whether it can fork at all."""
    return (
        alone(call, "unshare", NEW_USER),
        alone(call, "unshare", NEW_USER | NEW_MOUNTS | NEW_NET),
        alone(call, "unshare", NEW_MOUNTS),
        alone(enter, "user"),
        alone(enter, "mnt"),
        alone(os.getpriority, 0, 0),
    )


def enter(kind):
    handle = os.open("/proc/1/ns/" + kind, os.O_RDONLY)
    call("setns", handle, 0)


@reported
def keyring(*_):
    """The kernel's keyrings are those of the whole host."""
    return ends_of(
        ("add_key", b"user", b"lambench-selftest", b"x", 1, SESSION_KEYRING),
        ("keyctl", 0, SESSION_KEYRING, 1),
        ("request_key", b"user", b"lambench-selftest", None, SESSION_KEYRING),
    )


@reported
def io_uring(*_):
    """A ring of the kernel would open files and sockets without a system call that a filter sees."""
    return ends_of(
        ("io_uring_setup", 1, ctypes.create_string_buffer(120)),
        ("io_uring_enter", -1, 0, 0, 0, None, 0),
        ("io_uring_register", -1, 0, None, 0),
    )


@reported
def raw_sockets(*_):
    return (
        outcome(socket.socket, socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP),
        outcome(socket.socket, socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW),
        outcome(socket.socket, socket.AF_PACKET, socket.SOCK_RAW, 0),
        outcome(socket.socket, socket.AF_INET, socket.SOCK_DGRAM),
    )


@reported
def devices(*_):
    """Makes device nodes, and opens whatever block device or memory is there; last, a pipe that anyone may make."""
    return (
        outcome(os.mknod, "/tmp/null", stat.S_IFCHR | 0o666, os.makedev(1, 3)),
        outcome(os.mknod, "/tmp/disk", stat.S_IFBLK | 0o666, os.makedev(8, 0)),
        *(outcome(os.open, path, os.O_RDONLY) for path in ("/dev/mem", "/dev/kmsg", "/dev/kvm", "/dev/fuse")),
        outcome(os.open, first_disk(), os.O_RDONLY),
        outcome(os.mkfifo, "/tmp/pipe"),
    )


def first_disk():
    for folder, _, names in os.walk("/dev"):
        for name in names:
            path = os.path.join(folder, name)
            if stat.S_ISBLK(os.lstat(path).st_mode):
                return path
    return "/dev/no-disk-at-all"


@reported
def kernel(*_):
    """Calls that only the host's root may make, and calls that are closed to containers."""
    return ends_of(
        ("bpf", 0, struct.pack("4I", 1, 4, 8, 16) + bytes(112), 128),
        ("perf_event_open", struct.pack("IIQ", 1, 112, 0) + bytes(96), 0, -1, -1, 0),
        ("userfaultfd", 1),
        ("init_module", None, 0, b""),
        ("settimeofday", None, None),
        ("sethostname", b"mine", 4),
        ("acct", None),
        ("swapon", b"/tmp/none", 0),
        ("chroot", b"/tmp"),
        ("open_by_handle_at", -100, bytes(16), 0),
    )


@reported
def core_dump(*_):
    """Raises the limit of core dumps and aborts: whether the limit went up, how the child ended, whether it dumped."""
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    raised = 1
    try:
        resource.setrlimit(resource.RLIMIT_CORE, unlimited)
    except (ValueError, OSError):
        raised = 0
    pid = os.fork()
    if pid == 0:
        os.chdir("/tmp")
        os.abort()
    status = os.waitpid(pid, 0)[1]
    return raised, os.WTERMSIG(status), os.WCOREDUMP(status)
