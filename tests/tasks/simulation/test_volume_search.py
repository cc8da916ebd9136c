"""The search for a minimum over the volume: it finds it from any start, and asks nothing that tells of a reference."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from tasks.simulation.birch_murnaghan import EquationOfState, energy, fit
from tasks.simulation.volume_search import FARTHEST, LIMIT, NEAREST, SearchStart, draw_start, search_volumes
from tasks.structures.frames import Float

SHARES = np.linspace(0.94, 1.06, 7)


def searched(start: SearchStart, model: Callable[[Float], Float]) -> tuple[Float | None, list[Float]]:
    """The end of the search, and all that it asked."""
    search, asked = search_volumes(start, SHARES), list[Float]()
    try:
        volumes = next(search)
        while True:
            asked.append(volumes)
            volumes = search.send(model(volumes))
    except StopIteration as end:
        return end.value, asked


def morse(volume: Float, width: float) -> Float:
    """No Birch–Murnaghan curve: a Morse potential of the length, with its minimum at 20 Å³."""
    return (1 - np.exp(-width * (np.cbrt(volume / 20.0) - 1.0))) ** 2


@given(
    v0=st.floats(5.0, 60.0),
    b0=st.floats(1.0, 500.0),
    b0_prime=st.floats(3.0, 7.0),
    away=st.floats(-0.35, 0.35),
    spacing=st.floats(0.05, 0.07),
)
@example(v0=5.0, b0=73.0, b0_prime=4.0, away=0.25, spacing=0.0625)  # no cubic term
def test_the_minimum_is_found_from_any_start(
    v0: float, b0: float, b0_prime: float, away: float, spacing: float
) -> None:
    eos = EquationOfState(v0, b0, b0_prime, -7.0)
    volumes, asked = searched(SearchStart(v0 * np.exp(away), spacing), lambda v: energy(v, eos))
    assert volumes is not None
    np.testing.assert_allclose(volumes, SHARES * v0, rtol=1e-3)
    fitted = fit(volumes, energy(volumes, eos))
    assert fitted is not None
    np.testing.assert_allclose(fitted[:3], eos[:3], rtol=1e-5)
    near = abs(away) <= FARTHEST
    assert sum(map(len, asked)) <= (17 if near else 35)


@given(seeds=st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)), width=st.floats(3.0, 12.0))
def test_two_draws_end_at_the_same_curve(seeds: tuple[int, int], width: float) -> None:
    found = []
    for seed in seeds:
        start = draw_start(20.5, np.random.default_rng(seed))
        volumes, _ = searched(start, lambda v: morse(v, width))
        assert volumes is not None
        found.append(fit(volumes, morse(volumes, width)))
    one, other = found
    assert one is not None
    assert other is not None
    assert abs(one.v0 / other.v0 - 1) < 1e-4
    assert abs(one.b0_gpa / other.b0_gpa - 1) < 1e-3


def test_a_slope_a_plateau_and_noise_have_none() -> None:
    rng, start = np.random.default_rng(0), SearchStart(20.0, 0.06)
    for model in (lambda v: v, lambda v: -v, lambda v: -1.0 / v, np.zeros_like, lambda v: -((v - 20.0) ** 2)):
        volumes, asked = searched(start, model)
        assert volumes is None
        assert np.abs(np.log(np.concatenate(asked) / start.centre)).max() <= LIMIT + 1e-9
    for _ in range(20):  # whatever is answered, the search ends, and stays near its limits
        _, asked = searched(start, lambda v: rng.normal(size=len(v)))
        assert np.abs(np.log(np.concatenate(asked) / start.centre)).max() < LIMIT + 0.1


def test_all_questions_are_relative_to_the_drawn_centre() -> None:
    """The same answers, in any unit of volume, give the same questions: no reference enters them."""
    eos = EquationOfState(1.03, 80.0, 4.5)
    one = searched(SearchStart(1.0, 0.06), lambda v: energy(v, eos))[1]
    other = searched(SearchStart(30.0, 0.06), lambda v: energy(v / 30.0, eos))[1]
    np.testing.assert_allclose(np.concatenate(other), 30.0 * np.concatenate(one), rtol=1e-6)


def test_draws_are_far_on_both_sides() -> None:
    away = np.array([np.log(draw_start(20.0, np.random.default_rng(seed)).centre / 20.0) for seed in range(200)])
    assert np.abs(away).min() >= NEAREST
    assert np.abs(away).max() <= FARTHEST
    assert 70 < (away > 0).sum() < 130
