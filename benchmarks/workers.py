"""Many workers on one store: how much of their time is lost between units, and the judge's own processor time for each.

The models sleep, and are asked over a real connection by a thread in place of a container: so two cores carry sixteen
workers, and what is measured is the judge and its store. Workers are forked from one process that has read the code,
since the start of Python is no part of the figures.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from ase.calculators.emt import EMT
from rich.console import Console

from benchmarks.report import Figure
from judge.evaluation.evaluate import this_machine
from judge.evaluation.observe import UnitStorage
from judge.evaluation.request import Request
from judge.evaluation.runner import Runner
from judge.evaluation.unit_order import own_order
from judge.evaluation.work_plan import plan_work
from judge.records.attempts import DeathWatch
from judge.records.process_identity import process_identity
from judge.records.results import load_results
from judge.workspace import Workspace
from sandbox.driver import Image, Question
from sandbox.drivers.process_driver import ProcessDriver
from sandbox.evidence import Exit
from sandbox.guest_archive import guest_archive
from sandbox.limits import Limits
from sandbox.rundir import RunDir
from submissions.progress import Reporter
from submissions.store.interface import Store
from submissions.store.open_store import open_store
from tests.servers.rgw import RgwServer
from tests.session_guard import begin_session
from tests.world.small_data import save_frames
from tests.world.world import World

N_WORKERS, N_SUBMISSIONS, N_TASKS, SLEEP_S = 16, 50, 40, 2.0
N_FRAMES = 2  # of one alone the trivial model would have no error
MAX_LOST, MAX_CPU_MS, MIN_SPEEDUP = 5.0, 50.0, 1.8


class Sleeping(EMT):
    """Sleeps before it answers. Each has an error of its own, so that no two observations are the same object."""

    def __init__(self) -> None:
        super().__init__()
        self._shift = random.random()

    def calculate(self, *arguments: Any, **named: Any) -> None:
        time.sleep(SLEEP_S / N_FRAMES)
        super().calculate(*arguments, **named)
        self.results["energy"] += self._shift


_models_cpu_s: list[float] = []
"""Processor time of the models of this process [s], which in a container is no part of the judge's."""


class SleepingDriver(ProcessDriver):
    """Answers in a thread of this process."""

    def start(  # type: ignore[override]
        self, image: Image, limits: Limits, question: Question, session_dir: Path
    ) -> _Thread:
        return _Thread(session_dir)


class _Thread:
    def __init__(self, session_dir: Path) -> None:
        self._thread = threading.Thread(target=self._serve, args=(session_dir,), daemon=True)
        self._thread.start()

    def _serve(self, session_dir: Path) -> None:
        serve = _guest()
        loop = serve.AseLoop(Sleeping(), 0)
        channel = serve.connect(str(session_dir / "judge.sock"))
        channel.send(serve.pack_header([], serve.hello(loop, "sleeping")), [])
        serve.Server(channel, loop).serve()
        _models_cpu_s.append(time.thread_time())

    def alive(self) -> bool:
        return self._thread.is_alive()

    def stop(self, grace_s: float) -> Exit:
        self._thread.join(grace_s)
        return Exit(code=0)


@lru_cache(maxsize=1)
def _guest() -> Any:
    """The guest's module, as it is in a container."""
    archive = Path(tempfile.mkdtemp(prefix="lj")) / "guest.pyz"
    archive.write_bytes(guest_archive())
    sys.path.insert(0, str(archive))
    return import_module("lambench_guest.serve")


class Run(NamedTuple):
    """What a run took.

    Args:
        wall_s: from the first claim to the last result, as the store has their times [s].
        cpu_s: processor time of all workers, without that of the models [s].
        n_units: that were judged.
    """

    wall_s: float
    cpu_s: float
    n_units: int


def measure_workers(n_submissions: int = N_SUBMISSIONS, n_tasks: int = N_TASKS) -> Iterator[Figure]:
    """One and two workers on a folder; sixteen on a folder and on Ceph's S3."""
    begin_session()  # the server ends with this process
    with tempfile.TemporaryDirectory(prefix="lj") as folder:
        one, two = (_on_folder(Path(folder) / str(n), 5, 4, n) for n in (1, 2))
        yield Figure(
            "workers: 20 units, two workers against one", one.wall_s / two.wall_s, "×", MIN_SPEEDUP, at_least=True
        )
        yield from _figures("folder", _on_folder(Path(folder) / "many", n_submissions, n_tasks, N_WORKERS))
        server = Path(folder) / "s"
        server.mkdir()
        rgw = RgwServer(server)
        try:
            rgw.start()
            bucket = rgw.new_bucket()
            os.environ |= {"AWS_ACCESS_KEY_ID": rgw.access_key, "AWS_SECRET_ACCESS_KEY": rgw.secret_key}
            world = _world(Path(folder) / "s3", n_submissions, n_tasks, f"s3://{bucket}/store", rgw.endpoint)
            yield from _figures("Ceph RGW", _run(world, n_submissions * n_tasks, N_WORKERS))
        finally:
            rgw.stop()


def _figures(where: str, run: Run) -> Iterator[Figure]:
    lost = 100 * (1 - run.n_units * SLEEP_S / (N_WORKERS * run.wall_s))
    name = f"workers: {run.n_units} units that sleep {SLEEP_S:g} s, {N_WORKERS} workers, {where}"
    yield Figure(f"{name}: lost", lost, "%", MAX_LOST)
    yield Figure(f"{name}: processor time of the judge, a unit", 1000 * run.cpu_s / run.n_units, "ms", MAX_CPU_MS)


def _on_folder(root: Path, n_submissions: int, n_tasks: int, n_workers: int) -> Run:
    world = _world(root, n_submissions, n_tasks, str(root / "store"), "")
    return _run(world, n_submissions * n_tasks, n_workers)


def _world(root: Path, n_submissions: int, n_tasks: int, store: str, endpoint: str) -> Workspace:
    """A store with submissions, and a suite of tasks on one structure."""
    root.mkdir()
    world = World(root)
    save_frames(root / "data", "Cu", "copper", N_FRAMES)
    task = '[[tasks]]\nname = "task-{}"\nkind = "labelled_frames"\ndataset = "copper@1"\n'
    task += 'domain = "Inorganic Materials"\ntime_limit_s = 60\n'
    head = 'name = "sleep"\nversion = "1"\ntitle = "Sleeping calculators"\n'
    (root / "sleep.toml").write_text(head + "\n".join(task.format(number) for number in range(n_tasks)))
    settings = world.settings.model_copy(
        update={"suite": str(root / "sleep.toml"), "store": store, "endpoint_url": endpoint, "beat_s": 5.0}
    )
    for number in range(n_submissions):
        world.submit(f"model-{number}")
    workspace = Workspace(settings)
    if endpoint:
        _copy(world.store, workspace.store)
    return workspace


def _copy(source: Store, target: Store) -> None:
    for key in source.list(""):
        target.put(key, source.get(key))


def _run(workspace: Workspace, n_units: int, n_workers: int) -> Run:
    context = multiprocessing.get_context("fork")
    ready, receive = context.Barrier(n_workers), context.SimpleQueue()
    workers = [context.Process(target=_work, args=(workspace, ready, receive)) for _ in range(n_workers)]
    for worker in workers:
        worker.start()
    spans = [receive.get() for _ in workers]
    for worker in workers:
        worker.join()
    results = load_results(workspace.store, sorted({key.split("/")[1] for key in workspace.store.list("submissions/")}))
    if len(results) != n_units or sum(n for _, n in spans) != n_units:
        raise SystemExit(f"{len(results)} of {n_units} units have a result, {[n for _, n in spans]} were judged")
    claims = (stamped for stamped in workspace.store.stamped("attempts/") if stamped.key.endswith("/claim.json"))
    first, last = min(at.modified for at in claims), max(at.modified for at in workspace.store.stamped("results/"))
    return Run(last - first, sum(cpu_s for cpu_s, _ in spans), n_units)


def _work(workspace: Workspace, ready: Any, results: Any) -> None:
    """One worker: the same parts as `judge work`, with a driver that sleeps."""
    settings, worker = workspace.settings, process_identity()
    reporter = Reporter(Console(file=StringIO()))
    workspace = Workspace(settings, open_store(settings.store, settings.endpoint_url))
    work = plan_work(workspace, Request(driver="process"), reporter)
    machine = replace(
        this_machine(settings, work, reporter), open_sandbox=lambda: SleepingDriver(RunDir(settings.run_dir))
    )
    runner = Runner(
        place=UnitStorage(work.store, workspace.data, workspace.signing_key(reporter.say)),
        machine=machine,
        reporter=reporter,
        beat_s=settings.beat_s,
        watch=DeathWatch(work.store, settings.dead_after_s),
        worker=worker,
    )
    plan = own_order(work.plan, worker, lambda id: True)
    ready.wait()
    cpu_s = _cpu_s()
    n_judged = sum(report.did == "observed" for report in runner.run(plan))
    results.put((_cpu_s() - cpu_s - sum(_models_cpu_s), n_judged))


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":  # a smaller run: SUBMISSIONS TASKS
    for figure in measure_workers(*map(int, sys.argv[1:3])):
        print(figure)
