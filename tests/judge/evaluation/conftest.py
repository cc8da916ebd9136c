"""Worlds that take long to make."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from submissions.records import Submission
from tests.judge.evaluation.moody import MOODY
from tests.world.world import World, small_world


@pytest.fixture(scope="session")
def once_moody() -> Iterator[tuple[World, Submission, Path]]:
    """A world with a model whose answers a file controls, judged once with good answers; and a copy of its folder."""
    with TemporaryDirectory(prefix="lj") as folder, TemporaryDirectory() as copies:
        world = small_world(Path(folder) / "w")
        mood = world.root / "mood"
        mood.write_text("0")
        world.write_settings()
        model = world.submit("moody", MOODY.format(mood=str(mood)))
        world.evaluate()
        yield world, model, shutil.copytree(world.root, Path(copies) / "w")


@pytest.fixture
def moody_world(once_moody: tuple[World, Submission, Path]) -> World:
    """That world, restored at the same path, since records name paths in it."""
    made, _, copy = once_moody
    shutil.rmtree(made.root)
    shutil.copytree(copy, made.root)
    return made


@pytest.fixture
def moody(once_moody: tuple[World, Submission, Path]) -> Submission:
    return once_moody[1]
