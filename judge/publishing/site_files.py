"""Makes the files of the site."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Container
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from judge.gc_pause import keep, long_lived
from judge.pages.site import render
from judge.publishing.folder import publish
from judge.publishing.site_sources import with_stored
from judge.ranking.derived_values import DerivedValues
from judge.ranking.interval_cache import IntervalCache
from judge.ranking.leaderboard import Leaderboard
from judge.ranking.load import load_items, read_board, settled_stamps
from judge.records.cache_file import CacheFile
from judge.view.assets import assets
from judge.view.earlier_pages import EarlierPages
from judge.view.jinja import environment
from judge.view.sources import Sources
from sandbox.verdict import FaultCause, JudgeFault
from submissions.store.interface import Store
from tasks.suites.suite import Suite

NOT_FOUND = "404.html"
_log = logging.getLogger(__name__)


def build_site(
    store: Store,
    suite: Suite,
    out_dir: Path,
    on_problem: Callable[[str], None] = _log.warning,
    current: Container[str] | None = None,
    sources: Sources | None = None,
    references: Collection[str] = (),
    trusted: Collection[str] | None = None,
    cache: CacheFile | None = None,
    earlier: EarlierPages | None = None,
) -> list[Path]:
    """The paths of the written files, `index.html` last. The same records give the same bytes.

    Args:
        store: with submissions and results.
        out_dir: made if it does not exist; files in it that do not belong to the site stay.
        on_problem: called with a line for each record that is left out because it cannot be read or scored.
        current: keys of the results that fit the present data sets; None: not known. See `load_results`.
        sources: see `judge.publishing.site_sources.known_sources`; None: nothing is public or was published before.
        references: names or IDs of submissions that are shown for comparison only.
        trusted: public keys; one of them must have signed each event; None: any key may have.
        cache: of scores and intervals, and of values of single results.
        earlier: the pages of the last build, as far as they may be used again.

    Raises:
        JudgeFault: DISK, `out_dir` cannot be written.
    """
    stamps = settled_stamps(store) if cache else {}
    derived, intervals = DerivedValues(partial(load_items, store), cache, stamps), IntervalCache(cache, stamps)
    board = read_board(store, suite, on_problem, current, trusted, references, intervals, derived)
    keep(board)
    files = site_files(store, board, replace(sources or Sources(), derived=derived, kept=intervals), earlier)
    derived.close()
    intervals.close()
    try:
        return publish(files, out_dir)
    except OSError as error:
        remedy = f"{out_dir} cannot be written ({error.strerror}): correct it, or set site_dir"
        raise JudgeFault(FaultCause.DISK, remedy) from error


def site_files(
    store: Store, board: Leaderboard, sources: Sources, earlier: EarlierPages | None = None
) -> dict[str, bytes]:
    """The files of the site of `board`: content by path, with the preflight logs. `earlier`: see `render`."""
    all_sources = with_stored(sources, store, board)
    logs = {log_file(id): f"{text}\n".encode() for id, text in all_sources.logs.items() if text}
    with long_lived():
        return render(board, all_sources, earlier) | logs


def not_found_page(site_url: str = "") -> bytes:
    """The page `404.html`, which a web server shows for a missing page at any address.

    Args:
        site_url: address of the site. The page links to its path, since a relative link would depend on the address
            asked for. Empty: the page links to the top of the server.
    """
    path = urlsplit(site_url).path.strip("/")
    top = f"/{path}/" if path else "/"
    return environment().get_template(NOT_FOUND).render(top=top, assets=assets().names).encode()


def log_file(submission: str) -> str:
    """The path in the site of a submission's preflight log, if there is one."""
    return f"logs/{submission}.txt"
