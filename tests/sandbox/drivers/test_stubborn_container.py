"""A container that its engine cannot remove does not stop the judge from starting."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from sandbox.drivers.docker_driver import HOST_LABEL, LOCK_LABEL, RUN_DIR_LABEL, DockerDriver
from sandbox.rundir import RunDir

STUBBORN, OTHER = "a" * 64, "b" * 64


class _Engine(BaseHTTPRequestHandler):
    """The part of an engine that `reap` needs, with two containers. It can remove one of them."""

    protocol_version = "HTTP/1.1"
    run_dir = ""

    def do_GET(self) -> None:
        labels = {LOCK_LABEL: "1-00000000", HOST_LABEL: "h", RUN_DIR_LABEL: self.run_dir}
        answers = {
            "_ping": "OK",
            "version": {"ApiVersion": "1.41", "Version": "20.10", "Components": []},
            "info": {"ID": "h"},
            "json": [{"Id": container, "Labels": labels} for container in (STUBBORN, OTHER)],
        }
        self._answer(200, answers[self.path.partition("?")[0].rsplit("/", 1)[-1]])

    def do_DELETE(self) -> None:
        if STUBBORN in self.path:
            self._answer(500, {"message": "driver failed to remove root filesystem: device or resource busy"})
        else:
            self._answer(204, None)

    def _answer(self, status: int, content: object) -> None:
        body = b"" if content is None else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Logs nothing: a client on a Unix socket has no address."""


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[DockerDriver]:
    with TemporaryDirectory(prefix="lj") as folder:
        root = Path(folder)
        handler = type("Engine", (_Engine,), {"run_dir": str(root / "run")})
        with socketserver.ThreadingUnixStreamServer(str(root / "engine.sock"), handler) as server:
            server.daemon_threads = True
            threading.Thread(target=server.serve_forever, daemon=True).start()
            monkeypatch.setenv("DOCKER_HOST", f"unix://{root}/engine.sock")
            yield DockerDriver(RunDir(root / "run"))
            server.shutdown()


def test_the_others_are_removed_and_counted(driver: DockerDriver) -> None:
    assert driver.reap() == 1
