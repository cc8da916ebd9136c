"""`python -m judge.cluster.tied_work PARENT ARGUMENTS`: becomes `judge work ARGUMENTS`.

It gets SIGTERM when its parent dies (prctl(2), PR_SET_PDEATHSIG, which an execve keeps).
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Ends at once if the parent has died before the kernel was told."""
    parent, *arguments = sys.argv[1:]
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0):
        sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
    if os.getppid() != int(parent):
        sys.exit(1)
    os.execv(sys.executable, [sys.executable, "-m", "judge.cli.main", "work", *arguments])


if __name__ == "__main__":
    main()
