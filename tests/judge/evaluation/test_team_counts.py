"""The data file and a model's page agree on a team's submissions and on hidden data sets."""

from __future__ import annotations

from dataclasses import replace

from judge.pages.models.model_tasks import domains_of
from judge.ranking.build import build_leaderboard
from judge.ranking.leaderboard import TakenOut
from judge.view.leaderboard_export import leaderboard_file
from judge.view.related_submissions import Submissions
from judge.view.sources import Sources
from tests.world.board_records import NOON, SUITE, good_results, items_of, submission


def test_the_data_file_counts_the_submissions_of_a_team_as_the_page_does() -> None:
    """Whatever the case of the team's name; withdrawn submissions count too."""
    first, second, gone = (
        submission(name, affiliation=affiliation) for name, affiliation in (("a", "Lab"), ("b", "LAB"), ("c", "lab"))
    )
    stranger = submission("d")
    made = [each for ranked in (first, second, stranger) for each in good_results(ranked, 0.2)]
    board = build_leaderboard(SUITE, [first, second, stranger], made, items_of)
    board = replace(board, taken_out=(TakenOut(gone, "withdrawn", NOON, "a bug"),))
    models = {model.id: model for model in leaderboard_file(board, Sources()).models}
    known = Submissions(board)
    for ranked, n in ((first, 3), (second, 3)):
        assert models[ranked.id].n_of_team == known.related(ranked).n_of_team == n
    assert (models[stranger.id].n_of_team, known.related(stranger).n_of_team) == (1, 0)


def test_results_on_a_hidden_set_are_marked_hidden() -> None:
    """The suite names a public data set now; the result is of the one that it named before."""
    model = submission("a")
    first, *others = good_results(model, 0.2)
    moved = first.model_copy(update={"provenance": first.provenance.model_copy(update={"dataset": "secret@1"})})
    public = {task.dataset for task in SUITE.tasks}
    for result, hidden in ((first, False), (moved, True)):
        (row,) = build_leaderboard(SUITE, [model], [result, *others], items_of).rows
        is_hidden = {
            cell.line.task.name: cell.hidden for domain in domains_of(row, {}, public) for cell in domain.tasks
        }
        assert is_hidden.pop(first.task) is hidden
        assert not any(is_hidden.values())
