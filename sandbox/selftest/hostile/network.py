"""Reaching out: over the network, and through sockets of the host."""

import ctypes
import errno
import os
import platform
import socket
import stat

from report import outcome, reported

LIBC = ctypes.CDLL(None, use_errno=True)
TIMEOUT_S = 1.5
OWN_FAMILIES = (1, 2, 10)  # AF_UNIX, AF_INET, AF_INET6
VSOCK = 40
TYPES = (1, 2, 3, 5)  # stream, datagram, raw, sequenced packets
# The kernel reads 32 bits of the family, a filter 64.
UPPER_BITS = (0, 1 << 32)
REFUSALS = (errno.EAFNOSUPPORT, errno.EPERM, errno.EACCES)
# A question for the address of example.org, as DNS (RFC 1035) writes it.
QUESTION = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07example\x03org\x00\x00\x01\x00\x01"
ENGINE_SOCKETS = (
    "/var/run/docker.sock",
    "/run/docker.sock",
    "/run/podman/podman.sock",
    "/run/containerd/containerd.sock",
    "/run/crio/crio.sock",
)


def dotted(numbers):
    return ".".join(str(int(number)) for number in numbers)


def tcp(address, port, family=socket.AF_INET):
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        sock.settimeout(TIMEOUT_S)
        sock.connect((address, port))


def routed(address, family=socket.AF_INET):
    """Whether there is a route: a datagram socket then connects, without sending anything."""
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        sock.connect((address, 53))


def loopback(family=socket.AF_INET, address="127.0.0.1"):
    with socket.socket(family, socket.SOCK_STREAM) as server:
        server.bind((address, 0))
        server.listen(1)
        tcp(address, server.getsockname()[1], family)


@reported
def reach(a, b, c, d, port, *_):
    """Tries a TCP address, and whether there is a way to it; loopback shows that sockets work at all."""
    address = dotted((a, b, c, d))
    return outcome(tcp, address, int(port)), outcome(routed, address), outcome(loopback)


@reported
def reach_6(*_):
    """Tries public and link-local IPv6 addresses, and a datagram to all neighbours."""
    public = "2001:4860:4860::8888"
    return (
        outcome(tcp, public, 53, socket.AF_INET6),
        outcome(routed, public, socket.AF_INET6),
        outcome(all_neighbours),
        outcome(loopback),
    )


def all_neighbours():
    """Sent by an interface other than loopback, if there is one."""
    with open("/proc/net/dev") as file:
        others = [name for name in (line.partition(":")[0].strip() for line in file.readlines()[2:]) if name != "lo"]
    if not others:
        raise OSError(19, "no such device")
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, socket.if_nametoindex(others[0]))
        sock.sendto(b"hello", ("ff02::1", 47111))


@reported
def ask_name(a, b, c, d, port, *_):
    """Asks every name server that it can find; the host's own listens at the given address."""
    servers = [(dotted((a, b, c, d)), int(port)), ("127.0.0.11", 53), ("8.8.8.8", 53), *configured()]
    return outcome(resolve), sum(asks(*server) for server in servers), float(asks_itself())


def resolve():
    socket.getaddrinfo("example.org", 80)


def configured():
    try:
        with open("/etc/resolv.conf") as file:
            words = [line.split() for line in file]
    except OSError:
        return []
    return [(word[1], 53) for word in words if len(word) > 1 and word[0] == "nameserver" and ":" not in word[1]]


def asks(address, port, timeout=0.5):
    """Whether a question to this server is answered."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(timeout)
        try:
            sock.sendto(QUESTION, (address, port))
            return bool(sock.recv(512))
        except OSError:
            return False


def asks_itself():
    """Whether the same question arrives at a socket of its own."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(1)
        asks(*server.getsockname(), timeout=0.01)
        try:
            return server.recv(512) == QUESTION
        except OSError:
            return False


@reported
def abstract_socket(number, *_):
    """Connects to the host's abstract socket of the given number, and to one of its own."""
    own_address = "\0own"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(own_address)
        server.listen(1)
        return outcome(unix, "\0lambench-selftest-%d" % number), outcome(unix, own_address)


def unix(path):
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(TIMEOUT_S)
        sock.connect(path)


@reported
def engine_socket(*_):
    """Connects to the engines' usual sockets, and to any other socket file in the container but its own."""
    own_address = "/tmp/own.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(own_address)
        server.listen(64)
        others = {path for path in socket_files() if path != os.environ["LAMBENCH_SOCKET"]}
        reached = [path for path in others | set(ENGINE_SOCKETS) if outcome(unix, path) == 0]
    return len(set(reached) - {own_address}), reached.count(own_address)


def socket_files():
    for folder, folders, names in os.walk("/"):
        if folder == "/":
            folders[:] = [name for name in folders if name not in ("proc", "sys")]
        for name in names:
            path = os.path.join(folder, name)
            try:
                if stat.S_ISSOCK(os.lstat(path).st_mode):
                    yield path
            except OSError:
                continue


@reported
def judge_socket_again(*_):
    """Connects to the judge's socket a second time."""
    return outcome(unix, os.environ["LAMBENCH_SOCKET"]), outcome(os.stat, "/lambench/guest.pyz")


@reported
def vsock(*_):
    """Opens sockets to the hypervisor, which no network namespace confines; last, a socket of its own."""
    tries = [outcome(open_socket, "socket", upper + VSOCK, kind) for upper in UPPER_BITS for kind in TYPES]
    return (*tries, outcome(open_socket, "socket", 1, 1))


@reported
def families(*_):
    """Opens sockets and pairs of all other families: how many were not refused, the first; last, its own families."""
    others = [family for family in range(64) if family not in OWN_FAMILIES]
    others += [upper + family for upper in UPPER_BITS[1:] for family in (*OWN_FAMILIES, VSOCK)]
    open_families = [family for family in others if not refused(family)]
    own = (outcome(open_socket, "socket", family, 1) for family in OWN_FAMILIES)
    return (len(open_families), open_families[0] if open_families else -1, *own)


def refused(family):
    """Whether every call for a socket of `family` is refused as such, and not for its other arguments."""
    return all(
        outcome(open_socket, name, family, kind) in REFUSALS for name in ("socket", "socketpair") for kind in TYPES
    )


def open_socket(name, family, kind):
    """Opens a socket by the number of the call, so that all bits of `family` reach the kernel; and closes it."""
    number = {"socket": (41, 198), "socketpair": (53, 199)}[name][platform.machine() == "aarch64"]
    both = (ctypes.c_int * 2)(-1, -1)
    handle = LIBC.syscall(*map(ctypes.c_long, (number, family, kind, 0, ctypes.addressof(both))))
    if handle == -1:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    for opened in both if name == "socketpair" else (handle,):
        os.close(opened)
