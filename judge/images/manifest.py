"""Parses manifest, index and configuration of an image: JSON from strangers.

Engines read the same bytes with Go's encoding/json, which ignores the case of names and merges names that occur twice.
JSON that could be read in two ways is therefore refused: an engine must obey exactly what was checked here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from judge.records.strict_json import parse_strictly
from sandbox.events import plain
from sandbox.image.image_check import MACHINE, invalid
from submissions.requests import MAX_REQUEST_BYTES, Digest
from tasks.structures.validation_errors import one_line

MAX_MANIFEST = 4 * 1024**2  # registries take no larger one
MAX_CONFIG = MAX_REQUEST_BYTES
MAX_LAYERS = 125  # engines accept no more

_PLATFORM = "^[a-z0-9]{0,32}$"
_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,30})?(?:Z|[+-][0-9]{2}:[0-9]{2})"
)
_AGAIN = "push it again with `docker push`."


class _ForeignJson(BaseModel):
    """The part of a stranger's JSON that matters, with strict types."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")


class Platform(_ForeignJson):
    """The platform of an image in an index."""

    os: str = ""
    architecture: str = ""
    variant: str = ""


class Blob(_ForeignJson):
    """A blob in a registry, as a manifest names it."""

    digest: Digest
    size: int = Field(ge=0, lt=1 << 50)
    platform: Platform | None = None


class ImageManifest(_ForeignJson):
    """The configuration and the layers of one image."""

    config: Blob
    layers: tuple[Blob, ...] = Field(max_length=MAX_LAYERS, strict=False)


class ImageIndex(_ForeignJson):
    """The manifests of one image for several platforms."""

    manifests: tuple[Blob, ...] = Field(max_length=1000, strict=False)

    def manifest(self, machine: str = MACHINE) -> Blob:
        """The manifest for Linux on `machine`.

        Raises:
            SubmissionFault: there is none.
        """
        fitting = [
            each
            for each in self.manifests
            if each.platform and (each.platform.os, each.platform.architecture) == ("linux", machine)
        ]
        if not fitting:
            raise invalid(f"The image does not exist for linux/{machine}: build with --platform linux/{machine}.")
        # A later variant of the architecture may use instructions that this machine does not have.
        return min(fitting, key=lambda each: (each.platform.variant if each.platform else "") not in ("", "v1", "v8"))


def _is_time(text: str) -> str:
    """`text`, if engines read it as a time (RFC 3339)."""
    if not _TIME.fullmatch(text):
        raise ValueError("is no time")
    datetime.fromisoformat(text)
    return text


# Engines read null as a missing field.
_Text = str | None
_Texts = list[str] | None
_Flag = bool | None
_Int = Annotated[int, Field(ge=-(1 << 63), lt=1 << 63)] | None
_Time = Annotated[str, AfterValidator(_is_time)] | None
_Names = dict[str, dict[str, Any] | None] | None


class _HealthCheck(_ForeignJson):
    Test: _Texts = None
    Interval: _Int = None
    Timeout: _Int = None
    StartPeriod: _Int = None
    StartInterval: _Int = None
    Retries: _Int = None


class _Settings(_ForeignJson):
    """The fields that an engine reads: an image with other types here cannot be pulled."""

    Hostname: _Text = None
    Domainname: _Text = None
    User: _Text = None
    AttachStdin: _Flag = None
    AttachStdout: _Flag = None
    AttachStderr: _Flag = None
    ExposedPorts: _Names = None
    Tty: _Flag = None
    OpenStdin: _Flag = None
    StdinOnce: _Flag = None
    Env: _Texts = None
    Cmd: _Texts = None
    Healthcheck: _HealthCheck | None = None
    ArgsEscaped: _Flag = None
    Image: _Text = None
    Volumes: _Names = None
    WorkingDir: _Text = None
    Entrypoint: _Texts = None
    NetworkDisabled: _Flag = None
    MacAddress: _Text = None
    OnBuild: _Texts = None
    Labels: dict[str, str] | None = None
    StopSignal: _Text = None
    StopTimeout: _Int = None
    Shell: _Texts = None


class _Step(_ForeignJson):
    created: _Time = None
    author: _Text = None
    created_by: _Text = None
    comment: _Text = None
    empty_layer: _Flag = None


class _RootFs(_ForeignJson):
    type: str
    diff_ids: list[Digest] = Field(min_length=1, max_length=MAX_LAYERS)


class ImageConfig(_ForeignJson):
    """An image's configuration."""

    os: str = Field(pattern=_PLATFORM)
    architecture: str = Field(pattern=_PLATFORM)
    config: _Settings | None = None
    rootfs: _RootFs
    created: _Time = None
    history: list[_Step] | None = None
    container_config: _Settings | None = None
    id: _Text = None
    parent: _Text = None
    comment: _Text = None
    container: _Text = None
    docker_version: _Text = None
    author: _Text = None
    variant: _Text = None
    Size: _Int = None
    os_version: _Text = Field(None, alias="os.version")
    os_features: _Texts = Field(None, alias="os.features")

    @property
    def diff_ids(self) -> tuple[str, ...]:
        """The diff IDs of its layers, the lowest first."""
        return tuple(self.rootfs.diff_ids)

    @property
    def folder(self) -> str:
        """Its WORKDIR."""
        return (self.config and self.config.WorkingDir) or "/"

    def inspection(self, image_id: str) -> dict[str, Any]:
        """The answer that an engine would give to `docker image inspect`."""
        settings = self.config.model_dump() if self.config else {}
        return {"Id": image_id, "Os": self.os, "Architecture": self.architecture, "Config": settings}


def read_manifest(data: bytes) -> ImageManifest | ImageIndex:
    """The manifest in `data`: of one image, or an index of several platforms.

    Raises:
        SubmissionFault: it is neither, or both.
    """
    fields = read_object(data, "manifest", _AGAIN)
    _require_one_meaning(fields, ("config", "layers", "manifests"), "manifest", _AGAIN)
    if fields.get("schemaVersion") != 2 or ("manifests" in fields) == ("layers" in fields):
        raise invalid(f"The image's manifest is not an image manifest, or has schema 1: {_AGAIN}")
    if "manifests" in fields:
        return _validated(ImageIndex, fields, "manifest", _AGAIN)
    return _validated(ImageManifest, fields, "manifest", _AGAIN)


def read_config(data: bytes) -> ImageConfig:
    """The configuration in `data`.

    Raises:
        SubmissionFault: it is not one, or could be read in two ways.
    """
    again = "build it again from its Dockerfile."
    if len(data) > MAX_CONFIG:
        raise invalid(f"The image's configuration has more than {MAX_CONFIG} bytes: {again}")
    fields = read_object(data, "configuration", again)
    _require_one_meaning_inside(fields, ImageConfig, again)
    config = _validated(ImageConfig, fields, "configuration", again)
    if config.rootfs.type != "layers":
        raise invalid(f"The image's configuration names no layers: {again}")
    if sum(not step.empty_layer for step in config.history or ()) > len(config.diff_ids):
        raise invalid(f"The image's history has more layers than the image: {again}")
    if not all(text.partition("=")[0].isprintable() for text in (config.config and config.config.Env) or ()):
        raise invalid("The image sets a variable whose name cannot be printed: take it out of its Dockerfile.")
    return config


def read_object(data: bytes, what: str, remedy: str) -> dict[str, Any]:
    """The JSON object in `data`, UTF-8, without a name that occurs twice in one object.

    Raises:
        SubmissionFault: it is not one.
    """
    try:
        fields = parse_strictly(data)
    except ValueError:
        fields = None
    if not isinstance(fields, dict):
        raise invalid(f"The image's {what} cannot be read: {remedy}")
    return fields


def _require_one_meaning(fields: Mapping[str, Any], known: tuple[str, ...], what: str, remedy: str) -> None:
    names = {name.casefold() for name in known}
    for name in fields:
        if name not in known and name.casefold() in names:
            raise invalid(
                f"The image's {what} has a name in another case than the standard, {plain(name, 20)!r}: {remedy}"
            )


def _require_one_meaning_inside(fields: Mapping[str, Any], kind: type[_ForeignJson], again: str) -> None:
    """Applies `_require_one_meaning` to a configuration and each object in it that an engine reads."""
    known = tuple(each.alias or name for name, each in kind.model_fields.items())
    _require_one_meaning(fields, known, "configuration", again)
    for name, inside in _INSIDE.get(kind, {}).items():
        parts = fields.get(name)
        for part in parts if isinstance(parts, list) else [parts]:
            if isinstance(part, dict):
                _require_one_meaning_inside(part, inside, again)


_INSIDE: Mapping[type[_ForeignJson], Mapping[str, type[_ForeignJson]]] = {
    ImageConfig: {"config": _Settings, "container_config": _Settings, "rootfs": _RootFs, "history": _Step},
    _Settings: {"Healthcheck": _HealthCheck},
}
_Kind = TypeVar("_Kind", bound=_ForeignJson)


def _validated(kind: type[_Kind], fields: Mapping[str, Any], what: str, remedy: str) -> _Kind:
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        raise invalid(f"The image's {what} cannot be read ({plain(one_line(error))}): {remedy}") from None
    except RecursionError:
        raise invalid(f"The image's {what} cannot be read: {remedy}") from None
