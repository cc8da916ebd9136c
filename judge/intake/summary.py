"""The result of an intake, for the maintainer."""

from __future__ import annotations

from collections import Counter

from pydantic import Field

from submissions.records import Record
from submissions.requests import RequestDecision


class IntakeDecision(RequestDecision):
    """A decision, with the invitation that the request came with.

    Args:
        sentence: of a delayed request, what the maintainer has to correct.
    """

    invitation: str


class IntakeSummary(Record):
    """The result of an intake.

    Args:
        invitations: how many there are.
        notes: a line each about anything else that the maintainer should know.
        flooded: names of invitations that were not read, since they have too many uploads.
        elsewhere: another intake of this host is running, and nothing was done here.
        status_written: whether the status of every invitation was written.
        fault: why the upload bucket was not read; empty if it was.
    """

    invitations: int = 0
    decisions: tuple[IntakeDecision, ...] = Field((), alias="letters")
    notes: tuple[str, ...] = ()
    flooded: tuple[str, ...] = ()
    elsewhere: bool = False
    status_written: bool = Field(True, alias="mail_written")
    fault: str = ""

    @property
    def counts(self) -> Counter[str]:
        """How many requests had each outcome."""
        return Counter(decision.outcome for decision in self.decisions)

    @property
    def exit_status(self) -> int:
        """1 if a request could not be examined, or a status could not be written; else 0."""
        hindered = self.fault or self.flooded or self.counts["delayed"] or not self.status_written
        return 1 if hindered else 0
