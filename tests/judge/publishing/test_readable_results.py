"""The current results decide between several results of a task, also beside a record that cannot be read."""

from __future__ import annotations

import pytest

from judge.publishing.readable_results import ReadableResults
from judge.records.results import load_results
from tasks.datasets.card import DatasetError
from tests.judge.evaluation.test_current_results import SUITE, timed
from tests.world.world import World


def test_an_older_result_that_is_current_counts(world: World) -> None:
    submission, broken = world.submit("emt"), world.submit("beside")
    world.store.put(f"submissions/{broken.id}/submission.json", b"broken")
    current = ReadableResults(world.workspace, SUITE)
    fitting = timed(world, submission, "GPU NVIDIA H200", 1)
    other = timed(world, submission, "GPU NVIDIA L4", 2, cpus=7)
    assert load_results(world.store, [submission.id]) == [other]
    assert load_results(world.store, [submission.id], current) == [fitting]


def test_a_faulty_data_set_is_reported_before_any_result_is_read(world: World) -> None:
    (world.settings.data / "copper@1" / "card.toml").write_text("broken")
    with pytest.raises(DatasetError, match="copper@1"):
        ReadableResults(world.workspace, SUITE)
