"""In which order an intake examines requests."""

from __future__ import annotations

from datetime import timedelta

from judge.images.transfer import Transfer
from judge.intake.invitations import StoredDecision
from judge.intake.request_queue import RequestQueue
from judge.intake.retry_queue import COUNTED_AGAIN_AFTER, DelayedRequest
from submissions.records import utc_now
from submissions.requests import RequestDecision


def test_the_oldest_comes_first_and_delayed_ones_last() -> None:
    pending = [("a", "1"), ("b", "1"), ("a", "2"), ("c", "1")]
    queue = RequestQueue(pending, {("a", "1"): 2, ("b", "1"): 0}, 100.0, 100)
    assert list(queue) == [("a", "2"), ("c", "1"), ("b", "1"), ("a", "1")]
    assert queue.notes == []


def test_an_invitation_that_has_used_a_minute_comes_after_the_others() -> None:
    queue, order = RequestQueue([("a", str(n)) for n in range(3)] + [("b", "1")], {}, 1000.0, 100), []
    for name, slot in queue:
        order.append(name + slot)
        queue.used(name, 61.0, Transfer(), is_delayed=False)
    assert order == ["a0", "b1", "a1", "a2"]


def test_an_invitation_with_a_delay_in_this_intake_comes_after_the_others() -> None:
    queue, order = RequestQueue([("a", "0"), ("a", "1"), ("b", "1"), ("b", "2")], {}, 1000.0, 100), []
    for name, slot in queue:
        order.append(name + slot)
        queue.used(name, 0.1, Transfer(), is_delayed=name == "a")
    assert order == ["a0", "b1", "b2", "a1"]


def test_a_first_look_is_short_while_others_wait_and_what_needs_longer_comes_last() -> None:
    """Also after those that were delayed in earlier intakes."""
    queue, order = RequestQueue([("a", "0"), ("b", "0"), ("b", "1"), ("c", "0")], {("c", "0"): 1}, 1000.0, 100), []
    for place in queue:
        is_short = queue.is_first_look(place)
        order.append((*place, is_short))
        if is_short and place[0] == "a":
            queue.set_aside(place)
    assert order == [("a", "0", True), ("b", "0", True), ("b", "1", True), ("c", "0", False), ("a", "0", False)]


def test_nobody_is_set_aside_for_an_invitation_that_waits_for_the_next_intake() -> None:
    queue = RequestQueue([("a", "0"), ("a", "1"), ("b", "0")], {}, 1000.0, 100)
    queue.used("b", 1000.0, Transfer(), is_delayed=False)
    assert [(place, queue.is_first_look(place)) for place in queue] == [(("a", "0"), False), (("a", "1"), False)]


def test_an_invitation_that_has_used_its_share_waits_for_the_next_intake() -> None:
    pending = [("a", "1"), ("a", "2"), ("b", "1"), ("b", "2"), ("c", "1"), ("c", "2")]
    queue, order = RequestQueue(pending, {}, 100.0, 1000), []
    for name, slot in queue:
        order.append(name + slot)
        seconds, n_bytes = {"a": (100.0, 0), "b": (0.0, 1000), "c": (1.0, 1)}[name]
        queue.used(name, seconds, Transfer(n_bytes=n_bytes), is_delayed=False)
    assert order == ["a1", "b1", "c1", "c2"]
    assert [note.partition(":")[0] for note in queue.notes] == ["a", "b"]
    assert "1 requests wait for the next intake" in queue.notes[0]


def test_at_most_one_delay_an_hour_counts() -> None:
    decision = RequestDecision(slot="0" * 32, received=utc_now(), outcome="delayed")
    old = StoredDecision(decision=decision).model_dump_json().encode()  # as it was stored before delays were counted
    request, now = DelayedRequest.read(old), utc_now()
    for _ in range(3):
        request = request.delayed_again(10, now)
    assert (request.n_delays, request.n_bytes) == (1, 30)
    request = request.delayed_again(0, now + COUNTED_AGAIN_AFTER + timedelta(seconds=1))
    assert DelayedRequest.read(request.model_dump_json().encode()).n_delays == 2
