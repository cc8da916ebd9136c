"""Several workers share a store: each unit is judged once, also if workers are killed, stopped or out of time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from judge.audit.store_digest import digest_lines
from judge.evaluation.unit_report import Did, UnitReport
from judge.evaluation.workers import joined, reports_in, shares_of_gpus
from judge.records.attempts import LEFT, Attempt, DeathWatch, Life, claim
from judge.records.records import Claim
from submissions.records import utc_now
from tests.world.small_data import SLOW_EMT
from tests.world.world import World

pytestmark = pytest.mark.takes(8)
NAMES = ("one", "two", "three")


def claims(world: World) -> list[str]:
    return [key for key in world.store.list("attempts/") if key.endswith("claim.json")]


def wait_until(holds: Callable[[], object], seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.02)


def children(pid: int) -> list[int]:
    """The processes of `judge work` that a process has started."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
            command = stat.with_name("cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if int(fields[1]) == pid and b"work" in command:
            found.append(int(stat.parent.name))
    return found


def owner_of(world: World, claim: str) -> str:
    return Claim.model_validate_json(world.store.get(claim)).owner


def has_end(world: World, claim: str) -> bool:
    return world.store.exists(claim.replace("claim.json", "end.json"))


def kill_one_at_work(world: World, parent: int) -> bool:
    """Kills a worker of the process `parent` that works on a unit; False if none does.

    The worker is stopped first: it does not end its unit between the look and the kill.
    """
    for pid in children(parent):
        os.kill(pid, signal.SIGSTOP)
        time.sleep(0.05)  # for a call to the kernel that it is in
        owners = [owner_of(world, key) for key in claims(world) if not has_end(world, key)]
        works = any(owner.split("/")[2] == str(pid) for owner in owners)
        os.kill(pid, signal.SIGKILL if works else signal.SIGCONT)
        if works:
            return True
    return False


def test_jobs_judge_each_unit_once_with_the_digest_of_one_process(world: World) -> None:
    world.write_settings()
    for name in NAMES:
        world.submit(name, SLOW_EMT.format(seconds=0.02))
    status, summary = world.run_json("evaluate", "--all", "--jobs", "2")
    assert status == 0
    assert isinstance(summary, dict)
    assert [unit["did"] for unit in summary["units"]] == ["observed"] * 6
    assert len(claims(world)) == 6
    assert digest_lines(world.store) == digest_lines(world.judged_apart())
    assert world.run_json("evaluate", "--all", "--jobs", "2")[1]["counts"] == {"nothing": 6}  # type: ignore[index]


def test_a_worker_that_is_killed_is_started_again_and_its_unit_is_judged(world: World) -> None:
    world.write_settings(dead_after_s=600.0)
    for name in NAMES:
        world.submit(name, SLOW_EMT.format(seconds=0.1))
    parent = world.command("evaluate", "--all", "--jobs", "2", "--json")
    wait_until(lambda: len(claims(world)) >= 2 and kill_one_at_work(world, parent.pid))
    out, err = parent.communicate(timeout=120)
    assert parent.returncode == 0, err
    assert "was ended by SIGKILL" in err
    assert len(claims(world)) == 7  # that of the dead worker was taken over
    (again,) = (key for key in claims(world) if key.endswith("/2/claim.json"))
    dead = owner_of(world, again.replace("/2/", "/1/"))
    before = sum(owner_of(world, key) == dead for key in claims(world) if has_end(world, key))
    # Nobody knows what the dead worker would have reported of the units that it had ended before.
    did = sorted(unit["did"] for unit in json.loads(out)["units"])
    assert did == ["nothing"] * before + ["observed"] * (6 - before)
    assert len(world.results()) == 6


def test_ctrl_c_ends_all_workers_in_good_order(world: World) -> None:
    world.write_settings()
    for name in NAMES:
        world.submit(name, SLOW_EMT.format(seconds=0.1))
    parent = world.command("evaluate", "--all", "--jobs", "2")
    wait_until(lambda: len(claims(world)) >= 2)
    workers = children(parent.pid)
    assert len(workers) == 2
    parent.send_signal(signal.SIGTERM)
    _, err = parent.communicate(timeout=60)
    assert parent.returncode == 130
    assert "To continue: judge evaluate --all --jobs 2" in err
    assert not [pid for pid in workers if Path(f"/proc/{pid}").exists()]
    assert not list((world.root / "run" / "sessions").iterdir())
    assert world.run("evaluate", "--all")[0] == 0
    assert len(world.results()) == 6


def beats(world: World) -> list[bytes]:
    return [world.store.get(key) for key in world.store.list("attempts/") if key.endswith("beat.json")]


@pytest.mark.parametrize("how", ["signal", "time limit"])
def test_a_worker_that_stops_leaves_its_unit_to_the_next_at_once(world: World, how: str) -> None:
    world.write_settings(dead_after_s=600.0)
    world.submit("slow", SLOW_EMT.format(seconds=5.0))
    limit = () if how == "signal" else ("--time-limit", "10")
    worker = world.command("work", "--all", "--task", "copper", *limit)
    wait_until(lambda: claims(world))
    if how == "signal":
        worker.send_signal(signal.SIGTERM)
    out, err = worker.communicate(timeout=60)
    assert worker.returncode == (130 if how == "signal" else 0), err
    assert ("Finished units are kept" in err) if how == "signal" else ("The time limit of 10 s is reached" in out)
    assert beats(world) == [LEFT]
    assert not list((world.root / "run" / "sessions").iterdir())
    assert not world.results()


def test_a_time_limit_beyond_all_timers_ends_no_worker(world: World) -> None:
    world.write_settings()
    world.submit("emt")
    status, _, err = world.run("work", "--all", "--task", "copper", "--time-limit", "inf")
    assert (status, len(world.results())) == (0, 1), err


def test_an_attempt_that_was_left_is_dead_at_the_first_look_of_any_host(world: World) -> None:
    attempt = claim(world.store, "attempts/a/b/c/", (), 0.05)
    assert attempt is not None
    elsewhere = Attempt(1, Claim(owner="boot/pid:[1]/1/1/0", host="another", started=utc_now()))
    watch = DeathWatch(world.store, 600.0)
    with suppress(KeyboardInterrupt), attempt:
        wait_until(lambda: watch.look(attempt.prefix, elsewhere) is Life.ALIVE)
        raise KeyboardInterrupt
    assert watch.look(attempt.prefix, elsewhere) is Life.DEAD
    assert DeathWatch(world.store, 600.0).look(attempt.prefix, elsewhere) is Life.DEAD


def test_two_workers_on_their_own_share_the_work(world: World) -> None:
    world.write_settings()
    for name in NAMES:
        world.submit(name, SLOW_EMT.format(seconds=0.05))
    workers = [world.command("work", "--all", "--json") for _ in range(2)]
    done = []
    for worker in workers:
        out, err = worker.communicate(timeout=120)
        assert worker.returncode == 0, err
        done += [(unit["submission"], unit["task"]) for unit in json.loads(out)["units"] if unit["did"] == "observed"]
    assert len(done) == len(set(done)) == 6
    assert len(claims(world)) == 6


def test_reports_of_workers_say_what_was_done() -> None:
    def report(task: str, did: Did) -> UnitReport:
        return UnitReport(submission="a", task=task, did=did)

    units = [report("x", Did.NOTHING), report("y", Did.NOTHING), report("z", Did.FAULT)]
    of_workers = [
        report("y", Did.ELSEWHERE),
        report("y", Did.OBSERVED),
        report("y", Did.MEASURED),
        report("z", Did.OBSERVED),
    ]
    assert [unit.did for unit in joined(units, of_workers)] == [Did.NOTHING, Did.OBSERVED, Did.FAULT]
    assert reports_in("Killed") == [] == reports_in("")


def test_gpus_are_shared_out_and_never_twice() -> None:
    assert shares_of_gpus((), None) == [()]
    assert shares_of_gpus((), 3) == [(), (), ()]
    assert shares_of_gpus(("A", "B", "C"), 2) == [("A", "C"), ("B",)]
    assert shares_of_gpus(("A", "B"), None) == [("A", "B")]
    with pytest.raises(ValueError, match="3 workers cannot share 2 GPUs: give --jobs 2 or fewer"):
        shares_of_gpus(("A", "B"), 3)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("evaluate", "--all", "--jobs", "0"), "--jobs must be at least 1, not 0"),
        (("evaluate", "--all", "--gpus", "all"), "nvidia-smi -L lists no GPU on this machine"),
        (("evaluate", "--all", "--gpus", "GPU-1", "--jobs", "2"), "2 workers cannot share 1 GPUs"),
        (("work",), "say which submissions: judge work --all"),
        (("work", "--all", "--time-limit", "0"), "--time-limit must be more than 0 seconds, not 0"),
    ],
)
def test_wrong_options_get_one_line(world: World, options: tuple[str, ...], line: str) -> None:
    world.write_settings()
    if "all" in options and subprocess.run(["which", "nvidia-smi"], capture_output=True, check=False).returncode == 0:
        pytest.skip("this machine has GPUs")
    status, _, err = world.run_here(*options)
    assert status == 2
    assert line in err
    assert "Traceback" not in err


def test_status_says_who_works_on_what_and_what_is_left(world: World) -> None:
    world.write_settings()
    for name in NAMES:
        world.submit(name, SLOW_EMT.format(seconds=1.0 if name == "three" else 0.01))
    status, before = world.run_json_here("status")
    assert (status, before["n_units"], before["n_judged"], before["left_s"]) == (0, 6, 0, None)
    assert world.run("evaluate", "one", "two")[0] == 0
    worker = world.command("work", "three")
    wait_until(lambda: len(claims(world)) == 5)
    _, now = world.run_json_here("status")
    assert (now["n_judged"], len(now["running"])) == (4, 1)
    assert now["running"][0]["host"] == os.uname().nodename
    assert now["running"][0]["submission"].startswith("three-")
    assert now["per_hour"] > 0
    assert now["left_s"] > 0
    _, out, _ = world.run_here("status")
    assert "4 of 6 units of 3 submissions are judged; 1 run now, 0 are held." in out
    worker.send_signal(signal.SIGTERM)
    worker.communicate(timeout=60)
    assert world.run_json_here("status")[1]["running"][0]["life"] == "dead"


def test_plan_foretells_the_time_of_several_workers(world: World) -> None:
    world.write_settings()
    for name in NAMES:
        world.submit(name)
    _, one = world.run_json_here("plan")
    _, three = world.run_json_here("plan", "--workers", "3")
    assert one["wall_s"] == pytest.approx(one["seconds"])
    assert (three["workers"], three["seconds"]) == (3, one["seconds"])
    assert three["wall_s"] <= one["wall_s"]
