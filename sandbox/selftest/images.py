"""The hostile images: one base with the attackers' code, and for each attack a label and a few lines on top of it.

An image is built again only when the hash of its content, which is in a label, changes.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Mapping
from contextlib import suppress
from importlib import resources
from typing import Any

import docker
import docker.errors

from sandbox.driver import Driver, Image
from sandbox.drivers.docker_driver import connect_engine, engine_faults
from sandbox.image.image_check import CALCULATOR_LABEL, PROTOCOL_LABEL, TRAINER_LABEL
from sandbox.selftest.attack import Attack
from sandbox.verdict import FaultCause, JudgeFault, SubmissionFault

REPOSITORY = "lambench-selftest"
CALCULATOR_IMAGE = "lambench/calculator:latest"
INPUTS_LABEL = "org.lambench.selftest"


class HostileImages:
    """Builds the images of attacks in the engine that the environment names.

    Args:
        base: an image with Python, numpy and ASE.
        repository: what comes before the names of the images.

    Attributes:
        base_id: ID of the image that `base` names.

    Raises:
        JudgeFault: the engine does not answer, or does not have `base`.
    """

    def __init__(self, base: str = CALCULATOR_IMAGE, repository: str = REPOSITORY) -> None:
        self._client = connect_engine()
        self._repository = repository
        with engine_faults():
            try:
                self.base_id = str(self._client.images.get(base).id)
            except docker.errors.ImageNotFound:
                raise JudgeFault(
                    FaultCause.DOCKER, f"there is no image {base}, the base of the selftest's images: make images"
                ) from None
            files = _files()
            self._base = self._built(
                "base", files, inputs=_hash(self.base_id.encode(), *files.values()), base=self.base_id
            )

    def of(self, attack: Attack, driver: Driver) -> Image | SubmissionFault:
        """The image of `attack` as resolved by `driver`, or the fault with which `driver` refuses it."""
        start = _server_start(attack.factory) if attack.own_server else ()
        labels = [f"LABEL {CALCULATOR_LABEL}={attack.factory}"]
        if attack.trainer:
            labels.append(f"LABEL {TRAINER_LABEL}={attack.trainer}")
        lines = (f"FROM {self._base}", *attack.dockerfile, *start, *labels)
        files = {"Dockerfile": "\n".join(lines).encode()}
        inputs = _hash(*files.values(), json.dumps(attack.settings).encode())
        with engine_faults():
            image_id = self._built(attack.name, files, inputs, settings=attack.settings)
        try:
            return driver.resolve(image_id)
        except SubmissionFault as refused:
            return refused

    def _built(
        self,
        name: str,
        files: Mapping[str, bytes],
        inputs: str,
        base: str = "",
        settings: Mapping[str, object] | None = None,
    ) -> str:
        """ID of the image `name`, built from `files` unless an image with these `inputs` exists."""
        tag = f"{self._repository}/{name}:latest"
        before = None
        with suppress(docker.errors.ImageNotFound):
            before = self._client.images.get(tag)
            if before.labels.get(INPUTS_LABEL) == inputs:
                return str(before.id)
        try:
            image, _ = self._client.images.build(
                fileobj=_context(files),
                custom_context=True,
                tag=tag,
                rm=True,
                forcerm=True,
                labels={INPUTS_LABEL: inputs},
                buildargs={"BASE": base} if base else {},
                network_mode="none",
            )
        except docker.errors.BuildError as error:
            raise JudgeFault(FaultCause.DOCKER, f"cannot build {tag} ({str(error)[:200]}): see the engine") from error
        if settings:
            image = self._with_settings(str(image.id), tag, settings)
        if before is not None:
            _remove(self._client, str(before.id))
        return str(image.id)

    def _with_settings(self, image_id: str, tag: str, settings: Mapping[str, object]) -> Any:
        """The image `tag`: the image with other settings, which the engine does not check before a container starts."""
        container = self._client.containers.create(image_id, ["x"], network_mode="none")
        try:
            return container.commit(*tag.rsplit(":", 1), conf=dict(settings))
        finally:
            container.remove()


def remove_images(repository: str = REPOSITORY) -> int:
    """Removes all images of the selftest; returns how many there were.

    Raises:
        JudgeFault: the engine does not answer.
    """
    client = connect_engine()
    names = []
    with engine_faults():
        for image in client.images.list(filters={"label": INPUTS_LABEL}):
            names += [tag for tag in image.tags if tag.startswith(f"{repository}/")]
            if not image.tags and repository == REPOSITORY:  # a newer image has taken its name
                names.append(str(image.id))
        base = f"{repository}/base:latest"
        for name in sorted(names, key=lambda name: name == base):  # the base last: the others build on it
            _remove(client, name)
    return len(names)


def _remove(client: docker.DockerClient, name: str) -> None:
    with suppress(docker.errors.ImageNotFound):
        try:
            client.images.remove(name)
        except docker.errors.APIError as error:
            if error.status_code != 409:  # a container or an image still uses it
                raise


def _server_start(factory: str) -> tuple[str, ...]:
    """The lines of a Dockerfile that start `module:function` as a server in place of the guest."""
    module, _, function = factory.partition(":")
    return f'LABEL {PROTOCOL_LABEL}="1"', f'ENTRYPOINT ["python3", "/model/{module}.py", "{function}"]'


def _files() -> dict[str, bytes]:
    """The Dockerfile and the modules of the hostile base, by name."""
    folder = resources.files("sandbox.selftest").joinpath("hostile")
    return {
        entry.name: entry.read_bytes()
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name)
        if entry.name == "Dockerfile" or entry.name.endswith(".py")
    }


def _hash(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _context(files: Mapping[str, bytes]) -> io.BytesIO:
    """The build context: an archive with `files`."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            entry.mode = 0o644
            archive.addfile(entry, io.BytesIO(content))
    buffer.seek(0)
    return buffer
