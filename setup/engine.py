"""The few Docker operations that the set-up needs, over the engine's API: the client program may be missing.

`ping` needs only Python's standard library; the others need the `docker` package of .venv.
"""

import os
import socket
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlparse


def ping() -> int:
    """0 if an engine answers."""
    if os.environ.get("LAMBENCH_NO_DOCKER"):
        return 1
    url = urlparse(os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock")
    family = socket.AF_UNIX if url.scheme == "unix" else socket.AF_INET
    address = url.path if url.scheme == "unix" else (url.hostname, url.port or 2375)
    try:
        with socket.socket(family, socket.SOCK_STREAM) as connection:
            connection.settimeout(5)
            connection.connect(address)
            connection.sendall(b"GET /_ping HTTP/1.0\r\nHost: docker\r\n\r\n")
            return 0 if b"200 OK" in connection.recv(1024) else 1
    except OSError:
        return 1


def main(verb: str, *args: str) -> int:
    if verb == "ping":
        return ping()
    import docker  # `ping` must work without this package

    client = docker.from_env(timeout=900)
    if verb == "id":  # IMAGE: prints its ID, or nothing
        print(next((image.id for image in client.images.list(filters={"reference": args[0]})), ""))
    elif verb == "label":  # IMAGE LABEL: prints its value, or nothing
        images = client.images.list(filters={"reference": args[0]})
        print((images[0].labels or {}).get(args[1], "") if images else "")
    elif verb == "pull":  # REPOSITORY:TAG
        client.images.pull(args[0])
    elif verb == "tag":  # IMAGE NAME
        client.images.get(args[0]).tag(args[1])
    elif verb == "import":  # TAR NAME
        # docker-py reads a whole file into memory if it gets a path; a file object is streamed.
        with Path(args[0]).open("rb") as file:
            client.api.import_image_from_file(file, *args[1].split(":"))
    elif verb == "python":  # IMAGE: prints the version of its Python, such as 3.11
        script = "import sys; print('%d.%d' % sys.version_info[:2])"
        answer = client.containers.run(args[0], ["python3", "-c", script], remove=True, network_mode="none")
        print(answer.decode().strip())
    elif verb == "build":  # FOLDER NAME TARGET INPUTS [ARG=VALUE...]
        return build(client, *args)
    elif verb == "prune":  # removes build stages that no image needs any more
        client.images.prune(filters={"label": ["org.lambench.stage=build"], "dangling": True})
    return 0


def build(client, folder: str, name: str, target: str, inputs: str, *build_args: str) -> int:
    """Builds and tags an image; prints the end of the log if that fails."""
    log = []
    stream = client.api.build(
        path=folder,
        tag=name,
        target=target,
        rm=True,
        forcerm=True,
        decode=True,
        labels={"org.lambench.inputs": inputs},
        buildargs=dict(pair.split("=", 1) for pair in build_args),
    )
    for event in stream:
        log.append(event.get("stream") or event.get("error") or "")
        if "error" in event:
            print("".join(log[-40:]), file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    tempfile.tempdir = os.environ.get("CACHE")  # a build context with torch in it may not fit into /tmp
    try:
        sys.exit(main(*sys.argv[1:]))
    except Exception as error:  # noqa: BLE001 - the top of a command
        sys.exit(f"docker: {error}")
