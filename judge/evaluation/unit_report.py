"""Reports of a run about its units, for persons and programs."""

from __future__ import annotations

from enum import StrEnum

from sandbox.verdict import FaultCause, Verdict
from submissions.records import Record


class Did(StrEnum):
    """The outcome of a unit in this run."""

    NOTHING = "nothing"
    OBSERVED = "observed"
    MEASURED = "measured"
    HELD = "held"
    FAULT = "fault"
    ELSEWHERE = "elsewhere"  # another judge works on it
    UNMEASURED = "unmeasured"  # observed here; another machine has the labels
    LEFT = "left"  # not started: it should end after the budget
    WAITS = "waits"  # not started: it needs what other units answer, which is not there yet


class UnitReport(Record):
    """The report about one unit; `task` names its training, too."""

    submission: str
    task: str
    did: Did
    verdict: Verdict | None = None
    fault: FaultCause | None = None
    sentence: str = ""


def line_of(report: UnitReport) -> str:
    """The report in one line."""
    marks = {
        Did.OBSERVED: "✓",
        Did.MEASURED: "≈",
        Did.HELD: "‖",
        Did.FAULT: "!",
        Did.ELSEWHERE: "·",
        Did.NOTHING: "=",
        Did.UNMEASURED: "○",
        Did.LEFT: "…",
        Did.WAITS: "…",
    }
    mark = "✗" if report.verdict not in (None, Verdict.OK) else marks[report.did]
    words = {
        Did.HELD: f"held ({report.fault}): {report.sentence}",
        Did.FAULT: f"not judged ({report.fault}): {report.sentence}",
        Did.ELSEWHERE: report.sentence or "another judge works on it",
        Did.UNMEASURED: report.sentence,
        Did.LEFT: f"left: {report.sentence}",
        Did.WAITS: f"waits: {report.sentence}",
    }
    text = words.get(report.did, f"{report.verdict}  {report.sentence}")
    again = " (measured without a container)" if report.did is Did.MEASURED else ""
    return f"{mark} {report.submission}  {report.task}  {text}{again}"
