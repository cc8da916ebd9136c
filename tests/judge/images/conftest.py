"""A judge with a mirror of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from judge.config import JudgeSettings
from tests.servers.registry import RegistryServer
from tests.world.small_images import AuthorsRepository


@pytest.fixture
def settings(registry: RegistryServer, tmp_path: Path) -> JudgeSettings:
    """Of a judge with a mirror and a store of its own, who fetches from the same registry."""
    return JudgeSettings(
        store=str(tmp_path / "store"),
        mirror=f"{registry.host}/judge-{tmp_path.name.lower().replace('_', '-')[-30:]}/images",
        registries=(registry.host,),
        max_image_bytes=10 * 1024**2,
        min_free_bytes=0,
    )


@pytest.fixture
def mirrored(settings: JudgeSettings, registry: RegistryServer) -> AuthorsRepository:
    """What the mirror has, seen without any code of the judge's."""
    return AuthorsRepository(registry, settings.mirror.partition("/")[2])
