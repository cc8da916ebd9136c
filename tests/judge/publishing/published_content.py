"""The files that `judge site publish` wrote, and its reasons to refuse."""

from __future__ import annotations

from pathlib import Path

from judge.records.manifest import FOLDER
from tests.world.world import World

PUBLISH = ("site", "publish")


def content(folder: Path) -> dict[str, bytes]:
    """Every file in `folder`, by path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def manifests(world: World) -> list[str]:
    return list(world.store.list(FOLDER))


def refused(world: World, *arguments: str, **environment: str) -> list[str]:
    """The reasons why nothing was published."""
    status, out, err = world.run_here(*PUBLISH, *arguments, **environment)
    assert (status, out, manifests(world), (world.root / "public").exists()) == (1, "", [], False)
    first, *lines = err.splitlines()
    assert first == f"Nothing was published. Number of reasons, below: {len(lines)}"
    return lines
