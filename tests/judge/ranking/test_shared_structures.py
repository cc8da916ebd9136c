"""Reactions that share structures, from the import to the interval in the ranking."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import coverage
from judge.ranking.leaderboard import Leaderboard
from judge.ranking.load import read_board
from scoring.shared_structures import independent_items
from tasks.suites.suite import load_suite
from tests.world.shared_reactions import Reactions, apart, but14diol, matrix, water27, write_reactions
from tests.world.world import World

SETS = {"water27": water27(), "but14diol": but14diol()}
# An energy for each structure, which depends on its geometry alone.
CALCULATOR = """
from zlib import crc32
import numpy as np
from ase.calculators.calculator import Calculator, all_changes

class Arbitrary(Calculator):
    implemented_properties = ["energy"]

    def calculate(self, atoms=None, properties=(), system_changes=all_changes):
        super().calculate(atoms, properties, system_changes)
        seed = crc32(np.round(atoms.positions, 5).tobytes())
        self.results = {"energy": 0.05 * np.random.default_rng(seed).standard_normal()}

def make_calculator():
    return Arbitrary()
"""
TASK = """
[[tasks]]
name = "{name}"
kind = "energy_differences"
dataset = "{name}@1"
domain = "Molecules"
time_limit_s = 60
"""


def add_set(world: World, name: str, reactions: Reactions) -> str:
    """Imports the reactions; returns their task."""
    write_reactions(world.root / name, reactions)
    stated = ("--name", name, "--version", "1", "--domain", "Molecules", "--label-set", "CCSD(T)", "--dispersion")
    status, out, err = world.run_here("data", "import", "reactions", name, *stated)
    assert status == 0, (out, err)
    return TASK.format(name=name)


@pytest.fixture
def judged(world: World) -> tuple[str, Leaderboard]:
    """The model's id, and the leaderboard of both sets, as they are and with copies of structures."""
    world.write_settings()
    tasks = [add_set(world, name, reactions) for name, reactions in SETS.items()]
    tasks += [add_set(world, f"{name}-apart", apart(reactions)) for name, reactions in SETS.items()]
    (world.root / "small.toml").write_text('name = "small"\nversion = "1"\ntitle = "Reactions"\n' + "".join(tasks))
    id = world.submit("arbitrary", CALCULATOR).id
    status, out, err = world.run_here("evaluate", "--all")
    assert status == 0, (out, err)
    problems: list[str] = []
    board = read_board(world.store, load_suite(Path(world.settings.suite)), problems.append)
    assert problems == []
    return id, board


def test_reactions_that_share_structures_have_wider_intervals_than_independent_ones(
    judged: tuple[str, Leaderboard],
) -> None:
    id, board = judged
    uncertainty = board.robustness.intervals["property_error"][id]
    values = {leaf.raw.task: leaf.raw.value for leaf in board.rows[0].scores["property_error"].node.leaves}
    for name, reactions in SETS.items():
        shared, independent = (uncertainty.metrics[task, "mae"] for task in (name, f"{name}-apart"))
        assert values[name] == pytest.approx(values[f"{name}-apart"])  # the same reactions and errors
        assert shared.low < independent.low
        assert shared.high - shared.low > 1.5 * (independent.high - independent.low)
        assert uncertainty.independent[name, "mae"] == pytest.approx(independent_items(matrix(reactions)))
        assert uncertainty.independent[f"{name}-apart", "mae"] == len(reactions)


@pytest.mark.parametrize(
    ("stated", "simulated"),
    [(matrix(water27()), coverage.water27()), (matrix(but14diol()), coverage.star(64))],
    ids=["WATER27", "BUT14DIOL"],
)
def test_the_simulated_stoichiometries_are_the_published_ones(stated: np.ndarray, simulated: np.ndarray) -> None:
    """Up to the order of the structures."""
    assert simulated.shape == stated.shape
    assert sorted(map(tuple, simulated.T)) == sorted(map(tuple, stated.T))
