"""Reads the sources of the pages beside the leaderboard: cards from the data root, the rest from the store."""

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
    """The sources from settings, data root and manifests. Those of single submissions are added by `with_stored`.

    Args:
        datasets: names of the data sets of the suite and of the results shown.
        now: time of the publication; None if the pages are not published.
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
    """`sources` with the logs and items of all submissions on the board."""
    logs = {row.submission.id: read_log(store, row.submission.id) for row in board.rows}
    return replace(sources, logs=logs, items=_curves(store, board, WITH_CURVES))


def _curves(store: Store, board: Leaderboard, kinds: Collection[str]) -> dict[tuple[str, str], Items]:
    curves = {}
    for row in board.rows:
        for line in row.tasks:
            if line.task.kind in kinds and line.result is not None:
                items = load_items(store, line.result)
                if items is not None:
                    curves[row.submission.id, line.task.name] = items
    return curves
