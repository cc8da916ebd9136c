"""The page that all begin with: the ranking."""

from __future__ import annotations

from pathlib import PurePosixPath

from judge.uncertainty import N_RESAMPLES
from judge.web import page_scores
from judge.web.assets import MAIN
from judge.web.columns import task_groups
from judge.web.domain_tables import domain_tables
from judge.web.explore import task_page
from judge.web.frame import Frame
from judge.web.modules import modules_behind
from judge.web.page_scores import LABELS

SCRIPTS = ("board.js", "settings.js", "sortable.js")
N_LINES = 10  # of tables below the ranking; `judge.web.table_pages` have all


def pages(frame: Frame) -> dict[str, bytes]:
    """`index.html`."""
    board, keys = frame.board, frame.keys
    references = {model.id: model.reference for model in frame.file.models if model.reference}
    taking_part = [row for row in board.rows if row.submission.id not in references]
    main = frame.assets.names[MAIN]
    modules = modules_behind(frame.assets.files, (str(PurePosixPath(main).with_name(name)) for name in SCRIPTS))
    page = frame.draw(
        "index.html",
        "index.html",
        ranked=[row for row in taking_part if row.rank is not None],
        unranked=[row for row in taking_part if row.rank is None],
        reference_rows=[row for row in board.rows if row.submission.id in references],
        references=references,
        standings=frame.standings,
        ranked_by=LABELS.get(page_scores.ranked_by(keys) or ""),
        firm_tables=page_scores.firm_tables(board, keys),
        n_lines=N_LINES,
        others=page_scores.other_table(board),
        domain_tables=domain_tables(board, references),
        task_groups=task_groups(board),
        task_page=task_page,
        n_resamples=N_RESAMPLES,
        modules=modules if board.rows else (),
    )
    return {"index.html": page}
