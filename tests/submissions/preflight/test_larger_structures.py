"""Larger and larger structures: how they are made, how far a model is asked, and that a failure of it costs nothing."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.calculators.calculator import all_changes
from ase.calculators.emt import EMT

from submissions.preflight.larger_structures import LARGEST, blocks, doubled, time_doubled, time_larger
from submissions.records import Submission
from tasks.model.calculator import InProcessCalculator
from tests.submissions.preflight.test_preflight import submit


class CubicCost(EMT):
    """Takes a second for 32 atoms, and eight times as long for twice as many."""

    def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
        time.sleep((len(atoms) / 32) ** 3)
        super().calculate(atoms, list(properties), list(system_changes))


class SmallMoleculesOnly(EMT):
    """Knows no periodic structure, and no more than 100 atoms."""

    def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
        if atoms.pbc.any() or len(atoms) > 100:
            raise NotImplementedError("not known")
        super().calculate(atoms, list(properties), list(system_changes))


def copper() -> Atoms:
    return blocks()[0][1]


def test_emt_is_asked_about_copper_a_liquid_and_a_molecule() -> None:
    """It knows no salt, so copper stands for crystals."""
    timings = list(time_larger(InProcessCalculator(EMT())))
    sizes = [timing.n_atoms for timing in timings]
    assert sizes == [4 * 2**k for k in range(9)] + 2 * [8 * 2**k for k in range(8)]
    densities = [timing.density for timing in timings]
    assert densities[:9] == pytest.approx([4 / copper().get_volume()] * 9)
    assert (densities[9] or 0.0) == pytest.approx(0.08, rel=0.15)
    assert densities[9:17] == pytest.approx([densities[9]] * 8)
    assert densities[17:] == [0.0] * 8


def test_what_is_not_known_ends_a_sort_of_structures() -> None:
    timings = list(time_larger(InProcessCalculator(SmallMoleculesOnly())))
    assert [(timing.n_atoms, timing.density) for timing in timings] == [(8, 0), (16, 0), (32, 0), (64, 0)]


@pytest.mark.alone
def test_larger_structures_end_where_a_call_would_take_long() -> None:
    """64 atoms would take 8 s."""
    assert [timing.n_atoms for timing in time_doubled(InProcessCalculator(CubicCost()), copper())] == [4, 8, 16, 32]


@pytest.mark.parametrize("sort", range(3))
def test_doubled_structures_are_compact_and_no_atoms_come_close(sort: int) -> None:
    atoms = block = blocks()[sort][0]
    distances = block.get_all_distances(mic=True)
    closest = distances[np.triu_indices(len(block), 1)].min()
    for _ in range(5):
        atoms = doubled(atoms)
    assert len(atoms) == 32 * len(block) <= LARGEST
    apart = atoms.get_all_distances(mic=True)[np.triu_indices(len(atoms), 1)]
    assert apart.min() >= min(closest, 2.0) - 1e-9
    sides = atoms.cell.lengths() if atoms.pbc.all() else np.ptp(atoms.positions, axis=0)
    assert sides.max() < 2.5 * sides.min()


DIES = """
import os

from ase.calculators.emt import EMT


class Dies(EMT):
    def calculate(self, atoms, *arguments):
        if len(atoms) > 100:
            os._exit(1)
        super().calculate(atoms, *arguments)


def make_calculator(device="cpu", domain=None):
    return Dies()
"""


def test_a_model_that_dies_of_a_large_structure_is_taken_with_what_was_timed(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "calculator.py").write_text(DIES)
    (folder / "lambench.toml").write_text('name = "Dies"')
    said = submit(str(folder), "--driver", "process", "--python", sys.executable, "--json", cwd=tmp_path)
    assert said.returncode == 0, said.stderr
    timings = Submission.model_validate_json(said.stdout).preflight.timings
    assert max(timing.n_atoms for timing in timings) == 64  # of copper; after it died nothing was asked


def test_the_last_domain_is_asked_about_larger_structures_and_each_must_start(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    domains = ("Molecules", "Inorganic Materials", "Catalysis")
    sets = "\n".join(f'[label_sets."{domain}"]\nname = "EMT"\ndispersion = false' for domain in domains)
    (folder / "lambench.toml").write_text(f'name = "Heads"\n{sets}\n')
    options = ("--card", str(folder / "lambench.toml"), "--driver", "process", "--python", sys.executable, "--json")
    command = (str(folder), *options)
    started = f"    open({str(tmp_path / 'domains')!r}, 'a').write(domain + '\\n')\n"
    (folder / "calculator.py").write_text(DIES.replace("    return Dies()", f"{started}    return Dies()"))
    said = submit(*command, cwd=tmp_path)
    assert said.returncode == 0, said.stderr
    assert (tmp_path / "domains").read_text().split("\n")[:-1] == list(domains)
    timings = Submission.model_validate_json(said.stdout).preflight.timings
    assert max(timing.n_atoms for timing in timings) == 64
    (folder / "calculator.py").write_text(DIES.replace("    return Dies()", "    return {'Molecules': Dies()}[domain]"))
    said = submit(*command, cwd=tmp_path)
    assert said.returncode == 1
    assert "For the domain Inorganic Materials" in said.stdout + said.stderr
