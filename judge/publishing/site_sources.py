"""Reads what the pages are made of beside the leaderboard: cards from the data root, the rest from the store."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime

from judge.config import JudgeSettings
from judge.disclosure.redaction import is_public, read_cards
from judge.ranking.leaderboard import Leaderboard
from judge.ranking.load import load_items
from judge.records.manifest import ManifestChain
from judge.view.sources import Sources
from submissions.preflight.log import read_log
from submissions.records import utc_now
from submissions.store.interface import Store
from tasks.kinds.nve import Nve
from tasks.metrics.measurement import Items
from tasks.physicality.kind import Physicality
from tasks.suites.suite import Suite

WITH_CURVES = (Nve.name, Physicality.name)


def known_sources(
    settings: JudgeSettings, suite: Suite, datasets: Iterable[str], chain: ManifestChain, now: datetime | None = None
) -> Sources:
    """What settings, data root and chain tell. What belongs to single submissions is not in it: see `with_stored`.

    Args:
        datasets: names of those that the suite, or a result that is shown, is of.
        now: when a publication is made of it; None where none is.
    """
    cards = read_cards(settings.data, datasets)
    today = (now or utc_now()).date()
    return Sources(
        public=frozenset(name for name, card in cards.items() if is_public(card, today)),
        cards=cards,
        manifests=tuple(stored.manifest for stored in chain.manifests if stored.manifest.suite == suite.name),
        now=now,
        site_url=settings.site_url,
    )


def with_stored(sources: Sources, store: Store, board: Leaderboard) -> Sources:
    """The same with logs and items of all that is on the board."""
    logs = {row.submission.id: read_log(store, row.submission.id) for row in board.rows}
    return replace(sources, logs=logs, items=_curves(store, board, WITH_CURVES))


def _curves(store: Store, board: Leaderboard, kinds: Collection[str]) -> dict[tuple[str, str], Items]:
    found = {}
    for row in board.rows:
        for line in row.tasks:
            if line.task.kind in kinds and line.result is not None:
                items = load_items(store, line.result)
                if items is not None:
                    found[row.submission.id, line.task.name] = items
    return found
