"""Ranks within one domain."""

from __future__ import annotations

from judge.leaderboard import build_leaderboard
from judge.web.domain_tables import domain_tables
from judge.web.index_page import N_LINES
from tests.judge.board_records import SUITE, good_results, items_of, submission

INORGANIC, MOLECULES = "Inorganic Materials", "Molecules"


def test_a_model_of_molecules_alone_ranks_among_molecules() -> None:
    """It leads there, though the whole ranking has no place for it; and among crystals it has none either."""
    whole, other, small = submission("whole"), submission("other"), submission("small")
    results = good_results(whole, 0.3) + good_results(other, 0.2)
    results += [result for result in good_results(small, 0.1) if result.domain == MOLECULES]
    board = build_leaderboard(SUITE, [whole, other, small], results, items_of)
    inorganic, molecules = domain_tables(board)
    assert (inorganic.title, molecules.title) == (INORGANIC, MOLECULES)
    assert [(line.row.submission.id, line.rank) for line in molecules.lines] == [
        (small.id, 1),
        (other.id, 2),
        (whole.id, 3),
    ]
    assert [round(cell.value or 0, 9) for cell in molecules.lines[0].cells] == [0.1, 0.1]
    assert [(line.row.submission.id, line.rank) for line in inorganic.lines] == [
        (other.id, 1),
        (whole.id, 2),
        (small.id, None),
    ]
    assert inorganic.labels == ("Force-field error",)  # no property of that domain is asked
    assert inorganic.n_ranked == 2 < N_LINES


def test_a_reference_row_takes_no_rank() -> None:
    one, dummy = submission("one"), submission("dummy")
    board = build_leaderboard(SUITE, [one, dummy], good_results(one, 0.3) + good_results(dummy, 0.1), items_of)
    for table in domain_tables(board, [dummy.id]):
        assert [(line.row.submission.id, line.rank) for line in table.lines] == [(one.id, 1), (dummy.id, None)]


def test_one_domain_needs_no_table() -> None:
    of = submission("one")
    results = [result for result in good_results(of, 0.3) if result.domain == MOLECULES]
    alone = type(SUITE)(name="m", version="1", title="M", tasks=tuple(t for t in SUITE.tasks if t.domain == MOLECULES))
    assert domain_tables(build_leaderboard(alone, [of], results, items_of)) == ()
    assert domain_tables(build_leaderboard(SUITE, [], [], items_of)) == ()
