"""Attacks on connections: to the network, to the host's sockets, to the engine."""

from __future__ import annotations

import secrets
import select
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from sandbox.drivers.docker_driver import connect_engine, engine_faults
from sandbox.selftest.asking import Look, report, watched
from sandbox.selftest.attack import Finding, stated_attacks
from sandbox.selftest.privilege_attacks import forbidden
from sandbox.selftest.watch import WatchedContainer
from sandbox.wire.remote import RemoteCalculator

DEFAULT_GATEWAY = "172.17.0.1"
METADATA = "169.254.169.254"
PUBLIC = "1.1.1.1"
NO_PROOF = "not even its own socket answers it: this proves nothing"


def gateway() -> str:
    """The host's address on the default network of containers."""
    with engine_faults():
        for network in connect_engine().networks.list(names=["bridge", "podman"]):
            for stated in (network.attrs.get("IPAM") or {}).get("Config") or ():
                if "." in stated.get("Gateway", ""):
                    return str(stated["Gateway"])
    return DEFAULT_GATEWAY


@contextmanager
def listening(kind: socket.SocketKind) -> Iterator[socket.socket | None]:
    """A socket of the judge at the gateway; None if the gateway is no address of the judge's own machine."""
    with socket.socket(socket.AF_INET, kind) as server:
        try:
            server.bind((gateway(), 0))
        except OSError:
            yield None
            return
        if kind == socket.SOCK_STREAM:
            server.listen(8)
        with socket.socket(socket.AF_INET, kind) as own_socket:  # a check that it listens: the judge reaches it
            own_socket.connect(server.getsockname())
            own_socket.send(b"own")
            if not visited(server, wait_s=2.0):
                yield None
                return
            if kind == socket.SOCK_STREAM:
                server.accept()[0].close()
            else:
                server.recv(64)
        yield server


def visited(server: socket.socket | None, wait_s: float = 0.0) -> bool:
    """Whether anything reached `server`."""
    return server is not None and bool(select.select([server], [], [], wait_s)[0])


def numbers_of(address: str, server: socket.socket | None, port: int = 80) -> tuple[float, ...]:
    """An IPv4 address and a port, as numbers: those of `server` if it is given."""
    return (*map(float, address.split(".")), float(server.getsockname()[1] if server else port))


def alone(seen: WatchedContainer) -> Finding:
    """Held if the container has no network interface but loopback."""
    others = seen.interfaces() - {"lo"}
    return Finding(not others, f"it has the interfaces {sorted(others)}" if others else "no interface but loopback")


def _judge_reach(tcp: float, route: float, loopback: float, seen: WatchedContainer, visitor: bool) -> Finding:
    if loopback != 0:
        return Finding(False, NO_PROOF)
    if tcp == 0 or route == 0 or visitor:
        return Finding(False, "there is a way to the address" if not visitor else "the judge's listener was reached")
    return alone(seen)


def _gateway(remote: RemoteCalculator, seen: WatchedContainer) -> Finding:
    with listening(socket.SOCK_STREAM) as server:
        tcp, route, loopback = report(remote, *numbers_of(gateway(), server))
        return _judge_reach(tcp, route, loopback, seen, visited(server))


def _address(address: str) -> Look:
    def look(remote: RemoteCalculator, seen: WatchedContainer) -> Finding:
        tcp, route, loopback = report(remote, *numbers_of(address, None))
        return _judge_reach(tcp, route, loopback, seen, visitor=False)

    return look


def _ipv6(remote: RemoteCalculator, seen: WatchedContainer) -> Finding:
    tcp, route, neighbours, loopback = report(remote)
    return _judge_reach(tcp, min(route, neighbours), loopback, seen, visitor=False)


def _name(remote: RemoteCalculator, seen: WatchedContainer) -> Finding:
    with listening(socket.SOCK_DGRAM) as server:
        resolved, answers, itself = report(remote, *numbers_of(gateway(), server, 53))
        if itself != 1:
            return Finding(False, NO_PROOF)
        if resolved == 0 or answers or visited(server):
            return Finding(False, "a question for a name got out")
        return alone(seen)


def _abstract(remote: RemoteCalculator, seen: WatchedContainer) -> Finding:
    number = secrets.randbelow(10**9)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0lambench-selftest-{number}")
        server.listen(8)
        host, own_socket = report(remote, number)
        if own_socket != 0:
            return Finding(False, NO_PROOF)
        reached = host == 0 or visited(server)
        return Finding(not reached, "the host's abstract socket was " + ("reached" if reached else "not there"))


def _engine(remote: RemoteCalculator, seen: WatchedContainer) -> Finding:
    reached, own_socket = report(remote)
    if own_socket != 1:
        return Finding(False, NO_PROOF)
    mounted = [mount["Destination"] for mount in seen.seen["Mounts"] if mount["Type"] != "tmpfs"]
    held = reached == 0 and mounted == ["/lambench"]
    return Finding(held, "no socket but its own" if held else f"{reached:.0f} sockets reached; mounted: {mounted}")


def _again(remote: RemoteCalculator, seen: WatchedContainer) -> Finding:
    again, guest = report(remote)
    if guest != 0:
        return Finding(False, "it cannot even see the guest beside the socket: this proves nothing")
    return Finding(again != 0, "nobody listens any more" if again else "a second connection was accepted")


def _families(remote: RemoteCalculator, seen: WatchedContainer) -> Finding:
    n_open, first, *own_sockets = report(remote)
    if any(own_sockets):
        return Finding(False, NO_PROOF)
    how = f"{n_open:.0f} families were let through, the first is {first:.0f}" if n_open else "no other family opens"
    return Finding(n_open == 0, how)


NETWORK_ATTACKS = stated_attacks(
    {
        "network-dns": watched(_name),
        "network-gateway": watched(_gateway),
        "network-public": watched(_address(PUBLIC)),
        "network-metadata": watched(_address(METADATA)),
        "network-ipv6": watched(_ipv6),
        "socket-engine": watched(_engine),
        "socket-abstract": watched(_abstract),
        "socket-vsock": watched(forbidden),
        "socket-families": watched(_families),
        "socket-again": watched(_again),
    }
)
