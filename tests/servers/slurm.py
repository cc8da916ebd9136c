"""A Slurm of one node on loopback: munged, slurmctld and slurmd, each with folders of its own."""

from __future__ import annotations

import os
import platform
import secrets
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

from tests.servers.server_process import ServerProcess, free_port, skip_unless_here, start_with_patience, wait_until

START_S = 30
END_S = 30
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol")
# No cgroups: /proc shows what belongs to a job. Jobs of one processor share a node.
CONFIG = """ClusterName=lambench
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ctld_port}
SlurmdPort={slurmd_port}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={munge}/socket
CryptoType=crypto/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SlurmdParameters=config_overrides
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
SchedulerParameters=sched_interval=1,sched_min_interval=100000,bf_interval=1
InactiveLimit=0
KillWait=10
MinJobAge=300
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 RealMemory=2000 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
"""


class SlurmServer:
    """A Slurm that runs two jobs of one processor at once. Its daemons are this user's, who must be root.

    Args:
        folder: of its own.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._processes: list[ServerProcess] = []
        self._config = Path()
        self._munge = Path()

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which Slurm's commands find it."""
        return {"SLURM_CONF": str(self._config)}

    def run(self, *command: str) -> str:
        """What a command of Slurm prints."""
        done = subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, **self.environment}, timeout=60, check=False
        )
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    def jobs(self, states: str = "RUNNING") -> list[str]:
        """The IDs of the jobs in these states."""
        return self.run("squeue", "--noheader", "--format=%A", f"--states={states}").split()

    def start(self) -> None:
        """Starts it, and returns when its node takes jobs."""
        skip_unless_here(*PROGRAMS)
        if os.getuid() != 0:
            pytest.skip("Slurm's daemons need root")
        start_with_patience(self._start, self.stop)

    def end_jobs(self) -> None:
        """Cancels all jobs, and returns when they have ended."""
        for state in ("PENDING", "RUNNING"):  # else a pending one would start
            self.run("scancel", f"--state={state}")
        wait_until(lambda: not self.jobs("PENDING,RUNNING,COMPLETING"), "its jobs end", END_S)

    def stop(self) -> None:
        """Ends all jobs, and kills the daemons with what they started for jobs."""
        if len(self._processes) == 3:
            with suppress(AssertionError, subprocess.TimeoutExpired):  # it does not answer
                self.end_jobs()
        while self._processes:
            self._processes.pop().kill()
        for pid in self._left():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def kill_controller(self) -> None:
        """Kills slurmctld; the rest goes on."""
        self._processes[1].kill()

    def _left(self) -> list[int]:
        """Processes that outlive the daemons: of jobs, and slurmstepd, which has no variables but holds a log open."""
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                is_of_job = f"SLURM_CONF={self._config}".encode() in (path / "environ").read_bytes().split(b"\0")
                is_step = (path / "comm").read_text().strip() == "slurmstepd"
                files = map(os.readlink, (path / "fd").iterdir())
                if is_of_job or (is_step and any(Path(file).is_relative_to(self.folder) for file in files)):
                    found.append(int(path.name))
        return found

    def _start(self) -> None:
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        self._munge = munge = folder / "munge"
        for made in (munge, folder / "state", folder / "spool"):
            made.mkdir(mode=0o755)
        key = munge / "key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o400)
        host = platform.node().partition(".")[0]
        self._config = folder / "slurm.conf"
        self._config.write_text(
            CONFIG.format(
                folder=folder,
                munge=munge,
                host=host,
                ctld_port=free_port(),
                slurmd_port=free_port(),
            )
        )
        self._spawn(
            "munged",
            "--foreground",
            "--force",  # the folder lies below /tmp, which others may write to
            f"--socket={munge}/socket",
            f"--key-file={key}",
            f"--log-file={munge}/log",
            f"--pid-file={munge}/pid",
            f"--seed-file={munge}/seed",
        ).wait_until((munge / "socket").exists, START_S)
        self._spawn("slurmctld", "-D", "-f", str(self._config))
        self._spawn("slurmd", "-D", "-f", str(self._config), "-N", host).wait_until(self._ready, START_S)

    def _spawn(self, program: str, *arguments: str) -> ServerProcess:
        process = ServerProcess([str(shutil.which(program)), *arguments], self._config.parent / f"{program}.out")
        self._processes.append(process)
        return process

    def _ready(self) -> bool:
        done = subprocess.run(
            ["sinfo", "--noheader", "--format=%t"],
            capture_output=True,
            text=True,
            env={**os.environ, **self.environment},
            check=False,
        )
        return done.stdout.strip() in ("idle", "mix")
