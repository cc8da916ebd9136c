"""`judge layers add` of an image of this machine's engine, on a real engine and a real registry."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import docker
import pytest

from judge.intake.reusable_layers import public_layers
from tests.servers.registry import RegistryServer
from tests.world.world import World

pytestmark = pytest.mark.docker
NAME = "lambench-test/bare"


def test_a_base_image_need_be_no_calculator(tmp_path: Path, registry: RegistryServer) -> None:
    lines = [f'store = "{tmp_path}/store"', f'mirror = "{registry.host}/judge/bare"', "min_free_bytes = 0", ""]
    (tmp_path / "judge.toml").write_text("\n".join(lines))
    world, engine, bare = World(tmp_path), docker.from_env(), io.BytesIO()
    with tarfile.open(fileobj=bare, mode="w") as archive:
        archive.add(__file__, "of-a-base-image")
    engine.api.import_image_from_data(bare.getvalue(), repository=NAME, tag="1")
    try:
        status, out, err = world.run_here("layers", "add", f"{NAME}:1")
    finally:
        engine.images.remove(f"{NAME}:1", force=True)
        engine.close()
    assert (status, out.count("1 layers; 1 of them were not public before")) == (0, 1), err
    assert [layer.image for layer in public_layers(world.store)] == [f"{NAME}:1"]
    status, _, err = world.run_here("layers", "add", f"{NAME}:1")
    assert (status, f"there is no image '{NAME}:1' on this machine" in err) == (2, True)
