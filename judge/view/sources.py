"""What the pages are made of beside the leaderboard: read from store and data root, before anything is drawn."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from judge.records.manifest import Manifest
from tasks.datasets.card import Card
from tasks.metrics.measurement import Items


@dataclass(frozen=True)
class Sources:
    """What is known beside the board; of what is absent the pages say less.

    Args:
        public: names of the data sets that are public; of every other one less is shown.
        cards: of data sets, by name; those that can be read here.
        logs: by submission, what its container said in the preflight.
        manifests: of this suite's publications, the oldest first.
        items: by submission and task, tables that have curves: of dynamics and of physicality.
        now: when this publication is made; None where none is, and then nothing of it is dated.
        site_url: where the site can be reached, ending in a slash; empty where that is not known.
    """

    public: Collection[str] = ()
    cards: Mapping[str, Card] = field(default_factory=dict)
    logs: Mapping[str, str] = field(default_factory=dict)
    manifests: Sequence[Manifest] = ()
    items: Mapping[tuple[str, str], Items] = field(default_factory=dict)
    now: datetime | None = None
    site_url: str = ""
