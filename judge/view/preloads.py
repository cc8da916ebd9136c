"""The modules that a JavaScript module imports, so that a page can preload all of them at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

_IMPORT = re.compile(rb'^(?:import|\}).*? from "\./([\w.]+)";$', re.MULTILINE)


def modules_behind(files: Mapping[str, bytes], begin: Iterable[str]) -> tuple[str, ...]:
    """The paths `begin`, and those of all modules that they import, directly or indirectly, each once.

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
