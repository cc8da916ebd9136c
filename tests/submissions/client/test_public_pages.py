"""`lambench-submit … --site`: what anybody can read of a published leaderboard."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from judge.records.manifest import Manifest, ManifestScores
from submissions.client.status import site_address
from tests.submissions.client.odd_server import OddServer, odd_server, say
from tests.world.author_machine import NOW, run_here

ID = "emt-0123456789ab"
TRICK = "a\x1b[2Jb\u202ec[red]d[/red]"
SHOWN = "a\\x1b[2Jb\\u202ec[red]d[/red]"


def manifest_of(scores: dict[str, ManifestScores]) -> bytes:
    """A published leaderboard."""
    return (
        Manifest(
            n=1,
            suite="quickstart",
            release="1",
            published=NOW + timedelta(days=1),
            judge_version="0",
            judge_commit="",
            files={},
            results={},
            submissions={},
            events={},
            scores=scores,
            selftests=(),
            previous="",
        )
        .model_dump_json()
        .encode()
    )


@pytest.fixture
def site() -> Iterator[OddServer]:
    def scores(force_field: float, rank: int | None) -> ManifestScores:
        return ManifestScores(force_field=force_field, property_error=None, efficiency=1.5, instability=0.25, rank=rank)

    published = {"lj-111111111111": scores(0.9, 2), ID: scores(0.5, 1), f"out-{'2' * 12}": scores(0.1, None)}
    answers: dict[str, Callable[[BaseHTTPRequestHandler], None]] = {
        "/board/manifest.json": say(200, manifest_of(published)),
        f"/board/logs/{ID}.txt": say(200, f"said\n{TRICK}".encode()),
    }
    with odd_server(lambda request: answers.get(request.path, say(404))(request)) as server:
        yield server


def test_public_pages_tell_scores_and_logs_without_an_invitation(site: OddServer, tmp_path: Path) -> None:
    address = f"{site.url}board"
    status, out, _ = run_here(tmp_path, {}, "list", "--site", address)
    rows = [line.split()[:2] for line in out.splitlines() if "-" in line][1:]
    assert (status, rows) == (0, [["1", ID], ["2", "lj-111111111111"], [f"out-{'2' * 12}", "1.5"]])
    status, out, _ = run_here(tmp_path, {}, "status", "emt", "--site", f"{address}/index.html")
    assert out.startswith(f"{ID}  published, rank 1: force_field 0.5, property_error –, efficiency 1.5")
    status, out, _ = run_here(tmp_path, {}, "status", "emt", "--site", address, "--json")
    assert json.loads(out)["scores"]["rank"] == 1
    assert run_here(tmp_path, {}, "log", "emt", "--site", address)[1] == f"said\n{SHOWN}\n"
    assert "There is no log of" in run_here(tmp_path, {}, "log", "lj", "--site", address)[1]


def test_what_is_not_published_is_one_line(site: OddServer, tmp_path: Path) -> None:
    for command, complaint, expected in (
        (["status", "mace", "--site", f"{site.url}board"], "no published submission begins with", 2),
        (["list", "--site", site.url], "there is no leaderboard at", 3),
        (["list", "--site", "ftp://x"], "is no web address", 2),
    ):
        status, _, err = run_here(tmp_path, {}, *command)
        assert (status, complaint in " ".join(err.split())) == (expected, True), err


def test_a_site_that_names_odd_submissions_is_not_asked_for_other_files(tmp_path: Path) -> None:
    trick = "../../secret"
    scores = ManifestScores(force_field=1, property_error=None, efficiency=None, instability=None, rank=1)
    answers = {"/manifest.json": say(200, manifest_of({trick: scores}))}
    with odd_server(lambda request: answers.get(request.path, say(200, b"other"))(request)) as server:
        status, out, err = run_here(tmp_path, {}, "log", "..", "--site", server.url)
    assert (status, out) == (2, "")
    assert "is no submission" in err
    assert [path for path, _ in server.asked] == ["/manifest.json"]


@pytest.mark.parametrize(
    ("site", "address"),
    [
        ("https://a.org", "https://a.org/"),
        ("https://a.org/b/", "https://a.org/b/"),
        ("https://a.org/b/index.html?x#y", "https://a.org/b/"),
    ],
)
def test_addresses_of_sites(site: str, address: str) -> None:
    assert site_address(site) == address
