"""A trusted container that drops files from the page cache where the judge may not: without root, or from a container.

Its image has all its files in one layer of its own. With a layer in common, its own programs would keep pages of the
submissions' files in memory.
"""

from __future__ import annotations

import io
import secrets
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import resources
from pathlib import Path

import docker
import docker.errors
from docker.models.containers import Container
from docker.types import Mount

from sandbox.drivers import page_cache
from sandbox.drivers.docker_running import engine_faults, remove_container
from sandbox.drivers.page_cache import DROP_CACHES, Remaining
from sandbox.verdict import FaultCause, JudgeFault

BASE = "lambench/calculator:latest"
IMAGE = "lambench/page-cache:latest"
LABEL = "org.lambench.judge.page-cache"
INIT_INSIDE = "/sbin/docker-init"
DROP_CACHES_INSIDE = "/drop_caches"
_WAITS = "import signal; signal.pause()"


class PageCacheContainer:
    """Started at the first use, removed at the end of this process.

    Args:
        labels: by which it is found if this process is killed.
    """

    def __init__(self, client: docker.DockerClient, labels: Mapping[str, str]) -> None:
        self._client = client
        self._labels = labels
        self._container: Container | None = None

    def drop(self, folders: Sequence[str]) -> Remaining:
        """Drops the files below the folders; see `page_cache.drop`.

        Raises:
            JudgeFault: the container cannot be started, or cannot read the folders.
        """
        source = resources.files("sandbox.drivers").joinpath("page_cache.py").read_text(encoding="utf-8")
        with engine_faults():
            what = page_cache.arguments([INIT_INSIDE], DROP_CACHES_INSIDE, folders)
            container = self._container or self._start(folders)
            self._container = None  # unless it answers: an engine that was restarted has ended it
            _, output = container.exec_run(["python3", "-I", "-c", source, *what])
            self._container = container
        try:
            return page_cache.answer_of(output)
        except OSError as error:
            raise JudgeFault(
                FaultCause.DOCKER,
                f"image files cannot be dropped from memory ({error}): run the judge as root, or "
                'set cold_start = "off" (docs/threat-model.md)',
            ) from None

    def _start(self, folders: Sequence[str]) -> Container:
        root = str(Path(folders[0]).parents[1])  # of the layers of all images: a layer is STORAGE/ID/diff
        container = self._client.containers.run(
            self._image(),
            ["python3", "-I", "-c", _WAITS],
            name=f"lambench-page-cache-{secrets.token_hex(4)}",
            labels=dict(self._labels),
            detach=True,
            init=True,
            user="0:0",
            read_only=True,
            network_mode="none",
            cap_drop=["ALL"],
            # To open every file, and to be told about the pages of files of other users.
            cap_add=["DAC_READ_SEARCH", "FOWNER"],
            security_opt=["no-new-privileges"],
            mounts=[
                Mount(root, root, type="bind", read_only=True),
                Mount(DROP_CACHES_INSIDE, DROP_CACHES, type="bind"),
            ],
        )
        weakref.finalize(self, _remove, self._client.api, str(container.id))
        return container

    def _image(self) -> str:
        """ID of the image, built from `BASE` at the first use on this engine."""
        with suppress(docker.errors.ImageNotFound):
            return str(self._client.images.get(IMAGE).id)
        lines = (
            f"FROM {BASE} AS base",
            "FROM scratch",
            "COPY --from=base / /",
            f"LABEL {LABEL}={secrets.token_hex(16)}",
        )
        try:
            image, _ = self._client.images.build(
                fileobj=io.BytesIO("\n".join(lines).encode()), tag=IMAGE, rm=True, forcerm=True, network_mode="none"
            )
        except docker.errors.BuildError as error:
            raise JudgeFault(FaultCause.DOCKER, f"cannot build {IMAGE} from {BASE} ({error}): make images") from error
        return str(image.id)


def _remove(api: docker.APIClient, container: str) -> None:
    with suppress(Exception):
        remove_container(api, container)
