"""What Podman wants said otherwise than Docker, over the same API: found by running the selftest on its socket."""

from __future__ import annotations

import resource
from collections.abc import Mapping
from typing import Any

from docker.types import LogConfig, Ulimit

NAME = "Podman"
# Podman asks for more processes a user than a service without CAP_SYS_RESOURCE may give, and its containers then do
# not start. This is of the user on the whole host; the container's own limit is that of its cgroup.
PROCESSES_OF_USER = 32_768


def podman_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """`options` of Docker's `create`, for Podman.

    It has no log driver `local`: `k8s-file` is capped, too. A limit on the processes of a user must be stated. And a
    read-only root comes with a writable `/run` and `/var/tmp`, unless something else is mounted there.
    """
    most = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    allowed = PROCESSES_OF_USER if most == resource.RLIM_INFINITY else min(most, PROCESSES_OF_USER)
    return {
        **options,
        "log_config": LogConfig(type="k8s-file", config={"max-size": options["log_config"].config["max-size"]}),
        "tmpfs": {**dict.fromkeys(("/run", "/var/tmp"), "ro,size=64k"), **options["tmpfs"]},
        "ulimits": [*options["ulimits"], Ulimit(name="nproc", soft=allowed, hard=allowed)],
    }
