"""A world in which judges are killed, and what must hold of it afterwards.

After any disturbance `judge evaluate --all` is run until it says that all is done. Then the digest of the store is that
of a store that nobody disturbed, and nothing is lost, doubled or left lying about.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import docker

from judge.records.attempts import read_histories
from judge.records.items_file import items_path
from judge.records.records import Claim, Result
from sandbox.drivers.docker_driver import RUN_DIR_LABEL, DockerDriver
from sandbox.events import Event
from sandbox.rundir import RunDir
from submissions.store.read_record import read_record
from tasks.datasets.dataset import save_dataset
from tests.servers.server_process import wait_until
from tests.tasks import kind_examples
from tests.world.commands import ROOT
from tests.world.small_data import save_frames
from tests.world.world import World

EXAMPLES = ROOT / "submissions" / "examples"
NAMES = ("emt", "lennard_jones")
KILL, STOP = "KILL", "STOP"
MOST_RUNS = 4
_TASKS = {"copper": "labelled_frames", "differences": "energy_differences", "curves": "equation_of_state"}
SUITE = 'name = "small"\nversion = "1"\ntitle = "Judged among kills"\n' + "".join(
    f'[[tasks]]\nname = "{name}"\nkind = "{kind}"\ndataset = "{name}@1"\n'
    'domain = "Inorganic Materials"\ntime_limit_s = 60\n'
    for name, kind in {**_TASKS, "drift": "nve"}.items()
)
SUITE += "[tasks.parameters]\nsteps = 120\nsample_every = 6\n"


class At(NamedTuple):
    """At the n-th `step` of a run the judge gets a signal."""

    step: Event
    n: int = 1
    signal: str = KILL


class Row(NamedTuple):
    """The outcome of a scenario.

    Args:
        kills: of judges, engines, disks and stores.
        runs: until all was done, after the last of them.
    """

    scenario: str
    kills: int
    runs: int
    equal: bool


@dataclass
class KillWorld(World):
    """A world with `emt` and `lennard_jones` and tasks of four kinds, in which judges get killed.

    Args:
        docker_host: of the engine that runs the containers; empty: the one that the environment names.
        suite: the text of its suite.
    """

    docker_host: str = ""
    suite: str = SUITE
    driver: str = "process"
    engine_wait_s: float = 60.0
    min_free_bytes: int = 0
    kills: int = field(default=0, init=False)
    judges: list[subprocess.Popen[str]] = field(default_factory=list, init=False)

    @property
    def stated_settings(self) -> dict[str, Any]:
        return {
            **super().stated_settings,
            "driver": self.driver,
            "engine_wait_s": self.engine_wait_s,
            "min_free_bytes": self.min_free_bytes,
            "limits": {"startup_s": 60, "message_s": 30, "cpus": 1},
        }

    def prepare(self) -> None:
        """Data sets, suite and settings."""
        data = self.root / "data"
        save_frames(data, "Cu", "copper")
        # Two structures take turns at a calculator: none of its neighbour lists outlives a step, so that a trajectory
        # that goes on in a fresh process has the same bits.
        save_frames(data, "Cu", "drift", n_frames=2)
        for name, made in (
            ("differences", kind_examples.energy_differences()),
            ("curves", kind_examples.equation_of_state()),
        ):
            card = made.dataset.card.model_copy(update={"name": name})
            save_dataset(replace(made.dataset, card=card), data)
        (self.root / "small.toml").write_text(self.suite)
        self.write_settings()

    def submit_examples(self, names: Sequence[str]) -> None:
        """Records the examples of these names as submissions."""
        for name in names:
            if self.driver == "process":
                self.submit(name, (EXAMPLES / name / "calculator.py").read_text())
            else:
                self.record(name, DockerDriver(RunDir(self.root / "run")).resolve(f"lambench/{name}:latest"))

    def launch(self, *at: At, retry_held: bool = False) -> subprocess.Popen[str]:
        """A judge of everything, single-threaded, that gets signals."""
        signals = [word for each in at for word in ("--at", each.step.value, str(each.n), each.signal)]
        command = [sys.executable, str(Path(__file__).with_name("killed_at.py")), *signals, "--", "evaluate", "--all"]
        host = {"DOCKER_HOST": self.docker_host} if self.docker_host else {}
        judge = subprocess.Popen(
            [*command, *(["--retry-held"] if retry_held else [])],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **host},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.judges.append(judge)
        return judge

    def end(self) -> None:
        """Kills the judges that a failed test left, also stopped ones."""
        for judge in self.judges:
            judge.kill()
            judge.communicate()

    def die(self, *at: At, retry_held: bool = False) -> None:
        """Runs a judge that is killed at the given steps."""
        ended = finish(self.launch(*at, retry_held=retry_held))
        assert ended.status == -signal.SIGKILL, (at, ended)
        self.kills += 1

    def settle(self, retry_held: bool = False) -> int:
        """The number of undisturbed runs until one reported that everything is done."""
        for runs in range(1, MOST_RUNS + 1):
            ended = finish(self.launch(retry_held=retry_held))
            if ended.status == 0:
                return runs
        raise AssertionError(f"not done after {MOST_RUNS} runs: {ended}")

    def digest_lines(self) -> list[str]:
        """The lines of `judge store digest`."""
        status, answer = self.run_json_here("store", "digest", "--lines")
        assert status == 0
        assert isinstance(answer, dict)
        return list(answer["lines"])

    def told(self, event: Event) -> int:
        """How often all judges together have emitted `event` so far."""
        lines = self.log_lines()
        return sum(line["event"] == event.value for line in lines)

    def log_lines(self) -> list[dict[str, object]]:
        """All events; a last line that is being written is left out."""
        path = self.root / "judge.jsonl"
        text = path.read_text() if path.exists() else ""
        return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]

    def wait_for(self, event: Event, judge: subprocess.Popen[str], count: int = 1) -> None:
        """Waits until all judges together have emitted `event` `count` times."""
        wait_until(lambda: self.told(event) >= count or judge.poll() is not None, f"{count} × {event}")
        assert self.told(event) >= count, finish(judge)

    def wait_for_stop(self, judge: subprocess.Popen[str]) -> None:
        """Waits until the judge has stopped itself. Its last event is not written yet."""
        wait_until(lambda: _state(judge.pid) == "T" or judge.poll() is not None, "it stops")
        assert judge.poll() is None, finish(judge)

    def check(self) -> None:
        """Checks that nothing is lost, doubled or left behind."""
        store = self.store
        submissions = sorted({key.split("/")[1] for key in store.list("submissions/")})
        keys = set(store.list("attempts/"))
        for end in (key for key in keys if key.endswith("/end.json")):
            assert end.replace("/end.json", "/claim.json") in keys
        histories = read_histories(store, submissions)
        assert len(histories) == len(submissions) * self.suite.count("[[tasks]]")
        for prefix, history in histories.items():
            assert [attempt.n for attempt in history.attempts] == list(range(1, len(history.attempts) + 1)), prefix
            for attempt in history.attempts:
                claim = read_record(store, f"{prefix}{attempt.n}/claim.json", Claim)
                assert attempt.end is None or attempt.end.owner == claim.owner
            assert history.end is not None, prefix
            # Only the attempt that counts came to a verdict: a judge that had one was never asked for another.
            assert [a.n for a in history.attempts if a.end and a.end.verdict] == [len(history.attempts)], prefix
        results = [read_record(store, key, Result) for key in store.list("results/") if key.endswith(".json")]
        per_unit = Counter((r.submission, r.task, r.observation_key, r.round) for r in results)
        assert len(per_unit) == len(histories)
        assert set(per_unit.values()) == {1}
        for result in results:
            items = store.get(items_path(result.submission, result.task, result.result_key))
            assert hashlib.sha256(items).hexdigest() == result.items_sha256
        self.check_nothing_is_left()

    def check_nothing_is_left(self) -> None:
        """Checks that there is no session folder, no checkpoint, no container and no guest."""
        run = self.root / "run"
        assert not list((run / "sessions").glob("*"))
        assert not list((run / "checkpoints").glob("*"))
        wait_until(lambda: not guests(run), f"guests of {run} end")
        if self.driver == "docker":
            client = docker.DockerClient(self.docker_host) if self.docker_host else docker.from_env()
            with closing(client):
                label = {"label": f"{RUN_DIR_LABEL}={run}"}
                assert not client.containers.list(all=True, filters=label, ignore_removed=True)


class Ended(NamedTuple):
    """How a judge ended."""

    status: int
    out: str
    err: str


def finish(judge: subprocess.Popen[str], timeout_s: float = 600) -> Ended:
    """How it ended, once it has."""
    try:
        out, err = judge.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        judge.kill()
        raise
    assert "Traceback" not in err, err
    return Ended(judge.returncode, out, err)


def _state(pid: int) -> str:
    """R, S, T, … of a process, as the kernel calls it."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def guests(run: Path) -> list[int]:
    """Processes whose command line names a session of that run directory."""
    matches = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes()
        except OSError:
            continue
        if os.fsencode(run / "sessions") in words:
            matches.append(int(path.parent.name))
    return matches
