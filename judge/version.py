"""The version and the commit of this judge."""

from __future__ import annotations

import re
from functools import cache
from importlib import metadata
from pathlib import Path

_COMMIT = re.compile(r"^[0-9a-f]{40}(?:[0-9a-f]{24})?$")


@cache
def judge_version() -> str:
    """The version of this judge."""
    try:
        return metadata.version("lambench-judge")
    except metadata.PackageNotFoundError:
        return "unknown"


@cache
def judge_commit(root: Path = Path(__file__).parents[1]) -> str:
    """The commit that is checked out at `root`; empty if that is no checkout. Uncommitted changes do not show."""
    git = root / ".git"
    try:
        head = (git / "HEAD").read_text(encoding="ascii").strip()
        if head.startswith("ref: "):
            head = _resolve(git, head.removeprefix("ref: "))
    except (OSError, UnicodeDecodeError):
        return ""
    return head if _COMMIT.match(head) else ""


def _resolve(git: Path, ref: str) -> str:
    """The commit that `ref` names, from its own file or from the packed references; empty if there is none."""
    if (git / ref).is_file():
        return (git / ref).read_text(encoding="ascii").strip()
    for line in (git / "packed-refs").read_text(encoding="ascii").splitlines():
        commit, _, name = line.partition(" ")
        if name == ref:
            return commit
    return ""
