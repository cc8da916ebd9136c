"""`Verdict`, the result of one attempt, and the two faults: `SubmissionFault` and `JudgeFault`."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """The result of one attempt of a submission at a task. The submission alone causes each of them."""

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
        verdict: of the closed list.
        sentence: what the author should change, in the judge's words.
        private: the submission's own words (an error text): for its author only, and never of a hidden task.
    """

    def __init__(self, verdict: Verdict, sentence: str, private: str = "") -> None:
        super().__init__(f"{verdict}: {sentence}")
        self.verdict = verdict
        self.sentence = sentence
        self.private = private


class JudgeFault(Exception):
    """The judge's own machine is at fault: never a score. It is retried at most twice, then waits for a person.

    Args:
        cause: the part of the machine.
        remedy: one line that names the part and what to do.
        faulty_resource: `gpu UUID` or `dataset NAME` if it would make other attempts fail too; else empty.
    """

    def __init__(self, cause: FaultCause, remedy: str, faulty_resource: str = "") -> None:
        super().__init__(f"{cause}: {remedy}")
        self.cause = cause
        self.remedy = remedy
        self.faulty_resource = faulty_resource
