"""Records of submissions are found by image and by arrival; a broken one is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from submissions.preflight.acceptance import arrived_submission, earlier_submission, submission_path
from submissions.records import Arrival
from submissions.store.interface import Store, StoreError
from submissions.store.local import LocalStore

IMAGE = "sha256:0123456789ab" + "0" * 52


@pytest.mark.parametrize(
    "find",
    [
        lambda store, name: earlier_submission(store, IMAGE),
        lambda store, name: arrived_submission(store, name, Arrival(by="upload", invitation="curie", slot="0" * 32)),
    ],
)
def test_a_broken_record_is_named_and_stops_only_searches_that_need_it(
    tmp_path: Path, find: Callable[[Store, str], object]
) -> None:
    store = LocalStore(tmp_path)
    store.put(submission_path("other-ba9876543210"), b"{ broken")
    assert find(store, "mace") is None
    store.put(submission_path("mace-0123456789ab"), b"{ broken")
    with pytest.raises(StoreError, match=r"submissions/mace-0123456789ab/submission.json: .*restore it, or delete it"):
        find(store, "mace")
