"""The secret that seeds order and transformed copies of hidden structures: one for each store, and in no record."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from judge.records.observation_file import read_observation
from judge.records.probe_secret import KEY, order_secret
from submissions.store.interface import StoreError
from submissions.store.local import LocalStore
from tasks.datasets.dataset import load_structures
from tasks.observing.frames_observation import questions
from tests.world.world import World


def test_all_judges_on_one_store_have_one_secret_and_no_two_stores_the_same(tmp_path: Path) -> None:
    for n in range(20):
        with ThreadPoolExecutor(4) as pool:
            secrets_read = list(pool.map(lambda _: order_secret(LocalStore(tmp_path / f"{n}")), range(4)))  # noqa: B023
        assert len(set(secrets_read)) == 1
        assert len(secrets_read[0]) == 32
        assert secrets_read[0] == order_secret(LocalStore(tmp_path / f"{n}"))
    assert len({order_secret(LocalStore(tmp_path / f"{n}")) for n in range(20)}) == 20


def test_what_is_no_secret_is_refused(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.put(KEY, b"")
    with pytest.raises(StoreError, match="secrets/order: is not 32 bytes: restore it"):
        order_secret(store)


def test_copies_of_a_hidden_set_are_drawn_with_it(world: World) -> None:
    """Copper is hidden, nickel is not: what copper's copies are cannot be told from the structures alone."""
    card = world.root / "data" / "copper@1" / "card.toml"
    card.write_text(re.sub('public_since = ".*"', 'public_since = ""', card.read_text()))
    world.submit("emt")
    world.evaluate()
    secret = order_secret(world.store)
    (result,) = [each for each in world.results() if each.task == "copper"]
    assert result.provenance.observation is not None
    seen = read_observation(world.store, result.provenance.observation)
    structures = load_structures(card.parent)
    drawn, by_all = (
        questions(structures, result.provenance.observe_version, secret_used).copies for secret_used in (secret, b"")
    )
    assert drawn is not None
    assert by_all is not None
    np.testing.assert_array_equal(seen.arrays["probe_rotation"], drawn.rotation)
    assert not np.array_equal(drawn.rotation, by_all.rotation)
    stored = [key for key in world.store.list("results/") if secret in world.store.get(key)]
    assert stored == []
    for command in (("verify", "--all"), ("gc", "--dry-run"), ("store", "digest")):
        world.write_settings()
        status, out, err = world.run_here(*command)
        assert status == 0, (command, out, err)
        assert "secrets" not in out
