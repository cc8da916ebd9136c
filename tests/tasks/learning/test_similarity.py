"""SOAP: a frame is like itself, turning it changes nothing, and similarity falls with the distance."""

from __future__ import annotations

import sys
import time

import numpy as np
import pytest
from ase import Atoms
from ase.build import molecule

from tasks.learning.similarity import (
    MAX_FRAMES,
    mean_similarity,
    require_dscribe,
    similarities,
    similarity_settings,
    soap_vectors,
    thinned,
)
from tasks.structures.frames import Frames


def displaced(start: Atoms, sizes: list[float]) -> Frames:
    """One frame a size: all atoms displaced at random by about so much [Å]."""
    structures = []
    for seed, size in enumerate(sizes):
        atoms = start.copy()
        atoms.positions += size * np.random.default_rng(seed).normal(size=atoms.positions.shape)
        structures.append(atoms)
    return Frames.from_atoms(structures)


def test_a_frame_is_like_itself_also_when_it_is_turned_moved_and_sorted_otherwise() -> None:
    ethanol = molecule("CH3CH2OH")
    turned = ethanol.copy()
    turned.rotate(71.0, (1.0, 2.0, 3.0))
    turned.translate((5.0, -3.0, 1.0))
    vectors = soap_vectors(Frames.from_atoms([ethanol, turned, turned[::-1], molecule("CH3OCH3")]))
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0)
    assert mean_similarity(vectors[:1], vectors[:1]) == pytest.approx(1.0, abs=1e-12)
    assert mean_similarity(vectors[:1], vectors[1:2]) == pytest.approx(1.0, abs=1e-9)
    assert mean_similarity(vectors[:1], vectors[2:3]) == pytest.approx(1.0, abs=1e-9)
    assert mean_similarity(vectors[:1], vectors[3:4]) < 0.999


def test_the_mean_is_over_all_pairs() -> None:
    vectors = soap_vectors(displaced(molecule("CH3CH2OH"), [0.1] * 5))
    pairs = [float(a @ b) for a in vectors[:2] for b in vectors[2:]]
    assert mean_similarity(vectors[:2], vectors[2:]) == pytest.approx(np.mean(pairs))


def test_a_stretch_farther_away_is_less_similar() -> None:
    frames = displaced(molecule("CH3CH2OH"), [0.02] * 10 + [0.1] * 10 + [0.4] * 10)
    sets = {"near": np.arange(5, 10), "middle": np.arange(10, 20), "far": np.arange(20, 30)}
    values = similarities(frames, sets, np.arange(5))
    assert 1 > values["near"] > values["middle"] > values["far"] > 0


def test_frames_are_thinned_evenly() -> None:
    assert thinned(np.arange(50)).tolist() == list(range(50))
    assert thinned(np.arange(10 * MAX_FRAMES)).tolist() == list(range(0, 10 * MAX_FRAMES, 10))


def test_five_stretches_of_aspirin_take_seconds() -> None:
    """21 atoms of three elements; the time is that of a busy machine."""
    start = Atoms("C9H8O4", np.random.default_rng(1).uniform(-3.5, 3.5, (21, 3)))
    frames = displaced(start, [0.05] * (6 * MAX_FRAMES))
    parts = np.split(np.arange(6 * MAX_FRAMES), 6)
    begin = time.process_time()
    similarities(frames, {str(i): part for i, part in enumerate(parts[:5])}, parts[5])
    assert time.process_time() - begin < 10.0


def test_settings_are_stated_and_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert similarity_settings().startswith("SOAP by dscribe 2.1.")
    assert "r_cut 5 Å, n_max 8, l_max 6, σ 0.5 Å" in similarity_settings()
    monkeypatch.setitem(sys.modules, "dscribe", None)
    with pytest.raises(ValueError, match=r"pip install 'lambench-judge\[learning\]'"):
        require_dscribe()
