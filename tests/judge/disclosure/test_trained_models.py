"""Of a trained model nothing is published: no name, size, time or hash, and no exit status that its trainer chose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from judge.records.attempts import read_histories
from judge.records.model_file import read_model
from judge.records.records import End
from sandbox.drivers.process_driver import ProcessDriver
from sandbox.rundir import RunDir
from tasks.datasets.dataset import save_dataset
from tests.judge.disclosure.hidden_world import ids
from tests.judge.disclosure.leaks import needles_below, needles_in
from tests.judge.evaluation.test_trainings import HONEST
from tests.tasks import kind_examples
from tests.world.world import World

SUITE = """
name = "hidden"
version = "1"
title = "Learning from hidden labels"
[[tasks]]
name = "learning"
kind = "sample_efficiency"
dataset = "learning@1"
domain = "Inorganic Materials"
time_limit_s = 60
parameters = { sizes = [5, 10], seeds = [1, 2, 3, 4, 5], wall_s = 5, n_asked = 4 }
"""
NAME, SIZE, TIME = "label-73114477", 73_114, 1_973_114_477
LAST = (
    "os.kill(os.getppid(), 10) if seed == 1 else None; "  # the guest ends with the status 138
    "open(out_dir + '/exit', 'w').close() if seed == 2 else None; "
    f"path = out_dir + '/{NAME}'; open(path, 'wb').write(bytes({SIZE})); os.utime(path, ({TIME}, {TIME})); "
    f"print('{NAME}')"
)
EXITS = "\n    if os.path.exists(os.path.join(model_dir, 'exit')):\n        os._exit(73)\n    file ="


@pytest.fixture(scope="module")
def trained() -> Iterator[World]:
    """A world in which a trainer has learned from hidden labels, and the result was published."""
    with TemporaryDirectory(prefix="lj") as folder:
        world = World(Path(folder))
        dataset = kind_examples.sample_efficiency().dataset
        card = dataset.card.model_copy(update={"name": "learning", "public_since": None})
        save_dataset(replace(dataset, card=card), world.root / "data")
        (world.root / "small.toml").write_text(SUITE)
        world.write_settings()
        driver = ProcessDriver(RunDir(world.root / "run"))
        code = HONEST.format(first="pass", last=LAST).replace("\n    file =", EXITS)
        world.record("encodes", driver.resolve(f"{world.folder('encodes', code)}?trainer=calculator:train"))
        for command in (["evaluate", "--all"], ["site", "build"], ["site", "publish"]):
            status, out, err = world.run_here(*command)
            assert status == 0, out + err
        yield world


def ends_of(world: World) -> list[End]:
    """The ends that name a model."""
    histories = read_histories(world.store, ids(world))
    return [history.end for history in histories.values() if history.end and history.end.model]


@pytest.mark.slow
def test_names_sizes_times_and_hashes_of_models_are_in_the_store_alone(trained: World) -> None:
    ends = ends_of(trained)
    assert len(ends) == 8  # two of ten trainings left none
    for end in ends:
        assert len(read_model(trained.store, end.model or "").files[NAME]) == SIZE
    needles = {text.encode() for text in (NAME, str(SIZE), f"{SIZE:,}", str(TIME), *(end.model or "" for end in ends))}
    for folder in (trained.settings.site_dir, Path(trained.settings.publish_to), trained.root / "store" / "manifests"):
        assert needles_below(folder, needles) == {}
    for name in ids(trained):
        for extra in ([], ["--json"]):
            status, out, err = trained.run_here("show", name, "--author", *extra)
            assert status == 0, err
            assert needles_in((out + err).encode(), needles) == []


@pytest.mark.slow
def test_no_exit_status_that_a_trainer_or_its_model_chose_is_published(trained: World) -> None:
    needles = {b"exit status"}
    stored = [key for key in trained.store.list("") if needles_in(trained.store.get(key), needles)]
    assert any(key.startswith("attempts/") for key in stored)  # or this would prove nothing
    for folder in (trained.settings.site_dir, Path(trained.settings.publish_to), trained.root / "store" / "manifests"):
        assert needles_below(folder, needles) == {}
    for name in ids(trained):
        status, out, err = trained.run_here("show", name, "--author")
        assert status == 0, err
        assert needles_in((out + err).encode(), needles) == []
