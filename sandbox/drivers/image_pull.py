"""Make an engine fetch an image by its digest."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import docker
import docker.auth
import docker.errors
import requests
import urllib3.exceptions

from sandbox.driver import Login
from sandbox.drivers.docker_running import engine_faults
from sandbox.events import plain
from sandbox.image.image_check import invalid
from sandbox.image.start_faults import full_disk, is_full_disk
from sandbox.verdict import FaultCause, JudgeFault, SubmissionFault

SILENCE_S = 600.0  # an engine says nothing while it hashes a layer, or waits for a disk
# Messages of the program that unpacks a layer, confined to its folder. Messages about the engine begin differently.
_UNPACKING = r"^failed to register layer: (?:Error processing tar file\(exit status \d+\): |archive/tar: )"
_OF_THE_IMAGE = re.compile(
    _UNPACKING + r"|(?:^|: )(?:archive/tar: )?invalid tar header$|^(?:json: cannot unmarshal|parsing time) "
)
# The blobs have the digests of the manifest, but unpack to other layers than the configuration names.
_OTHER_LAYERS = "layers from manifest don't match image configuration"
# The endings of such messages if the machine is at fault: a disk, memory, a right that the engine lacks.
_OF_THE_MACHINE = re.compile(
    r"(?:input/output error|read-only file system|cannot allocate memory|too many open files|stale file handle"
    r"|operation not permitted|permission denied|device or resource busy|interrupted system call|unexpected EOF)$"
)


def pull_by_digest(api: docker.APIClient, reference: str, login: Login | None, silence_s: float = SILENCE_S) -> None:
    """Returns once the engine has `reference`, `name@sha256:…`.

    Args:
        login: for the registry; None: the credential that `docker login` has stored for this user.
        silence_s: seconds without a word from the engine after which the pull is given up.

    Raises:
        SubmissionFault: IMAGE_INVALID: its layers cannot be unpacked on top of each other, or are not its own.
        JudgeFault: REGISTRY or DISK; DOCKER: the engine does not answer.
    """
    with engine_faults():
        try:
            complaint = next(_errors(api, reference, login, silence_s), "")
        except docker.errors.APIError as error:
            complaint = str(error.explanation or error)
        except (requests.Timeout, urllib3.exceptions.TimeoutError, TimeoutError):
            complaint = _silence(silence_s)
        except requests.ConnectionError as error:
            if "timed out" not in str(error):
                raise
            complaint = _silence(silence_s)
    if complaint:
        raise pull_fault(reference, " ".join(complaint.split()))


def _silence(silence_s: float) -> str:
    return f"it said nothing for {silence_s:g} s"


def _errors(api: docker.APIClient, reference: str, login: Login | None, silence_s: float) -> Iterator[str]:
    """The errors that the engine reports. Like the SDK's `pull`, which can wait for ever."""
    name, _, digest = reference.partition("@")
    if login:
        credential = docker.auth.encode_header({"username": login.username, "password": login.password})
    else:
        credential = docker.auth.get_config_header(api, docker.auth.resolve_repository_name(name)[0])
    with api.post(
        f"{api.base_url}/v{api.api_version}/images/create",
        params={"fromImage": name, "tag": digest},
        headers={"X-Registry-Auth": credential} if credential else {},
        stream=True,
        timeout=silence_s,
    ) as answer:
        try:
            answer.raise_for_status()
        except requests.HTTPError as error:
            docker.errors.create_api_error_from_http_exception(error)
        for line in answer.iter_lines():
            step = json.loads(line) if line else None
            if isinstance(step, dict) and "error" in step:
                yield str(step["error"])


def pull_fault(reference: str, complaint: str) -> SubmissionFault | JudgeFault:
    """The submission's fault or the judge's, from the one line in which the engine says why a pull failed."""
    if is_full_disk(complaint):
        return full_disk(complaint)
    if complaint == _OTHER_LAYERS:
        return invalid("A layer of the image is not the one that the image names: build it again from its Dockerfile.")
    if _OF_THE_IMAGE.search(complaint) and not _OF_THE_MACHINE.search(complaint):
        return invalid(
            "The image's layers cannot be unpacked on top of each other: build it again from its Dockerfile."
        )
    return JudgeFault(
        FaultCause.REGISTRY,
        f"the engine cannot pull {reference} ({plain(complaint)}): "
        "check that its registry answers, has it and lets it be read",
    )
