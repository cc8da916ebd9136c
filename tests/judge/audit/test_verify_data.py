"""Verifying results against data sets and suite."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from tests.judge.audit.tampering import defects
from tests.world.judged import change_result, result_key, scaled, submission_of
from tests.world.small_data import save_frames
from tests.world.world import World


@pytest.fixture
def world(published_world: World) -> World:
    return published_world


def test_labels_that_were_changed(world: World) -> None:
    labels = world.root / "data" / "copper@1" / "labels.safetensors"
    labels.write_bytes(labels.read_bytes()[:-8] + np.float64(1.0).tobytes())
    what, why = defects(world)[0]
    assert what == result_key(world)
    assert why.startswith(f"{labels}: sha256: is not what card.toml states; restore the file")


def test_labels_that_were_exchanged_with_their_hash(world: World) -> None:
    path = result_key(world)
    save_frames(world.root / "data", "Cu", "copper", shift=0.5)
    what, why = defects(world)[0]
    assert what == path
    assert why == "it was measured with other labels than copper@1 has: restore these, or judge evaluate"


def test_structures_that_were_exchanged(world: World) -> None:
    path = result_key(world)
    save_frames(world.root / "data", "Cu", "copper", n_frames=7, shift=0.01)
    what, why = defects(world)[0]
    assert (what, why.startswith("it was observed on other structures than copper@1 has")) == (path, True)


def test_a_task_that_was_changed(world: World) -> None:
    text = (world.root / "small.toml").read_text().replace("time_limit_s = 60", "time_limit_s = 61", 1)
    (world.root / "small.toml").write_text(text)
    status, _, err = world.run_here("verify", "--all")
    assert (status, "its version is still 1" in err) == (2, True)
    (world.root / "small.toml").write_text(text.replace('version = "1"', 'version = "2"'))
    what, why = defects(world)[0]
    assert what == result_key(world)
    assert why.startswith("its observation key does not follow from submission, suite, data set")


def test_data_that_are_not_here(world: World) -> None:
    shutil.rmtree(world.root / "data" / "copper@1")
    assert defects(world) == [
        (result_key(world), "not verified: data set copper@1 is not here: judge data import, or --skip-missing")
    ]
    assert defects(world, "--skip-missing", status=0) == []
    status, out, _ = world.run_here("verify", "--all")
    assert status == 1
    assert out.splitlines()[0] == (
        f"–    {submission_of(world)}: 2 results: not all verified, 1 not verified: data sets are missing"
    )
    path = change_result(world, scaled)  # what can be checked without them is
    assert defects(world, "--skip-missing")[0] == (path, "it was changed after it was signed")
