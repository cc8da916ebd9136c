"""Starts of runs that are drawn: what a model that keeps its start gets, by hand and by springs."""

from __future__ import annotations

import time

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from ase.calculators.emt import EMT

from tasks.adversaries.springs import Springs
from tasks.datasets.pair_analyses import FirstPeakAnalysis
from tasks.datasets.simulated_systems import DensityAnalysis
from tasks.dynamics.drawn_starts import FARTHEST, NEAREST, KeptStart, einstein_errors, scaled
from tasks.kind import Watch
from tasks.kinds.dynamics import Dynamics, DynamicsParameters
from tasks.metrics.published_questions import STORED_STARTS, published_note
from tasks.model.calculator import InProcessCalculator
from tasks.observing.drawn_shares import drawn_shares
from tasks.quickstart.registry import BUILDERS
from tasks.structures.frames import Frames

KIND = Dynamics()
QUICK = {"ensemble": "npt", "steps": 40, "store_every": 10, "equilibration_steps": 20, "barostat_every": 5}


def test_the_density_of_a_kept_start_by_hand() -> None:
    """Of a start with the right density: at exp(-0.05) and exp(0.05) of its volume it is 5.127 % and 4.877 % off."""
    copper = Frames.from_atoms([bulk("Cu", cubic=True)])
    mass = 4 * 63.546 / 6.02214076e23 * 1e24 / copper.volumes[0]  # g/cm³
    density = DensityAnalysis(measure="density", reference={"exact": float(mass)})
    (error,) = einstein_errors([KeptStart(density, copper, None)], "exact")
    assert error == pytest.approx(100 * np.sinh(0.05), rel=1e-4)


def test_the_first_peak_of_a_kept_start_by_hand() -> None:
    """The nearest neighbours of a crystal move by a third of its volume's share, on either side."""
    copper = Frames.from_atoms([bulk("Cu", cubic=True).repeat(3)])
    nearest = 3.61 / np.sqrt(2)
    peak = FirstPeakAnalysis(
        measure="first_peak", first=tuple(range(108)), up_to=3.3, bin_width=0.02, reference={"exact": nearest}
    )
    (error,) = einstein_errors([KeptStart(peak, copper, None)], "exact")
    assert error == pytest.approx(nearest * 0.05 / 3, abs=0.015)


def test_molecules_move_as_they_are() -> None:
    two = Atoms("H2O2", [(0, 0, 0), (0.8, 0, 0), (5, 0, 0), (6.2, 0, 0)], cell=[10, 10, 10], pbc=True)
    moved = scaled(Frames.from_atoms([two]), np.array([1.331]), np.array([7, 7, 9, 9]))
    np.testing.assert_allclose(moved.positions[:, 0], [0.04, 0.84, 5.56, 6.76])
    np.testing.assert_allclose(moved.cell[0], 11 * np.eye(3))
    atoms = scaled(Frames.from_atoms([two]), np.array([1.331]), None)
    np.testing.assert_allclose(atoms.positions[:, 0], [0, 0.88, 5.5, 6.82])


def test_the_sides_of_two_systems_do_not_depend_on_each_other() -> None:
    """So nobody who guesses one knows both; where they are balanced, one lies above and one below."""
    structures = BUILDERS["simulated-metals"]().structures

    def sides(*, balanced: bool) -> set[tuple[bool, ...]]:
        secrets = [b"store %d" % k for k in range(40)]
        shares = [drawn_shares(structures, 1, secret, (NEAREST, FARTHEST), balanced=balanced) for secret in secrets]
        return {tuple((each > 1).tolist()) for each in shares}

    assert sides(balanced=True) == {(False, True), (True, False)}
    assert sides(balanced=False) == {(False, False), (False, True), (True, False), (True, True)}


def test_springs_about_the_first_structure_do_not_get_below_the_baseline() -> None:
    """With stored starts they do, and a note says so."""
    dataset = BUILDERS["simulated-metals"]()
    shares: dict[str, list[float]] = {"density_mape": [], "first_peak_mae": []}
    drawn = DynamicsParameters(**QUICK, start="drawn")
    volumes = []
    for secret in range(8):
        watch = Watch(time.monotonic, secret=b"store %d" % secret)
        observation = KIND.observe(dataset.structures, drawn, InProcessCalculator(Springs()), watch)
        volumes.append(np.abs(np.linalg.det(observation.arrays["cells"][0])))
        measured = KIND.measure(observation, dataset, drawn, None)
        for name, of_secrets in shares.items():
            metric = measured.metrics[name]
            assert metric.charged is not None
            assert metric.baseline is not None
            of_secrets.append(metric.charged / metric.baseline)
        assert published_note(measured.notes) == ""
    away = np.log(np.array(volumes) / dataset.frames.volumes)
    assert ((np.abs(away) >= NEAREST - 1e-9) & (np.abs(away) <= FARTHEST + 1e-9)).all()
    assert all(np.mean(of_secrets) > 1.2 for of_secrets in shares.values())

    stored = DynamicsParameters(**QUICK)
    observation = KIND.observe(dataset.structures, stored, InProcessCalculator(Springs()), Watch(time.monotonic))
    measured = KIND.measure(observation, dataset, stored, None)
    density = measured.metrics["density_mape"]
    assert density.value is not None
    assert density.value < 3.0
    assert density.baseline == 100.0
    assert STORED_STARTS in measured.notes


def test_a_crystal_finds_its_density_from_either_side() -> None:
    """By EMT, in the parameters of quickstart: two metals from either side of their volumes, within 0.3 %."""
    dataset = BUILDERS["simulated-metals"]()
    parameters = DynamicsParameters(
        ensemble="npt",
        start="drawn",
        steps=200,
        store_every=10,
        timestep_fs=2.0,
        equilibration_steps=100,
        barostat_every=2,
        seed=5,
    )
    errors, sides = list[float](), set[bool]()
    for secret in (b"a", b"e"):
        watch = Watch(time.monotonic, secret=secret)
        observation = KIND.observe(dataset.structures, parameters, InProcessCalculator(EMT()), watch)
        sides.add(bool(np.abs(np.linalg.det(observation.arrays["cells"][0, 0])) > dataset.frames.volumes[0]))
        measured = KIND.measure(observation, dataset, parameters, None)
        errors.append(measured.metrics["density_mape"].charged or np.nan)
    assert len(sides) == len(errors)
    np.testing.assert_allclose(errors, errors[0], atol=0.3)
    assert max(errors) < 0.6 * 100 * np.sinh(NEAREST)


def test_a_drawn_start_needs_a_barostat_and_an_equilibration() -> None:
    for changed in ({"ensemble": "nvt"}, {"equilibration_steps": 0}):
        with pytest.raises(ValueError, match='start: "drawn" changes the volume, which a barostat has to bring back'):
            DynamicsParameters.model_validate({**QUICK, "start": "drawn", **changed})
