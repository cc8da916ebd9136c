"""A release of MLIPAudit from TOML."""

from __future__ import annotations

from scoring.mlipaudit.facts import MlipAuditFacts
from scoring.names import MLIPAUDIT
from scoring.release_files import load, packaged, parse


def parse_mlipaudit(text: str, name: str) -> MlipAuditFacts:
    """The release that a TOML text states.

    Raises:
        ScoringError: naming the release and the field.
    """
    return parse(MlipAuditFacts, text, name)


def load_mlipaudit(name: str = MLIPAUDIT) -> MlipAuditFacts:
    """A release from `scoring/releases`.

    Raises:
        ScoringError: the name is unknown, or the file cannot be read.
    """
    return load(MlipAuditFacts, name, packaged(MLIPAUDIT))
