"""Names of images in registries."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from sandbox.events import plain
from sandbox.image.image_check import invalid

DOCKER_HUB, DOCKER_HUB_HOST = "docker.io", "registry-1.docker.io"
_HOST = r"(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?|\[::1\])(?::[0-9]{1,5})?"
_WORD = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_NAME = rf"(?=.{{1,200}}$){_WORD}(?:/{_WORD})*"
_TAG = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}"
_REPOSITORY = re.compile(rf"({_HOST})/({_NAME})")
_TAGGED = re.compile(rf"(.*?)(?::{_TAG})?@(sha256:[0-9a-f]{{64}})")
_MAX_TEXT = 512


class Repository(NamedTuple):
    """A name in the registry that `host` names, `HOST` or `HOST:PORT`."""

    host: str
    name: str

    def __str__(self) -> str:
        return f"{self.host}/{self.name}"

    @property
    def address(self) -> str:
        """The host that serves it."""
        return DOCKER_HUB_HOST if self.host == DOCKER_HUB else self.host


class ImageReference(NamedTuple):
    """An image in a registry, by the digest of its manifest or of an index."""

    repository: Repository
    digest: str

    def __str__(self) -> str:
        return f"{self.repository}@{self.digest}"


def has_host(text: str) -> bool:
    """Whether the name of an image begins with the host of a registry."""
    first, slash, _ = text.partition("/")
    return bool(slash) and ("." in first or ":" in first or first == "localhost")


def read_reference(text: str, registries: Collection[str]) -> ImageReference:
    """The image that `text` names; its host is `docker.io` if it names none.

    Raises:
        SubmissionFault: it is no name of an image, has no digest, or its host is not one of `registries`.
    """
    first, _, rest = text.partition("/")
    host, name = (first, rest) if has_host(text) else (DOCKER_HUB, text)
    if host in ("index.docker.io", DOCKER_HUB_HOST):
        host = DOCKER_HUB
    if host not in registries:
        raise invalid(
            f"Images are not fetched from {plain(host, 80)!r}: ask the maintainer which registries are read, "
            "or upload yours with --upload."
        )
    match = _TAGGED.fullmatch(name) if len(text) <= _MAX_TEXT else None
    repository = read_repository(f"{host}/{match[1]}") if match else None
    if not match or not repository:
        raise invalid(
            f"{plain(text, 120)!r} names no image by its digest: give registry/name@sha256:…, as `docker push` says."
        )
    return ImageReference(repository, match[2])


def read_repository(text: str) -> Repository | None:
    """The repository `HOST[:PORT]/NAME`; None if `text` is no such name."""
    match = _REPOSITORY.fullmatch(text)
    if not match:
        return None
    host, name = match.groups()
    return Repository(host, f"library/{name}" if host == DOCKER_HUB and "/" not in name else name)
