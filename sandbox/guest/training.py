"""The guest of a training: starts the author's trainer in a process of its own, ends it in time, and sends its model.

The author's code runs only after the judge has made the data visible. What lies in the folder at the end is the model,
however the trainer ended. It is stated by name, size and hash in one message, in time, before any of it is sent.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from contextlib import suppress
from itertools import islice
from typing import Any, Dict, List, Mapping, NoReturn, Tuple

import numpy as np

from .tracebacks import print_error
from .wire import PROTOCOL, Channel, pack_header, parse_header

MAX_ORDER = 1 << 16
WARNED_SHARE = 0.95  # of the time, at which the trainer gets SIGTERM
ENDING_S = 5.0  # in which processes that were killed must be gone
MAX_DEPTH = 8
MAX_FILES = 1000
MAX_FOLDERS = 1000
MAX_PATH = 1000
CHUNK_BYTES = 1 << 24  # of a file, in one message
ORDER = "LAMBENCH_ORDER"  # the environment variable that tells a trainer's process from the guest


def main() -> int:
    """Exit status 0 when the judge has the model. In the trainer's process it does not return."""
    if os.environ.get(ORDER):
        train(os.environ["LAMBENCH_TRAINER"], json.loads(os.environ.pop(ORDER)))
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.connect(os.environ["LAMBENCH_SOCKET"])
    serve(Channel(sock))
    return 0


def serve(channel: Channel) -> None:
    """Says hello, takes the order, runs the trainer, and sends what it left."""
    channel.send(pack_header([], {"op": "trainer", "protocol": PROTOCOL}), [])
    order = receive(channel)
    ended = run_trainer(order, os.environ.get("LAMBENCH_ALONE") == "1")
    out_dir = os.environ["LAMBENCH_OUT_DIR"]
    problem, files = files_in(out_dir, int(order["out_bytes"]))
    paths = [os.path.join(out_dir, name) for name, _ in files]
    stated = [] if problem else [(name, size, hash_of(path)) for (name, size), path in zip(files, paths)]
    left = {"op": "left", "ended": ended, "problem": problem, "files": json.dumps(stated)}
    channel.send(pack_header([], left), [])
    asked = receive(channel)
    while asked["op"] != "bye":
        content = np.fromfile(paths[int(asked["index"])], np.uint8, CHUNK_BYTES, offset=int(asked["offset"]))
        channel.send(pack_header([("bytes", content)], {"op": "file"}), [content])
        asked = receive(channel)


def receive(channel: Channel) -> Dict[str, str]:
    """The fields of the judge's next message, which has no arrays."""
    message = channel.receive(MAX_ORDER, 0)
    return parse_header(message.header, 0).metadata


def run_trainer(order: Mapping[str, str], alone: bool) -> str:
    """How the trainer ended: `returned`, `failed` or `time`. All its processes are gone then.

    Args:
        alone: whether every other process here belongs to the trainer.
    """
    begin = time.monotonic()
    wall_s = float(order["wall_s"])
    child = subprocess.Popen(
        [sys.executable, os.path.abspath(sys.argv[0])],
        env={**os.environ, ORDER: json.dumps(dict(order))},
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        status = child.wait(max(0.0, begin + WARNED_SHARE * wall_s - time.monotonic()))
    except subprocess.TimeoutExpired:
        with suppress(OSError):
            os.killpg(child.pid, signal.SIGTERM)
        try:
            status = child.wait(max(0.0, begin + wall_s - time.monotonic()))
        except subprocess.TimeoutExpired:
            status = None
    with suppress(OSError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    if alone:
        end_others()
    return "time" if status is None else "failed" if status else "returned"


def end_others() -> None:
    """Ends every process but this one and the container's first, and waits until none is left: none writes later."""
    until = time.monotonic() + ENDING_S
    while time.monotonic() < until:
        try:
            os.kill(-1, signal.SIGKILL)
        except OSError:
            return
        time.sleep(0.002)


def train(name: str, order: Mapping[str, str]) -> NoReturn:
    """Calls the author's trainer with those of the keywords that it accepts. SIGTERM is ignored until it handles it."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.excepthook = lambda kind, error, trace: print_error(error)
    sys.path.insert(0, os.getcwd())
    module_name, _, function_name = name.partition(":")
    trainer = getattr(importlib.import_module(module_name), function_name)
    offered = {
        "data_dir": os.environ["LAMBENCH_DATA_DIR"],
        "out_dir": os.environ["LAMBENCH_OUT_DIR"],
        "device": os.environ.get("LAMBENCH_DEVICE", "cpu"),
        "wall_s": float(order["wall_s"]),
        "seed": int(order["seed"]),
    }
    parameters = inspect.signature(trainer).parameters.values()
    if not any(p.kind is p.VAR_KEYWORD for p in parameters):
        accepted = {p.name for p in parameters if p.kind is not p.POSITIONAL_ONLY}
        offered = {key: value for key, value in offered.items() if key in accepted}
    trainer(**offered)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(0)  # at once: while Python itself ends, SIGTERM would end it, and a trainer that returned looked killed


def files_in(folder: str, most_bytes: int) -> Tuple[str, List[Tuple[str, int]]]:
    """What is wrong with the content of `folder` (empty: nothing), and its files by relative name, with their sizes.

    Args:
        most_bytes: of all files together. A file with holes may state more than there is room for.
    """
    files: List[Tuple[str, int]] = []
    folders: List[str] = []
    problem = _walk(folder, "", files, folders)
    if not problem and sum(size for _, size in files) > most_bytes:
        problem = "too large"
    return problem, sorted(files)


def _walk(folder: str, prefix: str, files: List[Tuple[str, int]], folders: List[str]) -> str:
    if prefix.count("/") > MAX_DEPTH:
        return "depth"
    if len(os.fsencode(prefix)) > MAX_PATH:
        return "names"
    folders.append(prefix)
    try:
        with os.scandir(folder) as found:
            entries = sorted(islice(found, MAX_FILES + MAX_FOLDERS), key=lambda entry: entry.name)
    except OSError:
        return "unreadable"
    for entry in entries:
        if len(files) > MAX_FILES or len(folders) > MAX_FOLDERS:
            return "too many"
        status: Any = entry.stat(follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            return "link"
        if stat.S_ISDIR(status.st_mode):
            problem = _walk(entry.path, prefix + entry.name + "/", files, folders)
            if problem:
                return problem
        elif not stat.S_ISREG(status.st_mode):
            return "device"
        elif not os.access(entry.path, os.R_OK):
            return "unreadable"
        else:
            files.append((prefix + entry.name, status.st_size))
            if len(os.fsencode(files[-1][0])) > MAX_PATH:
                return "names"
    return "too many" if len(files) > MAX_FILES or len(folders) > MAX_FOLDERS else ""


def hash_of(path: str) -> str:
    """The sha256 of a file."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for chunk in iter(lambda: file.read(CHUNK_BYTES), b""):
            digest.update(chunk)
    return digest.hexdigest()
