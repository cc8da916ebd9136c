"""The keys of observations and results: hashes of all that each depends on, and of nothing else.

If a label, a table or a metric changes, results are measured again from the stored observation. If a citation, a
licence or a title changes, nothing is done. A model is run again only if something changes that the model can see.

Keys are published, and everything else that enters them may be known or guessed: the secret of the store keeps anybody
from checking a guess of hidden structures and labels against them.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from judge.records.strict_json import canonical_json
from sandbox.limits import Limits
from sandbox.verdict import Verdict
from tasks.datasets.card import D3
from tasks.kind import Parameters
from tasks.learning.training import Training
from tasks.model.dispersion import DISPERSION_VERSION
from tasks.observing.shards import Shard


def hash_of(fields: Mapping[str, Any]) -> str:
    """The first 32 digits of the sha256 of `fields` as canonical JSON: sorted names, no spaces, ASCII, no NaN."""
    return hashlib.sha256(canonical_json(fields).encode()).hexdigest()[:32]


class OpenHash:
    """`hash_of` of fields, one of which is not known yet. The known fields are serialised once for any number of keys.

    Args:
        unknown: name of that field. Its values are texts.
    """

    def __init__(self, fields: Mapping[str, Any], unknown: str) -> None:
        mark = secrets.token_hex(32)  # random, so that no label set's name contains it
        head, _, tail = canonical_json({**fields, unknown: mark}).partition(f'"{mark}"')
        self._begun, self._tail = hashlib.sha256(head.encode()), tail

    def hash_for(self, value: str) -> str:
        """The hash if the unknown field has `value`."""
        hash = self._begun.copy()
        hash.update(f"{json.dumps(value, ensure_ascii=True)}{self._tail}".encode())
        return hash.hexdigest()[:32]


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
    secret: bytes = b"",
) -> OpenHash:
    """The key of an observation, by image ID: a hash of all that can change the model's answers.

    Args:
        domain: given to the model.
        frames_sha256: of the structures and the conditions (pressure, strain) under which they are computed.
        limits: of the container, with the task's time limit.
        failed_share: share of failed structures at which the observation stops.
        dispersion: what the judge adds to the answers; None: nothing.
        hardware: the class of hardware for kinds that measure times; empty for other kinds.
        round: of judging the task. Round 0 does not enter, so that older keys stay valid.
        secret: of the store; empty: none enters.
    """
    fields = {
        **_round(round),
        **_secret(secret),
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
    return OpenHash(fields, "image")


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
    secret: bytes = b"",
) -> OpenHash:
    """The key of a result, by the sha256 of its observation: a hash of all that metrics and verdict depend on.

    Args:
        reference_sha256: of the parts of the card that metrics depend on (baselines, groups), without the citation.
        failed_share: share of failed items at which the verdict is not OK. Two observations of the same content may
            have been made for different shares, so the observation's hash does not contain it.
        round: of judging the task: the same answers in another round give another result beside the old one.
        secret: as in `observation_keys`.
    """
    fields = {
        **_round(round),
        **_secret(secret),
        "labels": labels_sha256,
        "table": table_sha256,
        "reference": reference_sha256,
        "label_set": label_set,
        "version": measure_version,
        "parameters": parameters.model_dump(mode="json"),
        "failed_share": failed_share,
    }
    return OpenHash(fields, "observation")


def parameters_hash(parameters: Parameters) -> str:
    """The hash of the parameters of a task, without those at their defaults."""
    return hash_of(parameters.model_dump(mode="json", exclude_defaults=True))


def training_key(asked: str, training: Training, labels_sha256: str, guest: str) -> str:
    """The key of one training and of the answers of its model: a hash of all that can change them.

    Args:
        asked: an observation's key for the same image and structures, without parameters.
        guest: version of the guest of trainings.
    """
    return hash_of({"asked": asked, "training": asdict(training), "labels": labels_sha256, "guest": guest})


def shard_key(observation_key: str, shard: Shard) -> str:
    """The key of the answers to one shard of a task's questions, from the key of the answers to all."""
    return hash_of({"observation": observation_key, **asdict(shard)})


def joined_key(observation_key: str, trainings: Sequence[str]) -> str:
    """The key of the answers of all trainings of a task, from their keys and that of the task."""
    return hash_of({"observation": observation_key, "trainings": list(trainings)})


def _round(number: int) -> dict[str, int]:
    return {"round": number} if number else {}


def _secret(secret: bytes) -> dict[str, str]:
    return {"secret": secret.hex()} if secret else {}


def verdict_key(*, observation_key: str, verdict: Verdict) -> str:
    """The key of a result without an observation: the attempt ended by a fault of the submission."""
    return hash_of({"attempt": observation_key, "verdict": verdict.value})
