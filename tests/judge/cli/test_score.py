"""`judge score lambench` as a person and a script use it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from judge.cli.main import main
from tests.scoring.published_tables import FF, FIVE, GENERAL, PC, USE, changed, without

ROOT = Path(__file__).parents[3]
DATA = ROOT / os.environ.get("LAMBENCH_TEST_DATA", "../shared/data") / "lambench_leaderboard" / "v0.3.1"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="LAMBENCH_TEST_DATA has no lambench_leaderboard/v0.3.1")
KEYS = {"ff_error", "pc_error", "efficiency", "instability", "instability_is_lower_bound", "ff_domains", "pc_domains"}


NEGATIVE = json.dumps({"a": {FF: {"ani": {"force_rmse": -1}}}})

Judge = Callable[..., tuple[int, str, str]]


@pytest.fixture
def judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Judge]:
    """`judge score lambench` with these arguments: exit status, standard output and standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    on_sigterm = signal.getsignal(signal.SIGTERM)

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["judge", "score", "lambench", *arguments])
        with pytest.raises(SystemExit) as exited:
            main()
        out, err = capsys.readouterr()
        status = exited.value.code
        return status if isinstance(status, int) else 0, out, err

    yield run
    signal.signal(signal.SIGTERM, on_sigterm)


def judge_json(judge: Judge, *arguments: str) -> dict[str, Any]:
    status, out, err = judge(*arguments, "--json")
    assert (status, err) == (0, "")
    answer: dict[str, Any] = json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    return answer


def put(folder: Path, raw: object, config: object = FIVE) -> tuple[str, ...]:
    """The command's arguments, with both files written."""
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "raw.json").write_text(json.dumps(raw), encoding="utf-8")
    return "--config", "config.json", "raw.json"


@pytest.mark.parametrize("formula", [("--config", str(DATA / "config.json")), ("--release", "lambench-0.3.1")])
@pytest.mark.data
@needs_data
def test_the_published_leaderboard_comes_out(judge: Judge, formula: tuple[str, str]) -> None:
    answer = judge_json(judge, *formula, str(DATA / "raw.json"))
    expected = json.loads((DATA / "expected.json").read_text(encoding="utf-8"))
    assert answer["variant"] == "as_published"
    assert list(answer["models"]) == list(expected)
    for name, printed in expected.items():
        model = answer["models"][name]
        assert set(model) >= KEYS
        assert model["ff_error"] == pytest.approx(printed["ff_error"], abs=1e-3)
        assert model["ff_domains"] == pytest.approx(printed["ff_domains"], abs=0.006)
        assert model["pc_error"] == printed["pc_error"]
        assert model["efficiency"] == printed["efficiency"]
        assert model["instability"] <= printed["instability"]
        assert model["instability_is_lower_bound"] is True
        assert set(model["pc_domains"]) == set(printed["ff_domains"])
        assert model["notes"] == []


@pytest.mark.data
@needs_data
def test_a_person_gets_a_table(judge: Judge) -> None:
    status, out, err = judge("--config", str(DATA / "config.json"), str(DATA / "raw.json"))
    assert (status, err) == (0, "")
    (row,) = [line.split() for line in out.splitlines() if "Orb-v2" in line]
    assert row == ["Orb-v2", "0.254", "0.601", "1.341", "≥", "2.649"]


def test_five_domains_by_hand_and_corrected(judge: Judge, tmp_path: Path) -> None:
    # The arithmetic is in tests/scoring/test_published_variants.py.
    omol = changed(GENERAL, "model.supports_omol", True)
    arguments = put(tmp_path, {"general": GENERAL, "omol": omol})
    answer = judge_json(judge, *arguments)
    general = answer["models"]["general"]
    assert general["ff_error"] == pytest.approx(0.462)
    assert answer["models"]["omol"]["ff_error"] == pytest.approx(0.4745)
    assert general["pc_error"] == 0.733
    assert (general["efficiency"], general["instability"]) == (0.4, 3.0)
    assert general["ff_domains"]["Biomolecules & Supramolecules"] == pytest.approx(1.1)
    assert general["pc_domains"] == pytest.approx(
        {"Catalysis": 0.6, "Inorganic Materials": 1.2, "Small Molecules": 0.4}
    )
    assert answer["notes"] == [
        "config.json: pc.tasks.torsion.dummy: no baseline of MAE: such errors are taken as they are"
    ]
    corrected = judge_json(judge, *arguments, "--corrected")
    assert corrected["variant"] == "corrected"
    model = corrected["models"]["general"]
    assert model["ff_error"] == pytest.approx(0.362)  # the cap
    assert model["pc_error"] == pytest.approx(((0.2 + 1.0 + 0.2) / 3 + 0.6 + 0.4) / 3)
    assert set(model["instability_by_tolerance"]) == {"4.9e-05 eV/atom/ps", "0.0005 eV/atom/ps"}
    assert model["instability"] == model["instability_by_tolerance"]["4.9e-05 eV/atom/ps"]
    assert "phonon: success rate 0.5: the published errors leave failures out, so they cost nothing" in model["notes"]


def test_rounding_is_the_releases(judge: Judge, tmp_path: Path) -> None:
    arguments = put(tmp_path, {"general": GENERAL}, changed(FIVE, "rounding.ranking_decimals", 1))
    assert judge_json(judge, *arguments)["models"]["general"]["pc_error"] == 0.7


def test_a_release_that_states_no_decimals_is_not_rounded(judge: Judge, tmp_path: Path) -> None:
    whole = judge_json(judge, *put(tmp_path, {"general": GENERAL}, changed(FIVE, "rounding.ranking_decimals", None)))
    rounded = judge_json(judge, *put(tmp_path, {"general": GENERAL}, FIVE))
    for score in ("pc_error", "efficiency", "instability"):
        value = whole["models"]["general"][score]
        assert rounded["models"]["general"][score] == round(value, 3)
    assert whole["models"]["general"]["pc_error"] != rounded["models"]["general"]["pc_error"]


def test_a_missing_score_is_null_with_a_note(judge: Judge, tmp_path: Path) -> None:
    lacking = without(without(GENERAL, f"{FF}.hea.virial_rmse_natoms"), USE)
    infinite = changed(GENERAL, f"{PC}.phonon.success_rate", 0.0)
    arguments = put(tmp_path, {"lacking": lacking, "empty": {}, "infinite": infinite})
    models = judge_json(judge, *arguments)["models"]
    assert models["lacking"]["ff_error"] is None
    assert models["lacking"]["ff_domains"]["Inorganic Materials"] is None
    assert models["lacking"]["pc_error"] == 0.733
    assert [models["empty"][key] for key in ("ff_error", "pc_error", "efficiency", "instability")] == [None] * 4
    assert models["infinite"]["pc_error"] is None
    status, out, err = judge(*arguments)
    assert status == 0
    assert "–" in out
    for name, model in models.items():
        assert model["notes"]
        assert all(f"{name}: {note}" in err.splitlines() for note in model["notes"])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "raw.json: is not JSON: "),
        ("{'a': 1}", "raw.json: is not JSON: "),
        ("[" * 100_000, "raw.json: is not JSON: "),
        ('{"a": {}, "a": {}}', "raw.json: is not JSON: 'a' is named twice"),
        ("[]", "release by-hand: the file: must be a table of names and values, not list"),
        ("{}", "release by-hand: the file has no model"),
        (NEGATIVE, "release by-hand: model a: task ani: force_rmse: -1 is not a number from 0 up"),
        (
            json.dumps({"a": {FF: {"ani": {"force_rmse": "much"}}}}).replace('"much"', "1e999"),
            "model a: task ani: force_rmse: inf is not a number",
        ),
    ],
)
def test_a_bad_table_is_one_line(judge: Judge, tmp_path: Path, content: str, words: str) -> None:
    arguments = put(tmp_path, {})
    (tmp_path / "raw.json").write_text(content, encoding="utf-8")
    status, out, err = judge(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith("judge: ")
    assert len(err.splitlines()) == 1
    assert words in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("raw.json",), "give one formula: either --config CONFIG.JSON, or --release with one of lambench-0.3.1"),
        (("--config", "config.json", "--release", "lambench-0.3.1", "raw.json"), "give one formula"),
        (("--config", "nowhere.json", "raw.json"), "nowhere.json: cannot be read (No such file or directory)"),
        (("--config", "config.json", "nowhere.json"), "nowhere.json: cannot be read"),
        (("--config", "raw.json", "raw.json"), "release raw.json: release: Field required"),
        (("--release", "lambench-9", "raw.json"), "release lambench-9: not known; one of corrected, lambench-0.3.1"),
        (("--release", "corrected", "raw.json"), "release corrected: it names no published tasks"),
    ],
)
def test_wrong_usage_is_one_line(judge: Judge, tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    put(tmp_path, {"general": GENERAL})
    status, out, err = judge(*arguments)
    assert (status, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert words in err


def test_a_name_is_shown_as_it_is(judge: Judge, tmp_path: Path) -> None:
    status, out, _ = judge(*put(tmp_path, {"[red]x[/red] ø": GENERAL}))
    assert status == 0
    assert "[red]x[/red] ø" in out


def test_in_a_process_of_its_own(tmp_path: Path) -> None:
    put(tmp_path, {"general": GENERAL})
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "judge.cli.main", "score", "lambench", "--config", "config.json"]
    for table, status in (("raw.json", 0), ("config.json", 2)):
        done = subprocess.run(
            [*command, table, "--json"], cwd=tmp_path, env=variables, capture_output=True, text=True, check=False
        )
        assert done.returncode == status
        assert "Traceback" not in done.stderr
        if status == 0:
            assert json.loads(done.stdout)["models"]["general"]["ff_error"] == pytest.approx(0.462)
        else:
            assert done.stderr.startswith("judge: release by-hand: model ")
