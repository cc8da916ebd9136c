"""Whether an image may be judged, by its configuration alone: a pure function."""

from __future__ import annotations

import json
import platform
import posixpath
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from sandbox.driver import Image
from sandbox.events import plain
from sandbox.verdict import SubmissionFault, Verdict

CALCULATOR_LABEL = "org.lambench.calculator"
TRAINER_LABEL = "org.lambench.trainer"
PYTHON_LABEL = "org.lambench.python"
PROTOCOL_LABEL = "org.lambench.protocol"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
MACHINE = ARCHITECTURES.get(platform.machine(), platform.machine())
_CALCULATOR = re.compile(r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*\Z")

# The loader paths of NVIDIA's own images. A container hook that follows others would load them as root on the host.
_TRUSTED_LIBRARY_PATHS = ("/usr/local/nvidia", "/usr/local/cuda")
# Settings of the loader, of the C library, and of NVIDIA's container hooks.
_REFUSED_PREFIXES = ("LD_", "NVIDIA_")
_REFUSED = frozenset({"GCONV_PATH", "GLIBC_TUNABLES", "NIS_PATH", "LOCPATH", "GETCONF_DIR"})
_MAX_LABEL = 4096
_MAX_VOLUMES = 16
# Before it starts a container, the engine joins the folder to paths of its own; the kernel takes 4096 bytes in all.
_MAX_WORKDIR, _MAX_NAME = 1024, 255
_OUT = "/out"  # mounted in a training
_MOUNTED = ("/lambench", "/proc", "/sys", "/dev")  # by the sandbox or the engine: the image's own are not seen


def image_from_inspection(reference: str, inspection: Mapping[str, Any], machine: str = MACHINE) -> Image:
    """The image that an engine's `inspect` describes, if it may be judged on this `machine` (architecture).

    Raises:
        SubmissionFault: IMAGE_INVALID or POLICY_VIOLATION; the sentence says what to change.
    """
    config: Mapping[str, Any] = inspection.get("Config") or {}
    labels: Mapping[str, str] = config.get("Labels") or {}
    _check_platform(str(inspection.get("Os", "")), str(inspection.get("Architecture", "")), machine)
    _check_environment(config.get("Env") or [])
    if _has_zero_byte(config):
        raise invalid("The image's configuration holds a zero byte: build it again from its Dockerfile.")
    volumes = tuple(sorted(config.get("Volumes") or {}))
    _check_volumes(volumes)
    protocol = _read_protocol(labels)
    _check_start(config, protocol)
    trainer = _read_trainer(labels, protocol)
    folder = "/" + posixpath.normpath(str(config.get("WorkingDir") or "/")).lstrip("/") + "/"
    if trainer and folder.startswith(f"{_OUT}/"):
        raise invalid(f"The image's WORKDIR is {_OUT} or below, where a trainer leaves its model: choose another.")
    return Image(
        reference=reference,
        id=str(inspection["Id"]),
        driver="docker",
        python=_read_python(labels),
        calculator="" if protocol else _read_factory(labels, CALCULATOR_LABEL, "factory"),
        trainer=trainer,
        protocol=protocol,
        digests=tuple(sorted(inspection.get("RepoDigests") or [])),
        architecture=str(inspection.get("Architecture", "")),
        size_bytes=int(inspection.get("Size") or 0),
        volumes=volumes,
        home=_home(config),
        entrypoint=bool(config.get("Entrypoint")) and not protocol,
    )


def _home(config: Mapping[str, Any]) -> str:
    """ENV HOME, or `~user` of the USER that the image ends with."""
    stated = dict(entry.partition("=")[::2] for entry in config.get("Env") or []).get("HOME", "")
    return stated or f"~{str(config.get('User') or 'root').partition(':')[0] or 'root'}"


def invalid(sentence: str) -> SubmissionFault:
    """The fault of an image that cannot be run."""
    return SubmissionFault(Verdict.IMAGE_INVALID, sentence)


def _check_platform(system: str, architecture: str, machine: str) -> None:
    if system != "linux":
        raise invalid(f"The image is for {plain(system, 40) or 'no system'}; it must be for linux.")
    if architecture != machine:
        raise invalid(
            f"The image is for {plain(architecture, 40) or 'no architecture'}, the judge's machine is {machine}: "
            f"build with --platform linux/{machine}."
        )


def _check_environment(environment: Sequence[str]) -> None:
    if any(not entry.partition("=")[0] for entry in environment):
        raise invalid("The image sets a variable without a name, so it cannot be started: take it out of its ENV.")
    # If a name occurs twice, engines keep the first entry and shells the last, so each of them is checked.
    settings = [entry.partition("=") for entry in environment]
    refused = {name for name, _, value in settings if value and _is_refused(name, value)}
    if refused:
        names = [plain(name) for name in sorted(refused)]
        empty = " ".join(f"{name}=" for name in names)
        raise SubmissionFault(
            Verdict.POLICY_VIOLATION,
            f"The image sets {', '.join(names)}, which GPU container hooks obey outside the container: "
            f"end its Dockerfile with `ENV {empty}`.",
        )


def _is_refused(name: str, value: str) -> bool:
    if name == "LD_LIBRARY_PATH":
        return not all(_is_trusted(path) for path in value.split(":") if path)
    return name.startswith(_REFUSED_PREFIXES) or name in _REFUSED


def _is_trusted(path: str) -> bool:
    if ".." in PurePosixPath(path).parts:
        return False
    return any(path == trusted or path.startswith((trusted + "/", trusted + "-")) for trusted in _TRUSTED_LIBRARY_PATHS)


def _has_zero_byte(value: object) -> bool:
    """Whether a text anywhere in a JSON value holds a zero byte, which neither the engine nor the kernel takes."""
    if isinstance(value, Mapping):
        return any(_has_zero_byte(part) for pair in value.items() for part in pair)
    if isinstance(value, list):
        return any(map(_has_zero_byte, value))
    return isinstance(value, str) and "\0" in value


def _check_volumes(volumes: Sequence[str]) -> None:
    for volume in volumes:
        below_tmp = posixpath.normpath(volume) == volume and volume.startswith("/tmp/")
        too_long = len(volume.encode(errors="replace")) > _MAX_NAME
        if not below_tmp or too_long or not volume.isprintable() or len(volumes) > _MAX_VOLUMES:
            raise SubmissionFault(
                Verdict.POLICY_VIOLATION,
                f"The image declares the volume {volume[:80]!r}, which would be writable disk outside its limits: "
                "remove the VOLUME line, or move it below /tmp.",
            )


def check_folder(folder: str) -> None:
    """Returns if `folder`, in which the container starts, is the image's own.

    Raises:
        SubmissionFault: IMAGE_INVALID.
    """
    inside = "/" + posixpath.normpath(folder).lstrip("/") + "/"
    if not folder.startswith("/") or any(inside.startswith(f"{mounted}/") for mounted in _MOUNTED):
        raise invalid(
            f"The image's WORKDIR is {folder[:80]!r}: it must be an absolute path, and not below {', '.join(_MOUNTED)}."
        )


def _check_start(config: Mapping[str, Any], protocol: str) -> None:
    """Checks settings that would make the start of the container fail."""
    folder = str(config.get("WorkingDir") or "/")
    check_folder(folder)
    if len(folder.encode(errors="replace")) > _MAX_WORKDIR or any(
        len(name.encode(errors="replace")) > _MAX_NAME for name in folder.split("/")
    ):
        raise invalid(
            f"The image's WORKDIR is too long: it may have {_MAX_WORKDIR} bytes, and each name in it {_MAX_NAME}."
        )
    if protocol and not (config.get("Entrypoint") or config.get("Cmd")):
        raise invalid(f"The image states {PROTOCOL_LABEL} and has no ENTRYPOINT: name its server in ENTRYPOINT.")


def _read_protocol(labels: Mapping[str, str]) -> str:
    protocol = labels.get(PROTOCOL_LABEL, "")
    if protocol not in ("", "1"):
        raise invalid(f"The label {PROTOCOL_LABEL} is {protocol[:32]!r}; this judge speaks protocol 1.")
    return protocol


def _read_factory(labels: Mapping[str, str], label: str, what: str) -> str:
    named = labels.get(label, "")
    if not named:
        raise invalid(f'The image has no label {label}: add `LABEL {label}="module:{what}"`.')
    return check_factory(named, f"label {label}", what)


def check_factory(named: str, source: str, what: str = "factory") -> str:
    """The `module:factory`, if it is one.

    Args:
        source: of the name, in words: `label …`.

    Raises:
        SubmissionFault: IMAGE_INVALID.
    """
    module, _, function = named[:_MAX_LABEL].partition(":")
    corrected = f"{module.removesuffix('.py').strip('/').replace('/', '.')}:{function.removesuffix('()')}"
    fits = len(named) <= _MAX_LABEL and _CALCULATOR.match(named) and not module.endswith(".py")
    if not fits and corrected != named and len(corrected) < 80 and _CALCULATOR.match(corrected):
        raise invalid(f"The {source} must be module:{what}, not {named[:80]!r}: write {corrected!r}.")
    if not fits:
        raise invalid(f"The {source} must be module:{what}, not {named[:80]!r}.")
    return named


def _read_trainer(labels: Mapping[str, str], protocol: str) -> str:
    """`module:train` of an image that can be trained, else empty."""
    if not labels.get(TRAINER_LABEL):
        return ""
    if protocol:
        raise invalid(f"The image has both {PROTOCOL_LABEL} and {TRAINER_LABEL}: an own server cannot be trained.")
    return _read_factory(labels, TRAINER_LABEL, "train")


def _read_python(labels: Mapping[str, str]) -> tuple[str, ...]:
    text = labels.get(PYTHON_LABEL, '["python3"]')
    try:
        argv = json.loads(text) if len(text) <= _MAX_LABEL else None
    except (ValueError, RecursionError):
        argv = None
    if not isinstance(argv, list) or not argv or not all(isinstance(word, str) and word for word in argv):
        raise invalid(f'The label {PYTHON_LABEL} must be a JSON list of words, such as ["conda", "run", "python"].')
    return tuple(argv)
