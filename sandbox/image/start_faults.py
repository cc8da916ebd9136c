"""Whether the image or the machine is at fault when an engine cannot create or start a container, by the error text.

A fault of the image is a final verdict, so only texts that are known to come from images alone count. Any other text
is the machine's fault: a wrong setting must never become every submission's verdict. Some texts quote the image (its
WORKDIR, its entrypoint). Those are matched first and as a whole, so a quotation cannot imitate a machine's fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import docker.errors

from sandbox.image.image_check import invalid
from sandbox.verdict import FaultCause, JudgeFault, SubmissionFault

_END = r"(?:: unknown)?(?:: Are you trying to mount a directory onto a file.*)?$"
_NOT_A_FOLDER = r"(?:not a directory|is a directory|too many levels of symbolic links|file name too long)"
_NO_WAY_IN = rf"(?:permission denied|no such file or directory|{_NOT_A_FOLDER})"
_IN_THE_CONTAINER = r"OCI runtime create failed|container init(?: caused)?|process caused"
_OF_THE_HOST = r"/sys/|/run/(?:docker|containerd|runc|user)/"
_INIT = "/sbin/docker-init|/run/podman-init|/dev/init"
_OF_THE_IMAGE = (
    r"^No command specified$",
    r"^invalid environment variable: ",
    r"^the working directory .* is invalid, it needs to be an absolute path$",
    # WORKDIR: the engine creates it if it is missing, and the runtime enters it as user 65534.
    r"^Cannot mkdir: .* is not a directory$",
    rf"^(?:lstat|stat|mkdir|open) /\S*/(?:merged|rootfs|subvolumes|dir|mnt)/.*: {_NOT_A_FOLDER}$",
    rf"OCI runtime create failed: .*chdir to cwd \(.*\) set in config\.json failed: {_NO_WAY_IN}{_END}",
    rf"(?:{_IN_THE_CONTAINER}): mkdir (?!{_OF_THE_HOST})/.*: (?:read-only file system|file exists|{_NO_WAY_IN}){_END}",
    r"^workdir .* does not exist on container ",
    # The image has a file where the sandbox needs a folder.
    rf"OCI runtime create failed: .*error mounting \".*\" to rootfs at \".*\": .*{_NOT_A_FOLDER}{_END}",
    # The engine's own init exists and anyone may run it. The folders above it and the arguments are the image's.
    rf"exec: \"(?:{_INIT})\": (?:stat (?:{_INIT}): )?permission denied{_END}",
    rf"exec: \"(?!(?:{_INIT})\")[^\"]*\": (?:.*: )?(?:executable file not found in \$PATH|{_NO_WAY_IN}){_END}",
    rf"exec .*argument list too long{_END}",
    # A loop of links, or a path that is too long: in the image, since paths of the host are not resolved like this.
    r"^evalSymlinksInScope: too many links in ",
    rf"(?:{_IN_THE_CONTAINER}): environment variable name can't be empty: ",
)
# Instead of a folder for the sandbox's mount, the image has a link into what the engine mounts.
_OF_A_LINK = (
    r'error mounting ".*" to rootfs at "/(?:lambench|tmp)": "/.*" cannot be mounted because it is '
    rf"(?:inside /proc|not of type proc){_END}",
    rf"error creating device nodes: mknod /\S+/dev/[a-z]+: read-only file system{_END}",
    rf"error closing exec fds: open /proc/self/fd: no such file or directory{_END}",
)
_OF_THE_GPU = (
    r"^could not select device driver ",
    r"nvidia-container-cli(?:\.real)?: (?:device|initialization|detection|driver) error: ",
    r"unresolvable CDI devices ",
    r"failed to inject CDI devices",
    r"/dev/nvidia\w*: no such (?:device|file or directory)",
)
_FULL_DISK = rf"(?:no space left on device|disk quota exceeded)['\")]*{_END}"


def start_fault(error: docker.errors.APIError) -> SubmissionFault | JudgeFault:
    """The fault that `error` shows: this machine's, unless the text is known to come from images alone."""
    text = " ".join(str(error.explanation or error).split())
    if _says(text, *_OF_THE_IMAGE):
        return invalid(
            "The image cannot be started as user 65534: its WORKDIR must be a folder that anyone may enter, "
            "and its entrypoint a program that anyone may run."
        )
    if _says(text, *_OF_A_LINK):
        return invalid(
            "The image has a link at /lambench or /tmp, where the sandbox mounts a folder: make it a folder, "
            "or remove it."
        )
    if found := [match.start() for match in _matches(text, *_OF_THE_GPU)]:
        words = text[min(found) :]  # without the runtime's, which are long
        return JudgeFault(
            FaultCause.GPU,
            f"the engine cannot pass the GPU on ({words[:200]}): check nvidia-smi and the NVIDIA container toolkit",
        )
    if is_full_disk(text):
        return full_disk(text)
    return JudgeFault(FaultCause.DOCKER, f"the Docker engine cannot start a container ({text[:200]}): see its log")


def is_full_disk(text: str) -> bool:
    """Whether an engine's `text` ends with the words for a full disk."""
    return _says(text, _FULL_DISK)


def full_disk(text: str) -> JudgeFault:
    """The fault of an engine whose disk is full."""
    return JudgeFault(FaultCause.DISK, f"the engine's disk is full ({text[:200]}): free some space (judge gc)")


def _says(text: str, *patterns: str) -> bool:
    return any(True for _ in _matches(text, *patterns))


def _matches(text: str, *patterns: str) -> Iterator[re.Match[str]]:
    return filter(None, (re.search(pattern, text, re.IGNORECASE) for pattern in patterns))
