"""The command as a person and a script use it, in its own process, except for immediate refusals."""

from __future__ import annotations

import pytest
from ase.io import write

from sandbox.guest_archive import guest_version
from tests.world.small_data import labelled
from tests.world.world import World

pytestmark = pytest.mark.takes(2)


def test_json_is_all_there_is_on_standard_output(world: World) -> None:
    world.write_settings()
    submission = world.submit("emt")
    status, answer = world.run_json("evaluate", "--all")
    assert status == 0
    assert isinstance(answer, dict)
    assert answer["counts"] == {"observed": 2}
    assert {unit["verdict"] for unit in answer["units"]} == {"OK"}
    status, listed = world.run_json("list")
    assert isinstance(listed, list)
    assert [(row["id"], row["ok"]) for row in listed] == [(submission.id, 2)]
    status, shown = world.run_json("show", submission.id[:6])
    assert isinstance(shown, dict)
    assert len(shown["results"]) == 2
    assert status == 0


def test_the_output_says_what_was_done_and_the_next_step(world: World) -> None:
    world.write_settings()
    world.submit("emt")
    status, out, err = world.run("evaluate", "--all")
    assert status == 0, err
    assert "Of 2 units: 2 judged" in out
    assert "judge site build" in out
    status, out, _ = world.run("evaluate", "--all")
    assert (status, out.strip()) == (0, "Nothing to do: all 2 results of 1 submission in small exist.")
    status, out, _ = world.run("show", "emt")
    assert "Results: 2 OK" in out
    assert len(out.splitlines()) <= 10
    assert "force_rmse" in world.run("show", "emt", "--details")[1]
    status, out, _ = world.run("list")
    assert "emt" in out


@pytest.mark.parametrize(
    ("arguments", "status", "complaint"),
    [
        (("evaluate",), 2, "judge evaluate --all"),
        (("evaluate", "nobody"), 2, "no submission 'nobody'"),
        (("evaluate", "--all", "--suite", "missing.toml"), 2, "missing.toml"),
        (("evaluate", "--all", "--gpus", "GPU-0"), 3, "GPU-0 is not in this machine"),
        (("evaluate", "--all", "--budget", "nan"), 2, "--budget must be more than 0 hours, not nan"),
        (("plan", "nobody"), 2, "no submission 'nobody'"),
        (("plan", "--suite", "missing.toml"), 2, "missing.toml"),
        (("plan", "--task", "tin"), 2, "has no task 'tin': it has copper, nickel"),
        (("show", "nobody"), 2, "no submission 'nobody'"),
        (("site", "serve"), 2, "judge site build"),
    ],
)
def test_an_error_is_one_line_and_a_status(
    world: World, arguments: tuple[str, ...], status: int, complaint: str
) -> None:
    world.write_settings()
    code, _, err = world.run_here(*arguments)
    assert code == status
    assert complaint in err
    assert len(err.strip().splitlines()) == 1


def test_a_broken_setting_is_named_and_debug_shows_where(world: World) -> None:
    (world.root / "judge.toml").write_text("[limits]\npids = 1\n")
    code, _, err = world.run("list")
    assert code == 2
    assert "limits.pids" in err
    assert "Traceback" not in err
    _, _, err = world.run("list", "--debug")
    assert "Traceback" in err


def test_data_are_imported_listed_and_verified(world: World) -> None:
    world.write_settings()
    write(world.root / "platinum.extxyz", labelled("Pt", 10), format="extxyz")
    options = ("--name", "platinum", "--version", "1", "--domain", "Inorganic Materials", "--label-set", "EMT")
    options += ("--units", "ase")
    status, out, err = world.run("data", "import", "extxyz", "platinum.extxyz", *options)
    assert status == 0, err
    assert "10 structures of 8 atoms, 80 in all" in out
    assert "elements (in structures): Pt 10" in out
    status, _, err = world.run("data", "import", "extxyz", "platinum.extxyz", *options)
    assert status == 2
    assert "exists already" in err
    _, listed = world.run_json("data", "list")
    assert isinstance(listed, list)
    assert [card["name"] for card in listed] == ["copper", "nickel", "platinum"]
    assert world.run("data", "verify")[0] == 0
    (world.root / "data" / "platinum@1" / "table.json").write_text("{}")
    status, out, _ = world.run("data", "verify")
    assert status == 1
    assert "platinum@1/table.json" in out
    status, _, err = world.run("data", "import", "extxyz", "platinum.extxyz", *options[:1], "Big Name", *options[2:])
    assert status == 2
    assert "--name" in err


def test_doctor(world: World) -> None:
    world.write_settings()
    status, answer = world.run_json("doctor")
    assert isinstance(answer, list)
    findings = {finding["name"]: finding for finding in answer}
    assert findings["guest, as a process"]["ok"], findings
    assert findings["store"]["ok"]
    assert findings["data"]["ok"]
    assert findings["guest"]["text"].startswith(f"version {guest_version()}")
    assert status in (0, 1)


@pytest.mark.docker
def test_doctor_says_that_warm_starts_fail_the_selftest(world: World, images: object) -> None:
    world.write_settings(cold_start="off")
    _, answer = world.run_json("doctor")
    assert isinstance(answer, list)
    findings = {finding["name"]: finding for finding in answer}
    assert 'cold_start = "off": the selftest fails' in str(findings["guest, in a container"])
