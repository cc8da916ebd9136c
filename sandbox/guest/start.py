"""The guest's first steps, before numpy and ASE are imported. Old versions of Python must be able to read this file.

HOME becomes a folder in /tmp with links to the files of the image's HOME: caches of the image are found, and others can
be written beside them.
"""

import importlib
import json
import os
import site
import socket
import struct
import sys
from collections import deque
from contextlib import suppress
from typing import Deque, MutableMapping, Tuple

OLDEST = (3, 9)
MAX_LINKS = 4096
IMAGE_HOME = "LAMBENCH_IMAGE_HOME"
UNREADABLE = "LAMBENCH_HOME_UNREADABLE"
XDG = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")


def begin(module: str) -> int:
    """Runs `main` of a module of the guest; exit status 3 if this Python cannot."""
    if sys.version_info < OLDEST:
        send_failure("OldPython", "this is Python %d.%d" % sys.version_info[:2])
        return 3
    make_home(os.environ)
    try:
        importlib.import_module("numpy")  # before ASE, which would be said to be missing
        guest = importlib.import_module("lambench_guest." + module)
    except ImportError as error:
        send_failure(type(error).__name__, str(error)[:2048])
        return 3
    return int(guest.main())


def end(status: int) -> None:
    """Ends the process without its exit handlers: those of frameworks take a second, and nothing depends on them."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # the calculator closed it, or nobody reads
            stream.flush()
    os._exit(status)


def send_failure(kind: str, text: str, cause: int = 1) -> None:
    """Tells the judge that nothing can be loaded, and why."""
    stated = {"op": "failed", "protocol": "1", "class": kind, "text": text, "cause": str(cause)}
    stated["home"] = "unreadable" if os.environ.get(UNREADABLE) else ""
    header = json.dumps({"__metadata__": stated}).encode()
    header += b" " * (-len(header) % 8)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.connect(os.environ["LAMBENCH_SOCKET"])
    sock.sendall(struct.pack("<QQ", 8 + len(header), len(header)) + header)
    sock.close()


def home_notice() -> str:
    """A line about a part of the image's HOME that cannot be read; empty if there is none."""
    path = os.environ.get(UNREADABLE, "")
    return path and "HOME: user %d cannot read %s: if weights are there, add `RUN chmod -R a+rX ~`" % (
        os.getuid(),
        path,
    )


def make_home(environment: MutableMapping[str, str]) -> None:
    """Sets HOME and XDG folders to writable copies, made of links; without IMAGE_HOME they stay as they are."""
    stated = environment.pop(IMAGE_HOME, "")
    if not stated:
        return
    tmp = environment.get("TMPDIR", "/tmp")
    source = home_of(stated)
    home = source if os.access(source, os.W_OK) else os.path.join(tmp, "home")
    unreadable = "" if home == source else link_tree(source, home)
    environment["HOME"] = home
    for name in XDG:
        folder = environment.get(name, "")
        if folder and not os.access(folder, os.W_OK):
            environment[name] = os.path.join(tmp, name.lower())
            unreadable = link_tree(folder, environment[name]) or unreadable
    environment[UNREADABLE] = unreadable
    if site.ENABLE_USER_SITE:  # packages of `pip install --user`: Python looked for them in another HOME
        site.USER_BASE = site.USER_SITE = None
        site.addsitedir(site.getusersitepackages())


def home_of(stated: str) -> str:
    """The path of a home; of `~user` or `~uid` by the image's own list of users."""
    if not stated.startswith("~"):
        return stated
    import pwd

    user = stated[1:]
    with suppress(KeyError, ValueError, OverflowError):
        return (pwd.getpwuid(int(user)) if user.isdigit() else pwd.getpwnam(user)).pw_dir
    return "/root" if user in ("root", "0") else "/"


def link_tree(source: str, target: str) -> str:
    """Makes `target` a writable folder with links to what `source` has; the first path that cannot be read, or empty.

    Folders whose names begin with a dot become folders with links, all others one link, and so does what is beyond
    MAX_LINKS.
    """
    unreadable, room = "", MAX_LINKS
    os.makedirs(target, exist_ok=True)
    todo: Deque[Tuple[str, str]] = deque([(source, target)])
    while todo:
        folder, copy = todo.popleft()
        try:
            entries = list(os.scandir(folder))
            readable = True
        except OSError as error:
            unreadable = unreadable or (folder if isinstance(error, PermissionError) else "")
            entries, readable = [], False
        if (not readable or len(entries) > room) and folder != source:
            with suppress(OSError):
                os.symlink(folder, copy)
            continue
        room -= len(entries)
        os.makedirs(copy, exist_ok=True)
        for entry in entries:
            path = os.path.join(copy, entry.name)
            if (folder != source or entry.name.startswith(".")) and entry.is_dir(follow_symlinks=False):
                todo.append((entry.path, path))
            else:
                with suppress(OSError):
                    os.symlink(entry.path, path)
    return unreadable
