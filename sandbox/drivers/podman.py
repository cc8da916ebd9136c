"""Options that Podman needs in another form than Docker, over the same API. The selftest on its socket showed them."""

from __future__ import annotations

import resource
from collections.abc import Mapping
from typing import Any

from docker.types import LogConfig, Ulimit

NAME = "Podman"
# Podman's default for processes per user is more than a service without CAP_SYS_RESOURCE may set: containers would
# not start. This limit counts the user on the whole host; the container's own limit is in its cgroup.
PROCESSES_OF_USER = 32_768


def podman_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The `options` of Docker's `create`, changed for Podman.

    Podman has no log driver `local`: `k8s-file` is capped, too. A limit on the processes per user must be stated. A
    read-only root leaves `/run` and `/var/tmp` writable, unless something is mounted there.
    """
    most = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    allowed = PROCESSES_OF_USER if most == resource.RLIM_INFINITY else min(most, PROCESSES_OF_USER)
    return {
        **options,
        "log_config": LogConfig(type="k8s-file", config={"max-size": options["log_config"].config["max-size"]}),
        "tmpfs": {**dict.fromkeys(("/run", "/var/tmp"), "ro,size=64k"), **options["tmpfs"]},
        "ulimits": [*options["ulimits"], Ulimit(name="nproc", soft=allowed, hard=allowed)],
    }
