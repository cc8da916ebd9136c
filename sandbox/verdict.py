"""Whose fault? `Verdict` is what one attempt came to; `SubmissionFault` and `JudgeFault`, and nothing in between."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """What one (submission, task) attempt came to. Each is the submission's own doing."""

    OK = "OK"
    UNSUPPORTED = "UNSUPPORTED"
    NON_FINITE = "NON_FINITE"
    WRONG_SHAPE = "WRONG_SHAPE"
    PROTOCOL_ERROR = "PROTOCOL_ERROR"
    OUTPUT_LIMIT = "OUTPUT_LIMIT"
    STARTUP_FAILED = "STARTUP_FAILED"
    STARTUP_TIMEOUT = "STARTUP_TIMEOUT"
    TIME_LIMIT = "TIME_LIMIT"
    MEMORY_LIMIT = "MEMORY_LIMIT"
    GPU_MEMORY_LIMIT = "GPU_MEMORY_LIMIT"
    CRASHED = "CRASHED"
    IMAGE_INVALID = "IMAGE_INVALID"
    POLICY_VIOLATION = "POLICY_VIOLATION"
    TOO_MANY_FAILURES = "TOO_MANY_FAILURES"


class FaultCause(StrEnum):
    """Which part of the judge's own machine failed."""

    DOCKER = "DOCKER"
    GPU = "GPU"
    DISK = "DISK"
    REGISTRY = "REGISTRY"
    STORE = "STORE"
    MEASURE = "MEASURE"
    NOISY_HOST = "NOISY_HOST"
    CLAIM_LOST = "CLAIM_LOST"


class SubmissionFault(Exception):
    """The submission is at fault: this becomes its verdict and a row on the page.

    Args:
        verdict: which of the closed list.
        sentence: what the author should change, in words of ours.
        private: the submission's own words (an error text), for its author only and never for a hidden task.
    """

    def __init__(self, verdict: Verdict, sentence: str, private: str = "") -> None:
        super().__init__(f"{verdict}: {sentence}")
        self.verdict = verdict
        self.sentence = sentence
        self.private = private


class JudgeFault(Exception):
    """The judge's own machine is at fault: never a score; tried again at most twice, then held for a person.

    Args:
        cause: which part.
        remedy: one line that names the thing and what to do.
        faulty_resource: `gpu UUID` or `dataset NAME`, if it would spoil other attempts too; or empty.
    """

    def __init__(self, cause: FaultCause, remedy: str, faulty_resource: str = "") -> None:
        super().__init__(f"{cause}: {remedy}")
        self.cause = cause
        self.remedy = remedy
        self.faulty_resource = faulty_resource
