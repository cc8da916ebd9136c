"""The folders in which commands run, and `judge score` on a table in a file."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from judge.cli.main import main
from tests.judge.cli.score_tables import ML_PEG, MLIPAUDIT, Answer, JudgeScore
from tests.world.world import World


@pytest.fixture
def data_world(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """The working folder: a world with settings, nothing submitted yet."""
    world.write_settings()
    monkeypatch.chdir(world.root)
    return world


@pytest.fixture
def judge_score(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[JudgeScore]:
    """Runs `judge score SCHEME` in a folder with facts.toml, and with its argument as table.json."""
    monkeypatch.chdir(tmp_path)
    before = signal.getsignal(signal.SIGTERM)

    def run(scheme: str, table: object, *options: str) -> Answer:
        Path("facts.toml").write_text(ML_PEG if scheme == "ml-peg" else MLIPAUDIT, encoding="utf-8")
        Path("table.json").write_text(table if isinstance(table, str) else json.dumps(table), encoding="utf-8")
        facts = () if "--packaged" in options else ("--facts", "facts.toml")
        remaining = [option for option in options if option != "--packaged"]
        monkeypatch.setattr("sys.argv", ["judge", "score", scheme, "table.json", *facts, *remaining])
        with pytest.raises(SystemExit) as done:
            main()
        return Answer(int(done.value.code or 0), *capsys.readouterr())

    yield run
    signal.signal(signal.SIGTERM, before)
