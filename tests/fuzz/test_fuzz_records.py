"""Any bytes in the store are read, or refused with the one documented error."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from judge.evaluation.host_selftest import SelftestRecord
from judge.images.mirror import MirroredLayer
from judge.intake.expired_slots import ExpiredSlot
from judge.intake.invitations import Invitation, Revocation, StoredDecision
from judge.intake.request_check import read_request
from judge.intake.retry_queue import DelayedRequest
from judge.intake.reusable_layers import PublicLayer
from judge.records.decisions import DecisionEvent
from judge.records.manifest import Manifest
from judge.records.records import Claim, End, Result
from judge.records.removals import Removal
from judge.records.suite_record import SuiteRecord
from sandbox.verdict import SubmissionFault
from submissions.client.sent_record import SentRecord
from submissions.preflight.log import log_path, printable_end, read_log
from submissions.records import Record, Submission
from submissions.requests import ReferredImage, SubmissionRequest
from submissions.store.local import LocalStore
from tests.fuzz.mutations import COUNTS, HEAVY, SIZES, TOKENS, fuzz, mangled_json

STORED = Path(__file__).parents[1] / "judge" / "records"
RECORDS: dict[type[Record], tuple[str, ...]] = {
    Submission: ("submission.json",),
    Claim: ("claim.json",),
    End: ("end.json", "end-of-a-fault.json"),
    Result: ("result.json",),
    SelftestRecord: ("selftest.json",),
    DecisionEvent: ("standing-event.json",),
    Manifest: ("manifest.json",),
    Invitation: ("invitation.json",),
    Revocation: ("revocation.json",),
    StoredDecision: ("stored-fate.json",),
    ExpiredSlot: ("spent-part.json",),
    PublicLayer: ("public-layer.json",),
    MirroredLayer: ("mirrored-layer.json",),
    SentRecord: ("sent.json",),
    DelayedRequest: ("delayed-request.json",),
    Removal: ("removal.json",),
    SuiteRecord: ("suite.json",),
}
NOT_FINITE = re.compile(r"\b(?:nan|inf)\b")


def stored(record: type[Record]) -> list[bytes]:
    """Every committed example of every version of a record, also as the present version writes it."""
    records = [path.read_bytes() for name in RECORDS[record] for path in sorted(STORED.glob(f"*/{name}"))]
    return records + [record.read(data).model_dump_json().encode() for data in records]


@SIZES
@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_records(record: type[Record], share: float, soak: bool) -> None:
    good = [json.loads(data) for data in stored(record)]
    read = 0

    def trial(random: Random) -> None:
        nonlocal read
        try:
            result = record.read(mangled_json(random, random.choice(good)))
        except ValidationError:
            return
        if not NOT_FINITE.search(repr(result)):  # JSON has no NaN and no infinity
            assert record.read(result.model_dump_json().encode()) == result
        read += 1

    n = int(50_000 * share)
    fuzz(record.__name__, n, trial, soak=soak)
    assert 0.02 * n < read < 0.98 * n


@SIZES
def test_requests(share: float, soak: bool) -> None:
    """A submission request is read, or refused with a verdict and a line of printable characters."""
    card = Submission.read(stored(Submission)[-1]).card
    good = json.loads(
        SubmissionRequest(card=card, image=ReferredImage(reference="a/b@sha256:" + "0" * 64)).model_dump_json()
    )

    def trial(random: Random) -> None:
        try:
            text = read_request(mangled_json(random, good)).image.reference
        except SubmissionFault as fault:
            text = fault.sentence
        assert text.isprintable()

    fuzz("letters", int(20_000 * share), trial, soak=soak)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
@settings(max_examples=50, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.one_of(st.binary(), st.text().map(str.encode), st.sampled_from(TOKENS + HEAVY)))
def test_records_of_any_bytes(record: type[Record], data: bytes) -> None:
    COUNTS["any bytes"] += 1
    with pytest.raises(ValidationError):
        record.read(data)


@SIZES
def test_logs_print_as_what_they_are(share: float, soak: bool) -> None:
    def trial(random: Random) -> None:
        data = random.randbytes(random.randrange(300)) * random.choice((1, 1, 1, 40))
        text = printable_end(data.decode("utf-8", random.choice(("replace", "surrogateescape", "ignore"))))
        assert len(text.encode()) <= 64 * 1024
        assert all(character.isprintable() or character == "\n" for character in text)
        assert printable_end(text) == text.rstrip()

    fuzz("logs", int(10_000 * share), trial, soak=soak)


def test_a_log_that_was_stored_by_someone_else_is_cut_and_escaped(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.put(log_path("emt-0123456789ab"), b"\x1b[2J\xff\n" * 100_000)
    log = read_log(store, "emt-0123456789ab")
    assert set(log.split("\n")) == {"\\x1b[2J\ufffd"}
    assert 60_000 < len(log.encode()) <= 64 * 1024


def test_the_fixtures_are_what_they_seem() -> None:
    assert all(len(stored(record)) >= 2 for record in RECORDS)
    # Every kind of stored record has an example there, so that this test covers all.
    assert {name for names in RECORDS.values() for name in names} == {path.name for path in STORED.glob("*/*.json")}
