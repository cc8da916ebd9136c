"""Creates a container from one table of options, with those that docker-py has no argument for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import docker

# Arguments of `create_container`; all other options are of the host configuration.
OF_CONTAINER = frozenset(
    ("command", "entrypoint", "environment", "healthcheck", "hostname", "stdin_open", "tty", "use_config_proxy", "user")
)
MASKED = "masked_paths"


def create_container(
    api: docker.APIClient, image: str, name: str, labels: Mapping[str, str], options: Mapping[str, Any]
) -> str:
    """The ID of a new container of `image`.

    Args:
        options: arguments of docker-py's `create_container` and `create_host_config`, and the list `MASKED`.

    Raises:
        docker.errors.APIError: the engine refused it.
    """
    of_host = {key: value for key, value in options.items() if key not in OF_CONTAINER and key != MASKED}
    host_config = api.create_host_config(**of_host)
    if MASKED in options:
        host_config["MaskedPaths"] = options[MASKED]
    of_container = {key: value for key, value in options.items() if key in OF_CONTAINER}
    created = api.create_container(image, name=name, labels=dict(labels), host_config=host_config, **of_container)
    return str(created["Id"])
