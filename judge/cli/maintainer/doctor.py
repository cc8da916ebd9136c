"""`judge doctor`: checks whether this machine can judge."""

from __future__ import annotations

import typer

from judge.cli.output import print_json
from judge.upkeep.doctor import examine
from judge.workspace import open_workspace

FAULTS = 1


def run_doctor(as_json: bool) -> None:
    """Tries everything that judging needs on this machine, and says what has to be corrected."""
    findings = []
    for finding in examine(open_workspace()):
        findings.append(finding)
        if not as_json:
            mark = {True: "ok ", None: "–  ", False: "NOT"}[finding.ok]
            print(f"{mark}  {finding.name}: {finding.text}", flush=True)
    if as_json:
        print_json([finding._asdict() for finding in findings])
    raise typer.Exit(FAULTS if any(finding.ok is False for finding in findings) else 0)
