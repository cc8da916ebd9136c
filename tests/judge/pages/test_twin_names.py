"""A model whose name looks like that of another team's model stands with its ID, wherever models are listed."""

from __future__ import annotations

from judge.pages import index_page
from judge.pages.models import model_pages
from judge.pages.tasks import task_pages
from judge.view.page_context import Frame
from judge.view.related_submissions import Submissions
from judge.view.sources import Sources
from submissions.records import Submission
from tests.judge.pages.page_reader import page_frame
from tests.world.board_records import SUITE, good_results, submission

NOTE = '<p class="note">Another team\'s model has a name that looks like this one'


def frame_of(*models: Submission) -> Frame:
    return page_frame(SUITE, models, [r for model in models for r in good_results(model, 0.2)], Sources())


def test_a_name_of_another_team_that_looks_alike_is_marked_by_its_id() -> None:
    real, other, alone = (
        submission(name, affiliation=team)
        for name, team in (("MACE-0", "Lab"), ("MACE-O", "Elsewhere"), ("EMT", "Lab"))
    )
    frame = frame_of(real, other, alone)
    assert Submissions(frame.board).twins() == {real.id, other.id}
    ranking = index_page.pages(frame)["index.html"].decode()
    for model in (real, other):
        assert f">{model.id[-12:]}</code>" in ranking
    assert alone.id[-12:] + "</code>" not in ranking
    for page in task_pages.pages(frame).values():
        shown = page.decode()
        assert shown.count('<code class="twin">') in (0, 2)
        assert alone.id[-12:] + "</code>" not in shown
    pages = model_pages.pages(frame)
    for model in (real, other, alone):
        page = pages[f"submissions/{model.id}.html"].decode()
        assert f"ID <code>{model.id}</code>" in page
        assert (NOTE in page) is (model is not alone)


def test_versions_of_one_team_are_not_marked() -> None:
    first = submission("EMT", affiliation="Lab", version="1")
    second = submission("emt", affiliation="LAB", version="2")
    frame = frame_of(first, second)
    assert frame.twins == frozenset()
    assert 'class="twin"' not in index_page.pages(frame)["index.html"].decode()
