"""Whether an image has a folder where the sandbox mounts one, before the container starts."""

from __future__ import annotations

import base64
import json
from typing import Any

import docker

from sandbox.image.image_check import invalid

FOUND = 200
STATED = "X-Docker-Container-Path-Stat"
FOLDER = 1 << 31  # of a mode, as Go writes it


def check_mount_point(api: docker.APIClient, container: str, folder: str) -> None:
    """Returns if `folder` is a folder of the created container's image, or missing there.

    An engine follows a link at that place: the mount would lie over `/sys`, or the container could not start, which
    looks like a fault of this machine.

    Raises:
        SubmissionFault: IMAGE_INVALID.
    """
    address = f"{api.base_url}/v{api.api_version}/containers/{container}/archive"
    answer: Any = api.head(address, params={"path": folder}, timeout=api.timeout)
    if answer.status_code != FOUND:  # it is missing; or a loop of links, of which the start says so
        return
    stated = json.loads(base64.b64decode(answer.headers[STATED]))
    if stated.get("linkTarget") or not stated["mode"] & FOLDER:
        raise invalid(
            f"The image has a link or a file at {folder}, where the sandbox mounts a folder: make it a folder, "
            "or remove it."
        )
