"""The status for an invited author: the state of each submission, nothing of hidden tasks or of other authors."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from datetime import timedelta

import pytest

from judge.intake.invitations import StoredDecision, read_invitation, revoke_invitation
from judge.intake.status import EXHAUSTED, invitation_status, read_progress
from judge.intake.status_bucket import read_status
from judge.records.attempts import MAX_TRIES, unit_prefix
from judge.records.decisions import EventKind, record_event
from judge.records.items_file import result_path
from judge.records.manifest import Manifest, ManifestScores, append
from judge.records.records import End
from judge.records.results import read_submissions
from judge.records.signing import SigningKey, own_key
from judge.workspace import Workspace
from sandbox.verdict import FaultCause
from submissions.records import Submission, utc_now
from submissions.requests import RequestDecision, SubmissionProgress
from tasks.suites.suite import load_suite
from tests.servers.rgw import RgwServer
from tests.world.intake import invite, with_status_bucket
from tests.world.judged import own_key_of
from tests.world.world import World

CRASHING = """
import os
from ase.calculators.emt import EMT

class Crashing(EMT):
    def calculate(self, atoms=None, *args, **kwargs):
        if 28 in atoms.numbers:
            os._exit(65)
        super().calculate(atoms, *args, **kwargs)

def make_calculator():
    return Crashing()
"""


@pytest.fixture
def judged(judged_world: World) -> World:
    return judged_world


def told(world: World, *ids: str, site_url: str = "") -> dict[str, SubmissionProgress]:
    settings = world.settings.model_copy(update={"site_url": site_url})
    return read_progress(Workspace(settings), load_suite(settings.suite), ids)


def publish(world: World, key: SigningKey, rank: int | None = 1, with_results: bool = True) -> None:
    shown = [result_path(r.submission, r.task, r.result_key) for r in world.results()] if with_results else []
    scores = ManifestScores(force_field=0.25, property_error=None, efficiency=0.5, instability=None, rank=rank)

    def make(n: int, previous: str) -> Manifest:
        return Manifest(
            n=n,
            suite="small",
            release="corrected",
            published=utc_now(),
            judge_version="",
            judge_commit="",
            files={},
            results=dict.fromkeys(shown, "0" * 64),
            submissions={},
            events={},
            scores=dict.fromkeys({r.submission for r in world.results()}, scores),
            selftests=(),
            previous=previous,
        )

    append(world.store, key, make)


def test_a_waiting_submission_has_its_position_in_the_queue(world: World) -> None:
    first, second, third = (world.submit(name) for name in ("one", "two", "three"))
    assert [told(world, s.id)[s.id].position for s in (first, second, third)] == [1, 2, 3]
    waiting = told(world, second.id)
    assert list(waiting) == [second.id]
    progress = waiting[second.id]
    assert (progress.state, progress.n_tasks, progress.tasks, progress.scores) == ("waiting", 2, (), {})
    assert progress.image_id == second.image.id
    record_event(world.store, own_key(world.settings.key_file), EventKind.WITHDRAWN, first.id, "changed my mind")
    after = told(world, first.id, third.id)
    assert (after[first.id].state, after[first.id].position) == ("withdrawn", None)
    assert after[third.id].position == 2


def test_what_was_begun_is_being_judged(world: World) -> None:
    submission = world.submit("emt")
    world.evaluate(tasks=("copper",))
    progress = told(world, submission.id)[submission.id]
    assert (progress.state, progress.position, [task.task for task in progress.tasks]) == ("judging", 1, ["copper"])


def spoil(world: World, submission: Submission, task: str, n: int = MAX_TRIES) -> None:
    """Records so many faults of this machine at one task."""
    for k in range(1, n + 1):
        end = End(owner="o", ended=utc_now(), fault=FaultCause.DISK, sentence="the disk is full")
        key = f"{unit_prefix(submission.id, task, '0' * 64)}{k}/end.json"
        assert world.store.put_if_absent(key, end.model_dump_json().encode())


def test_a_held_submission_is_reported_and_delays_no_other(world: World) -> None:
    first, second = world.submit("one"), world.submit("two")
    for task in ("copper", "nickel"):
        spoil(world, first, task)
    spoil(world, second, "copper", MAX_TRIES - 1)
    progress = told(world, first.id, second.id)
    assert (progress[first.id].state, progress[first.id].position) == ("held", None)
    assert (progress[second.id].state, progress[second.id].position) == ("judging", 1)


def test_what_waits_beside_what_is_held_is_still_in_the_queue(world: World) -> None:
    submission = world.submit("one")
    spoil(world, submission, "copper")
    progress = told(world, submission.id)[submission.id]
    assert (progress.state, progress.position) == ("judging", 1)


def test_results_of_another_data_set_leave_it_in_the_queue(judged: World) -> None:
    """State and position in the queue follow from the same records."""
    id = judged.results()[0].submission
    text = (judged.root / "small.toml").read_text()
    assert "copper@1" in text
    shutil.copytree(judged.settings.data / "copper@1", judged.settings.data / "copper@2")
    (judged.root / "small.toml").write_text(text.replace("copper@1", "copper@2"))
    progress = told(judged, id)[id]
    assert (progress.state, progress.position, [task.task for task in progress.tasks]) == ("judging", 1, ["nickel"])


def test_scores_and_page_once_they_are_published(judged: World) -> None:
    id = judged.results()[0].submission
    progress = told(judged, id)[id]
    assert (progress.state, progress.position, progress.page, progress.rank) == ("judged", None, "", None)
    assert {task.task: task.verdict.value for task in progress.tasks} == {"copper": "OK", "nickel": "OK"}
    key = own_key_of(judged)
    publish(judged, key, with_results=False)  # of before it was judged: scores are shown, but it is not these results
    assert told(judged, id)[id].state == "judged"
    publish(judged, key, rank=2)
    for site_url in ("https://site/x", "https://site/x/"):
        progress = told(judged, id, site_url=site_url)[id]
        assert progress.page == f"https://site/x/submissions/{id}.html"
    assert (progress.state, progress.rank) == ("published", 2)
    assert progress.scores == {"force_field": 0.25, "property_error": None, "efficiency": 0.5, "instability": None}
    assert told(judged, id)[id].page == ""
    record_event(judged.store, key, EventKind.DISQUALIFIED, id, "trained on it")
    assert told(judged, id)[id].state == "disqualified"


def test_a_manifest_that_nobody_trusted_signed_publishes_nothing(judged: World) -> None:
    id = judged.results()[0].submission
    publish(judged, own_key_of(judged), rank=2)
    before = told(judged, id)
    assert before[id].rank == 2
    publish(judged, SigningKey(bytes(32)), rank=9)
    assert told(judged, id) == before


def test_no_word_of_hidden_tasks_comes_out(world: World) -> None:
    for name, since in (("copper", "2014"), ("nickel", "")):
        card = world.settings.data / f"{name}@1" / "card.toml"
        card.write_text(re.sub('public_since = ".*"', f'public_since = "{since}"', card.read_text()))
    submission = world.submit("crashing", CRASHING)
    world.evaluate()
    raw = {result.task: result for result in world.results()}
    assert "65" in raw["nickel"].sentence  # the submission's own number, which must not come out
    progress = told(world, submission.id)[submission.id]
    nickel = next(task for task in progress.tasks if task.task == "nickel")
    assert nickel.verdict == raw["nickel"].verdict
    assert nickel.sentence
    assert "65" not in nickel.sentence
    assert progress.state == "judged"
    tasks_json = json.dumps([task.model_dump(mode="json") for task in progress.tasks])
    for word in ("@1", "force_rmse", raw["nickel"].provenance.origin.host, raw["copper"].result_key):
        assert word not in tasks_json
    assert nickel.wall_s == float(f"{nickel.wall_s:.1e}")  # two digits


def test_of_others_nothing_but_the_id(world: World) -> None:
    mine, theirs = world.submit("mine"), world.submit("theirs")
    invited = invite(world.store, mine)
    duplicate = RequestDecision(slot="f" * 32, received=utc_now(), outcome="duplicate", submission=theirs.id, name="m")
    invited = replace(invited, decisions={**invited.decisions, duplicate.slot: StoredDecision(decision=duplicate)})
    progress = told(world, mine.id, theirs.id)
    status = invitation_status(invited, progress, (), utc_now())
    assert [each.submission for each in status.submissions] == [mine.id]
    assert [decision.submission for decision in status.decisions] == [mine.id, theirs.id]
    assert status.quota.judged == 1


def test_a_delayed_request_is_in_the_status_until_it_is_decided(world: World) -> None:
    invited = invite(world.store, world.submit("mine"))
    now = utc_now()
    waits = RequestDecision(slot="e" * 32, received=now - timedelta(hours=1), outcome="delayed", sentence="Wait.")
    decided = waits.model_copy(update={"slot": "0" * 32})
    status = invitation_status(invited, {}, [waits, decided], now)
    assert [(decision.slot[0], decision.outcome) for decision in status.decisions] == [
        ("e", "delayed"),
        ("0", "submitted"),
    ]


def test_an_exhausted_invitation_says_so_in_the_status(world: World) -> None:
    invited = invite(world.store)
    assert invitation_status(invited, {}, (), utc_now()).revoked == ""
    decisions = [RequestDecision(slot=f"{n:032x}", received=utc_now(), outcome="refused") for n in range(3)]
    full = replace(invited, decisions={decision.slot: StoredDecision(decision=decision) for decision in decisions})
    assert invitation_status(full, {}, (), utc_now()).revoked == EXHAUSTED
    revoke_invitation(world.store, "alice", "misused")
    assert "misused" in invitation_status(read_invitation(world.store, "alice"), {}, (), utc_now()).revoked


def test_who_decides_tells_the_author_at_once(
    judged: World, aws_environment: RgwServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    (submission,) = read_submissions(judged.store)
    invited, settings = invite(judged.store, submission), with_status_bucket(judged.settings, aws_environment)
    for name in ("status_bucket", "status_url", "endpoint_url"):
        monkeypatch.setenv(f"LAMBENCH_{name.upper()}", getattr(settings, name))

    def state() -> str:
        status = read_status(Workspace(settings), invited)
        assert status is not None
        return status.submissions[0].state

    why = (submission.id, "--reason", "so it is")
    for words, after in (
        (("withdraw", *why), "withdrawn"),
        (("reinstate", *why), "judged"),
        (("site", "publish"), "published"),
        (("disqualify", *why), "disqualified"),
    ):
        status, _, err = judged.run_here(*words)
        assert (status, state()) == (0, after), err
