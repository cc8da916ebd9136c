"""Diatomics of a model without chemistry: the same well for all elements is no better than the baseline."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.kinds.diatomics import ERRORS
from tasks.kinds.equal_wells import WELLS, EqualWell
from tests.tasks.kinds.test_diatomics import GRID, PAIRS, dataset_of, measured, reference_of
from tests.tasks.made_up import observed

# Elements, depth [eV], width [1/Å] and bond length [Å] of Morse curves.
MORE = {
    "Ag2": ((47, 47), (1.7, 1.5, 2.53)),
    "Li2": ((3, 3), (1.1, 0.9, 2.67)),
    "Cl2": ((17, 17), (2.5, 2.0, 1.99)),
}


def test_a_well_by_hand() -> None:
    """Halfway between 1 and 4 Å on a logarithmic axis is 2 Å: there the energy is -D, and no force acts."""
    r = np.array([1.0, 2.0, 4.0])
    curve = EqualWell(0.5, 3.0, 4.0).curve(r)
    np.testing.assert_allclose(curve.energy[1], -3.0)
    np.testing.assert_allclose(curve.force[1], 0.0, atol=1e-12)
    step = 1e-6
    ends = EqualWell(0.5, 3.0, 4.0).curve(np.array([1.0, 1.3 - step, 1.3 + step, 4.0])).energy
    middle = EqualWell(0.5, 3.0, 4.0).curve(np.array([1.0, 1.3, 4.0])).force[1]
    assert middle == pytest.approx(-(ends[2] - ends[1]) / (2 * step), rel=1e-6)


def test_the_same_well_for_all_pairs_is_no_better_than_the_baseline(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, pair in MORE.items():
        monkeypatch.setitem(PAIRS, name, pair)
    dataset = dataset_of({name: {"PBE": reference_of(name)} for name in PAIRS})

    def errors(well: EqualWell) -> dict[str, float]:
        curve, n = well.curve(GRID), len(PAIRS)
        force = np.zeros((n * len(GRID), 2, 3))
        force[:, 1, 0] = np.tile(curve.force, n)
        force[:, 0, 0] = -force[:, 1, 0]
        metrics = measured(observed(np.tile(curve.energy, n), forces=force.reshape(-1, 3)), dataset).metrics
        return {name: (metrics[name].charged or 0.0) / (metrics[name].baseline or 1.0) for name in ERRORS}

    least = np.array([list(errors(well).values()) for well in WELLS[::2]]).min(axis=0)
    assert (least > 1 - 1e-9).all(), dict(zip(ERRORS, least, strict=True))
    still = np.zeros((len(PAIRS) * len(GRID) * 2, 3))
    flat = measured(observed(np.zeros(len(PAIRS) * len(GRID)), forces=still), dataset).metrics
    # A bond at 2 Å for all pairs is nearer than the shortest distance of each window.
    assert flat["pair_bond_length_mae"].value > 1.5 * (flat["pair_bond_length_mae"].baseline or 0.0)
