"""Stored records of every version are read: nothing of them is lost, and none changes without a new version.

`records/v<n>/` holds one record of each version as it was stored then. They are never changed. Whoever changes the
fields of a stored record raises its `schema_version`, writes the upgrade, and adds one of the new version.
"""

from __future__ import annotations

import copy
import importlib
import json
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

import judge
import submissions
from judge.evaluation.host_selftest import SelftestRecord
from judge.images.mirror import MirroredLayer
from judge.intake.expired_slots import ExpiredSlot
from judge.intake.invitations import Invitation, Revocation, StoredDecision
from judge.intake.retry_queue import DelayedRequest
from judge.intake.reusable_layers import PublicLayer
from judge.records.decisions import DecisionEvent
from judge.records.manifest import Manifest
from judge.records.records import Claim, End, Result
from judge.records.removals import Removal
from judge.records.signing import SigningKey, check_signature
from judge.records.suite_record import SuiteRecord
from submissions.client.sent_record import SentRecord
from submissions.records import Record, Submission
from submissions.requests import InvitationStatus, InviteFile, Receipt, SubmissionRequest, UploadForms
from submissions.store.interface import StoreError
from submissions.store.local import LocalStore
from submissions.store.read_record import read_record
from tests.world.board_records import submission

FOLDER = Path(__file__).parent
STORED: dict[str, type[Record]] = {
    "submission": Submission,
    "standing-event": DecisionEvent,
    "claim": Claim,
    "end": End,
    "end-of-a-fault": End,
    "result": Result,
    "selftest": SelftestRecord,
    "manifest": Manifest,
    "spent-part": ExpiredSlot,
    "sent": SentRecord,
    "mirrored-layer": MirroredLayer,
    "public-layer": PublicLayer,
    "invitation": Invitation,
    "revocation": Revocation,
    "stored-fate": StoredDecision,
    "delayed-request": DelayedRequest,
    "removal": Removal,
    "suite": SuiteRecord,
}
SIGNED = ("standing-event", "result", "selftest", "manifest", "removal")
UNSIGNED = ("result", 1)  # results had no signature then
NOT_STORED = {UploadForms, InviteFile, SubmissionRequest, Receipt, InvitationStatus}  # exchanged, but not stored


def version_of(record: type[Record]) -> int:
    """The present version."""
    version: int = record.model_fields["schema_version"].default
    return version


def path_of(name: str, version: int) -> Path:
    return FOLDER / f"v{version}" / f"{name}.json"


VERSIONS = [(name, version) for name, record in STORED.items() for version in range(1, version_of(record) + 1)]
FIXTURES = [(name, version) for name, version in VERSIONS if path_of(name, version).exists()]
OLD = [(name, version) for name, version in FIXTURES if version < version_of(STORED[name])]


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    """All leaves of `value`, with the path to each."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from leaves(inner, (*path, name))
    elif isinstance(value, list) and value:
        for index, inner in enumerate(value):
            yield from leaves(inner, (*path, str(index)))
    else:
        yield path, value


def classes(record: type[Record]) -> Iterator[type[Record]]:
    for each in record.__subclasses__():
        yield each
        yield from classes(each)


def test_every_record_with_a_version_is_known_here_and_has_a_fixture_of_each() -> None:
    for package in (judge, submissions):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    versioned = {each for each in classes(Record) if "schema_version" in each.model_fields}
    assert versioned - NOT_STORED == set(STORED.values())
    assert [pair for pair in VERSIONS if pair not in FIXTURES] == []
    for record in set(STORED.values()):
        assert set(record.upgrades) == set(range(1, version_of(record)))


@pytest.mark.parametrize(("name", "version"), FIXTURES)
def test_nothing_that_was_stored_is_lost(name: str, version: int) -> None:
    """Each value is kept under its own name, even if the field was moved."""
    data = path_of(name, version).read_bytes()
    record = STORED[name].read(data)
    values = [(path[-1], value) for path, value in leaves(record.model_dump(mode="json"))]
    for path, value in leaves(json.loads(data)):
        if path != ("schema_version",):
            assert (path[-1], value) in values, path
    assert record.model_dump()["schema_version"] == version_of(STORED[name])
    assert STORED[name].read(record.model_dump_json().encode()) == record


@pytest.mark.parametrize("name", STORED)
def test_no_field_changes_without_a_new_version(name: str) -> None:
    """A field that is new, gone or called otherwise makes another JSON of the fixture of the present version."""
    data = path_of(name, version_of(STORED[name])).read_bytes()
    assert json.loads(STORED[name].read(data).model_dump_json()) == json.loads(data)


@pytest.mark.parametrize("field", ["metrics", "parts"])
def test_a_stored_metric_with_an_unknown_field_is_refused(field: str) -> None:
    stored = json.loads(path_of("result", version_of(Result)).read_bytes())
    first = next(iter(stored["metrics"].values())) if field == "metrics" else stored["parts"][0]
    first["error"] = 0.1
    with pytest.raises(ValidationError, match="error"):
        Result.read(json.dumps(stored).encode())


@pytest.mark.parametrize("name", [name for name in STORED if name != "submission"])  # which an author fills
def test_the_fixtures_have_something_in_every_field(name: str) -> None:
    """Else a change within an empty field would not be detected. The two ends together have every field."""
    record = STORED[name]
    both = [json.loads(path_of(n, version_of(record)).read_bytes()) for n, kind in STORED.items() if kind is record]
    names = [field.alias or name for name, field in record.model_fields.items()]
    empty = [name for name in names if all(fields[name] in (None, "", {}, [], ()) for fields in both)]
    assert empty == []


@pytest.mark.parametrize(("name", "version"), OLD)
def test_upgrades_are_pure(name: str, version: int) -> None:
    fields = json.loads(path_of(name, version).read_bytes())
    before = copy.deepcopy(fields)
    first, second = (STORED[name].upgrades[version](fields) for _ in range(2))
    assert fields == before
    assert first == second
    assert first["schema_version"] == version + 1


@pytest.mark.parametrize("name", STORED)
@pytest.mark.parametrize("version", [99, 0, -1, "2", None, [1]])
def test_a_version_that_is_not_known_is_refused_in_one_line_that_names_the_key(
    name: str, version: object, tmp_path: Path
) -> None:
    store, key = LocalStore(tmp_path), f"records/{name}.json"
    fields = json.loads(path_of(name, version_of(STORED[name])).read_bytes())
    store.put(key, json.dumps({**fields, "schema_version": version}).encode())
    with pytest.raises(StoreError) as raised:
        read_record(store, key, STORED[name])
    assert raised.value.remedy.startswith(f"store: {key}: schema_version: ")
    assert "\n" not in raised.value.remedy


@pytest.mark.parametrize(("name", "version"), OLD)
def test_an_old_record_with_a_field_that_it_never_had_is_refused(name: str, version: int) -> None:
    fields = json.loads(path_of(name, version).read_bytes())
    with pytest.raises(ValidationError):
        STORED[name].read(json.dumps({**fields, "unheard_of": 1}).encode())


@pytest.mark.parametrize(("name", "version"), [each for each in FIXTURES if each[0] in SIGNED and each != UNSIGNED])
def test_what_was_signed_then_is_signed_still(name: str, version: int) -> None:
    """The signature is over the JSON as it was stored: a later version of the judge must not take it otherwise."""
    key = SigningKey(b"\x01" * 32)
    assert check_signature(path_of(name, version).read_bytes(), {key.public}) == key.public


def test_a_record_of_now_reads_as_one_that_says_no_version() -> None:
    """The short way to read a record is taken only where the record says that it is of the present version."""
    model = submission("one")
    fields = json.loads(model.model_dump_json())
    fields.pop("schema_version")
    assert Submission.read(json.dumps(fields).encode()) == model
    end = {"owner": "o", "ended": "2025-01-01T00:00:00Z", "verdict": "OK", "host": "there"}
    assert End.read(json.dumps(end).encode()).origin.host == "there"
