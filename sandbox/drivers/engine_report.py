"""What an engine reports of itself: its name, and whether it can limit containers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sandbox.driver import ColdStart
from sandbox.drivers import podman
from sandbox.drivers.seccomp_profile import seccomp_version
from sandbox.verdict import FaultCause, JudgeFault

LIMITS = {"MemoryLimit": "memory", "PidsLimit": "processes", "CPUSet": "processors"}


def engine_words(
    info: Mapping[str, Any], version: Mapping[str, Any], runtime: str | None, cold_start: ColdStart = "required"
) -> str:
    """`Docker 20.10.24 (runc 1.1.5, Linux 6.1.0, cgroup v2, seccomp 451c711ebaf2)`, from what the engine reports.

    Args:
        cold_start: named if it is not `required`: a selftest proves nothing for another setting.
    """
    parts = {part.get("Name", ""): str(part.get("Version", "")) for part in version.get("Components") or []}
    name = podman.NAME if any("podman" in part.lower() for part in parts) else "Docker"
    chosen = runtime or str(info.get("DefaultRuntime") or "runc")
    of_runtime = parts.get(chosen, "").split("\n", 1)[0]
    return (
        f"{name} {version.get('Version', '')} ({' '.join([chosen, of_runtime]).strip()}, "
        f"Linux {info.get('KernelVersion', '')}, cgroup v{info.get('CgroupVersion') or 1}, "
        f"{', '.join(_security_words(info))}"
        f"{'' if cold_start == 'required' else f', cold start {cold_start}'})"
    )


def _security_words(info: Mapping[str, Any]) -> list[str]:
    """The engine's security options, and the version of the judge's seccomp profile, which replaces the engine's.

    If one changes, the last selftest of this engine no longer counts.
    """
    names = _security_names(info.get("SecurityOptions") or [])
    first = f"seccomp {seccomp_version()}" if "seccomp" in names else "no seccomp"
    others = (names - {"rootless"}) | ({"rootless"} if is_rootless(info) else set())
    return [first, *(name for name in ("apparmor", "selinux", "rootless", "userns") if name in others)]


def _security_names(options: Sequence[str]) -> set[str]:
    return {dict(part.partition("=")[::2] for part in option.split(",")).get("name", "") for option in options}


def is_rootless(info: Mapping[str, Any]) -> bool:
    """Whether the engine runs without root. Podman says so in a field, and Docker in its security options."""
    return bool(info.get("Rootless")) or "rootless" in _security_names(info.get("SecurityOptions") or [])


def require_limits(info: Mapping[str, Any]) -> None:
    """Returns if the engine can limit memory, processes and processors of a container.

    A rootless engine can only if systemd delegates a cgroup v2 to its user, whatever it reports of the kernel.

    Raises:
        JudgeFault: DOCKER: it cannot.
    """
    version, manager = str(info.get("CgroupVersion") or 1), str(info.get("CgroupDriver") or "none")
    if is_rootless(info) and (version != "2" or manager != "systemd"):
        raise JudgeFault(
            FaultCause.DOCKER,
            f"this rootless engine (cgroup v{version}, manager {manager}) cannot limit containers: use a host with "
            "cgroup v2 and systemd, or an engine that runs as root (docs/hosts.md)",
        )
    lacking = [name for field, name in LIMITS.items() if info.get(field) is False]
    if lacking:
        raise JudgeFault(
            FaultCause.DOCKER,
            f"this engine cannot limit the {' and '.join(lacking)} of containers: enable these cgroup controllers for "
            "it (docs/hosts.md)",
        )
