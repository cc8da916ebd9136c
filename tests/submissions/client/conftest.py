"""An author with an invitation."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.servers.rgw import Buckets, RgwServer
from tests.world.author_machine import AuthorMachine


@pytest.fixture
def author(rgw: RgwServer, buckets: Buckets, tmp_path: Path) -> AuthorMachine:
    """The machine of an author whose model is called `small`."""
    (tmp_path / "lambench.toml").write_text('name = "small"\n')
    return AuthorMachine(rgw, buckets, tmp_path)
