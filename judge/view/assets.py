"""The files that all pages load: one stylesheet, JavaScript modules and plotly, named by their hashes."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from pathlib import PurePosixPath
from typing import NamedTuple

from scoring import names

FOLDER = "assets/"
STYLES = ("frame", "board", "chooser", "settings", "figures", "model", "task", "compare", "changes", "text")
SCRIPTS = "js"
MAIN = "main.js"
SCORE_NAMES = "scores.js"
_IMPORT = re.compile(rb'^(?:import|\}).*? from "\./([\w.]+)";$', re.MULTILINE)


class Assets(NamedTuple):
    """The assets of a site.

    Args:
        names: path in the site by the name in templates: `icon.svg`, `preview.png` (which other sites show beside a
            link), `style.css`, `main.js`, `plotly.js`.
        files: content by path.
    """

    names: dict[str, str]
    files: dict[str, bytes]


def assets() -> Assets:
    """All assets."""
    paths, files = {}, {}
    contents = {
        "icon.svg": _read("icon.svg"),
        "preview.png": _read("preview.png"),
        "style.css": b"\n".join(_read(f"css/{name}.css") for name in STYLES),
        "plotly.js": plotly(),
    }
    for name, content in contents.items():
        paths[name] = hashed(name, content)
        files[paths[name]] = content
    folder, scripts = _scripts()
    paths[MAIN] = f"{folder}{MAIN}"
    return Assets(paths, files | {f"{folder}{name}": content for name, content in scripts.items()})


def hashed(name: str, content: bytes) -> str:
    """The path of an asset; it contains the hash of its content."""
    path = PurePosixPath(name)
    return f"{FOLDER}{path.stem}-{hashlib.sha256(content).hexdigest()[:12]}{path.suffix}"


def _scripts() -> tuple[str, dict[str, bytes]]:
    """The folder of the script's modules, and the modules. They import one another, so one hash covers all of them."""
    entries = sorted((resources.files("templates") / SCRIPTS).iterdir(), key=lambda entry: entry.name)
    scripts = {entry.name: entry.read_bytes() for entry in entries if entry.name.endswith(".js")}
    scripts[SCORE_NAMES] = score_names_script()
    digest = hashlib.sha256()
    for name, content in scripts.items():
        digest.update(name.encode() + b"\0" + hashlib.sha256(content).digest())
    return f"{FOLDER}js-{digest.hexdigest()[:12]}/", scripts


def score_names_script() -> bytes:
    """`scoring.names` as a JavaScript module."""
    scores = {key: score._asdict() for key, score in names.SCORES.items()}
    constants = {"SCORES": scores, "LAMBENCH": names.LAMBENCH, "MLIPAUDIT": names.MLIPAUDIT}
    return "".join(f"export const {name} = {json.dumps(value)};\n" for name, value in constants.items()).encode()


@cache
def plotly() -> bytes:
    """The plotly.js of the installed Python package."""
    return (resources.files("plotly") / "package_data" / "plotly.min.js").read_bytes()


def modules_behind(files: Mapping[str, bytes], begin: Iterable[str]) -> tuple[str, ...]:
    """The paths `begin`, and those of all modules that they import, directly or indirectly, for a page to preload.

    Args:
        files: contents of the site's files by path.
    """
    paths = list(dict.fromkeys(begin))
    for path in paths:  # the list grows in the loop
        for name in _IMPORT.findall(files[path]):
            imported = str(PurePosixPath(path).with_name(name.decode()))
            if imported not in paths:
                paths.append(imported)
    return tuple(paths)


def _read(name: str) -> bytes:
    return (resources.files("templates") / name).read_bytes()
