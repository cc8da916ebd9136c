"""`judge evaluate --cluster`: judges with workers that Dask starts."""

from __future__ import annotations

import importlib.util
import sys
import time
from dataclasses import replace
from pathlib import Path

import typer
from rich.console import Console

from judge.config import UsageError
from judge.evaluation.evaluate import Summary
from judge.evaluation.request import Request
from judge.workspace import Workspace
from submissions.progress import Reporter

MACHINE_FAULT = 3
PACKAGES = ("distributed", "dask_jobqueue", "asyncssh")


def require_packages() -> None:
    """Returns if what `--cluster` needs is installed.

    Raises:
        UsageError: it names the missing package and the command that installs it.
    """
    for package in PACKAGES:
        if importlib.util.find_spec(package) is None:
            raise UsageError(f"--cluster needs {package}: pip install 'lambench-judge[cluster]'")


def judged_on_cluster(
    workspace: Workspace, request: Request, where: str, gpus: str, jobs: int | None, console: Console
) -> Summary:
    """What has become of each unit.

    Args:
        where: `local`, `slurm`, `ssh`, or the address of a scheduler.
        gpus: the option of the same name; each worker's host reads it.
        jobs: at most so many workers; None: as `open_engine`.
    """
    require_packages()
    from judge.cluster.engine import open_engine  # here, since the packages are an extra
    from judge.cluster.judging import ClusterFault, ClusterRun

    settings, reporter = workspace.settings, Reporter(console, "judging")
    until = None if request.budget_s is None else time.time() + request.budget_s
    arguments = [*(request.ids or ["--all"]), *replace(request, ids=(), gpus=(), budget_s=None).options]
    arguments += ["--gpus", gpus] * bool(gpus)
    folder = settings.cluster.folder or str(Path.cwd())
    try:
        with open_engine(where, settings.cluster, jobs, settings.log.parent / "cluster") as engine:
            reporter.say(f"Workers: {engine.words}. Dashboard: {engine.client.dashboard_link}")
            run = ClusterRun(engine, folder, settings.store, until, reporter.say)
            summary = run.run([*arguments, *["--retry-held"] * request.retry_held], arguments)
    except ClusterFault as fault:
        print(f"judge: {fault}", file=sys.stderr)
        raise typer.Exit(MACHINE_FAULT) from None
    if not summary.units and not summary.skipped and next(iter(workspace.store.list("submissions/")), None):
        raise UsageError(f"the workers see no submission in {settings.store}: share this folder with them, or use S3")
    return summary
