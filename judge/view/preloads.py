"""The modules of the script that a module asks for, so that a page can ask for all of them at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

_IMPORT = re.compile(rb'^(?:import|\}).*? from "\./([\w.]+)";$', re.MULTILINE)


def modules_behind(files: Mapping[str, bytes], begin: Iterable[str]) -> tuple[str, ...]:
    """The paths to begin with, and those of all modules that they import, or that these do, each once.

    Args:
        files: of the site, by path.
    """
    found = list(dict.fromkeys(begin))
    for path in found:  # grows meanwhile
        for name in _IMPORT.findall(files[path]):
            behind = str(PurePosixPath(path).with_name(name.decode()))
            if behind not in found:
                found.append(behind)
    return tuple(found)
