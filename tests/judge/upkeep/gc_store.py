"""A store with claims of living and dead judges."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from judge.records.attempts import unit_prefix
from judge.records.records import Claim
from submissions.records import utc_now
from submissions.store.local import LocalStore
from tests.world.board_records import submission

MODEL = submission("model")


FUTURE = time.time() + 3600


def claimed_by(store: LocalStore, owner: str, key: str = "k" * 32) -> str:
    """The prefix of a unit with an attempt of `owner` that has no end."""
    prefix = unit_prefix(MODEL.id, "crystals", key)
    record = Claim(owner=owner, host="judge-2", started=utc_now())
    store.put(f"{prefix}1/claim.json", record.model_dump_json().encode())
    return prefix


def dead_owner() -> str:
    """A judge of this machine that has ended."""
    program = "from judge.records.process_identity import process_identity; print(process_identity())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def vanish_when_seen(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Files with these names are removed after they were listed, just before somebody looks at one."""
    look = Path.stat

    def remove_first(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        if path.name in names:
            path.unlink()
        return look(path, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(Path, "stat", remove_first)


def aged(path: Path, hours: float) -> Path:
    then = time.time() - hours * 3600
    os.utime(path, (then, then))
    return path
