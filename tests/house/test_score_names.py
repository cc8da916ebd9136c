"""The scores that task kinds enter have the same keys as LAMBench's scores."""

from __future__ import annotations

from scoring.names import LAMBENCH, of_scheme
from tasks.kind import ScoreFamily


def test_kinds_and_scores_share_their_keys() -> None:
    assert [str(family) for family in ScoreFamily if family is not ScoreFamily.NONE] == list(of_scheme(LAMBENCH))
