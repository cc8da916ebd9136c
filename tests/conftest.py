"""Where the reference data of the tests lie."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

BESIDE_THE_CHECKOUT = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def reference_data() -> Path:
    """The folder of LAMBENCH_TEST_DATA; a test that needs it and has none is skipped by name."""
    folder = Path(os.environ.get("LAMBENCH_TEST_DATA", BESIDE_THE_CHECKOUT))
    if not folder.is_dir():
        pytest.skip(f"no reference data in {folder}: set LAMBENCH_TEST_DATA")
    return folder
