"""Files of arrays (observations, items, checkpoints) are read, or refused."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from random import Random

import numpy as np

from judge.evaluation.checkpoint_file import CheckpointFile
from judge.records.items_file import pack_items, unpack_items
from judge.records.observation_file import observation_path, pack, read_observation, unpack
from submissions.store.interface import StoreError
from submissions.store.local import LocalStore
from tasks.metrics.measurement import Items
from tasks.structures.frames import hash_arrays
from tests.fuzz.mutations import SIZES, fuzz, mangled, mangled_json

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

    def trial(random: Random) -> None:
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
    fuzz("files", n, trial, soak=soak)
    assert 0.02 * n < read < 0.98 * n


def test_an_observation_that_is_another_than_its_name_says(tmp_path: Path) -> None:
    store, good = LocalStore(tmp_path), pack(OBSERVED, {})

    def trial(random: Random) -> None:
        data = mangled_file(random, good)
        named = hashlib.sha256(data).hexdigest() if random.random() < 0.5 else hashlib.sha256(good).hexdigest()
        store.put(observation_path(named), data)
        with suppress(StoreError):
            read_observation(store, named)

    fuzz("observations", 200, trial, soak=False)
