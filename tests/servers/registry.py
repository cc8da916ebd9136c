"""A real docker-registry on loopback."""

from __future__ import annotations

import base64
from pathlib import Path

import requests

from tests.servers.server_process import ServerProcess, free_port, skip_unless_here, start_with_patience

START_S = 20
USER, PASSWORD = "deploy", "not a secret"
# bcrypt, the only hash that docker-registry reads. Its cost is low, so that a request does not take 50 ms.
HTPASSWD = f"{USER}:$2b$05$abcdefghijklmnopqrstuuiitcSTbmWtinjxTMhPy6Z4ocreVFuRu\n"
CONFIG = """version: 0.1
log: {{level: warn, accesslog: {{disabled: true}}}}
storage:
  filesystem: {{rootdirectory: "{folder}/blobs"}}
  delete: {{enabled: true}}
http: {{addr: "127.0.0.1:{port}"}}
"""
AUTH = """auth:
  htpasswd: {{realm: tests, path: "{folder}/htpasswd"}}
"""


class RegistryServer:
    """A docker-registry that keeps its blobs in a folder; manifests and blobs may be deleted.

    A loopback address needs no TLS, neither for the Docker engine nor for clients that say `http://`.

    Args:
        folder: of its own.
        user: who alone may read and write; nobody is asked where it is empty.
        password: of `user`.
    """

    def __init__(self, folder: Path, user: str = "", password: str = "") -> None:
        self.folder = folder
        self.user = user
        self.password = password
        self.port = 0
        self._process: ServerProcess | None = None

    @property
    def host(self) -> str:
        """Host and port, as in image references."""
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self.host}"

    @property
    def docker_config(self) -> dict[str, dict[str, dict[str, str]]]:
        """What `docker login` would write to `config.json`."""
        auth = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
        return {"auths": {self.host: {"auth": auth}}}

    def start(self) -> None:
        """Starts it, and returns when it answers."""
        skip_unless_here("docker-registry")
        start_with_patience(self._start, self.stop)

    def stop(self) -> None:
        """Ends it. Its content stays in its folder; `start` serves it again on another port."""
        if self._process:
            self._process.kill()

    def _start(self) -> None:
        self.port = free_port()
        config = (CONFIG + (AUTH if self.user else "")).format(folder=self.folder, port=self.port)
        (self.folder / "config.yml").write_text(config)
        (self.folder / "htpasswd").write_text(HTPASSWD)
        command = ["docker-registry", "serve", str(self.folder / "config.yml")]
        self._process = ServerProcess(command, self.folder / "registry.log")
        self._process.wait_until(self._ready, START_S)

    def _ready(self) -> bool:
        try:
            answer = requests.get(f"{self.url}/v2/", timeout=5)
        except requests.ConnectionError:
            return False
        return answer.status_code == (401 if self.user else 200)
