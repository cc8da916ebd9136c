"""What many tests of the judge need: a small world for each that judges."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.judge.small_world import SUITE, World, save_frames


@pytest.fixture
def world() -> Iterator[World]:
    with TemporaryDirectory(prefix="lj") as folder:
        root = Path(folder)
        save_frames(root / "data", "Cu", "copper")
        save_frames(root / "data", "Ni", "nickel")
        (root / "small.toml").write_text(SUITE)
        yield World(root)
