"""The examples as images: `lambench/calculator`, and `lambench/NAME` built on it. What has not changed is not built."""

from __future__ import annotations

import hashlib
import tarfile
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import docker
import docker.errors
import requests

from judge.data.folder_lock import lock_of
from judge.demo.cache import cache_folder
from judge.demo.examples import BASE, EXAMPLES, requirements_of
from judge.demo.wheel_server import WheelServer
from judge.demo.wheels import PYTHON, wheels_of
from sandbox.verdict import FaultCause, JudgeFault

LOCAL_BASE = "lambench/base:latest"
PUBLIC_BASE = f"python:{PYTHON}-slim"
INPUTS = "org.lambench.inputs"
BUILD_TIMEOUT_S = 900
LOG_LINES = 12
_VERSION = "import sys; print('%d.%d' % sys.version_info[:2])"


def build_client() -> docker.DockerClient:
    """A connection to the engine, with time for long builds."""
    return docker.from_env(timeout=BUILD_TIMEOUT_S)


def find_base(client: docker.DockerClient, name: str | None, say: Callable[[str], None]) -> str:
    """The ID of the image that the examples are built on.

    Args:
        name: of an image with Python, which is pulled if it is not there; None: `LOCAL_BASE` if it is there, else
            `PUBLIC_BASE`.

    Raises:
        JudgeFault: it is neither there nor in a registry that can be reached.
    """
    wanted = name or (LOCAL_BASE if _id_of(client, LOCAL_BASE) else PUBLIC_BASE)
    if known := _id_of(client, wanted):
        return known
    say(f"Pulling {wanted}")
    try:
        repository, _, tag = wanted.partition("@")[0].rpartition(":")
        client.images.pull(*((repository, tag) if repository and "/" not in tag else (wanted, "latest")))
        return str(client.images.get(wanted).id)
    except (docker.errors.DockerException, requests.RequestException) as error:
        raise JudgeFault(
            FaultCause.REGISTRY,
            f"cannot pull {wanted}: name a local image with Python by --base IMAGE, or use --driver process ({error})",
        ) from error


@dataclass
class ExampleImages:
    """Builds the examples on one base image.

    Args:
        base: its ID.
        say: called with a line for each image that is built.
    """

    client: docker.DockerClient
    base: str
    say: Callable[[str], None]
    _python: str = field(default="", init=False)
    _offered: Callable[[Sequence[Path]], str] | None = field(default=None, init=False)

    def build(self, name: str) -> str:
        """The reference `lambench/NAME:latest` of an example, after it and its base are built.

        Raises:
            JudgeFault: packages cannot be downloaded, or a step of the build fails.
        """
        try:
            with lock_of(cache_folder() / "images" / BASE):
                calculator = self._built(BASE, {"BASE_IMAGE": self.base})
            with lock_of(cache_folder() / "images" / _layer(name)):
                self._built(name, {"CALCULATOR": calculator})
        except (docker.errors.DockerException, requests.RequestException) as error:
            raise JudgeFault(FaultCause.DOCKER, f"cannot build lambench/{name}: {error}") from error
        return _reference(name)

    def _built(self, name: str, arguments: Mapping[str, str]) -> str:
        """The ID of the image of one folder. It depends on the folder, the wheels and `arguments` alone."""
        files = {path.name: path for path in sorted((EXAMPLES / name).iterdir()) if path.is_file()}
        wheels = sorted(wheels_of(requirements_of(name)).glob("*.whl")) if self._fits() else []
        inputs = _hash_of(files, [path.name for path in wheels], arguments)
        reference = _reference(name)
        if not self._has(reference, inputs):
            self.say(f"Building {reference.removesuffix(':latest')}")
            self._run(reference, files, {**arguments, **self._addresses(wheels)}, inputs)
        return str(self.client.images.get(reference).id)

    def _addresses(self, wheels: Sequence[Path]) -> dict[str, str]:
        """The build arguments that name pages of wheels; none if a build cannot reach this process."""
        if not wheels or not _is_here(self.client):
            return {}
        if self._offered is None:
            self._offered = WheelServer().address
        torch = [path for path in wheels if path.name.startswith("torch-")]
        return {"WHEELS": self._offered(wheels)} | ({"TORCH_WHEELS": self._offered(torch)} if torch else {})

    def _fits(self) -> bool:
        """Whether the base has the Python that wheels are downloaded for; else pip downloads them during the build."""
        if not self._python:
            answer = self.client.containers.run(
                self.base, ["python3", "-c", _VERSION], remove=True, network_mode="none"
            )
            self._python = answer.decode().strip()
        return self._python == PYTHON

    def _has(self, reference: str, inputs: str) -> bool:
        known = self.client.images.list(filters={"reference": reference})
        return any((image.labels or {}).get(INPUTS) == inputs for image in known)

    def _run(self, reference: str, files: Mapping[str, Path], arguments: Mapping[str, str], inputs: str) -> None:
        with tempfile.TemporaryFile(dir=cache_folder()) as context:  # with torch it may not fit into /tmp
            write_context(context, files)
            events = self.client.api.build(
                fileobj=context,
                custom_context=True,
                tag=reference,
                rm=True,
                forcerm=True,
                decode=True,
                labels={INPUTS: inputs},
                buildargs=dict(arguments),
                network_mode="host" if "WHEELS" in arguments else None,
            )
            lines: list[str] = []
            for event in events:
                lines += str(event.get("stream") or event.get("error") or "").splitlines()
                if "error" in event:
                    last = " | ".join(filter(None, (line.strip() for line in lines[-LOG_LINES:])))
                    raise JudgeFault(FaultCause.DOCKER, f"cannot build {reference}: {last}")


def write_context(context: IO[bytes], files: Mapping[str, Path]) -> None:
    """A tar file of `files` by name, readable by anyone, since the judge runs images as a user that owns nothing."""
    with tarfile.open(fileobj=context, mode="w") as tar:
        for name, path in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = path.stat().st_size, 0o644
            with path.open("rb") as file:
                tar.addfile(entry, file)
    context.seek(0)


def _is_here(client: docker.DockerClient) -> bool:
    """Whether the engine's host network is that of this process."""
    info = client.info()
    elsewhere = info.get("OperatingSystem") == "Docker Desktop" or "name=rootless" in info.get("SecurityOptions", ())
    return client.api.base_url.startswith("http+docker://") and not elsewhere


def _hash_of(files: Mapping[str, Path], wheels: Sequence[str], arguments: Mapping[str, str]) -> str:
    digest = hashlib.sha256()
    for name, path in files.items():
        digest.update(f"{name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\0".encode())
    digest.update("\0".join([*wheels, *(f"{key}={value}" for key, value in arguments.items())]).encode())
    return digest.hexdigest()


def _layer(name: str) -> str:
    """A name that examples have in common if they share the layer of torch: one of them must be built first."""
    return "torch" if (EXAMPLES / name / "torch.txt").exists() else name


def _reference(name: str) -> str:
    return f"lambench/{name}:latest"


def _id_of(client: docker.DockerClient, name: str) -> str | None:
    return next((str(image.id) for image in client.images.list(filters={"reference": name})), None)
