"""The folder of this user that keeps downloads and virtual environments. Several clones share it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from sandbox.verdict import FaultCause, JudgeFault

LAST_LINES = 5


def cache_folder() -> Path:
    """`LAMBENCH_CACHE`, else `lambench-judge` in the user's cache; made if it does not exist."""
    base = os.environ.get("XDG_CACHE_HOME")
    default = (Path(base) if base else Path.home() / ".cache") / "lambench-judge"
    folder = Path(os.environ.get("LAMBENCH_CACHE") or default).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def run_quietly(command: Sequence[str], remedy: str, variables: Mapping[str, str] | None = None) -> None:
    """Runs a command, and shows nothing of it.

    Args:
        remedy: what the user can do if it fails.
        variables: of the environment, besides this process's.

    Raises:
        JudgeFault: it fails; with `remedy` and its last lines.
    """
    done = subprocess.run(
        command,
        env={**os.environ, **(variables or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        last = " | ".join((done.stdout + done.stderr).strip().splitlines()[-LAST_LINES:])
        raise JudgeFault(FaultCause.REGISTRY, f"{remedy}: {last}")
