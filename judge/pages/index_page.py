"""The first page: the ranking."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from judge.pages.chooser import Chooser, chooser
from judge.pages.domain_tables import DomainTable, domain_matrix, domain_tables
from judge.pages.node_intervals import node_intervals_file
from judge.ranking.cluster_statistics import N_RESAMPLES
from judge.view import score_display
from judge.view.assets import MAIN, hashed, modules_behind
from judge.view.columns import task_groups
from judge.view.leaderboard_export import task_page
from judge.view.model_facts import FACT_COLUMNS, fact_cells, no_fact_cells
from judge.view.page_context import Frame
from scoring.names import SCORES
from tasks.kinds.registry import KINDS

SCRIPTS, DOMAIN_TABLES = ("board.js", "settings.js", "sortable.js"), "domain_tables.js"
N_LINES = 10  # of each table below the ranking; the pages of `judge.pages.table_pages` show all lines


def pages(frame: Frame) -> dict[str, bytes]:
    """`index.html`, and the files that its scripts load."""
    return with_chooser(frame, chooser(frame))


def with_chooser(frame: Frame, choosing: Chooser | None) -> dict[str, bytes]:
    """The same; `choosing` is the chooser of the site, if it has one."""
    board, keys = frame.board, frame.keys
    references = {model.id: model.reference for model in frame.file.models if model.reference}
    taking_part = [row for row in board.rows if row.submission.id not in references]
    by_domain = domain_tables(board, references)
    intervals = node_intervals_file(board, frame.file)
    intervals_path = hashed("node-intervals.json", intervals)
    page = frame.draw(
        "index.html",
        "index.html",
        data_path=frame.data_path,
        ranked=[row for row in taking_part if row.rank is not None],
        unranked=[row for row in taking_part if row.rank is None],
        reference_rows=[row for row in board.rows if row.submission.id in references],
        computed_rows=[reference for reference in frame.references if not reference.page],
        references=references,
        rank_statuses=frame.rank_statuses,
        ranked_by=SCORES[key].label if (key := score_display.ranked_by(keys)) else None,
        robustness_tables=score_display.robustness_tables(board, keys),
        n_lines=N_LINES,
        others=score_display.other_table(board),
        intervals_path=intervals_path,
        matrix=domain_matrix(board, by_domain, N_LINES),
        fact_columns=FACT_COLUMNS,
        fact_cells=fact_cells,
        no_fact_cells=no_fact_cells,
        task_groups=task_groups(board),
        chooser=choosing,
        task_page=task_page,
        n_resamples=N_RESAMPLES,
        metrics=KINDS.labels,
        modules=_modules(frame, by_domain) if board.rows else (),
    )
    return {"index.html": page, intervals_path: intervals, **(choosing.files if choosing else {})}


def _modules(frame: Frame, by_domain: Sequence[DomainTable]) -> tuple[str, ...]:
    """The modules that the page loads, and no others: a browser warns of a preloaded module that is not used."""
    main = PurePosixPath(frame.assets.names[MAIN])
    names = [*SCRIPTS, *([DOMAIN_TABLES] if by_domain else [])]
    return modules_behind(frame.assets.files, (str(main.with_name(name)) for name in names))
