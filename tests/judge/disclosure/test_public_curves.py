"""Public curves: those of a hidden data set reveal no single run and have no room for a structure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from judge.disclosure.public_curves import (
    HIDDEN_DIGITS,
    PAIR_POINTS,
    PUBLIC_DIGITS,
    is_hidden,
    public_drift,
    public_pairs,
)
from judge.disclosure.redaction import rounded
from judge.figures.diatomic import diatomics_of
from judge.figures.drift import drift_figure, drift_of
from judge.pages.site import render
from judge.ranking.leaderboard import TaskLine
from judge.records.few_items import LEAST_ITEMS
from judge.view.sources import Sources
from tasks.metrics.measurement import Items
from tasks.simulation.diatomics import distances
from tasks.suites.suite import Task
from tests.world.board_records import runs
from tests.world.curves import (
    CRYSTALS,
    HIDDEN_LAWS,
    KNOWN,
    LAWS,
    N_TENTHS,
    PAIRS,
    PUBLIC,
    SECRET,
    drifting,
    dynamics,
    frame_of,
    line_of,
    pairs,
    three,
    wells,
)

DEVIATIONS = arrays(
    np.float64,
    st.tuples(st.integers(1, 9), st.just(N_TENTHS)),
    elements=st.floats(-1e3, 1e3) | st.just(np.nan) | st.sampled_from([np.inf, -np.inf, 1e308]),
)


def line(task: Task) -> TaskLine:
    return line_of(three(), task)


def test_every_run_of_a_public_data_set_is_shown() -> None:
    deviation = drifting(3)
    deviation[1, 6:] = np.nan  # the run ended
    drift = public_drift(line(KNOWN), dynamics(deviation), PUBLIC)
    assert drift is not None
    assert not drift.hidden
    assert drift.times_ps == pytest.approx(np.linspace(0.0, 1.0, N_TENTHS))
    assert [name for name, _ in drift.runs] == ["run 0", "run 1", "run 2"]
    shown = np.array([row for _, row in drift.runs], np.float64)
    np.testing.assert_allclose(shown, deviation, rtol=10.0 ** (1 - PUBLIC_DIGITS))
    np.testing.assert_allclose(drift.mean, np.nanmean(abs(deviation), axis=0), rtol=10.0 ** (1 - PUBLIC_DIGITS))
    assert drift.n_runs == (3,) * 6 + (2,) * 5


@given(DEVIATIONS)
def test_a_hidden_data_set_has_only_the_mean_over_enough_runs(deviation: np.ndarray) -> None:
    drift = public_drift(line(SECRET), dynamics(deviation), PUBLIC)
    assert drift is not None
    assert drift.hidden
    assert drift.runs == ()
    for tenth, mean, n in zip(deviation.T, drift.mean, drift.n_runs, strict=True):
        finite = tenth[np.isfinite(tenth)]
        with np.errstate(over="ignore"):
            expected = float(np.abs(finite).sum() / max(1, len(finite)))
        if len(finite) < LEAST_ITEMS or not np.isfinite(expected):
            assert (mean, n) == (None, None)
        else:
            assert n == len(finite)
            nearby = (
                expected * (1 - 1e-12),
                expected,
                expected * (1 + 1e-12),
            )  # sums depend on the order of their terms
            assert mean in [rounded(value, HIDDEN_DIGITS) for value in nearby]


def test_a_result_of_a_hidden_data_set_is_hidden_whatever_the_suite_names_now() -> None:
    known = line(KNOWN)
    assert known.result is not None
    assert not is_hidden(known, PUBLIC)
    provenance = known.result.provenance.model_copy(update={"dataset": SECRET.dataset})
    moved = replace(known, result=known.result.model_copy(update={"provenance": provenance}))
    assert is_hidden(moved, PUBLIC)
    assert is_hidden(line(SECRET), PUBLIC)
    assert is_hidden(replace(line(SECRET), result=None), PUBLIC)


def test_only_pairs_of_public_data_sets_are_shown() -> None:
    energies = wells()
    energies[1, 7] = np.nan
    assert public_pairs(line(HIDDEN_LAWS), pairs(energies), PUBLIC) == ()
    shown = public_pairs(line(LAWS), pairs(energies), PUBLIC)
    assert [pair.symbol for pair in shown] == list(PAIRS.diatomics)
    for pair, row in zip(shown, energies, strict=True):
        assert len(pair.distances) == len(pair.energies) <= PAIR_POINTS + 2
        at = {rounded(r, PUBLIC_DIGITS): e for r, e in zip(distances(pair.symbol, PAIRS.n_distances), row, strict=True)}
        for r, energy in zip(pair.distances, pair.energies, strict=True):
            assert np.nan_to_num(energy or 0.0) == pytest.approx(np.nan_to_num(at[r]), rel=1e-3)
        assert pair.distances[-1] == max(at)
        assert min(e for e in pair.energies if e is not None) == rounded(np.nanmin(row), PUBLIC_DIGITS)


def test_a_pair_that_failed_everywhere_has_no_energy() -> None:
    shown = public_pairs(line(LAWS), pairs(np.full((3, PAIRS.n_distances), np.nan)), PUBLIC)
    assert {energy for pair in shown for energy in pair.energies} == {None}


def test_items_without_curves_show_none() -> None:
    without_curves = runs([1e-6, 1e-6])
    for each in (line(KNOWN), line(CRYSTALS), line(LAWS)):
        for items in (None, without_curves):
            assert public_drift(each, items, PUBLIC) is None
            assert public_pairs(each, items, PUBLIC) == ()
    assert public_drift(replace(line(KNOWN), result=None), dynamics(drifting(2)), PUBLIC) is None
    assert public_pairs(replace(line(LAWS), result=None), pairs(wells()), PUBLIC) == ()


def shuffled(deviation: np.ndarray) -> np.ndarray:
    """Other runs with the same mean: at each tenth another run has each value, with the other sign."""
    return -np.random.default_rng(5).permuted(deviation, axis=0)


def every_file(items: dict[tuple[str, str], Items]) -> dict[str, bytes]:
    """The files of the site, and all figures of curves."""
    page_frame = frame_of(three(), items)
    files = render(three(), Sources(public=PUBLIC, items=items))
    figures = [drift_figure(page_frame)]
    for row in page_frame.board.rows:
        figures += [drift_of(page_frame, row), diatomics_of(page_frame, row)]
    for index, each in enumerate(figures):
        files[f"figure {index}"] = repr(each).encode() if each else b""
    return files


def items_with(secret: np.ndarray, hidden_pairs: np.ndarray, name: str) -> dict[tuple[str, str], Items]:
    items = {}
    for row in three().rows:
        items[row.submission.id, KNOWN.name] = dynamics(drifting(6, 1))
        items[row.submission.id, SECRET.name] = dynamics(secret, name)
        items[row.submission.id, LAWS.name] = pairs(wells())
        items[row.submission.id, HIDDEN_LAWS.name] = pairs(hidden_pairs)
    return items


def test_no_file_of_the_site_reveals_a_single_run_of_a_hidden_data_set() -> None:
    """If hidden runs and pairs change but the mean of the runs stays, no byte of the site changes."""
    secret = drifting(LEAST_ITEMS + 2, 3)
    secret[0, 4:] = np.nan  # enough runs remain
    files = every_file(items_with(secret, wells(3.0, 1), "structure"))
    assert files == every_file(items_with(shuffled(secret), wells(7.0, 2), "other"))
    content = b"".join(files.values())
    for value in secret[np.isfinite(secret) & (secret != 0)]:
        for form in (value, 1000 * value, rounded(value, 6), rounded(1000 * value, 6)):
            assert repr(abs(float(form))).encode() not in content
    assert files != every_file(items_with(2 * secret, wells(3.0, 1), "structure"))  # the mean is shown


def test_a_run_of_a_public_data_set_is_in_the_figures() -> None:
    """Without this the test above could pass because figures have no runs at all."""
    page_frame = frame_of(three(), items_with(drifting(6, 3), wells(3.0, 1), "run"), frozenset({SECRET.dataset}))
    drift = drift_of(page_frame, page_frame.board.rows[0])
    assert drift is not None
    value = repr(rounded(1000.0 * drifting(6, 3)[2, 5], PUBLIC_DIGITS))
    assert value in drift.plot


def test_too_few_runs_of_a_hidden_data_set_show_nothing() -> None:
    items = {(row.submission.id, SECRET.name): dynamics(drifting(LEAST_ITEMS - 1)) for row in three().rows}
    page_frame = frame_of(three(), items)
    assert drift_figure(page_frame) is None
    assert all(drift_of(page_frame, row) is None for row in page_frame.board.rows)
