"""A Docker engine that a test may kill and start again; the system's engine stays untouched.

It has no network at all and shares nothing with another engine but the kernel. What it holds of images is kept from one
test run to the next, by their IDs, since loading them takes far longer than starting it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import docker
import docker.errors
import pytest
import requests

from tests.servers.server_process import wait_until

START_S = 60
STOP_S = 30
CONTAINERD = """version = 2
root = "{place}/containerd"
state = "{place}/run/containerd"
disabled_plugins = ["io.containerd.grpc.v1.cri"]
[grpc]
address = "{place}/containerd.sock"
"""


def cache_folder() -> Path:
    """The cache folder, the same as that of the scripts in `setup/`."""
    base = os.environ.get("XDG_CACHE_HOME")
    default = (Path(base) if base else Path.home() / ".cache") / "lambench-judge"
    return Path(os.environ.get("LAMBENCH_CACHE", default)) / "own-engine"


class OwnEngine:
    """dockerd and its containerd, with every file below two folders.

    Args:
        place: for sockets, logs and what runs; short, since a socket's path has at most 107 bytes.
        data: for images and containers.
        settings: of dockerd's configuration file.
        programs: a folder that comes first on its path.
    """

    def __init__(
        self, place: Path, data: Path, settings: Mapping[str, object] | None = None, programs: Path | None = None
    ) -> None:
        self.place = place
        self.data = data
        self._settings = dict(settings or {})
        self.path = os.pathsep.join([*([str(programs)] if programs else []), os.environ["PATH"]])
        self.url = f"unix://{place}/docker.sock"
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Returns once it answers."""
        (self.place / "run").mkdir(parents=True, exist_ok=True)
        (self.place / "containerd.toml").write_text(CONTAINERD.format(place=self.place))
        (self.place / "daemon.json").write_text(json.dumps(self._settings))
        for stale in ("docker.pid", "docker.sock", "containerd.sock"):
            (self.place / stale).unlink(missing_ok=True)
        self._spawn("containerd", "--config", str(self.place / "containerd.toml"))
        wait_until((self.place / "containerd.sock").exists, f"containerd: {self._last_words('containerd')}", START_S)
        self._spawn(
            "dockerd",
            f"--host={self.url}",
            f"--config-file={self.place}/daemon.json",
            f"--containerd={self.place}/containerd.sock",
            f"--data-root={self.data}",
            f"--exec-root={self.place}/run/docker",
            f"--pidfile={self.place}/docker.pid",
            *("--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false"),
        )
        until = time.monotonic() + START_S
        while not self.answers():
            assert all(process.poll() is None for process in self._processes), self._last_words("dockerd")
            assert time.monotonic() < until, self._last_words("dockerd")
            time.sleep(0.05)

    def answers(self) -> bool:
        """Whether the engine answers."""
        try:
            with self.connection() as client:
                return bool(client.ping())
        except (docker.errors.DockerException, requests.RequestException):
            return False

    @contextmanager
    def connection(self) -> Iterator[docker.DockerClient]:
        """A client of this engine."""
        client = docker.DockerClient(self.url, timeout=STOP_S)
        try:
            yield client
        finally:
            client.close()

    def kill(self) -> None:
        """Kills it and its containerd; the processes in containers go on."""
        for process in reversed(self._processes):
            process.kill()
            process.wait()
        self._processes.clear()

    def stop(self) -> None:
        """Ends it, its remaining processes and its mounts."""
        for process in reversed(self._processes):
            process.terminate()
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._processes.clear()
        for pid in self._shims():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._unmount()

    def load(self, tags: Sequence[str], system: docker.DockerClient) -> None:
        """Copies from the `system` engine the images that are not here yet."""
        with self.connection() as client:
            for tag in tags:
                wanted = system.images.get(tag).id
                if wanted not in {image.id for image in client.images.list()}:
                    client.images.load(system.api.get_image(tag))
                    client.images.get(wanted)

    def _spawn(self, name: str, *arguments: str) -> None:
        # A separate network namespace: at its start, a dockerd without a bridge removes that of the system's engine.
        alone = ["unshare", "--net"]
        with (self.place / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [*alone, name, *arguments],
                env={**os.environ, "PATH": self.path},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._processes.append(process)

    def _last_words(self, name: str) -> str:
        log = self.place / f"{name}.log"
        return " | ".join(log.read_text(errors="replace").splitlines()[-3:]) if log.exists() else "no log"

    def _shims(self) -> list[int]:
        """The processes that its containerd started and left."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                words = path.read_bytes()
                if b"containerd-shim" in words and os.fsencode(self.place) in words:
                    found.append(int(path.parent.name))
        return found

    def _unmount(self) -> None:
        points = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
        for point in sorted((p for p in points if p.startswith((f"{self.place}/", f"{self.data}/"))), reverse=True):
            subprocess.run(["umount", "--lazy", point], check=False, stderr=subprocess.DEVNULL)


@contextmanager
def own_engine(
    place: Path,
    tags: Sequence[str],
    system: docker.DockerClient,
    settings: Mapping[str, object] | None = None,
    programs: Path | None = None,
) -> Iterator[OwnEngine]:
    """An engine with the images `tags` of the `system` engine. If none can be started, the test is skipped by name."""
    if os.geteuid() != 0:
        pytest.skip("an engine of one's own needs root")
    for program in ("dockerd", "containerd"):
        if shutil.which(program) is None:
            pytest.skip(f"a separate Docker engine needs {program}")
    ids = " ".join(sorted(system.images.get(tag).id for tag in tags))
    data = cache_folder() / hashlib.sha256(ids.encode()).hexdigest()[:16]
    data.mkdir(parents=True, exist_ok=True)
    with data.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another test run's engine must not use the same folder
        engine = OwnEngine(place, data, settings, programs)
        try:
            engine.start()
            engine.load(tags, system)
            yield engine
        finally:
            engine.stop()
