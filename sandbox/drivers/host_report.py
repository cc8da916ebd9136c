"""What this host offers to run submissions: engine, runtimes, cgroups, rights, device specifications, Podman."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from sandbox.drivers.cgroup import ROOT
from sandbox.drivers.docker_driver import connect_engine
from sandbox.drivers.docker_running import engine_faults
from sandbox.drivers.engine_report import is_rootless
from sandbox.verdict import JudgeFault

CDI_FOLDERS = (Path("/etc/cdi"), Path("/var/run/cdi"))
_CDI_KIND = re.compile(r"""(?:^|[{,\s])["']?kind["']?\s*:\s*["']?([\w./-]+)""")


def host_report() -> str:
    """One line: the cgroup version, the engine with its runtimes, CDI kinds, Podman and Apptainer."""
    programs = [name for name in ("podman", "apptainer") if shutil.which(name)]
    return "; ".join(
        [
            f"cgroup v{2 if (ROOT / 'cgroup.controllers').exists() else 1}",
            _engine(),
            f"CDI devices of {', '.join(kinds)}" if (kinds := cdi_kinds()) else "no CDI devices",
            f"programs {', '.join(programs)}" if programs else "no podman and no apptainer",
        ]
    )


def cdi_kinds(folders: tuple[Path, ...] = CDI_FOLDERS) -> list[str]:
    """The kinds of devices (`nvidia.com/gpu`) that readable CDI files in `folders` describe."""
    files = [file for folder in folders for pattern in ("*.json", "*.yaml") for file in sorted(folder.glob(pattern))]
    kinds = set()
    for file in files:
        try:
            match = _CDI_KIND.search(file.read_text(errors="replace"))
        except OSError:
            continue
        if match:
            kinds.add(match[1])
    return sorted(kinds)


def _engine() -> str:
    try:
        client = connect_engine()
        with engine_faults():
            info = client.info()
    except JudgeFault:
        return "no engine"
    runtimes = sorted(name for name in info.get("Runtimes") or {} if not name.startswith("io.containerd."))
    rights = "without root" if is_rootless(info) else "as root"
    return f"engine {info.get('ServerVersion', '')} {rights}, runtimes {', '.join(runtimes)}"
