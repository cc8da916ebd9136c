"""`judge site serve`: a missing page at any address has the site's look and a link back."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from judge.publishing.local_server import LOOPBACK, site_server
from tests.judge.pages.ranking_site import Watched, build_ranking_site

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a served site."""
    with site_server(build_ranking_site(tmp_path_factory.mktemp("served")), 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://{LOOPBACK}:{server.server_address[1]}/"
        server.shutdown()


@pytest.mark.parametrize("path", ["nowhere.html", "submissions/gone.html", "a/very/deep/address"])
def test_a_missing_page_looks_like_the_site_and_links_back(address: str, browser: Browser, path: str) -> None:
    with browser.new_page() as page:
        watched = Watched(page, address)
        response = page.goto(address + path)
        assert response is not None
        assert response.status == 404
        assert page.locator("h1").text_content() == "Page not found"
        assert "Palatino" in page.evaluate("getComputedStyle(document.querySelector('h1')).fontFamily")
        assert [each["id"] for each in Axe().run(page).response["violations"]] == []
        assert all("404" in message for message in watched.messages)  # the browser's own, of the page itself
        assert len(watched.messages) <= 1
        page.get_by_role("link", name="The leaderboard").click()
        expect(page.locator("#ranking")).to_be_visible()


def test_other_answers_are_those_of_the_library(address: str) -> None:
    assert requests.get(f"{address}index.html", timeout=10).status_code == 200
    assert requests.head(f"{address}nowhere", timeout=10).status_code == 404
    assert requests.head(f"{address}nowhere", timeout=10).content == b""
    assert requests.post(address, timeout=10).status_code == 501


def test_a_browser_that_drops_a_connection_causes_no_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "large.bin").write_bytes(bytes(64_000_000))
    with site_server(tmp_path, 0) as server:
        server.daemon_threads = False  # so that the server waits for the end of its answer
        with socket.create_connection((LOOPBACK, server.server_address[1]), timeout=10) as connection:
            connection.sendall(b"GET /large.bin HTTP/1.0\r\n\r\n")
            server.handle_request()
            assert connection.recv(1000).startswith(b"HTTP/1.0 200")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    printed = capsys.readouterr().err
    assert "GET /large.bin" in printed
    assert "Traceback" not in printed
