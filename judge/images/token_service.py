"""Which token service belongs to a registry: the judge's credential is sent there."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlsplit

from judge.images.reference import DOCKER_HUB_HOST, Repository
from judge.images.transfer import RequestFault
from sandbox.events import plain
from sandbox.verdict import FaultCause
from submissions.bounded_http import is_loopback

# The token services of registries that are on another host. This must be a list: a host's name does not show who owns
# its parent domain.
_ON_ANOTHER_HOST = {DOCKER_HUB_HOST: "auth.docker.io", "registry.gitlab.com": "gitlab.com"}
_PORTS = {"https": 443, "http": 80}

Endpoint = tuple[str, str, int]
"""Scheme, host and port."""


def require_own_service(repository: Repository, realm: str, listed: Collection[str] = ()) -> None:
    """Returns if the token service at the address `realm` belongs to the registry: same scheme, host and port.

    Args:
        listed: `HOST` or `HOST:PORT` of other services that may be asked.

    Raises:
        RequestFault: it does not.
    """
    address = repository.address
    hosts = (address, *listed, *([_ON_ANOTHER_HOST[address]] if address in _ON_ANOTHER_HOST else []))
    service = _endpoint(realm)
    own = [_endpoint(f"{'http' if is_loopback(host) else 'https'}://{host}") for host in hosts]
    if service is None or service not in own:
        named = plain(realm.partition("?")[0], 80)
        raise RequestFault(
            FaultCause.REGISTRY,
            f"{repository.host} names the token service {named!r}, which is not its own: "
            "take the registry out of registries, or if you trust that service, add its HOST or HOST:PORT",
        )


def _endpoint(address: str) -> Endpoint | None:
    """The endpoint of a web address; None if it has none, or has a user name."""
    try:
        parts = urlsplit(address)
        port = parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        return None
    if not parts.hostname or not port or "@" in parts.netloc:
        return None
    return parts.scheme, parts.hostname, port
