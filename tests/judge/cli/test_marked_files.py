"""Files with a byte order mark, as Notepad and PowerShell write them: each sort that a person writes is read."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from ase.io import write

from judge.config import ConfigError, load_settings
from submissions.card.file import CardError, read_card
from tasks.suites.suite import SuiteError, load_suite
from tests.judge.cli.data_command import NAMED, crystals, faces, mine, run
from tests.world.world import World

MARK = b"\xef\xbb\xbf"
SUITE = 'name = "mine"\nversion = "1"\ntitle = "Mine"\n'
SUITE += '[[tasks]]\nname = "t"\nkind = "labelled_frames"\ndataset = "a@1"\ndomain = "Molecules"\ntime_limit_s = 9\n'


def mark(path: Path) -> None:
    path.write_bytes(MARK + path.read_bytes())


def test_cards_settings_and_suites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LAMBENCH_SUITE", raising=False)
    texts: dict[str, tuple[str, Callable[[], str], type[Exception]]] = {
        "lambench.toml": ('name = "EMT"\n', lambda: read_card(Path("lambench.toml")).name, CardError),
        "judge.toml": ('suite = "other"\n', lambda: load_settings().suite, ConfigError),
        "mine.toml": (SUITE, lambda: load_suite("mine.toml").name, SuiteError),
    }
    for name, (text, read, error) in texts.items():
        path = Path(name)
        path.write_bytes(MARK + text.encode())
        assert read() in ("EMT", "other", "mine")
        path.write_bytes(text.encode("utf-16"))
        with pytest.raises(error, match=rf"{name}: .*is text in UTF-16: save it as UTF-8"):
            read()


def test_tables_of_json_and_csv(data_world: World) -> None:
    faces(Path("faces"), 1.0)
    for path in Path("faces").iterdir():
        mark(path)
    status, _, err = run("import", "reactions", "faces", *NAMED)
    assert status == 0, err
    assert mine(data_world).table.id == ("slab", "solid")
    Path("faces/reactions.json").write_bytes(json.dumps({"reactions": []}).encode("utf-16"))
    status, _, err = run("import", "reactions", "faces", *NAMED, "--version", "2")
    assert (status, err) == (2, "judge: faces/reactions.json: is text in UTF-16: save it as UTF-8")


def test_curves_beside_a_table(data_world: World) -> None:
    crystal = crystals()[0]
    crystal.info["name"] = "01"
    write("eos.extxyz", crystal)
    volume = crystal.get_volume()
    rows = [f"01,{volume * (0.94 + 0.02 * i)},{(i - 3) ** 2 * 0.1}" for i in range(7)]
    Path("eos.csv").write_text("\n".join(["name,volume,energy", *rows]))
    for name in ("eos.csv", "eos.extxyz"):
        mark(Path(name))
    status, _, err = run("import", "eos", "eos.csv", *NAMED, "--units", "ase")
    assert status == 0, err
    assert mine(data_world).table.curves[0].id == "01"


@pytest.mark.parametrize("command", ["judge.cli.main data list", "submissions.cli.main check no-such-image:tag"])
def test_broken_settings_are_one_line_of_both_commands(command: str, tmp_path: Path) -> None:
    (tmp_path / "judge.toml").write_bytes('suite = "other"\n'.encode("utf-16"))
    words = [sys.executable, "-m", *command.split()]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.removeprefix("judge: ") == "judge.toml: is text in UTF-16: save it as UTF-8\n"
