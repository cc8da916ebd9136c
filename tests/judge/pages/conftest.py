"""Boards and pages that several tests of pages share."""

from __future__ import annotations

import pytest

from judge.pages.tasks import task_pages
from judge.view.page_context import Frame
from tests.judge.pages.page_reader import PageReader
from tests.judge.pages.three_models import three_models


@pytest.fixture(scope="session")
def three() -> Frame:
    return three_models()


@pytest.fixture(scope="session")
def read(three: Frame) -> dict[str, PageReader]:
    """The pages of the tasks."""
    return {path: PageReader(page) for path, page in task_pages.pages(three).items()}
