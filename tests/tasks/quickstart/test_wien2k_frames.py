"""The frames of elements: their volumes tell nothing of the minima."""

from __future__ import annotations

import time

import numpy as np

from tasks.adversaries.volumes import CentredVolumes
from tasks.kind import Watch
from tasks.kinds.labelled_frames import LabelledFrames, LabelledFramesParameters
from tasks.model.calculator import InProcessCalculator
from tasks.quickstart.crystals import FRAME_DRAWS, FRAME_ELEMENTS, build_wien2k_frames, frame_shares, wien2k


def test_the_frames_of_an_element_are_on_one_side_of_its_minimum() -> None:
    dataset = build_wien2k_frames()
    per_atom = (dataset.frames.volumes / dataset.frames.n_atoms).reshape(len(FRAME_ELEMENTS), -1)
    sides = []
    for element, volumes in zip(FRAME_ELEMENTS, per_atom, strict=True):
        away = volumes / wien2k(element).v0 - 1
        np.testing.assert_allclose(away, frame_shares(element) - 1, atol=1e-9)
        nearest, farthest, _ = FRAME_DRAWS[element]
        np.testing.assert_allclose([away[0], away[-1]], [nearest, farthest], atol=1e-9)
        assert 0.04 <= np.abs(away).min() <= np.abs(away).max() <= 0.15
        sides.append(np.sign(away).sum())
    assert sorted(set(sides)) == [-11.0, 11.0]


def test_a_model_that_takes_the_middle_is_no_better_than_the_trivial_one() -> None:
    kind, parameters, dataset = LabelledFrames(), LabelledFramesParameters(), build_wien2k_frames()
    model = InProcessCalculator(CentredVolumes("middle"))
    observation = kind.observe(dataset.structures, parameters, model, Watch(time.monotonic))
    metrics = kind.measure(observation, dataset, parameters, None).metrics
    for name in ("energy_rmse_per_atom", "energy_mae_per_atom", "virial_rmse_per_atom", "virial_mae_per_atom"):
        charged, baseline = metrics[name].charged, metrics[name].baseline
        assert charged is not None
        assert baseline is not None
        assert charged > 1.01 * baseline, name
