"""Claims: one wins, the dead are taken over, and a late end is ignored."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from judge.records.attempts import (
    MAX_DEATHS,
    DeathWatch,
    History,
    Life,
    claim,
    histories_of,
    read_histories,
    read_history,
    unit_prefix,
)
from judge.records.process_identity import is_surely_gone, process_identity
from judge.records.records import Claim, End
from sandbox.verdict import FaultCause, JudgeFault, Verdict
from submissions.records import utc_now
from submissions.store.local import LocalStore

PREFIX = unit_prefix("emt-0123456789ab", "s22", "k" * 32)
ROOT = str(Path(__file__).parents[3])


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path)


def an_end(owner: str, verdict: Verdict | None = Verdict.OK, fault: FaultCause | None = None) -> End:
    return End(owner=owner, ended=utc_now(), verdict=verdict, fault=fault, observation="0" * 64 if verdict else None)


def foreign_claim(store: LocalStore, n: int, owner: str = "another boot/ns/1/1/t") -> None:
    record = Claim(owner=owner, host="elsewhere", started=utc_now())
    assert store.put_if_absent(f"{PREFIX}{n}/claim.json", record.model_dump_json().encode())


def test_of_two_judges_one_gets_the_claim(store: LocalStore) -> None:
    assert claim(store, PREFIX, (), 5.0) is not None
    assert claim(store, PREFIX, (), 5.0) is None


class InterruptedStore(LocalStore):
    """A folder; Ctrl-C comes while a claim is written, before or after it is there."""

    after = True

    def put_if_absent(self, key: str, data: bytes) -> bool:
        if not self.after or super().put_if_absent(key, data):
            raise KeyboardInterrupt
        return False


@pytest.mark.parametrize("after", [True, False])
def test_a_claim_whose_writer_is_interrupted_is_left(store: LocalStore, tmp_path: Path, after: bool) -> None:
    interrupted = InterruptedStore(tmp_path)
    interrupted.after = after
    with pytest.raises(KeyboardInterrupt):
        claim(interrupted, PREFIX, (), 5.0)
    history = read_history(store, PREFIX)
    assert len(history.attempts) == after
    for attempt in history.attempts:
        assert DeathWatch(store, 600.0).look(PREFIX, attempt) is Life.DEAD
    if not after:  # somebody else's claim is not touched
        foreign_claim(store, 1)
        with pytest.raises(KeyboardInterrupt):
            claim(interrupted, PREFIX, (), 5.0)
        assert not [key for key in store.list("attempts/") if key.endswith("beat.json")]


def test_a_file_that_is_of_no_attempt_changes_nothing(store: LocalStore) -> None:
    claimed = claim(store, PREFIX, (), 5.0)
    assert claimed is not None
    for folder in ("attempts/", "attempts/emt-0123456789ab/", PREFIX, f"{PREFIX}old/", f"{PREFIX}1/", f"{PREFIX}1/1/"):
        store.put(f"{folder}Thumbs.db", b"")
    claimed.write_end(an_end(claimed.process))
    histories = histories_of(store, store.list("attempts/"))
    assert list(histories) == [PREFIX]
    assert histories[PREFIX].end


def test_an_end_with_a_verdict_counts(store: LocalStore) -> None:
    claimed = claim(store, PREFIX, (), 5.0)
    assert claimed is not None
    assert read_history(store, PREFIX).open is not None
    with claimed:
        claimed.write_end(an_end(claimed.process))
    history = read_history(store, PREFIX)
    assert history.open is None
    assert history.end is not None
    assert history.end.owner == claimed.process
    assert read_histories(store, ["emt-0123456789ab"]) == {PREFIX: history}


def test_the_end_of_a_judge_believed_dead_is_refused(store: LocalStore) -> None:
    slow = claim(store, PREFIX, (), 5.0)
    assert slow is not None
    fast = claim(store, PREFIX, read_history(store, PREFIX).attempts, 5.0)
    assert fast is not None
    assert fast.n == 2
    with pytest.raises(JudgeFault, match="CLAIM_LOST"):
        slow.write_end(an_end(slow.process))
    fast.write_end(an_end(fast.process, Verdict.CRASHED))
    end = read_history(store, PREFIX).end
    assert end is not None
    assert end.verdict is Verdict.CRASHED


def test_an_end_below_the_highest_claim_is_ignored_even_if_written(store: LocalStore) -> None:
    foreign_claim(store, 1)
    foreign_claim(store, 2)
    store.put_if_absent(f"{PREFIX}1/end.json", an_end("late").model_dump_json().encode())
    history = read_history(store, PREFIX)
    assert history.end is None
    assert history.open is not None
    assert history.open.n == 2


def test_ten_comes_after_nine(store: LocalStore) -> None:
    for n in range(1, 12):
        foreign_claim(store, n)
    last = read_history(store, PREFIX).last
    assert last is not None
    assert last.n == 11


def test_a_living_process_is_not_gone_and_a_dead_one_is() -> None:
    assert not is_surely_gone(process_identity())
    code = "from judge.records.process_identity import process_identity; print(process_identity())"
    dead = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert is_surely_gone(dead.stdout.strip())


OF_ANOTHER_USER = """
import os
from judge.records.process_identity import is_surely_gone, process_identity

(told, tell), (ended, end) = os.pipe(), os.pipe()
if not (pid := os.fork()):
    os.close(end)
    os.setgid(65000)
    os.setuid(65000)
    os.write(tell, process_identity().encode())
    os.read(ended, 1)
    os._exit(0)
os.close(tell)
identity = os.read(told, 1000).decode()
if not os.fork():  # who is in no group that sees all of /proc
    os.setgid(65001)
    os.setuid(65001)
    print(os.path.exists(f"/proc/{pid}"), is_surely_gone(identity), flush=True)
    os._exit(0)
os.wait()
os.close(end)
os.waitpid(pid, 0)
print(is_surely_gone(identity))
"""


def test_a_living_process_of_another_user_that_proc_hides_is_not_gone() -> None:
    """As on nodes of clusters, where /proc is mounted with `hidepid`."""
    apart = ["unshare", "--mount", "--pid", "--fork", "sh", "-c"]
    mount = "mount -t proc -o hidepid=2 proc /proc"
    if subprocess.run([*apart, mount], capture_output=True, check=False).returncode:
        pytest.skip("only root mounts a /proc of its own")
    run = [*apart, f'{mount} && exec "$0" -c "$1"', sys.executable, OF_ANOTHER_USER]
    ended = subprocess.run(run, capture_output=True, text=True, check=True, cwd=ROOT)
    assert ended.stdout.splitlines() == ["False False", "True"]


def test_nothing_is_known_about_processes_of_another_machine() -> None:
    boot, namespace, _, start, token = process_identity().split("/")
    assert not is_surely_gone(f"another/{namespace}/1/{start}/{token}")
    assert not is_surely_gone(f"{boot}/pid:[1]/1/{start}/{token}")
    assert not is_surely_gone("nonsense")


def test_a_process_number_used_again_does_not_revive_a_claim() -> None:
    boot, namespace, pid, _, token = process_identity().split("/")
    assert is_surely_gone(f"{boot}/{namespace}/{pid}/1/{token}")


def test_a_dead_owner_on_this_host_is_known_at_once(store: LocalStore) -> None:
    boot, namespace, pid, _, token = process_identity().split("/")
    foreign_claim(store, 1, f"{boot}/{namespace}/{pid}/1/{token}")
    attempt = read_history(store, PREFIX).open
    assert attempt is not None
    assert DeathWatch(store, 60.0).look(PREFIX, attempt) is Life.DEAD


def test_elsewhere_a_beat_that_stands_still_is_death_and_one_that_moves_is_life(store: LocalStore) -> None:
    foreign_claim(store, 1)
    attempt = read_history(store, PREFIX).open
    assert attempt is not None
    now = [0.0]
    watch = DeathWatch(store, 10.0, clock=lambda: now[0])
    assert watch.look(PREFIX, attempt) is Life.UNKNOWN
    now[0] = 9.9
    assert watch.look(PREFIX, attempt) is Life.UNKNOWN
    store.put(f"{PREFIX}1/beat.json", b"1")
    now[0] = 19.8
    assert watch.look(PREFIX, attempt) is Life.ALIVE
    now[0] = 29.7
    assert watch.look(PREFIX, attempt) is Life.ALIVE
    now[0] = 29.9
    assert watch.look(PREFIX, attempt) is Life.DEAD


def test_a_held_claim_beats(store: LocalStore) -> None:
    claimed = claim(store, PREFIX, (), 0.02)
    assert claimed is not None
    beats = set()
    with claimed:
        for _ in range(20):
            time.sleep(0.02)
            if store.exists(f"{PREFIX}1/beat.json"):
                beats.add(store.get(f"{PREFIX}1/beat.json"))
    assert len(beats) > 2
    last = store.get(f"{PREFIX}1/beat.json")
    time.sleep(0.1)
    assert store.get(f"{PREFIX}1/beat.json") == last


def test_three_faults_hold_a_unit_and_a_fourth_try_that_works_frees_it(store: LocalStore) -> None:
    for n in (1, 2, 3):
        history = read_history(store, PREFIX)
        assert history.held is None
        claimed = claim(store, PREFIX, history.attempts, 5.0)
        assert claimed is not None
        assert claimed.n == n
        claimed.write_end(an_end(claimed.process, None, FaultCause.DOCKER))
    history = read_history(store, PREFIX)
    assert history.held is not None
    assert history.end is None
    claimed = claim(store, PREFIX, history.attempts, 5.0)
    assert claimed is not None
    claimed.write_end(an_end(claimed.process))
    assert read_history(store, PREFIX).held is None
    assert read_history(store, PREFIX).end is not None


def test_a_unit_is_held_after_many_judges_died_on_it(store: LocalStore) -> None:
    for n in range(1, MAX_DEATHS):
        foreign_claim(store, n)
    claimed = claim(store, PREFIX, read_history(store, PREFIX).attempts, 5.0)
    assert claimed is not None
    claimed.write_end(an_end(claimed.process, None, FaultCause.DOCKER))
    assert read_history(store, PREFIX).held is None  # one less, and one fault
    foreign_claim(store, MAX_DEATHS + 1)
    history = read_history(store, PREFIX)
    assert history.unended == MAX_DEATHS
    assert history.held is None  # the last one may live
    claimed = claim(store, PREFIX, history.attempts, 5.0)
    assert claimed is not None
    claimed.write_end(an_end(claimed.process, None, FaultCause.MEASURE))
    held = read_history(store, PREFIX).held
    assert held is not None
    assert held.fault is FaultCause.MEASURE


def test_nothing_is_nothing() -> None:
    assert History().last is None
    assert History().end is None
    assert History().held is None
