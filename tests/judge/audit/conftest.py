"""A world in which everything is judged, and published twice."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.world.judged import copy_of
from tests.world.world import World


@pytest.fixture(scope="package")
def published_once(once_judged: World) -> Iterator[World]:
    with copy_of(once_judged) as world:
        for _ in range(2):
            assert world.run_here("site", "publish")[0] == 0
        yield world


@pytest.fixture
def published_world(published_once: World) -> Iterator[World]:
    with copy_of(published_once) as copy:
        yield copy
