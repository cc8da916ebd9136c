"""Settings of a judge with its own mirror."""

from __future__ import annotations

from pathlib import Path

import pytest

from judge.config import JudgeSettings
from tests.servers.registry import RegistryServer
from tests.world.small_images import AuthorsRepository


@pytest.fixture
def settings(registry: RegistryServer, tmp_path: Path) -> JudgeSettings:
    """The settings of a judge with its own mirror and store, which fetches from the same registry."""
    return JudgeSettings(
        store=str(tmp_path / "store"),
        mirror=f"{registry.host}/judge-{tmp_path.name.lower().replace('_', '-')[-30:]}/images",
        registries=(registry.host,),
        max_image_bytes=10 * 1024**2,
        min_free_bytes=0,
    )


@pytest.fixture
def mirrored(settings: JudgeSettings, registry: RegistryServer) -> AuthorsRepository:
    """The repository of the mirror, read without code of the judge."""
    return AuthorsRepository(registry, settings.mirror.partition("/")[2])
