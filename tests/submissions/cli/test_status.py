"""`lambench-submit status`, `log`, `list`: what an author sees; text from the status bucket is escaped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from sandbox.verdict import Verdict
from submissions.client.sent_record import SentRecord, SentRequest, open_sent_record
from submissions.client.status import find, tracked_requests
from submissions.client.status_bucket import InviteError
from submissions.requests import (
    STATUS_FILE,
    InvitationStatus,
    InviteFile,
    RequestDecision,
    SubmissionProgress,
    TaskState,
    log_name,
)
from tests.submissions.client.odd_server import odd_server, say
from tests.world.author_machine import NOW, progress_of, run_here, slot, status_of

ID = "emt-0123456789ab"
TRICK = "a\x1b[2Jb\u202ec[red]d[/red]"
SHOWN = "a\\x1b[2Jb\\u202ec[red]d[/red]"


class StatusServer:
    """A status bucket on a plain web server, whose status may change at each read."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.statuses: list[InvitationStatus] = [status_of()]
        self.logs: dict[str, str] = {}
        self.url = ""

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        name = request.path.rpartition("/")[2]
        if name == STATUS_FILE:
            status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
            say(200, status.model_dump_json().encode())(request)
        elif name in self.logs:
            say(200, self.logs[name].encode())(request)
        else:
            say(404)(request)

    @property
    def environment(self) -> dict[str, str]:
        return {"XDG_STATE_HOME": str(self.root / "state"), "LAMBENCH_INVITE": str(self.root / "alice.json")}

    def run(self, *arguments: str) -> tuple[int, str, str]:
        return run_here(self.root, self.environment, *arguments)

    def keep(self, *requests: SentRequest) -> None:
        """Writes the author's own record."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_STATE_HOME", self.environment["XDG_STATE_HOME"])
            with open_sent_record(InviteFile(name="alice", status_url=self.url)) as record_file:
                for request in requests:
                    record_file.set_request(request)


@pytest.fixture
def status_server(tmp_path: Path) -> Iterator[StatusServer]:
    status_server = StatusServer(tmp_path)
    with odd_server(status_server.answer) as server:
        status_server.url = f"{server.url}mail/secret/"
        (tmp_path / "alice.json").write_text(InviteFile(name="alice", status_url=status_server.url).model_dump_json())
        yield status_server


def sent_request(name: str = "EMT", image_id: str = f"sha256:0123456789ab{'0' * 52}", **fields: object) -> SentRequest:
    stated = {"slot": slot(), "sent": NOW, "name": name, "by": "upload", "reference": "emt:1", "sha256": "0" * 64}
    return SentRequest.model_validate({**stated, "image_id": image_id, "arrived": True, **fields})


def decide(request: SentRequest, outcome: str, **fields: object) -> RequestDecision:
    return RequestDecision.model_validate(
        {"slot": request.slot, "received": NOW, "came": outcome, "name": request.name, **fields}
    )


def test_a_request_waits_for_an_intake_then_in_the_queue(status_server: StatusServer) -> None:
    request = sent_request()
    status_server.keep(request, sent_request("cut off", arrived=False))
    status, out, _ = status_server.run("list")
    assert status == 0
    assert f"{ID}" in out
    assert "waiting for intake" in out
    assert "cut off" not in out
    assert "Invitation alice: 0 of 20 submissions taken, 0 of 10 requests refused." in out
    status_server.statuses = [
        status_of([decide(request, "submitted", submission=ID)], [progress_of(position=3, n_tasks=5)])
    ]
    status, out, _ = status_server.run("status", "emt")
    assert (status, "waiting (3 in the queue)" in out, "0 of 5 tasks are done" in out) == (0, True, True)


def completed(status_server: StatusServer, words: str) -> str:
    """What a shell is told of the last of `words`."""
    shell = {"_TYPER_COMPLETE_ARGS": words, "_LAMBENCH_SUBMIT_COMPLETE": "complete_fish"}
    program = Path(sys.executable).with_name("lambench-submit")
    env = {**os.environ, **status_server.environment, **shell, "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    return subprocess.run([program], env=env, capture_output=True, text=True, check=True).stdout


def test_a_shell_completes_what_was_sent_and_asks_no_server(status_server: StatusServer) -> None:
    status_server.keep(sent_request(), sent_request("other", image_id=""))
    status_server.statuses = []
    assert completed(status_server, "lambench-submit status em") == f"{ID}\tEMT\n"
    assert completed(status_server, "lambench-submit log o").strip() == "other"
    (status_server.root / "alice.json").write_text("{")
    assert completed(status_server, "lambench-submit status em").strip() == ""


def test_verdicts_scores_and_page(status_server: StatusServer) -> None:
    tasks = (
        TaskState(task="copper", verdict=Verdict.OK, wall_s=75.0, memory_bytes=2_500_000_000),
        TaskState(task="nickel", verdict=Verdict.TIME_LIMIT, phase="observing", sentence="It took too long."),
    )
    scores = {"force_field": 0.5, "efficiency": None}
    page = "https://example.org/submissions/emt-0123456789ab.html"
    progress = progress_of(state="published", n_tasks=2, tasks=tasks, scores=scores, rank=4, page=page)
    status_server.statuses = [status_of([decide(sent_request(), "submitted", submission=ID)], [progress])]
    status, out, _ = status_server.run("status")
    assert status == 0
    for words in ("copper", "OK", "1 min 15 s", "2.5 GB", "TIME_LIMIT", "observing It took too long.", page):
        assert words in out
    assert "Scores, rank 4: force_field 0.5, efficiency –" in out
    assert "2 of 2 tasks are done." in out
    status, out, _ = status_server.run("status", ID, "--json")
    assert SubmissionProgress.model_validate(json.loads(out)["progress"]) == progress


def test_a_refused_request_with_verdict_sentence_and_container_log(status_server: StatusServer) -> None:
    request = sent_request()
    status_server.keep(request)
    refused = decide(request, "refused", verdict=Verdict.STARTUP_FAILED, sentence="It fails.", said="one\nImportError")
    status_server.statuses = [status_of([refused])]
    status, out, _ = status_server.run("list")
    assert f"{ID}  refused  STARTUP_FAILED: It fails." in out
    status, out, _ = status_server.run("status", "emt-0")
    assert status == 0
    assert "  │ one\n  │ ImportError" in out
    status, out, _ = status_server.run("log", "emt-0")
    assert (status, out) == (0, "one\nImportError\n")


def test_a_duplicate_names_the_earlier_one_and_a_delayed_one_its_reason(status_server: StatusServer) -> None:
    first, second = sent_request(), sent_request("other", f"sha256:{'1' * 64}")
    status_server.keep(first, second)
    delayed = decide(second, "delayed", sentence="The registry did not answer.")
    status_server.statuses = [status_of([decide(first, "duplicate", submission="earlier-0123456789ab"), delayed])]
    status, out, _ = status_server.run("status", "earlier")
    assert "This image was submitted before, as earlier-0123456789ab: that submission counts." in out
    status, out, _ = status_server.run("list")
    assert "other-111111111111  delayed  The registry did not answer." in out
    assert status == 0


def test_the_log_of_a_submission(status_server: StatusServer) -> None:
    status_server.statuses = [status_of([decide(sent_request(), "submitted", submission=ID)], [progress_of()])]
    nothing = "There is no log of emt-0123456789ab: its container printed nothing, or the preflight is still to come."
    assert nothing in status_server.run("log", "emt")[1]
    status_server.logs[log_name(ID)] = f"loading\n{TRICK}\n[bold]x[/bold]"
    assert status_server.run("log", "emt")[1] == f"loading\n{SHOWN}\n[bold]x[/bold]\n"
    assert json.loads(status_server.run("log", "emt", "--json")[1]) == {
        "submission": ID,
        "log": f"loading\n{SHOWN}\n[bold]x[/bold]",
    }


def test_no_word_of_a_status_bucket_reaches_the_terminal_unescaped(status_server: StatusServer) -> None:
    request = sent_request(name="sent")
    refused = RequestDecision(
        slot=request.slot,
        received=NOW,
        outcome="refused",
        verdict=Verdict.CRASHED,
        name=TRICK,
        sentence=TRICK,
        container_log=TRICK,
        submission=TRICK,
    )
    task = TaskState(task=TRICK, verdict=Verdict.OK, phase=TRICK, sentence=TRICK)
    progress = progress_of(TRICK, name=TRICK, page=TRICK, tasks=[task], scores={TRICK: 1.0})
    taken = RequestDecision(
        slot=slot(), received=NOW, outcome="submitted", name=TRICK, submission=TRICK, sentence=TRICK
    )
    status_server.statuses = [
        status_of([refused, taken], [progress], revoked=TRICK).model_copy(update={"invitation": TRICK})
    ]
    status_server.logs[log_name(TRICK)] = TRICK
    for command in (["list"], ["status"], ["status", "a"], ["log", "a"], ["status", "--watch", "nothing"]):
        _, out, err = status_server.run(*command)
        for text in (out, err):
            assert all(c.isprintable() or c == "\n" for c in text), (command, text)
    assert SHOWN in status_server.run("status")[1]


def test_an_id_by_its_beginning(status_server: StatusServer) -> None:
    status_server.keep(sent_request("emt"), sent_request("emt two", f"sha256:{'2' * 64}"))
    status, _, err = status_server.run("status", "emt-")
    assert status == 2
    assert "'emt-' may be emt-0123456789ab, emt-two-222222222222: give more of it" in " ".join(err.split())
    assert status_server.run("status", "emt-t")[0] == 0
    status, _, err = status_server.run("status", "mace")
    assert (status, "see lambench-submit list" in " ".join(err.split())) == (2, True)


def test_of_several_requests_about_one_image_the_one_that_was_taken() -> None:
    refused, taken, again = sent_request(), sent_request(), sent_request()
    decisions = [
        decide(refused, "refused", verdict=Verdict.CRASHED),
        decide(taken, "submitted", submission=ID),
        decide(again, "duplicate", submission=ID),
    ]
    sent = SentRecord(invitation="alice", requests=(refused, taken, again))
    assert find(tracked_requests(status_of(decisions, [progress_of()]), sent), "emt").state == "waiting"
    assert find(
        tracked_requests(status_of(decisions[:1]), SentRecord(invitation="alice", requests=(refused, again))), "emt"
    ).state == ("waiting for intake")
    with pytest.raises(InviteError):
        find((), "emt")


def test_watching_ends_when_it_is_judged(status_server: StatusServer) -> None:
    request = sent_request()
    status_server.keep(request)
    decision = decide(request, "submitted", submission=ID)
    status_server.statuses = [
        status_of(),
        status_of([decision], [progress_of(position=2)]),
        status_of([decision], [progress_of(position=2)]),
        status_of([decision], [progress_of(state="judged", n_tasks=0)]),
    ]
    status, out, _ = status_server.run("status", "emt", "--watch", "--every", "1")
    assert status == 0
    lines = [line for line in out.splitlines() if ID in line]
    assert [line.partition(ID)[2].strip() for line in lines] == [
        "waiting for intake",
        "waiting (2 in the queue)",
        "judged",
    ]


def test_watching_ends_when_it_is_refused(status_server: StatusServer) -> None:
    request = sent_request()
    status_server.keep(request)
    status_server.statuses = [status_of([decide(request, "refused", verdict=Verdict.CRASHED, sentence="It ended.")])]
    status, out, _ = status_server.run("status", "--watch")
    assert (status, "CRASHED: It ended." in out) == (1, True)


def test_ctrl_c_ends_watching_quietly(status_server: StatusServer) -> None:
    decision = decide(sent_request(), "submitted", submission=ID)
    waiting = status_of([decision], [progress_of(position=1)])

    def interrupt(request: BaseHTTPRequestHandler) -> None:
        os.kill(os.getpid(), signal.SIGINT)  # no answer comes: the command is still waiting

    answers = [say(200, waiting.model_dump_json().encode()), interrupt]
    with odd_server(lambda request: answers.pop(0)(request)) as server:
        (status_server.root / "alice.json").write_text(
            InviteFile(name="alice", status_url=server.url).model_dump_json()
        )
        status, out, err = status_server.run("status", "emt", "--watch", "--every", "1")
    assert (status, err, len(out.splitlines())) == (130, "", 1)
    assert "waiting (1 in the queue)" in out


def test_without_an_invitation_the_remedy_is_named(tmp_path: Path) -> None:
    for command in (["list"], ["status"], ["log", "emt"]):
        status, _, err = run_here(tmp_path, {}, *command)
        assert status == 2
        assert "give --invite FILE, or set LAMBENCH_INVITE, or --site" in " ".join(err.split())
        assert "in a store of this machine is shown by judge list and judge show ID" in " ".join(err.split())
    status, _, err = run_here(tmp_path, {}, "list", "--invite", "none.json")
    assert (status, "there is no such file" in err) == (2, True)


def test_nothing_was_sent_yet(status_server: StatusServer) -> None:
    assert "Nothing was sent with this invitation yet." in status_server.run("list")[1]
    status, _, err = status_server.run("status")
    assert (status, "nothing was sent" in err) == (2, True)
