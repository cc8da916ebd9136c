"""Options that Podman needs in another form than Docker, over the same API. The selftest on its socket showed them."""

from __future__ import annotations

import resource
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from docker.types import LogConfig, Ulimit

from sandbox.drivers.docker_create import MASKED
from sandbox.verdict import FaultCause, JudgeFault

NAME = "Podman"
# Podman's default for processes per user is more than a service without CAP_SYS_RESOURCE may set: containers would
# not start. This limit counts the user on the whole host; the container's own limit is in its cgroup.
PROCESSES_OF_USER = 32_768
PROFILE_NAME = "seccomp.json"
_SECCOMP = "seccomp="


def podman_options(options: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The `options` of Docker's `create`, changed for Podman.

    Podman has no log driver `local`: `k8s-file` is capped, too. A limit on the processes per user must be stated. A
    read-only root leaves `/run` and `/var/tmp` writable, unless something is mounted there. A seccomp profile is named
    by the path of a file. Paths to mask are a security option, in which a colon separates them: a folder with a colon
    in its name (`/sys/devices/pci0000:00`) is not masked.

    Args:
        folder: where the service of Podman can read the seccomp profile.

    Raises:
        JudgeFault: GPU: a GPU is asked for. Podman 4.3 ignores that over this API, and the model would get no GPU.
    """
    if options.get("device_requests"):
        raise JudgeFault(
            FaultCause.GPU, "Podman passes no GPU on over Docker's API: use Docker for GPUs (docs/hosts.md)"
        )
    most = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    allowed = PROCESSES_OF_USER if most == resource.RLIM_INFINITY else min(most, PROCESSES_OF_USER)
    security = [_by_path(option, folder) for option in options["security_opt"]]
    return {
        **{key: value for key, value in options.items() if key != MASKED},
        "security_opt": [*security, f"mask={':'.join(path for path in options[MASKED] if ':' not in path)}"],
        "log_config": LogConfig(type="k8s-file", config={"max-size": options["log_config"].config["max-size"]}),
        "tmpfs": {**dict.fromkeys(("/run", "/var/tmp"), "ro,size=64k"), **options["tmpfs"]},
        "ulimits": [*options["ulimits"], Ulimit(name="nproc", soft=allowed, hard=allowed)],
    }


def _by_path(option: str, folder: Path) -> str:
    """A seccomp profile in `option` as the path of a file in `folder`; another option as it is."""
    if not option.startswith(_SECCOMP + "{"):
        return option
    path, temporary = folder / PROFILE_NAME, folder / f".{PROFILE_NAME}.{secrets.token_hex(4)}"
    temporary.write_text(option.removeprefix(_SECCOMP))
    temporary.rename(path)  # another judge of this run directory may be reading it
    return f"{_SECCOMP}{path}"
