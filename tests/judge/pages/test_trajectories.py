"""Trajectories: those of a public data set can be looked at, and nothing of a hidden one leaves the judge."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from judge.disclosure.public_trajectories import MOST_BYTES, MOST_FRAMES, PER_ANGSTROM, public_trajectory, thinned
from judge.pages.tasks.trajectories import TRAJECTORIES, packed
from judge.publishing.folder import as_written
from judge.publishing.site_files import build_site, site_files
from judge.view.earlier_pages import EarlierPages
from submissions.store.local import LocalStore
from tasks.dynamics.first_run import first_run
from tasks.trajectories.trajectory import Trajectory
from tests.judge.pages.simulated_site import (
    BROKEN_AT,
    KNOWN,
    N_STORED,
    PARAMETERS,
    PUBLIC,
    SECRET,
    SUITE,
    SimulatedSite,
    simulated_site,
)

FOLDER = TRAJECTORIES.folder


@pytest.fixture
def site(tmp_path: Path) -> SimulatedSite:
    return simulated_site(LocalStore(tmp_path / "store"), tmp_path / "data")


def trajectory_files(site: SimulatedSite) -> dict[str, dict[str, Any]]:
    files = site_files(site.store, site.board, site.sources)
    return {path: json.loads(content) for path, content in files.items() if path.startswith(FOLDER)}


def test_a_public_task_links_to_the_thinned_runs_of_each_model(site: SimulatedSite) -> None:
    files = site_files(site.store, site.board, site.sources)
    page = files["tasks/known-runs.html"].decode()
    trajectories = trajectory_files(site)
    assert len(trajectories) == 4
    assert all(f'href="../{path}"' in page for path in trajectories)
    assert "broken: s0, exploded" in page
    whole = next(each for each in trajectories.values() if len(each["symbols"]) == 9 and len(each["times_ps"]) == 50)
    positions = np.array(whole["positions"]).reshape(MOST_FRAMES, 9, 3) / PER_ANGSTROM
    stored = site.observations[0].arrays["positions"][:, :9]
    frames = np.rint(np.array(whole["times_ps"]) * 1000 / PARAMETERS.timestep_fs / PARAMETERS.store_every).astype(int)
    assert (frames[0], frames[-1]) == (0, N_STORED - 1)
    np.testing.assert_allclose(positions, stored[frames], atol=0.00501)
    assert np.abs(np.diff(positions, axis=0)).max() > 0.01


def test_a_run_that_broke_is_shown_until_its_end(site: SimulatedSite) -> None:
    ends = sorted(each["times_ps"][-1] for each in trajectory_files(site).values())
    step_ps = PARAMETERS.store_every * PARAMETERS.timestep_fs / 1000
    assert ends == pytest.approx([(BROKEN_AT - 1) * step_ps] + 3 * [(N_STORED - 1) * step_ps])


def test_nothing_of_a_hidden_data_set_is_read_or_shown(site: SimulatedSite) -> None:
    files = site_files(site.store, site.board, site.sources)
    page = files["tasks/secret-runs.html"].decode()
    assert FOLDER not in page
    assert not any(path.startswith(f"{FOLDER}{SECRET.name}/") for path in files)
    hidden = site_files(site.store, site.board, replace(site.sources, public=frozenset()))
    assert not any(path.startswith(FOLDER) for path in hidden)
    line = next(line for line in site.board.rows[0].tasks if line.task.name == SECRET.name)
    assert public_trajectory(line, "s0", 1.0, refused, PUBLIC) is None


def refused(*_: object) -> Trajectory:
    raise AssertionError("a stored run of a hidden data set was read")


def test_a_task_judged_on_another_data_set_that_is_hidden_shows_nothing(site: SimulatedSite) -> None:
    line = next(line for line in site.board.rows[0].tasks if line.task.name == KNOWN.name)
    assert line.result is not None
    provenance = line.result.provenance.model_copy(update={"dataset": SECRET.dataset})
    other = replace(line, result=line.result.model_copy(update={"provenance": provenance}))
    assert public_trajectory(other, "s0", 1.0, refused, PUBLIC) is None


def test_a_data_set_that_changed_since_has_no_trajectory(site: SimulatedSite) -> None:
    line = next(line for line in site.board.rows[0].tasks if line.task.name == KNOWN.name)
    assert line.result is not None
    read = site.with_all().trajectories
    assert read(line, "s0") is not None
    provenance = line.result.provenance.model_copy(update={"frames_sha256": "0" * 64})
    assert read(replace(line, result=line.result.model_copy(update={"provenance": provenance})), "s0") is None
    assert read(line, "unknown") is None


def test_a_build_reads_no_observation_whose_files_it_has(site: SimulatedSite, tmp_path: Path) -> None:
    build_site(site.store, SUITE, tmp_path / "site", sources=site.sources)
    before = site_files(site.store, site.board, site.sources)
    for key in list(site.store.list("observations/")):
        site.store.delete(key)
    again = site_files(site.store, site.board, site.sources, EarlierPages(read=as_written(tmp_path / "site")))
    assert {path: content for path, content in again.items() if path.startswith(FOLDER)} == {
        path: content for path, content in before.items() if path.startswith(FOLDER)
    }
    without = site_files(site.store, site.board, site.sources)
    assert not any(path.startswith(FOLDER) for path in without)
    assert "data-run-files" not in without["tasks/known-runs.html"].decode()


def made(n_atoms: int, n_frames: int = 60, far: float = 0.0) -> Trajectory:
    positions = np.random.default_rng(0).uniform(-9000.0, 9000.0, (n_frames, n_atoms, 3))
    positions[-1, 0, 0] += far
    times = np.arange(n_frames) * 0.1
    return Trajectory(positions, np.zeros((n_frames, 3, 3)), np.zeros(3, bool), np.full(n_atoms, 79), times)


@pytest.mark.parametrize("n_atoms", [1, 3000, 60_000])
def test_no_file_is_larger_than_its_limit(n_atoms: int) -> None:
    trajectory = thinned(made(n_atoms, n_frames=60 if n_atoms < 10_000 else 2), np.inf)
    assert trajectory is not None
    assert len(trajectory.times_ps) == {1: 50, 3000: 27, 60_000: 1}[n_atoms]
    assert len(packed(trajectory)) <= MOST_BYTES


def test_too_many_atoms_and_frames_that_are_far_or_late_are_left_out() -> None:
    assert thinned(made(100_000, n_frames=1), np.inf) is None
    whole, far = thinned(made(2, 10), np.inf), thinned(made(2, 10, far=1e5), np.inf)
    assert whole is not None
    assert far is not None
    assert (len(whole.times_ps), len(far.times_ps)) == (10, 9)
    early = thinned(made(2, 10), 0.3)
    assert early is not None
    assert early.times_ps == (0.0, 0.1, 0.2, 0.3)


def test_the_first_replica_is_shown(site: SimulatedSite) -> None:
    run = first_run(site.observations[0], site.dataset, PARAMETERS, "s1")
    assert run is not None
    np.testing.assert_array_equal(run.positions, site.observations[0].arrays["positions"][:, 9:])
    with pytest.raises(ValueError, match="there is no 's7'"):
        first_run(site.observations[0], site.dataset, PARAMETERS, "s7")
    with pytest.raises(ValueError, match="observation: positions"):
        first_run(site.observations[0], site.dataset, PARAMETERS.model_copy(update={"replicas": 2}), "s1")
