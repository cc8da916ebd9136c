"""Starts Chromium for all tests."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserType

_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--host-resolver-rules=MAP *.localhost 127.0.0.1",  # the host of a bucket's website
)


def launch(chromium: BrowserType) -> Browser:
    """A browser; the caller closes it. If Chromium is not installed, the test is skipped by name."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("chromium is not installed")
    return chromium.launch(executable_path=found, args=list(_FLAGS))
