"""What a run did about each unit, as it is told to a person or a machine."""

from __future__ import annotations

from enum import StrEnum

from sandbox.verdict import FaultCause, Verdict
from submissions.records import Record


class Did(StrEnum):
    """What was done about a unit in this run."""

    NOTHING = "nothing"
    OBSERVED = "observed"
    MEASURED = "measured"
    HELD = "held"
    FAULT = "fault"
    ELSEWHERE = "elsewhere"  # another judge, alive, is at it
    UNMEASURED = "unmeasured"  # observed here; its labels are elsewhere
    LEFT = "left"  # not begun: it would have lasted beyond the budget


class UnitReport(Record):
    """One unit, as told to a person or a machine."""

    submission: str
    task: str
    did: Did
    verdict: Verdict | None = None
    fault: FaultCause | None = None
    sentence: str = ""


def line_of(report: UnitReport) -> str:
    """A unit in one line."""
    marks = {
        Did.OBSERVED: "✓",
        Did.MEASURED: "≈",
        Did.HELD: "‖",
        Did.FAULT: "!",
        Did.ELSEWHERE: "·",
        Did.NOTHING: "=",
        Did.UNMEASURED: "○",
        Did.LEFT: "…",
    }
    mark = "✗" if report.verdict not in (None, Verdict.OK) else marks[report.did]
    words = {
        Did.HELD: f"held ({report.fault}): {report.sentence}",
        Did.FAULT: f"not judged ({report.fault}): {report.sentence}",
        Did.ELSEWHERE: report.sentence or "another judge is at it",
        Did.UNMEASURED: report.sentence,
        Did.LEFT: f"left: {report.sentence}",
    }
    text = words.get(report.did, f"{report.verdict}  {report.sentence}")
    again = " (measured without a container)" if report.did is Did.MEASURED else ""
    return f"{mark} {report.submission}  {report.task}  {text}{again}"
