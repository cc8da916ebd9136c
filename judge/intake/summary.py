"""What an intake did, for the maintainer."""

from __future__ import annotations

from collections import Counter
from typing import Literal

from submissions.records import Record


class Came(Record):
    """What became of a letter.

    Args:
        sentence: of a delayed one, what is to be corrected here.
    """

    invitation: str
    slot: str
    came: Literal["submitted", "duplicate", "refused", "delayed"]
    submission: str = ""
    name: str = ""
    verdict: str = ""
    sentence: str = ""


class IntakeSummary(Record):
    """What an intake did.

    Args:
        invitations: how many there are.
        notes: what else is to be known, a line each.
        flooded: names of invitations that were not looked at, since their inbox is flooded.
        elsewhere: another intake of this host is at it, and nothing was done here.
        mail_written: whether all authors were told.
        fault: why the inbox was not looked at at all; empty where it was.
    """

    invitations: int = 0
    letters: tuple[Came, ...] = ()
    notes: tuple[str, ...] = ()
    flooded: tuple[str, ...] = ()
    elsewhere: bool = False
    mail_written: bool = True
    fault: str = ""

    @property
    def counts(self) -> Counter[str]:
        """How many letters came to what."""
        return Counter(letter.came for letter in self.letters)

    @property
    def exit_status(self) -> int:
        """1: something kept a letter from being looked at, or an author from being told; 0: all else."""
        hindered = self.fault or self.flooded or self.counts["delayed"] or not self.mail_written
        return 1 if hindered else 0
