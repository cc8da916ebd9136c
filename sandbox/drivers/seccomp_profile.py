"""The seccomp profile of every container: the default of Docker 20.10.24 without what a calculator does not need.

Differences from the default (`seccomp/README.md` states its source):

- `io_uring_*` answers ENOSYS: io_uring starts operations that no seccomp rule sees.
- `socket` opens AF_UNIX, AF_INET and AF_INET6 alone; any other family answers EAFNOSUPPORT, as if the kernel lacked
  it. AF_VSOCK is not confined by network namespaces, and AF_ALG or AF_NETLINK make much more of the kernel reachable.
- No other ABI: x86 and x32 on x86-64, 32-bit ARM on aarch64. There, `socketcall` hides the family from all rules.
- No rule that depends on a capability, since a container has none.

The filter reads 64 bits of an argument, the kernel 32. So the allowed families are listed: anything else is
refused, also a number whose lower bits are those of an allowed family.
"""

from __future__ import annotations

import errno
import hashlib
import json
import socket
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any

DEFAULT = "moby-20.10.24.json"
IO_URING = ("io_uring_setup", "io_uring_enter", "io_uring_register")
SOCKET_FAMILIES = tuple(sorted((socket.AF_UNIX, socket.AF_INET, socket.AF_INET6)))
ARCHITECTURES = ("SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64")
_REPLACED = frozenset({*IO_URING, "socket", "socketpair", "socketcall"})


@cache
def seccomp_profile() -> str:
    """The profile as JSON in Docker's format, as `security_opt` takes it after `seccomp=`."""
    default = json.loads(resources.files("sandbox.drivers").joinpath("seccomp", DEFAULT).read_text())
    kept = [_without(rule, _REPLACED) for rule in default["syscalls"] if not (rule.get("includes") or {}).get("caps")]
    rules = [
        *(rule for rule in kept if rule["names"]),
        _refused(IO_URING, errno.ENOSYS),
        *_families("socket", SOCKET_FAMILIES),
        *_families("socketpair", (socket.AF_UNIX,)),
    ]
    architectures = [{"architecture": name, "subArchitectures": []} for name in ARCHITECTURES]
    return json.dumps({"defaultAction": default["defaultAction"], "archMap": architectures, "syscalls": rules})


@cache
def seccomp_version() -> str:
    """The first twelve hexadecimal digits of the profile's sha256."""
    return hashlib.sha256(seccomp_profile().encode()).hexdigest()[:12]


def _without(rule: Mapping[str, Any], names: frozenset[str]) -> dict[str, Any]:
    return {**rule, "names": [name for name in rule["names"] if name not in names]}


def _refused(names: tuple[str, ...], error: int, *args: Mapping[str, Any]) -> dict[str, Any]:
    return {"names": list(names), "action": "SCMP_ACT_ERRNO", "errnoRet": error, "args": list(args)}


def _families(name: str, allowed: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    """Rules by which the call `name` gets only the `allowed` families, its first argument; no two of them overlap."""
    for family in allowed:
        yield {"names": [name], "action": "SCMP_ACT_ALLOW", "args": [_first("SCMP_CMP_EQ", family)]}
    for family in range(max(allowed)):
        if family not in allowed:
            yield _refused((name,), errno.EAFNOSUPPORT, _first("SCMP_CMP_EQ", family))
    yield _refused((name,), errno.EAFNOSUPPORT, _first("SCMP_CMP_GT", max(allowed)))


def _first(operator: str, value: int) -> dict[str, Any]:
    return {"index": 0, "value": int(value), "op": operator}
