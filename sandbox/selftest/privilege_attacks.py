"""Attacks that try to gain more rights than user 65534 without capabilities."""

from __future__ import annotations

import errno
import signal
from collections.abc import Callable

from sandbox.drivers.docker_driver import NOBODY
from sandbox.selftest.asking import Look, report, watched
from sandbox.selftest.attack import Finding, stated_attacks
from sandbox.selftest.watch import WatchedContainer
from sandbox.wire.remote import RemoteCalculator

UID = int(NOBODY.partition(":")[0])
REFUSALS = (errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EAFNOSUPPORT)
# How a call of another ABI ends: by the filter, or since this kernel does not have the ABI.
NO_SUCH_ABI = (-signal.SIGSYS, -signal.SIGSEGV, errno.EPERM, errno.ENOSYS, errno.ENOEXEC, errno.EINVAL)
CAPABILITIES = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")


def _nothing_more(seen: WatchedContainer) -> Finding:
    return Finding(True, "every call was refused")


def refused(outside: Callable[[WatchedContainer], Finding] = _nothing_more) -> Look:
    """Held if every call failed except the last, which anyone may make, and `outside` finds nothing either."""

    def look(remote: RemoteCalculator, seen: WatchedContainer) -> Finding:
        *calls, harmless = report(remote)
        if harmless != 0:
            return Finding(False, "even a call that anyone may make was refused: this proves nothing")
        done = [number for number, error in enumerate(calls, 1) if error == 0]
        return Finding(False, f"calls {done} of {len(calls)} succeeded") if done else outside(seen)

    return look


def forbidden(remote: RemoteCalculator, seen: WatchedContainer) -> Finding:
    """Held if every call except the last was refused as such, and not for its arguments."""
    *calls, harmless = report(remote)
    allowed = [number for number, error in enumerate(calls, 1) if error not in REFUSALS]
    if harmless != 0:
        return Finding(False, "even a call that anyone may make was refused: this proves nothing")
    return Finding(not allowed, f"calls {allowed} were let through" if allowed else "every call was refused")


def _powerless(seen: WatchedContainer) -> Finding:
    """Held if by the kernel its first process has no capability, and cannot gain one."""
    status = seen.status()
    if not status:
        host = seen.seen["HostConfig"]
        held = host["CapDrop"] == ["ALL"] and not host["CapAdd"] and "no-new-privileges" in host["SecurityOpt"]
        return Finding(held, "the engine says that it has no capability" if held else "the engine gave it more")
    owned = [name for name in CAPABILITIES if int(status[name], 16)]
    users = {int(word) for word in status["Uid"].split()}
    held = not owned and users == {UID} and status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"
    return Finding(held, "no capability, none to gain" if held else f"{owned}, users {users}: see /proc/PID/status")


def _setuid(remote: RemoteCalculator, seen: WatchedContainer) -> Finding:
    reported_user, is_setuid = report(remote)
    users = {process.uid for process in seen.await_command("setuid-sleep")}
    if is_setuid != 1 or not users:
        return Finding(False, "the program is not setuid, or did not run: this proves nothing")
    held = reported_user == UID and users == {UID}
    return Finding(held, f"root's program runs as user {sorted(users)}, and says {reported_user:.0f}")


def _mounts(remote: RemoteCalculator, seen: WatchedContainer) -> Finding:
    before = seen.mounts()
    finding = refused()(remote, seen)
    if finding.held and seen.mounts() != before:
        return Finding(False, "what is mounted in it has changed")
    return finding


def _devices(seen: WatchedContainer) -> Finding:
    given = seen.seen["HostConfig"]["Devices"] or seen.seen["HostConfig"]["Privileged"]
    return Finding(not given, "the engine gave it devices" if given else "no device but the harmless ones")


def _core(remote: RemoteCalculator, seen: WatchedContainer) -> Finding:
    raised, ended_by, dumped = report(remote)
    if ended_by != signal.SIGABRT:
        return Finding(False, "it did not abort: this proves nothing")
    held = raised == 0 and dumped == 0
    return Finding(held, "it aborted without a core dump" if held else "a core dump was written on the host")


def _other_abi(remote: RemoteCalculator, seen: WatchedContainer) -> Finding:
    native, *others = report(remote)
    if native != 0:
        return Finding(False, "not even a call of the machine's own ABI was answered: this proves nothing")
    answered = [number for number, end in enumerate(others, 1) if end not in NO_SUCH_ABI]
    how = f"calls {answered} of {len(others)} were answered" if answered else "no call of another ABI was answered"
    return Finding(not answered, how)


def _root(remote: RemoteCalculator, seen: WatchedContainer) -> Finding:
    report(remote)
    users = {process.uid for process in seen.processes()}
    return Finding(users == {UID}, f"its processes run as user {sorted(users)}")


PRIVILEGE_ATTACKS = stated_attacks(
    {
        "gain-capabilities": watched(refused(_powerless)),
        "gain-root-by-setuid": watched(_setuid),
        "gain-root-by-user": watched(_root),
        "gain-mounts": watched(_mounts),
        "gain-namespaces": watched(forbidden),
        "gain-keyring": watched(forbidden),
        "gain-raw-sockets": watched(forbidden),
        "gain-io-uring": watched(forbidden),
        "gain-other-abi": watched(_other_abi),
        "gain-devices": watched(refused(_devices)),
        "gain-kernel": watched(forbidden),
        "core-dump": watched(_core),
    }
)
