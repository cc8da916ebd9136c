"""Attacks that outlive the session, or start in another way than the judge chooses."""

import atexit
import os
import signal
import subprocess
import time

from report import reported


@reported
def outlive(number, *_):
    """Leaves an orphan process behind, under a name with the given number."""
    leave("lambench-selftest-%d" % number)
    return os.getpid()


def leave(name, before=lambda: None):
    """An orphaned grandchild in its own session, which sleeps for ten minutes."""
    pid = os.fork()
    if pid == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        before()
        os.execv("/bin/sleep", [name, "600"])
    os.waitpid(pid, 0)


def ignore_signals():
    for number in range(1, signal.NSIG):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError, RuntimeError):
            continue


@reported
def ignore(number, *_):
    """Ignores all signals that can be ignored, leaves a process that does too, and never ends by itself."""
    leave("lambench-selftest-%d" % number, ignore_signals)
    ignore_signals()
    atexit.register(time.sleep, 600)
    return os.getpid()


@reported
def freeze(number, *_):
    """Stops itself in the middle of an answer."""
    leave("lambench-selftest-%d" % number)
    os.kill(os.getpid(), signal.SIGSTOP)
    return 0


@reported
def health(seconds, *_):
    """Whether the image's health check has run after some seconds, and whether it could have, run by hand."""
    time.sleep(seconds)
    ran = os.path.exists("/tmp/health")
    subprocess.run("touch /tmp/health", shell=True, check=True)
    return ran, os.path.exists("/tmp/health")


@reported
def entrypoint(*_):
    """Whether the image's own entrypoint has run, and whether it could have, run by hand."""
    ran = os.path.exists("/tmp/entrypoint")
    subprocess.run(["/bin/sh", "-c", "touch /tmp/entrypoint"], check=True)
    return ran, os.path.exists("/tmp/entrypoint")
