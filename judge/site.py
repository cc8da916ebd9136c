"""The site: which files it has, with what is in them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from importlib import resources
from pathlib import Path

from judge.board import Leaderboard
from judge.pages import render
from judge.site_folder import publish
from judge.stored_board import read_board
from submissions.preflight_log import read_log
from submissions.store import Store
from tasks.suite import Suite

NOT_FOUND = "404.html"
_log = logging.getLogger(__name__)


def build_site(
    store: Store,
    suite: Suite,
    out_dir: Path,
    on_problem: Callable[[str], None] = _log.warning,
    current: Collection[str] | None = None,
    public: Collection[str] = (),
) -> list[Path]:
    """The files written, `index.html` last. Judging the same records again writes the same bytes.

    Args:
        store: with submissions and results.
        out_dir: made if it is not there; files in it that are not the site's own stay.
        on_problem: told a line about each record that cannot be read or added up, and is left out.
        current: keys of the results that fit the present data sets, where that is known: see `load_results`.
        public: names of the data sets that are public: see `judge.public.public_sets`.
    """
    return publish(site_files(store, read_board(store, suite, on_problem, current), public), out_dir)


def site_files(store: Store, board: Leaderboard, public: Collection[str]) -> dict[str, bytes]:
    """Content by path of the site of `board`, with what the containers said in the preflight.

    Args:
        public: names of the data sets that are public; of every other one less is shown.
    """
    logs = {row.submission.id: read_log(store, row.submission.id) for row in board.rows}
    files = render(board, public, logs)
    return files | {log_file(id): f"{said}\n".encode() for id, said in logs.items() if said}


def not_found_page() -> bytes:
    """What a web server is to answer where there is no page, at whichever address; it lies at `404.html`."""
    return (resources.files("templates") / NOT_FOUND).read_bytes()


def log_file(submission: str) -> str:
    """Where in the site that lies which a container said in the preflight, if it said anything."""
    return f"logs/{submission}.txt"
