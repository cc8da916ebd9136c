"""Events about one submission, and a key that signs them."""

from __future__ import annotations

from judge.records.decisions import RoundRecord
from judge.records.signing import SigningKey

MODEL = "emt-0123456789ab"


KEY = SigningKey(b"k" * 32)


def a_round(number: int, task: str = "copper") -> RoundRecord:
    return RoundRecord(task=task, dataset=f"{task}@1", round=number)
