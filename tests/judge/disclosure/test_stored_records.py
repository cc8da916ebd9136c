"""The judge's records and logs contain no structure, even if a model repeats one."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.selftest.hostile import cheating
from sandbox.verdict import Verdict
from tasks.datasets.dataset import load_structures
from tests.world.world import World


@pytest.mark.parametrize("factory", ["Raises", "Prints", "Exits"])
def test_no_structure_is_stored_or_logged(world: World, factory: str) -> None:
    code = Path(cheating.__file__).read_text() + f"\n\nmake_calculator = {factory}\n"
    world.submit("hostile", code)
    world.evaluate()
    verdicts = {result.verdict for result in world.results()}
    assert verdicts, "no task was judged"
    assert Verdict.OK not in verdicts, "the submission did not attack"
    words = [
        f"{x:.9f}".encode()
        for name in ("copper", "nickel")
        for x in load_structures(world.root / "data" / f"{name}@1").frames.positions.ravel()
        if abs(x) > 1e-3
    ]
    written = [path for path in world.root.rglob("*") if path.is_file() and "data" not in path.parts]
    assert any(path.name == "end.json" for path in written)
    for path in written:
        content = path.read_bytes()
        assert not any(word in content for word in words), path
