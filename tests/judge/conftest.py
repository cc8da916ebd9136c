"""The worlds in which many tests of the judge work."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.world.judged import copy_of, make_judged_world
from tests.world.world import World, small_world


@pytest.fixture
def world(short_path: Path) -> World:
    """Nothing was submitted yet."""
    return small_world(short_path)


@pytest.fixture(scope="session")
def once_judged() -> Iterator[World]:
    """The world that `judged_world` copies: EMT was judged there. No test may change it."""
    with make_judged_world() as world:
        yield world


@pytest.fixture
def judged_world(once_judged: World) -> Iterator[World]:
    """A world with a signed result of EMT for each task."""
    with copy_of(once_judged) as world:
        yield world
