"""Data sets, cards, suites and settings are read, or refused with the one documented error."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save

from judge.config import ConfigError, load_settings
from tasks.datasets.card import Card, DatasetError, Difference, Summand, Table, card_toml
from tasks.datasets.dataset import load_dataset, read_card
from tasks.suites.suite import SuiteError, read_suite
from tests.fuzz.mutations import SIZES, fuzz, mangled, mangled_json, token

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
JUDGE_TOML = (
    'store = "store"\ndata = "data"\ndriver = "process"\nbeat_s = 0.2\nallow_process = true\n'
    'trusted_keys = ["ab"]\n[limits]\nmemory_bytes = 1073741824\ncpus = 1\n'
)

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


def trial_of(read: Callable[[bytes], object], refusal: type[Exception], make: Callable[[Random], bytes]) -> Any:
    """A function that reads one input, or checks that it is refused in one line; and a count of accepted inputs."""
    accepted: list[int] = [0]

    def trial(random: Random) -> None:
        data = make(random)
        try:
            read(data)
        except refusal as error:
            line = str(error)
            if "\n" in line or not line:
                raise AssertionError(f"not one line: {line[:300]!r}") from error
            return
        accepted[0] += 1

    return trial, accepted


@SIZES
def test_cards(tmp_path: Path, share: float, soak: bool) -> None:
    folder = tmp_path / "small@1"
    folder.mkdir()

    def read(data: bytes) -> Card:
        (folder / "card.toml").write_bytes(data)
        return read_card(folder)

    good = card_toml(CARD)
    assert read(good.encode()) == CARD
    trial, accepted = trial_of(read, DatasetError, lambda random: mangled_toml(random, good))
    fuzz("cards", int(10_000 * share), trial, soak=soak)
    assert accepted[0]


@SIZES
def test_data_sets(tmp_path: Path, share: float, soak: bool) -> None:
    """A broken table or array whose hash the card states: the author of the data set made a mistake."""
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

    trial, accepted = trial_of(lambda _: load_dataset(folder), DatasetError, make)
    fuzz("data sets", int(10_000 * share), trial, soak=soak)
    assert accepted[0]


@SIZES
def test_suites(share: float, soak: bool) -> None:
    def read(data: bytes) -> object:
        return read_suite(data.decode("utf-8", "replace"), "a.toml")

    assert read(SUITE.encode())
    trial, accepted = trial_of(read, SuiteError, lambda random: mangled_toml(random, SUITE))
    fuzz("suites", int(5_000 * share), trial, soak=soak)
    assert accepted[0]


@SIZES
def test_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float, soak: bool) -> None:
    monkeypatch.chdir(tmp_path)
    assert tomllib.loads(JUDGE_TOML)["limits"]["cpus"] == 1

    def read(data: bytes) -> object:
        Path("judge.toml").write_bytes(data)
        return load_settings()

    trial, accepted = trial_of(read, ConfigError, lambda random: mangled_toml(random, JUDGE_TOML))
    fuzz("settings", int(5_000 * share), trial, soak=soak)
    assert accepted[0]
