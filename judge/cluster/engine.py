"""Dask clusters: on this machine, of Slurm, by ssh, or one that a site runs."""

from __future__ import annotations

import logging
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dask
from distributed import Client, LocalCluster, Security, SpecCluster
from distributed.core import Status
from distributed.deploy import ssh

from judge.config import ClusterSettings, UsageError

_ctrl_c = signal.getsignal(signal.SIGINT)
from dask_jobqueue.slurm import SLURMCluster  # noqa: E402 - it takes Ctrl-C for itself when it is imported

signal.signal(signal.SIGINT, _ctrl_c)

LOCAL, SLURM, SSH = "local", "slurm", "ssh"
CONNECT_S = 30
CLOSE_S = 60
GONE_S = 1
"""So long it is tried to close what belongs to a scheduler that does not answer."""
IDLE_S = 300
"""A scheduler on another host ends when it has had nothing to do for this time: its maintainer is gone."""
AGAIN_S, MAX_AGAIN_S = 10.0, 600.0
"""Between two submissions of jobs for those that ended before their worker came: this at first, and at most."""
JOB_START_S = 120
"""A job of Slurm ends if its worker finds no scheduler within this time."""
_CONFIG = {
    "distributed.scheduler.allowed-failures": 0,  # losses are counted here, each with a line
    "distributed.scheduler.worker-saturation": 1.0,  # no `judge work` waits behind another
    "distributed.nanny.pre-spawn-environ": {},  # else all models of the process driver would have one thread
    "distributed.deploy.lost-worker-timeout": "10s",
}


@dataclass(frozen=True)
class Engine:
    """A Dask cluster.

    Args:
        jobs: how many `judge work` it runs at once.
        keep_up: called from time to time; it replaces workers that were lost. A line for a person, or an empty one.
        is_gone: whether the process of its scheduler has ended for sure.
        words: what it is, for a person.
        hint: where to look if no worker comes.
    """

    client: Client
    jobs: int
    keep_up: Callable[[], str]
    words: str
    hint: str
    is_gone: Callable[[], bool] = lambda: False


@contextmanager
def open_engine(where: str, settings: ClusterSettings, jobs: int | None, logs: Path) -> Iterator[Engine]:
    """A cluster that is closed at the end; one that a site runs is left as it is.

    Args:
        where: `local`, `slurm`, `ssh`, or the address of a scheduler.
        jobs: at most so many workers; None: one for each host, or for each thread of a site's cluster.
        logs: folder for the logs of jobs.

    Raises:
        UsageError: a setting is missing or wrong, or the cluster cannot be started; one line with the remedy.
    """
    for name in ("distributed", "distributed.client", "asyncssh", "bokeh", "tornado"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    security = _security(where, settings)
    with dask.config.set({**_CONFIG, **(_tls_config(settings) if security and where == SSH else {})}):
        if where not in (LOCAL, SLURM, SSH):
            with _connected(where, where, security) as client:
                n_threads = sum(
                    worker["nthreads"] for worker in client.scheduler_info(n_workers=-1)["workers"].values()
                )
                yield Engine(client, jobs or max(n_threads, 1), lambda: "", f"the scheduler {where}", "ask who runs it")
            return
        if where == SSH:
            jobs = jobs or len(settings.hosts)
        if jobs is None:
            raise UsageError(f"--cluster {where}: say how many workers at most: --jobs N")
        with _started(where, settings, security, jobs, logs) as cluster, _connected(where, cluster, security) as client:
            if where == SLURM:
                # Each task is a worker for hours: as many jobs as tasks are left.
                cluster.adapt(minimum_jobs=0, maximum_jobs=jobs, target_duration="1ms", interval="2s")
                hint = f"see squeue, and the logs in {logs}"
                yield Engine(client, jobs, _Jobs(cluster, hint).keep_up, f"Slurm, at most {jobs} jobs", hint)
            else:
                words = "this machine" if where == LOCAL else f"{len(set(settings.hosts))} hosts by ssh"
                yield Engine(
                    client,
                    jobs,
                    lambda: _reopen(cluster, jobs),
                    f"{words}, {jobs} workers",
                    "see its dashboard",
                    lambda: _is_gone(cluster),
                )


@contextmanager
def _started(where: str, settings: ClusterSettings, security: Security | None, jobs: int, logs: Path) -> Iterator[Any]:
    """The cluster, started. The key of a run lies in a private folder beside the logs, which is removed at the end."""
    logs.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=logs, prefix="tls-") as private:
        cluster: SpecCluster
        try:
            if where == LOCAL:
                cluster = _local(settings, security, jobs)
            elif where == SLURM:
                cluster = _slurm(settings, security, logs, private)
            else:
                cluster = _ssh(settings, security, jobs)
        except UsageError:
            raise
        except Exception as error:  # noqa: BLE001 - Dask raises bare ones
            raise UsageError(f"--cluster {where} does not start: {_in_a_line(error)}") from None
        try:
            yield cluster
        finally:
            with suppress(Exception):  # its scheduler may be gone
                cluster.close(timeout=GONE_S if _is_gone(cluster) else CLOSE_S)


@contextmanager
def _connected(where: str, cluster: SpecCluster | str, security: Security | None) -> Iterator[Client]:
    """A client of a cluster, or of the scheduler at an address."""
    try:
        client = Client(cluster, security=security, timeout=CONNECT_S)
    except (OSError, ValueError, TimeoutError) as error:
        raise UsageError(f"--cluster {where}: no Dask scheduler answers there: {_in_a_line(error)}") from None
    try:
        yield client
    finally:
        with suppress(Exception):  # its scheduler may be gone
            client.close(timeout=10 if client.status == "running" else GONE_S)


def _security(where: str, settings: ClusterSettings) -> Security | None:
    """The certificates of the settings, or temporary ones that only this run's processes know.

    Raises:
        UsageError: there are none, and the network may hold strangers.
    """
    if not settings.tls:
        return None
    files = settings.tls_ca_file, settings.tls_cert, settings.tls_key
    if all(files):
        ca_file, cert, key = map(str, files)
        return Security(
            require_encryption=True,
            tls_ca_file=ca_file,
            **{f"tls_{role}_cert": cert for role in ("client", "scheduler", "worker")},
            **{f"tls_{role}_key": key for role in ("client", "scheduler", "worker")},
        )
    if where in (LOCAL, SLURM):
        temporary: Security = Security.temporary()
        return temporary
    raise UsageError(
        f"--cluster {where}: whoever reaches a Dask scheduler can run programs as you: set tls_ca_file, tls_cert and "
        "tls_key in [cluster], or tls = false on a network of your own (docs/cluster.md)"
    )


def _is_gone(cluster: SpecCluster) -> bool:
    """Whether the process of its scheduler, which was started by ssh, has ended."""
    process = getattr(cluster.scheduler, "proc", None)
    return process is not None and process.returncode is not None


@dataclass
class _Jobs:
    """Jobs of Slurm that ended before their worker came (a cancelled one, a broken node), which Dask waits for.

    Args:
        hint: where to look for the cause.
    """

    cluster: SLURMCluster
    hint: str
    _came: set[str] = field(default_factory=set)
    _due: float = 0.0
    _wait_s: float = 0.0

    def keep_up(self) -> str:
        """Forgets them, so that others are submitted: later and later, until a worker comes. Says how many."""
        came = {worker["name"] for worker in self.cluster.scheduler_info["workers"].values()}
        if came - self._came:
            self._wait_s = 0.0
        self._came |= came
        listed = subprocess.run(
            ["squeue", "--me", "--noheader", "--format=%A"], capture_output=True, text=True, check=False
        )
        now, jobs, queue = time.monotonic(), dict(self.cluster.workers), listed.stdout.split()
        ended = [name for name, job in jobs.items() if name not in came and job.job_id and job.job_id not in queue]
        if listed.returncode or not ended or now < self._due:
            return ""
        self._wait_s = min(2 * self._wait_s + AGAIN_S, MAX_AGAIN_S)
        self._due = now + self._wait_s

        async def forget() -> None:
            for name in ended:
                self.cluster.workers.pop(name, None)

        self.cluster.sync(forget)
        return f"! {len(ended)} jobs ended before their worker came: {self.hint}"


def _reopen(cluster: SpecCluster, jobs: int) -> str:
    """Starts workers that were lost, and those that could not be started before."""

    async def forget_failed() -> None:
        for name, process in list(cluster.workers.items()):
            if process.status == Status.created:
                del cluster.workers[name]

    cluster.sync(forget_failed)
    cluster.scale(jobs)
    return ""


def _local(settings: ClusterSettings, security: Security | None, jobs: int) -> LocalCluster:
    return LocalCluster(
        n_workers=jobs,
        threads_per_worker=1,
        processes=True,
        memory_limit=0,
        host="127.0.0.1",
        dashboard_address=settings.dashboard,
        security=security,
        silence_logs=logging.CRITICAL,
    )


def _slurm(settings: ClusterSettings, security: Security | None, logs: Path, private: str) -> SLURMCluster:
    if shutil.which("sbatch") is None:
        raise UsageError("--cluster slurm: there is no sbatch here: run this command on a login node")
    lifetime_s = lifetime(settings.walltime).total_seconds()
    cluster = SLURMCluster(
        queue=settings.queue or None,
        account=settings.account or None,
        walltime=in_slurms_words(settings.walltime),
        cores=1,
        job_cpu=settings.cores,
        processes=1,
        memory=settings.memory,
        python=settings.python or sys.executable,
        interface=settings.interface or None,
        death_timeout=JOB_START_S,
        worker_extra_args=["--lifetime", f"{lifetime_s:.0f}s", "--lifetime-stagger", f"{lifetime_s / 20:.0f}s"],
        job_extra_directives=list(settings.directives),
        job_script_prologue=["export DASK_DISTRIBUTED__NANNY__PRE_SPAWN_ENVIRON={}", *settings.prologue],
        log_directory=str(logs),
        local_directory=None,
        job_name="judge-work",
        shared_temp_directory=private,
        security=security,
        scheduler_options={"dashboard_address": settings.dashboard},
        silence_logs="critical",
    )
    tried = subprocess.run(
        ["sbatch", "--test-only"], input=cluster.job_script(), capture_output=True, text=True, check=False
    )
    if tried.returncode:
        cluster.close(timeout=10)
        raise UsageError(f"--cluster slurm: sbatch refuses the job: {' '.join(tried.stderr.split())}")
    return cluster


def _ssh(settings: ClusterSettings, security: Security | None, jobs: int) -> SpecCluster:
    """As `distributed.SSHCluster`, which gives workers no names, so that a lost one is never replaced."""
    if not settings.hosts:
        raise UsageError('--cluster ssh: name the hosts: hosts = ["a", "b"] in [cluster] of judge.toml')
    protocol = "tls" if security else "tcp"
    connect = {"config": [str(settings.ssh_config)]} if settings.ssh_config else {}
    python = settings.python or sys.executable
    interface = {"interface": settings.interface} if settings.interface else {}
    scheduler = {
        "cls": ssh.Scheduler,
        "options": {
            "address": settings.hosts[0],
            "connect_options": connect,
            "remote_python": python,
            "kwargs": {
                "protocol": protocol,
                "port": 0,
                "dashboard_address": settings.dashboard,
                "idle_timeout": f"{IDLE_S}s",
                **interface,
            },
        },
    }
    workers = {}
    for number in range(jobs):
        name = f"{settings.hosts[number % len(settings.hosts)]}-{number}"
        options = {
            "address": settings.hosts[number % len(settings.hosts)],
            "connect_options": connect,
            "remote_python": python,
            "worker_class": "distributed.Nanny",
            "kwargs": {
                "name": name,
                "nthreads": 1,
                "memory_limit": 0,
                "protocol": protocol,
                "death_timeout": JOB_START_S,
                **interface,
            },
        }
        workers[name] = {"cls": ssh.Worker, "options": options}
    return SpecCluster(workers, scheduler, security=security, silence_logs=logging.CRITICAL, name="judge")


def _tls_config(settings: ClusterSettings) -> dict[str, str | bool]:
    """For processes on other hosts, which inherit the configuration: paths, no secrets."""
    roles = ("client", "scheduler", "worker")
    return {
        "distributed.comm.require-encryption": True,
        "distributed.comm.tls.ca-file": str(settings.tls_ca_file),
        **{f"distributed.comm.tls.{role}.cert": str(settings.tls_cert) for role in roles},
        **{f"distributed.comm.tls.{role}.key": str(settings.tls_key) for role in roles},
    }


def lifetime(walltime: timedelta) -> timedelta:
    """How long a Dask worker lives in a job: the rest is for a worker to leave its unit in good order."""
    return walltime - min(timedelta(minutes=3), walltime / 4)


def in_slurms_words(walltime: timedelta) -> str:
    """A time as Slurm reads it: `D-HH:MM:SS`."""
    minutes, seconds = divmod(round(walltime.total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"{days}-{hours:02}:{minutes:02}:{seconds:02}"


def _in_a_line(error: BaseException) -> str:
    cause = error.__cause__ or error
    lines = [line.strip() for line in str(cause).splitlines() if line.strip()]
    return f"{type(cause).__name__}: {' '.join(lines)[:300]}"
