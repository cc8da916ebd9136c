"""An observation needs neither labels nor the table of items: without their files it is the same."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from judge.evaluation.observe import ExecutionTarget, UnitStorage, observe_unit
from judge.evaluation.plan import Unit
from judge.evaluation.provenance import origin
from judge.records.attempts import claim
from judge.records.probe_secret import KEY
from judge.records.records import End
from sandbox.drivers.process_driver import ProcessDriver
from sandbox.rundir import RunDir
from tasks.kinds.nve import NveParameters
from tasks.kinds.registry import KINDS
from tests.judge.disclosure.hidden_world import hidden_world
from tests.world.world import World


def observe(world: World, unit: Unit) -> End:
    """The end of a first attempt at `unit`, observed and not measured."""
    driver = ProcessDriver(RunDir(world.settings.run_dir))
    image = driver.resolve(unit.submission.image.reference)
    attempt = claim(world.store, unit.prefix, [], 1.0)
    assert attempt is not None
    with attempt:
        target = ExecutionTarget(driver, image, origin(driver, "this machine", None, ""), None)
        place = UnitStorage(world.store, world.settings.data)
        return observe_unit(unit, target, place, attempt, lambda *_: None).store(unit, place, attempt)


@pytest.mark.parametrize("kind", ["labelled_frames", "nve"])
def test_an_observation_is_the_same_without_labels(kind: str) -> None:
    """The step that talks to a container needs neither labels nor table: it works without their files."""
    ends = []
    for labels in (True, False):
        with TemporaryDirectory(prefix="lj") as folder:
            world = hidden_world(Path(folder))
            world.store.put(KEY, bytes(32))  # the same transformed copies in both stores
            parameters = {"parameters": NveParameters(steps=3, sample_every=1)} if kind == "nve" else {}
            unit = world.unit(world.submit("honest"), KINDS[kind], dataset="secret@1", **parameters)
            if not labels:
                for name in ("labels.safetensors", "table.json"):
                    (world.settings.data / "secret@1" / name).unlink()
            ends.append(observe(world, unit))
    assert ends[0].observation is not None
    assert ends[0].observation == ends[1].observation
