"""The two keys: what an observation depends on, and what a result depends on. Nothing else enters either.

So a corrected label, table or metric means measuring again from the stored observation; a corrected citation, licence
or title means nothing at all; and only what the model itself can see of a task means running it again.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from typing import Any

from sandbox.limits import Limits
from sandbox.verdict import Verdict
from tasks.datasets.card import D3
from tasks.kind import Parameters
from tasks.model.dispersion import DISPERSION_VERSION


def hash_of(fields: Mapping[str, Any]) -> str:
    """The first 32 digits of the sha256 of `fields` as canonical JSON: sorted names, no spaces, ASCII, no NaN."""
    return hashlib.sha256(_canonical(fields).encode()).hexdigest()[:32]


class OpenHash:
    """`hash_of` some fields of which one is not known yet. What is known is written out once, for any number of keys.

    Args:
        unknown: name of that field, whose values are texts.
    """

    def __init__(self, fields: Mapping[str, Any], unknown: str) -> None:
        mark = secrets.token_hex(32)  # that nobody can have put into a label set's name
        head, _, tail = _canonical({**fields, unknown: mark}).partition(f'"{mark}"')
        self._begun, self._tail = hashlib.sha256(head.encode()), tail

    def of(self, value: str) -> str:
        """The hash where the field is `value`."""
        hash = self._begun.copy()
        hash.update(f"{json.dumps(value, ensure_ascii=True)}{self._tail}".encode())
        return hash.hexdigest()[:32]


def _canonical(fields: Mapping[str, Any]) -> str:
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def observation_keys(
    *,
    contract: int,
    guest: str,
    domain: str,
    label_set: str | None,
    kind: str,
    observe_version: int,
    parameters: Parameters,
    frames_sha256: str,
    limits: Limits,
    failed_share: float,
    dispersion: D3 | None,
    hardware: str,
    round: int = 0,
) -> OpenHash:
    """Key of what a model answers, by image ID: all that can change the answer.

    Args:
        domain: what the model is told.
        frames_sha256: of the structures and what they are put under.
        limits: of the container, the task's time limit among them.
        failed_share: of the structures, beyond which no more are asked.
        dispersion: what the judge adds to the answers; None: nothing.
        hardware: the class of hardware, of a kind that takes times; empty: of any other.
        round: of judging anew. It enters where it is not 0, as in `result_keys`: older keys stay.
    """
    asked = {
        **_round(round),
        "contract": contract,
        "guest": guest,
        "domain": domain,
        "label_set": label_set,
        "kind": kind,
        "version": observe_version,
        "parameters": parameters.model_dump(mode="json"),
        "frames": frames_sha256,
        "limits": limits.model_dump(mode="json"),
        "failed_share": failed_share,
        "dispersion": {**dispersion.model_dump(), "version": DISPERSION_VERSION} if dispersion else None,
        "hardware": hardware,
    }
    return OpenHash(asked, "image")


def observation_key(*, image_id: str, **asked: Any) -> str:
    """One of `observation_keys`."""
    return observation_keys(**asked).of(image_id)


def result_keys(
    *,
    labels_sha256: str,
    table_sha256: str,
    reference_sha256: str,
    label_set: str | None,
    measure_version: int,
    parameters: Parameters,
    failed_share: float,
    round: int = 0,
) -> OpenHash:
    """Key of what is made of an observation, by its sha256: metrics and the verdict over them.

    Args:
        reference_sha256: of what the card says that metrics depend on (baselines, groups), not its citation.
        failed_share: of the items, beyond which the verdict is not OK. Two observations of one content may have been
            made for different shares, so that of the observation's own key does not stand for it.
        round: of judging anew: a model that answers the same again has another result, beside the old one.
    """
    measured = {
        **_round(round),
        "labels": labels_sha256,
        "table": table_sha256,
        "reference": reference_sha256,
        "label_set": label_set,
        "version": measure_version,
        "parameters": parameters.model_dump(mode="json"),
        "failed_share": failed_share,
    }
    return OpenHash(measured, "observation")


def result_key(*, observation: str, **measured: Any) -> str:
    """One of `result_keys`."""
    return result_keys(**measured).of(observation)


def _round(number: int) -> dict[str, int]:
    return {"round": number} if number else {}


def verdict_key(*, observation_key: str, verdict: Verdict) -> str:
    """Key of a result without an observation: the submission's fault ended the attempt, and no label matters."""
    return hash_of({"attempt": observation_key, "verdict": verdict.value})
