"""Authors who build images on this machine's engine and push them to a registry."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import docker
import docker.errors

from tests.servers.registry import RegistryServer
from tests.world.intake import Pushed

SERVER = Path(__file__).parents[1] / "sandbox" / "own_server"
# A twentieth of the base image: only what an interpreter and the server need, because the tests transfer it often. All
# files have one time, so that the layers are the same also if another test removes them from the engine's cache.
SMALL = """
FROM lambench/base:latest AS whole
RUN mkdir /small && cp -L --parents /usr/bin/python3 $(ldd /usr/bin/python3 | grep -o '/[^ ]*') /small && \\
    cd $(python3 -c "import os; print(os.path.dirname(os.__file__))") && \\
    cp -r --parents $PWD/*.py \\
        $PWD/encodings $PWD/json $PWD/collections $PWD/re $PWD/importlib $PWD/lib-dynload /small \\
    && find /small -exec touch -h -d @0 {} +
FROM scratch
COPY --from=whole /small /
COPY server.py /server.py
"""


class Authors:
    """Authors who build images on this machine's engine and push them to a registry.

    They leave the first layers of their images in the engine's cache: another process may be building on them.
    """

    def __init__(self, engine: docker.DockerClient, registry: RegistryServer) -> None:
        self._engine = engine
        self._host = registry.host
        self._tags: list[str] = []

    def image(self, name: str, entrypoint: str = "") -> Pushed:
        """An image with its own server and a layer that no other image has; `entrypoint` replaces the server."""
        words = json.dumps(shlex.split(entrypoint) or ["python3", "/server.py"])
        text = f'{SMALL}COPY Dockerfile /{name}\nLABEL org.lambench.protocol="1"\nENTRYPOINT {words}\n'
        repository = f"{self._host}/authors/{name}"
        with TemporaryDirectory() as folder:
            shutil.copy(SERVER / "server.py", folder)
            (Path(folder) / "Dockerfile").write_text(text)
            for file in Path(folder).iterdir():
                os.utime(file, (0, 0))
            image, _ = self._engine.images.build(path=folder, tag=f"{repository}:1", rm=True)
        self._tags.append(f"{repository}:1")
        for line in self._engine.images.push(repository, tag="1", stream=True, decode=True):
            assert "error" not in line, line
        (digest,) = [d for d in self._engine.images.get(image.id).attrs["RepoDigests"] if d.startswith(repository)]
        return Pushed(str(image.id), digest)

    def forget(self, image: Pushed) -> None:
        """Removes an image from the engine, so that the judge must pull it."""
        self._engine.images.remove(image.id, force=True, noprune=True)

    def close(self) -> None:
        """Removes the built images, and those pulled from the mirror, from the engine."""
        pulled = [
            digest
            for image in self._engine.api.images()  # in one request: other tests may remove images meanwhile
            for digest in image.get("RepoDigests") or ()
            if digest.startswith(f"{self._host}/")
        ]
        for name in (*self._tags, *pulled):
            with suppress(docker.errors.ImageNotFound):
                self._engine.images.remove(name, force=True, noprune=True)
