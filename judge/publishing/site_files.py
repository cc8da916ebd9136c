"""The site: which files it has, with what is in them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from pathlib import Path
from urllib.parse import urlsplit

from judge.gc_pause import collector_paused
from judge.pages.site import render
from judge.publishing.folder import publish
from judge.publishing.site_sources import with_stored
from judge.ranking.leaderboard import Leaderboard
from judge.ranking.load import read_board
from judge.view.jinja import environment
from judge.view.sources import Sources
from submissions.store.interface import Store
from tasks.suites.suite import Suite

NOT_FOUND = "404.html"
_log = logging.getLogger(__name__)


def build_site(
    store: Store,
    suite: Suite,
    out_dir: Path,
    on_problem: Callable[[str], None] = _log.warning,
    current: Collection[str] | None = None,
    sources: Sources | None = None,
    references: Collection[str] = (),
    trusted: Collection[str] | None = None,
) -> list[Path]:
    """The files written, `index.html` last. Judging the same records again writes the same bytes.

    Args:
        store: with submissions and results.
        out_dir: made if it is not there; files in it that are not the site's own stay.
        on_problem: told a line about each record that cannot be read or added up, and is left out.
        current: keys of the results that fit the present data sets, where that is known: see `load_results`.
        sources: see `judge.publishing.site_sources.known_sources`; None: nothing is public, and nothing was ever
        published. references: names or ids of submissions that are there for comparison. trusted: keys, of which one
        must have signed each event; None: whoever did.
    """
    board = read_board(store, suite, on_problem, current, trusted, references)
    return publish(site_files(store, board, sources or Sources()), out_dir)


def site_files(store: Store, board: Leaderboard, sources: Sources) -> dict[str, bytes]:
    """Content by path of the site of `board`, with what the containers said in the preflight."""
    told = with_stored(sources, store, board)
    said = {log_file(id): f"{text}\n".encode() for id, text in told.logs.items() if text}
    with collector_paused():
        return render(board, told) | said


def not_found_page(site_url: str = "") -> bytes:
    """What a web server is to answer where there is no page, at whichever address; it lies at `404.html`.

    Args:
        site_url: where the site can be reached. The page's link goes to the path of it, since a link relative to the
            address asked for would lead anywhere; without it to the top of the server.
    """
    path = urlsplit(site_url).path.strip("/")
    return environment().get_template(NOT_FOUND).render(top=f"/{path}/" if path else "/").encode()


def log_file(submission: str) -> str:
    """Where in the site that lies which a container said in the preflight, if it said anything."""
    return f"logs/{submission}.txt"
