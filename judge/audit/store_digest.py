"""One digest of all results of a store, equal for two stores in which the same was judged.

Kills, take-overs and retries do not enter. If a disturbed store has another digest than an undisturbed one, a result
was lost or doubled.

Some kinds ask hidden structures twice (`tasks.observing.memorisation_probes`) and choose them by a secret of the store:
observations differ between stores. To compare such stores, give both the same `secrets/order` before anything is
judged.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from judge.records.records import Result
from judge.records.results import load_results
from judge.records.strict_json import canonical_json
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
    """The content of `result` as canonical JSON, every float with all its digits.

    Time, host, attempt, signature and keys are left out. For kinds that measure times, metrics and observation are left
    out too.
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
        stated["observation"] = result.provenance.observation or ""
        stated["metrics"] = {name: vars(metric) for name, metric in result.metrics.items()}
    return canonical_json(stated)
