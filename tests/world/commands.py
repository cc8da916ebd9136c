"""Commands of `judge` and `lambench-submit`, run in this process."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable, Mapping
from contextvars import copy_context
from io import StringIO
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run_in_process(
    main: Callable[[], None], program: str, arguments: tuple[str, ...], folder: Path, environment: Mapping[str, str]
) -> tuple[int, str, str]:
    """Exit status, standard output and standard error of a command that starts no other process.

    This saves the time that a new process needs to import the packages.
    """
    out, err, handler = StringIO(), StringIO(), signal.getsignal(signal.SIGTERM)
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        patch.chdir(folder)
        patch.setattr(sys, "argv", [program, *arguments])
        for name, value in environment.items():
            patch.setenv(name, value)
        with pytest.raises(SystemExit) as ended:
            copy_context().run(main)  # what a command sets, as --quiet, is not of later ones
    signal.signal(signal.SIGTERM, handler)
    return int(ended.value.code or 0), out.getvalue(), err.getvalue()
