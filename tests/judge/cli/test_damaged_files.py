"""`judge data import` of truncated and damaged files: one line that names the file and the remedy, and status 2."""

from __future__ import annotations

import bz2
import gzip
import lzma
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.judge.cli.data_command import NAMED, run
from tests.tasks.importing.labelled_structures import xyz
from tests.world.world import World

PACKED: Mapping[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
CRYSTALS = "".join(xyz(info=f'energy={i}.0 name=n{i} Lattice="9 0 0 0 9 0 0 0 9"', pbc="T T T") for i in range(200))
DAMAGED = "is incomplete or damaged: fetch it again"
UNLABELLED = NAMED[:-2]


def truncated(data: bytes) -> bytes:
    return data[: 2 * len(data) // 3]


def flipped(data: bytes) -> bytes:
    place = len(data) // 2
    return data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :]


@pytest.mark.parametrize("damage", [truncated, flipped])
@pytest.mark.parametrize("suffix", PACKED)
@pytest.mark.parametrize("format", ["extxyz", "eos", "structures", "volume-scans"])
def test_packed_structures(data_world: World, format: str, suffix: str, damage: Callable[[bytes], bytes]) -> None:
    path = Path(f"mine.extxyz.{suffix}")
    path.write_bytes(damage(PACKED[suffix](CRYSTALS.encode())))
    labelled = format in ("extxyz", "eos")
    options = (*NAMED, "--units", "ase") if labelled else UNLABELLED
    status, _, err = run("import", format, str(path), *options)
    assert (status, err) == (2, f"judge: {path}: {DAMAGED}")


@pytest.mark.parametrize("format", ["matcalc", "diatomics", "phonopy", "thermal-conductivity"])
def test_packed_tables(data_world: World, format: str) -> None:
    names = {"matcalc": "a.json.gz", "diatomics": "a.json", "phonopy": "Cu.yaml.gz"}
    folder = Path("kappa")
    folder.mkdir()
    data = gzip.compress(b'{"a": "' + bytes(range(97, 123)) * 99 + b'"}')[:40]
    path = folder / names.get(format, "kappa-benchmark-structures.json.gz")
    path.write_bytes(data)
    status, _, err = run(
        "import", format, str(folder if format in ("phonopy", "thermal-conductivity") else path), *NAMED
    )
    assert status == 2, err
    assert err.startswith("judge: kappa")
    if format != "thermal-conductivity":  # which misses its other files first
        assert DAMAGED in err


def test_the_whole_command_ends_with_the_line_and_no_empty_one(tmp_path: Path) -> None:
    """In a process of its own: click takes an `EOFError` for Ctrl-D at a prompt."""
    path = tmp_path / "mine.extxyz.gz"
    path.write_bytes(truncated(gzip.compress(CRYSTALS.encode())))
    words = [sys.executable, "-m", "judge.cli.main", "--quiet", "data", "import", "extxyz", str(path), *NAMED]
    done = subprocess.run([*words, "--units", "ase"], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"judge: {path}: {DAMAGED}\n")
