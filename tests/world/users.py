"""Another user of this machine, whom a test acts as."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NOBODY = 65534


@contextmanager
def as_a_user_without_access(folder: Path) -> Iterator[None]:
    """Within it, this process may neither read nor write `folder`, also if it is root's."""
    user, mode = os.geteuid(), folder.stat().st_mode
    folder.chmod(0)
    os.seteuid(user or NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)
        folder.chmod(mode)
