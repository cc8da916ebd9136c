"""Attacks that read or write foreign files and processes: of the image, the guest, the host, the neighbours."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from sandbox.guest_archive import guest_archive
from sandbox.rundir import GUEST_NAME, SOCKET_NAME
from sandbox.selftest.asking import found, report, watched
from sandbox.selftest.attack import Finding, Trial, stated_attacks
from sandbox.selftest.watch import WatchedContainer
from sandbox.wire.remote import RemoteCalculator

SECRET = "lambench-selftest-secret-of-the-judge"
CANARY = "lambench-selftest-canary"
VARIABLE = "LAMBENCH_SELFTEST_SECRET"
LEAVE, LOOK = 1.0, 2.0
LEFT = 5
NEEDED_FILES = 5


@contextmanager
def stranger(command: str) -> Iterator[None]:
    """A process of the host with `command` among its arguments, and the judge's secret in its environment."""
    waits = [sys.executable, "-S", "-c", "import sys; sys.stdin.read()", command]
    process = subprocess.Popen(waits, stdin=subprocess.PIPE, env={**os.environ, VARIABLE: SECRET})
    try:
        yield
    finally:
        process.communicate()


def _write(remote: RemoteCalculator, seen: WatchedContainer) -> Finding:
    before = seen.changed_files()
    written, in_tmp, open_file = report(remote)
    if in_tmp != 1 or open_file != 1:
        return Finding(False, "it could not even write to /tmp: this proves nothing")
    changed = seen.changed_files() - before
    held = written == 0 and not changed
    return Finding(held, "nothing was written" if held else f"{written:.0f} written; {len(changed)} files changed")


def _settings(remote: RemoteCalculator, seen: WatchedContainer) -> Finding:
    opened, tried, own_readable = report(remote)
    if own_readable != 1 or tried < 100:
        return Finding(False, "it found nothing to try: this proves nothing")
    mounts = seen.mounts()
    writable = [top for top in ("/sys", "/proc/sys") if top in mounts and "ro" not in mounts[top].split(",")]
    held = opened == 0 and not writable
    return Finding(
        held, f"none of {tried:.0f} files opens" if held else f"{opened:.0f} files open; writable {writable}"
    )


def _replace(remote: RemoteCalculator, seen: WatchedContainer) -> Finding:
    folder = seen.session_dir()
    before = sorted(os.listdir(folder)), os.stat(folder / SOCKET_NAME).st_ino
    done, own_readable = report(remote)
    if own_readable < 5:
        return Finding(False, "not even its own files could be replaced: this proves nothing")
    after = sorted(os.listdir(folder)), os.stat(folder / SOCKET_NAME).st_ino
    held = done == 0 and before == after and (folder / GUEST_NAME).read_bytes() == guest_archive()
    return Finding(held, "guest and socket are as they were" if held else "the guest's folder was changed")


def _environment(trial: Trial) -> Finding:
    def look(remote: RemoteCalculator, seen: WatchedContainer) -> Finding:
        judges, own_readable = report(remote)
        if own_readable < 1:
            return Finding(False, "it cannot even find a secret of its own image: this proves nothing")
        handed_over = [entry for entry in seen.seen["Config"]["Env"] if SECRET in entry]
        held = judges == 0 and not handed_over
        return Finding(held, "it sees only its own environment" if held else "it read the judge's secret")

    os.environ[VARIABLE] = SECRET
    try:
        with stranger(SECRET):
            return watched(look)(trial)
    finally:
        del os.environ[VARIABLE]


def _processes(remote: RemoteCalculator, seen: WatchedContainer) -> Finding:
    number = secrets.randbelow(10**9)
    with stranger(f"lambench-selftest-{number}"):
        visible, strangers, itself = report(remote, number)
        its_own = len(seen.processes())
    if itself < 1:
        return Finding(False, "it cannot even see itself: this proves nothing")
    held = strangers == 0 and visible <= its_own
    return Finding(held, f"it sees {visible:.0f} processes, its own" if held else f"it sees {visible:.0f} of {its_own}")


def _files(trial: Trial) -> Finding:
    def look(remote: RemoteCalculator, seen: WatchedContainer) -> Finding:
        elsewhere, own_readable, _ = report(remote)
        if own_readable < 1:
            return Finding(False, "it cannot even find its own file: this proves nothing")
        mounted = sorted(mount["Destination"] for mount in seen.seen["Mounts"] if mount["Type"] != "tmpfs")
        held = elsewhere == 0 and mounted == ["/lambench"]
        return Finding(held, "no file of the host is to be seen" if held else f"files of the host; mounted: {mounted}")

    canary = trial.driver.run_dir.root / CANARY
    canary.write_text("a file of the host")
    canary.chmod(0o644)
    try:
        return watched(look)(trial)
    finally:
        canary.unlink(missing_ok=True)


def _neighbour(trial: Trial) -> Finding:
    """A container leaves five traces; another of the same image, started meanwhile, looks for them."""
    number = secrets.randbelow(10**9)

    def look(remote: RemoteCalculator) -> Finding:
        (seen,) = report(remote, LOOK, number)
        return Finding(seen == 0, "nothing of its neighbour is to be seen" if not seen else f"{seen:.0f} things seen")

    def leave(remote: RemoteCalculator) -> Finding:
        (found_again,) = report(remote, LEAVE, number)
        if found_again != LEFT:
            return Finding(False, f"it finds only {found_again:.0f} of its own {LEFT} things: this proves nothing")
        return found(trial.run(look))

    return found(trial.run(leave))


def _host_facts(trial: Trial) -> Finding:
    pid, _, token = trial.driver.run_dir.token.partition("-")

    def look(remote: RemoteCalculator, seen: WatchedContainer) -> Finding:
        n_facts, n_traces, n_needed = report(remote, int(pid), int(token, 16))
        if n_needed < NEEDED_FILES:
            return Finding(False, "it cannot even read what is not hidden: this proves nothing")
        held = n_facts == 0 and n_traces == 0
        seen_facts = f"it reads {n_facts:.0f} facts of the host, and {n_traces:.0f} names tell of the judge"
        return Finding(held, "no hidden fact of the host is to be read" if held else seen_facts)

    return watched(look)(trial)


READING_ATTACKS = stated_attacks(
    {
        "write-outside-tmp": watched(_write),
        "write-kernel-settings": watched(_settings),
        "write-guest": watched(_replace),
        "read-environment": _environment,
        "read-processes": watched(_processes),
        "read-host-files": _files,
        "read-host-facts": _host_facts,
        "read-neighbour": _neighbour,
    }
)
