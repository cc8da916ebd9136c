"""The fields that enter the keys, and those that do not."""

from __future__ import annotations

from typing import Any

import pytest

from judge.records.content_keys import hash_of, observation_keys, result_keys, verdict_key
from sandbox.limits import Limits
from sandbox.verdict import Verdict
from tasks.datasets.card import D3
from tasks.kind import Parameters


class Steps(Parameters):
    steps: int = 200


OBSERVED: dict[str, Any] = {
    "image_id": "sha256:1",
    "contract": 1,
    "guest": "g",
    "domain": "Molecules",
    "label_set": "PBE",
    "kind": "labelled_frames",
    "observe_version": 1,
    "parameters": Steps(),
    "frames_sha256": "f",
    "limits": Limits(cpus=2),
    "failed_share": 0.5,
    "dispersion": None,
    "hardware": "",
}
MEASURED: dict[str, Any] = {
    "observation": "o",
    "labels_sha256": "l",
    "table_sha256": "t",
    "reference_sha256": "r",
    "label_set": "PBE",
    "measure_version": 1,
    "parameters": Steps(),
    "failed_share": 0.5,
}


def observation_key(*, image_id: str, **fields: Any) -> str:
    """The one of `observation_keys` for an image."""
    return observation_keys(**fields).hash_for(image_id)


def result_key(*, observation: str, **fields: Any) -> str:
    """The one of `result_keys` for an observation."""
    return result_keys(**fields).hash_for(observation)


def test_keys_are_32_hexadecimal_digits_and_always_the_same() -> None:
    key = observation_key(**OBSERVED)
    assert len(key) == 32
    assert int(key, 16) >= 0
    assert key == observation_key(**dict(reversed(OBSERVED.items())))
    assert hash_of({"a": 1, "b": "µ"}) == "842f158a7f0406e8814878a4226161a1"


@pytest.mark.parametrize(
    "change",
    [
        {"image_id": "sha256:2"},
        {"contract": 2},
        {"guest": "h"},
        {"domain": "Catalysis"},
        {"label_set": None},
        {"kind": "nve"},
        {"observe_version": 2},
        {"parameters": Steps(steps=1)},
        {"frames_sha256": "g"},
        {"limits": Limits(cpus=2, task_s=1)},
        {"limits": Limits(cpus=1)},
        {"failed_share": 0.25},
        {"dispersion": D3(functional="pbe")},
        {"hardware": "this"},
    ],
)
def test_each_part_of_the_question_changes_the_observation_key(change: dict[str, Any]) -> None:
    assert observation_key(**{**OBSERVED, **change}) != observation_key(**OBSERVED)


def test_each_way_of_adding_dispersion_has_its_key() -> None:
    stated = [None, D3(functional="pbe"), D3(functional="pbe", damping="zero"), D3(functional="r2scan")]
    assert len({observation_key(**{**OBSERVED, "dispersion": d3}) for d3 in stated}) == 4


@pytest.mark.parametrize("name", sorted(MEASURED))
def test_each_part_of_the_measurement_changes_the_result_key(name: str) -> None:
    other: dict[str, Any] = {"parameters": Steps(steps=1), "measure_version": 2, "failed_share": 0.25}
    assert result_key(**{**MEASURED, name: other.get(name, "other")}) != result_key(**MEASURED)


def test_a_verdict_without_an_observation_has_a_key_that_no_label_enters() -> None:
    keys = {verdict_key(observation_key="k", verdict=verdict) for verdict in Verdict}
    assert len(keys) == len(Verdict)
