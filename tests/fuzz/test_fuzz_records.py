"""Whatever lies in the store, in a data set or in a settings file is read, or refused with the one documented error."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from safetensors.numpy import save

from judge.config import ConfigError, load_settings
from judge.evaluation.checkpoint_file import CheckpointFile
from judge.evaluation.host_selftest import SelftestRecord
from judge.images.mirror import MirroredLayer
from judge.intake.expired_slots import ExpiredSlot
from judge.intake.invitations import Invitation, Revocation, StoredDecision
from judge.intake.request_check import read_request
from judge.intake.reusable_layers import PublicLayer
from judge.records.decisions import DecisionEvent
from judge.records.items_file import pack_items, unpack_items
from judge.records.manifest import Manifest
from judge.records.observation_file import observation_path, pack, read_observation, unpack
from judge.records.records import Claim, End, Result
from sandbox.verdict import SubmissionFault
from submissions.client.sent_record import SentRecord
from submissions.preflight.log import log_path, printable_end, read_log
from submissions.records import Record, Submission
from submissions.requests import ReferredImage, SubmissionRequest
from submissions.store.interface import StoreError
from submissions.store.local import LocalStore
from tasks.datasets.card import Card, DatasetError, Difference, Summand, Table, card_toml
from tasks.datasets.dataset import load_dataset, read_card
from tasks.metrics.measurement import Items
from tasks.structures.frames import hash_arrays
from tasks.suites.suite import SuiteError, read_suite
from tests.fuzz.mutations import COUNTS, HEAVY, TOKENS, fuzz, mangled, mangled_json, token

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
}
SUITE = """
name = "small"
version = "1"
title = "A small suite"
release = "lambench-0.3.1"
failed_share = 0.4

[domains]
Oxides = "Inorganic Materials"

[[tasks]]
name = "oxides"
kind = "labelled_frames"
dataset = "oxides@1"
domain = "Oxides"
time_limit_s = 60
import = "judge data import oxides"

[[tasks]]
name = "runs"
kind = "nve"
dataset = "oxides@1"
domain = "Oxides"
time_limit_s = 60.5
parameters = { steps = 100 }
"""
NOT_FINITE = re.compile(r"\b(?:nan|inf)\b")
JUDGE_TOML = (
    'store = "store"\ndata = "data"\ndriver = "process"\nbeat_s = 0.2\nallow_process = true\n'
    'trusted_keys = ["ab"]\n[limits]\nmemory_bytes = 1073741824\ncpus = 1\n'
)

SIZES = pytest.mark.parametrize(
    ("share", "soak"),
    [pytest.param(0.02, False, id="share"), pytest.param(1.0, True, marks=pytest.mark.soak, id="whole")],
)


def stored(record: type[Record]) -> list[bytes]:
    """Every committed example of every version of a record, and what it is written as now."""
    found = [path.read_bytes() for name in RECORDS[record] for path in sorted(STORED.glob(f"*/{name}"))]
    return found + [record.read(data).model_dump_json().encode() for data in found]


@SIZES
@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_records(record: type[Record], share: float, soak: bool) -> None:
    good = [json.loads(data) for data in stored(record)]
    read = 0

    def one(random: Random) -> None:
        nonlocal read
        try:
            found = record.read(mangled_json(random, random.choice(good)))
        except ValidationError:
            return
        if not NOT_FINITE.search(repr(found)):  # which JSON cannot write
            assert record.read(found.model_dump_json().encode()) == found
        read += 1

    n = int(50_000 * share)
    fuzz(record.__name__, n, one, soak=soak)
    assert 0.02 * n < read < 0.98 * n


@SIZES
def test_requests(share: float, soak: bool) -> None:
    """A letter is read, or refused with a verdict and a line that moves no cursor."""
    card = Submission.read(stored(Submission)[-1]).card
    good = json.loads(
        SubmissionRequest(card=card, image=ReferredImage(reference="a/b@sha256:" + "0" * 64)).model_dump_json()
    )

    def one(random: Random) -> None:
        try:
            said = read_request(mangled_json(random, good)).image.reference
        except SubmissionFault as fault:
            said = fault.sentence
        assert said.isprintable()

    fuzz("letters", int(20_000 * share), one, soak=soak)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
@settings(max_examples=50, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.one_of(st.binary(), st.text().map(str.encode), st.sampled_from(TOKENS + HEAVY)))
def test_records_of_any_bytes(record: type[Record], data: bytes) -> None:
    COUNTS["any bytes"] += 1
    with pytest.raises(ValidationError):
        record.read(data)


ITEMS = Items(("a", "b"), ("g", ""), ("a", "b"), np.array([0, 3], np.int8), {"energy_abs": np.array([0.5, np.nan])})
OBSERVED = {"energy": np.array([1.0, np.nan]), "failure": np.array([0, 3], np.int8), "scalar": np.array(2.0)}


def mangled_file(random: Random, good: bytes) -> bytes:
    """A safetensors file that is broken somewhere: in its header, in the text within, or anywhere."""
    size = int.from_bytes(good[:8], "little")
    header, data = json.loads(good[8 : 8 + size]), good[8 + size :]
    pick = random.random()
    if pick < 0.4:
        text = mangled_json(random, json.loads(header["__metadata__"]["json"]))
        header["__metadata__"]["json"] = text.decode("utf-8", "replace")
    whole = json.dumps(header).encode() if pick < 0.4 else mangled_json(random, header)
    out = len(whole).to_bytes(8, "little") + whole + data
    return mangled(random, out) if random.random() < 0.3 else out


@SIZES
def test_observations_items_and_checkpoints(tmp_path: Path, share: float, soak: bool) -> None:
    good = [
        pack(OBSERVED, {"properties": "energy"}),
        pack_items(ITEMS),
        pack(OBSERVED, {"sha256": hash_arrays(OBSERVED)}),
    ]
    checkpoint, read = CheckpointFile(tmp_path / "checkpoint"), 0

    def one(random: Random) -> None:
        nonlocal read
        which = random.randrange(3)
        data = mangled_file(random, good[which])
        if which == 2:
            checkpoint.path.write_bytes(data)
            arrays = checkpoint.load()
            assert arrays is None or hash_arrays(arrays) == hash_arrays(OBSERVED)
        try:
            items = unpack_items(data) if which == 1 else unpack(data)
        except ValueError:
            return
        if isinstance(items, Items):
            assert all(len(column) == len(items) for column in (items.group, items.cluster, items.cause))
            items.failures()
        read += 1

    n = int(100_000 * share)
    fuzz("files", n, one, soak=soak)
    assert 0.02 * n < read < 0.98 * n


def test_an_observation_that_is_another_than_its_name_says(tmp_path: Path) -> None:
    store, good = LocalStore(tmp_path), pack(OBSERVED, {})

    def one(random: Random) -> None:
        data = mangled_file(random, good)
        named = hashlib.sha256(data).hexdigest() if random.random() < 0.5 else hashlib.sha256(good).hexdigest()
        store.put(observation_path(named), data)
        with suppress(StoreError):
            read_observation(store, named)

    fuzz("observations", 200, one, soak=False)


CARD = Card(
    name="small",
    version="1",
    title="Small",
    domain="Molecules",
    periodic=False,
    default_label_set="PBE",
    label_sets={"PBE": {"theory": "PBE", "dispersion": True, "d3": {"functional": "pbe"}}},
    baselines={"PBE": {"mae": 0.5}},
    settings={"pressure": 1.0},
    sha256={"frames.safetensors": "0" * 64},
)
TABLE = Table(
    id=("a", "b"),
    group=("g", "g"),
    cluster=("a", "b"),
    differences=(Difference(id="d", terms=(Summand(structure=0, coefficient=-1.0),), reference={"PBE": 0.25}),),
)


def mangled_toml(random: Random, good: str) -> bytes:
    """TOML with a value replaced by some token, or broken anywhere."""
    lines = good.encode().split(b"\n")
    for _ in range(random.randrange(3)):
        at = random.randrange(len(lines))
        name, equals, _ = lines[at].partition(b" = ")
        pick = random.randrange(4)
        if equals and pick < 2:
            others = (b"nan", b"inf", b"1979-05-27T07:32:00Z", b"0x_1", b'"""', b"[[]]", b"{ a = 1 }", b"true", b"2")
            lines[at] = name + equals + random.choice((token(random), *others))
        elif pick == 2:
            lines.insert(at, random.choice((lines[at], b"[a.b]", b"[[tasks]]", b"[" * 20, b"a." * 90 + b"b = 1")))
        else:
            del lines[at]
            lines = lines or [b""]
    text = b"\n".join(lines)
    return mangled(random, text) if random.random() < 0.3 else text


def one_of(read: Callable[[bytes], object], refusal: type[Exception], make: Callable[[Random], bytes]) -> Any:
    """Reads one input, and refuses it in one line where it does; the list counts those that were read."""
    taken: list[int] = [0]

    def one(random: Random) -> None:
        data = make(random)
        try:
            read(data)
        except refusal as error:
            line = str(error)
            if "\n" in line or not line:
                raise AssertionError(f"not one line: {line[:300]!r}") from error
            return
        taken[0] += 1

    return one, taken


@SIZES
def test_cards(tmp_path: Path, share: float, soak: bool) -> None:
    folder = tmp_path / "small@1"
    folder.mkdir()

    def read(data: bytes) -> Card:
        (folder / "card.toml").write_bytes(data)
        return read_card(folder)

    good = card_toml(CARD)
    assert read(good.encode()) == CARD
    one, taken = one_of(read, DatasetError, lambda random: mangled_toml(random, good))
    fuzz("cards", int(10_000 * share), one, soak=soak)
    assert taken[0]


@SIZES
def test_data_sets(tmp_path: Path, share: float, soak: bool) -> None:
    """The table and the arrays, whose hashes the card states: whoever made the data set made a mistake."""
    folder = tmp_path / "small@1"
    folder.mkdir()
    table = TABLE.model_dump(mode="json")
    frames = {
        "n_atoms": np.array([1, 2]),
        "numbers": np.array([1, 8, 1]),
        "positions": np.zeros((3, 3)) + np.arange(3.0)[:, None],
        "cell": np.zeros((2, 3, 3)),
        "pbc": np.zeros((2, 3), bool),
        "charge": np.zeros(2, np.int64),
        "multiplicity": np.ones(2, np.int64),
    }
    packed = {"frames.safetensors": save(frames), "labels.safetensors": save({"PBE/energy": np.zeros(2)})}

    def broken(random: Random, data: bytes) -> bytes:
        size = int.from_bytes(data[:8], "little")
        if random.random() < 0.5:
            return mangled(random, data)
        header = mangled_json(random, json.loads(data[8 : 8 + size]))
        return len(header).to_bytes(8, "little") + header + data[8 + size :]

    def write(files: dict[str, bytes]) -> None:
        hashes = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
        (folder / "card.toml").write_text(card_toml(CARD.model_copy(update={"sha256": hashes})))
        for name, data in files.items():
            (folder / name).write_bytes(data)

    good = {**packed, "table.json": json.dumps(table).encode()}
    write(good)
    assert load_dataset(folder).table == TABLE

    def make(random: Random) -> bytes:
        which = random.choice(list(good))
        data = mangled_json(random, table) if which == "table.json" else broken(random, packed[which])
        write({**good, which: data})
        return b""

    one, taken = one_of(lambda _: load_dataset(folder), DatasetError, make)
    fuzz("data sets", int(10_000 * share), one, soak=soak)
    assert taken[0]


@SIZES
def test_suites(share: float, soak: bool) -> None:
    def read(data: bytes) -> object:
        return read_suite(data.decode("utf-8", "replace"), "a.toml")

    assert read(SUITE.encode())
    one, taken = one_of(read, SuiteError, lambda random: mangled_toml(random, SUITE))
    fuzz("suites", int(5_000 * share), one, soak=soak)
    assert taken[0]


@SIZES
def test_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float, soak: bool) -> None:
    monkeypatch.chdir(tmp_path)

    def read(data: bytes) -> object:
        Path("judge.toml").write_bytes(data)
        return load_settings()

    one, taken = one_of(read, ConfigError, lambda random: mangled_toml(random, JUDGE_TOML))
    fuzz("settings", int(5_000 * share), one, soak=soak)
    assert taken[0]


@SIZES
def test_logs_print_as_what_they_are(share: float, soak: bool) -> None:
    def one(random: Random) -> None:
        data = random.randbytes(random.randrange(300)) * random.choice((1, 1, 1, 40))
        text = printable_end(data.decode("utf-8", random.choice(("replace", "surrogateescape", "ignore"))))
        assert len(text.encode()) <= 64 * 1024
        assert all(character.isprintable() or character == "\n" for character in text)
        assert printable_end(text) == text.rstrip()

    fuzz("logs", int(10_000 * share), one, soak=soak)


def test_a_log_that_was_stored_by_someone_else_is_cut_and_escaped(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.put(log_path("emt-0123456789ab"), b"\x1b[2J\xff\n" * 100_000)
    log = read_log(store, "emt-0123456789ab")
    assert set(log.split("\n")) == {"\\x1b[2J\ufffd"}
    assert 60_000 < len(log.encode()) <= 64 * 1024


def test_the_fixtures_are_what_they_seem() -> None:
    assert all(len(stored(record)) >= 2 for record in RECORDS)
    # Whatever lies in the store of a kind has an example there: none is left out here.
    assert {name for names in RECORDS.values() for name in names} == {path.name for path in STORED.glob("*/*.json")}
    assert tomllib.loads(JUDGE_TOML)["limits"]["cpus"] == 1
