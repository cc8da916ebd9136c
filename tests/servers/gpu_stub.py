"""Programs in place of NVIDIA's driver and container toolkit: two GPUs, each a harmless device file.

Docker offers `--gpus` if it finds `nvidia-container-runtime-hook` on its path when it starts. It then has the runtime
call that program before each container with a GPU starts: the OCI state on standard input, the bundle's folder in it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

GPUS = ("GPU-aaaa0000-0000-0000-0000-000000000000", "GPU-bbbb0000-0000-0000-0000-000000000001")
# Devices that every container may use: /dev/null and /dev/zero.
MINORS = (3, 5)

_SMI = """#!/bin/sh
case "$1" in
-L) cat {place}/listing ;;
*) echo 0.0-stub ;;
esac
"""

_HOOK = """#!{python} -IS
import json, os, subprocess, sys

state = json.load(sys.stdin)
with open(os.path.join(state["bundle"], "config.json")) as file:
    config = json.load(file)
variables = dict(line.partition("=")[::2] for line in config["process"]["env"])
asked = variables["NVIDIA_VISIBLE_DEVICES"]
with open("{place}/records.jsonl", "a") as file:
    file.write(json.dumps({{"arguments": sys.argv[1:], "state": state, "env": config["process"]["env"]}}) + "\\n")
with open("{place}/listing") as file:
    present = file.read()
minors = {minors}
for uuid in asked.split(","):
    if uuid not in minors or uuid not in present:
        sys.exit(f"nvidia-container-cli: device error: {{uuid}}: unknown device")
    root = config["root"]["path"]
    path = os.path.join(state["bundle"], root, "dev", f"nvidia{{list(minors).index(uuid)}}")
    inside = ["nsenter", f"--mount=/proc/{{state['pid']}}/ns/mnt", "mknod", "--mode=666", path]
    subprocess.run([*inside, "c", "1", str(minors[uuid])], check=True)
"""


class GpuStub:
    """The programs, in `place / "bin"`, which belongs on the path of an engine and of a judge.

    Args:
        place: a folder; the stub's files are written there.
    """

    def __init__(self, place: Path) -> None:
        self.place = place
        self.programs = place / "bin"
        self.programs.mkdir(parents=True)
        minors = dict(zip(GPUS, MINORS, strict=True))
        self._program("nvidia-smi", _SMI.format(place=place))
        self._program("nvidia-container-runtime-hook", _HOOK.format(python=sys.executable, place=place, minors=minors))
        self.show(*GPUS)

    def show(self, *uuids: str) -> None:
        """Makes these the GPUs of the machine."""
        lines = [f"GPU {GPUS.index(uuid)}: Stub (UUID: {uuid})\n" for uuid in uuids]
        (self.place / "listing").write_text("".join(lines))

    def records(self) -> list[dict[str, Any]]:
        """For each call of the hook its arguments, the OCI state and the container's variables."""
        file = self.place / "records.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def _program(self, name: str, text: str) -> None:
        (self.programs / name).write_text(text)
        (self.programs / name).chmod(0o755)
