"""One number for all that a store has come to, the same for two stores that were judged alike.

Whatever was killed, taken over or tried again meanwhile must not show: a store that was disturbed and one that was not
have the same digest, or something was lost or doubled.

Of kinds that ask some hidden structures again (`tasks.observing.memorisation_probes`), two stores draw these with a
secret of their own: probes, observation and key differ. To compare such stores, give both one `secrets/order` before
anything is judged.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from judge.records.records import Result
from judge.records.results import load_results
from submissions.store.interface import Store
from tasks.kinds.registry import KINDS


def digest_lines(store: Store) -> list[str]:
    """A line for each result that counts, sorted.

    Raises:
        StoreError: a record cannot be read; the message names its key.
    """
    ids = sorted({key.split("/")[1] for key in store.list("results/")})
    return sorted(line_of(result) for result in load_results(store, ids, of_all_suites=True))


def digest_of(lines: Iterable[str]) -> str:
    """The sha256 over `lines`, in 64 digits."""
    return hashlib.sha256("".join(f"{line}\n" for line in sorted(lines)).encode()).hexdigest()


def line_of(result: Result) -> str:
    """What `result` says, as canonical JSON, every float with all its digits.

    When, where, at which attempt and by whom it was found is left out. So is of a kind that takes times what hangs on
    these: metrics, observation and key.
    """
    stated: dict[str, Any] = {
        "submission": result.submission,
        "task": result.task,
        "dataset": result.provenance.dataset,
        "verdict": result.verdict.value,
        "n_items": result.n_items,
        "failures": result.failures,
    }
    if not KINDS.traits(result.kind).times:
        stated["key"] = result.result_key
        stated["observation"] = result.provenance.observation or ""
        stated["metrics"] = {name: vars(metric) for name, metric in result.metrics.items()}
    return json.dumps(stated, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
