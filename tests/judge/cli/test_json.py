"""`--json` of the commands: each has it, and standard output is JSON and nothing else."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from ase.build import bulk
from ase.io import write
from typer.main import get_command

from judge.cli.main import app as judge_app
from submissions.cli.main import app as author_app
from submissions.quiet import QUIET
from tests.world.world import World


def commands_of(name: str, command: Any, context: Any) -> Iterator[tuple[str, Any]]:
    """All commands without subcommands, with their names."""
    if not hasattr(command, "list_commands"):
        yield name, command
        return
    for each in command.list_commands(context):
        yield from commands_of(f"{name} {each}", command.get_command(context, each), context)


@pytest.mark.parametrize(("name", "app"), [("judge", judge_app), ("lambench-submit", author_app)])
def test_every_command_can_print_json(name: str, app: typer.Typer) -> None:
    command = get_command(app)
    found = dict(commands_of(name, command, command.make_context(name, ["--help"], resilient_parsing=True)))
    assert len(found) > 5
    assert [path for path, each in found.items() if not any("--json" in p.opts for p in each.params)] == []


def test_an_import_prints_json_and_its_summary_aside(world: World) -> None:
    atoms = bulk("Cu")
    atoms.info["energy"] = -3.7
    write(world.root / "copper.extxyz", [atoms] * 10)
    options = ("--name", "copper-2", "--version", "1", "--domain", "inorganic materials", "--label-set", "pbe")
    status, out, err = world.run_here(
        "data", "import", "extxyz", "copper.extxyz", *options, "--theory", "PBE", "--units", "ase", "--json"
    )
    assert status == 0, err
    facts = json.loads(out)
    assert (facts["data_set"], facts["structures"]) == ("copper-2@1", 10)
    assert "10 structures" in err
    status, out, _ = world.run_here("data", "verify", "COPPER-2@1", "--json")
    assert (status, json.loads(out)["intact"]) == (0, ["copper-2@1"])
    assert world.run_here("data", "verify", "coper-2@1")[2].endswith("did you mean copper-2@1?\n")


def test_decisions_and_pages_print_json(world: World) -> None:
    world.write_settings()
    submission = world.submit("emt")
    status, out, err = world.run_here("withdraw", submission.id.upper(), "--reason", "asked for", "--json")
    assert status == 0, err
    assert json.loads(out)["submission"] == submission.id
    status, out, err = world.run_here("site", "build", "--json")
    assert (status, json.loads(out)["left_out"]) == (0, [])


def test_a_server_prints_its_address_as_json(world: World) -> None:
    world.write_settings()
    assert world.run_here("site", "build")[0] == 0
    command = [sys.executable, "-m", "judge.cli.main", "site", "serve", "--port", "0", "--json"]
    with subprocess.Popen(command, cwd=world.root, stdout=subprocess.PIPE, text=True) as server:
        try:
            facts = json.loads("".join(iter(lambda: server.stdout.readline(), "}\n")) + "}")
            with urllib.request.urlopen(facts["address"], timeout=20) as page:
                assert page.status == 200
            assert Path(facts["folder"], "index.html").read_bytes().startswith(b"<!doctype html>")
        finally:
            server.send_signal(signal.SIGINT)
            assert server.wait(20) == 0


def test_quiet_prints_results_and_problems_only(world: World) -> None:
    world.write_settings()
    submission = world.submit("emt")
    status, out, err = world.run_here("evaluate", "--all", "--quiet")
    assert (status, err) == (0, "")
    assert submission.id not in out
    assert "2 judged" in out
    assert not QUIET.get()  # for the next test in this process
