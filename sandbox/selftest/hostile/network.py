"""Reaching out: over the network, and through sockets of the host."""

import os
import socket
import stat

from report import Report, outcome

TIMEOUT_S = 1.5
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


def reach():
    """Tries a TCP address, and whether there is a way to it; loopback shows that sockets work at all."""

    def attempt(a, b, c, d, port, *_):
        address = dotted((a, b, c, d))
        return outcome(tcp, address, int(port)), outcome(routed, address), outcome(loopback)

    return Report(attempt)


def reach_6():
    """Tries public and link-local IPv6 addresses, and a datagram to all neighbours."""

    def attempt(*_):
        public = "2001:4860:4860::8888"
        return (
            outcome(tcp, public, 53, socket.AF_INET6),
            outcome(routed, public, socket.AF_INET6),
            outcome(all_neighbours),
            outcome(loopback),
        )

    return Report(attempt)


def all_neighbours():
    """Sent by an interface other than loopback, if there is one."""
    others = [name for _, name in socket.if_nameindex() if name != "lo"]
    if not others:
        raise OSError(19, "no such device")
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, socket.if_nametoindex(others[0]))
        sock.sendto(b"hello", ("ff02::1", 47111))


def ask_name():
    """Asks every name server that it can find; the host's own listens at the given address."""

    def attempt(a, b, c, d, port, *_):
        servers = [(dotted((a, b, c, d)), int(port)), ("127.0.0.11", 53), ("8.8.8.8", 53), *configured()]
        return outcome(resolve), sum(asks(*server) for server in servers), float(asks_itself())

    return Report(attempt)


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


def abstract_socket():
    """Connects to the host's abstract socket of the given number, and to one of its own."""

    def attempt(number, *_):
        own_address = "\0own"
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(own_address)
            server.listen(1)
            return outcome(unix, "\0lambench-selftest-%d" % number), outcome(unix, own_address)

    return Report(attempt)


def unix(path):
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(TIMEOUT_S)
        sock.connect(path)


def engine_socket():
    """Connects to the engines' usual sockets, and to any other socket file in the container but its own."""

    def attempt(*_):
        own_address = "/tmp/own.sock"
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(own_address)
            server.listen(64)
            others = {path for path in socket_files() if path != os.environ["LAMBENCH_SOCKET"]}
            reached = [path for path in others | set(ENGINE_SOCKETS) if outcome(unix, path) == 0]
        return len(set(reached) - {own_address}), reached.count(own_address)

    return Report(attempt)


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


def judge_socket_again():
    """Connects to the judge's socket a second time."""
    return Report(lambda *_: (outcome(unix, os.environ["LAMBENCH_SOCKET"]), outcome(os.stat, "/lambench/guest.pyz")))
