"""The bytes of the guest enter the key of every observation. A change makes every stored answer stale.

If a test here fails, a file of `sandbox/guest` or one that is packed beside it (`sandbox.guest_archive.LOOP`) differs.
A release with another guest asks every model of every store again: days of computing for each judge. So do not change
the guest for its wording. If the change is meant:

- state the new version here, in the commit that changes the guest, and say in CHANGELOG.md that models are asked again;
- if answers stay the same, name both versions there, so that a maintainer can declare them equal (`equal_guests`,
  docs/operating.md).
"""

from __future__ import annotations

import io
import zipfile

from sandbox.guest_archive import LOOP, guest_archive, guest_version, training_guest_version

GUEST = "69c1e472acd72487"
TRAINING_GUEST = "69a9597e1b2e2ec0"


def test_the_guest_is_the_one_that_stores_know() -> None:
    assert guest_version() == GUEST


def test_the_guest_of_trainings_is_the_one_that_stores_know() -> None:
    assert training_guest_version() == TRAINING_GUEST


def test_all_that_the_loop_imports_is_packed() -> None:
    with zipfile.ZipFile(io.BytesIO(guest_archive())) as archive:
        names = set(archive.namelist())
        loop = archive.read("lambench_guest/ase_loop.py").decode()
    assert {f"lambench_guest/{name}.py" for name in LOOP} <= names
    imported = {line.split()[1].removeprefix(".") for line in loop.splitlines() if line.startswith("from .")}
    assert imported <= set(LOOP)
