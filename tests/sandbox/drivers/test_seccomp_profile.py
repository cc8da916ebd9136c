"""The seccomp profile is Docker's default, unchanged as shipped, without io_uring, other ABIs and most sockets.

The selftest shows what the kernel makes of it.
"""

from __future__ import annotations

import errno
import hashlib
import json
import socket
from importlib import resources
from typing import Any

from sandbox.drivers.seccomp_profile import DEFAULT, IO_URING, SOCKET_FAMILIES, seccomp_profile, seccomp_version

FOLDER = resources.files("sandbox.drivers").joinpath("seccomp")
PROFILE: dict[str, Any] = json.loads(seccomp_profile())
MOBY: dict[str, Any] = json.loads(FOLDER.joinpath(DEFAULT).read_text())
MANY = 64


def answer(name: str, first: int) -> int | None:
    """The error of the call `name` with that first argument, by the rules of the profile; None if it is allowed."""
    compare = {"SCMP_CMP_EQ": int.__eq__, "SCMP_CMP_GT": int.__gt__}
    (rule,) = (
        rule
        for rule in PROFILE["syscalls"]
        if name in rule["names"] and all(compare[arg["op"]](first, arg["value"]) for arg in rule["args"])
    )
    return None if rule["action"] == "SCMP_ACT_ALLOW" else rule["errnoRet"]


def allowed(profile: dict[str, Any]) -> set[str]:
    """The calls that `profile` allows without a capability."""
    rules = (rule for rule in profile["syscalls"] if rule["action"] == "SCMP_ACT_ALLOW")
    return {name for rule in rules if not (rule.get("includes") or {}).get("caps") for name in rule["names"]}


def test_dockers_default_is_as_its_readme_states() -> None:
    stated = hashlib.sha256(FOLDER.joinpath(DEFAULT).read_bytes()).hexdigest()
    assert f"`{stated}`" in FOLDER.joinpath("README.md").read_text()


def test_the_profile_differs_from_the_default_by_what_is_stated() -> None:
    assert PROFILE["defaultAction"] == MOBY["defaultAction"] == "SCMP_ACT_ERRNO"
    assert allowed(MOBY) - allowed(PROFILE) == {*IO_URING, "socketcall"}
    assert not allowed(PROFILE) - allowed(MOBY)
    assert {entry["architecture"] for entry in PROFILE["archMap"]} == {"SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"}
    assert not any(entry["subArchitectures"] for entry in PROFILE["archMap"])
    assert [answer(name, 0) for name in IO_URING] == [errno.ENOSYS] * 3


def test_exactly_one_rule_decides_about_each_socket_family() -> None:
    assert SOCKET_FAMILIES == (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6)
    for family in (*range(MANY), (1 << 32) + socket.AF_INET, (1 << 64) - 1):
        expected = None if family in SOCKET_FAMILIES else errno.EAFNOSUPPORT
        assert answer("socket", family) == expected
        assert answer("socketpair", family) == (None if family == socket.AF_UNIX else errno.EAFNOSUPPORT)


def test_another_profile_has_another_version() -> None:
    assert hashlib.sha256(seccomp_profile().encode()).hexdigest().startswith(seccomp_version())
