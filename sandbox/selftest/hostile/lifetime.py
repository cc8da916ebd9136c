"""Attacks that outlive the session, or start in another way than the judge chooses."""

import atexit
import os
import signal
import subprocess
import time

from report import Report


def outlive():
    """Leaves an orphan process behind, under a name with the given number."""

    def attempt(number, *_):
        leave("lambench-selftest-%d" % number)
        return os.getpid()

    return Report(attempt)


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


def ignore():
    """Ignores all signals that can be ignored, leaves a process that does too, and never ends by itself."""

    def attempt(number, *_):
        leave("lambench-selftest-%d" % number, ignore_signals)
        ignore_signals()
        atexit.register(time.sleep, 600)
        return os.getpid()

    return Report(attempt)


def freeze():
    """Stops itself in the middle of an answer."""

    def attempt(number, *_):
        leave("lambench-selftest-%d" % number)
        os.kill(os.getpid(), signal.SIGSTOP)
        return 0

    return Report(attempt)


def health():
    """Whether the image's health check has run after some seconds, and whether it could have, run by hand."""

    def attempt(seconds, *_):
        time.sleep(seconds)
        ran = os.path.exists("/tmp/health")
        subprocess.run("touch /tmp/health", shell=True, check=True)
        return ran, os.path.exists("/tmp/health")

    return Report(attempt)


def entrypoint():
    """Whether the image's own entrypoint has run, and whether it could have, run by hand."""

    def attempt(*_):
        ran = os.path.exists("/tmp/entrypoint")
        subprocess.run(["/bin/sh", "-c", "touch /tmp/entrypoint"], check=True)
        return ran, os.path.exists("/tmp/entrypoint")

    return Report(attempt)
