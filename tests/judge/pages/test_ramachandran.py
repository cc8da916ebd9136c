"""Ramachandran plots: (φ, ψ) of runs of a public data set, and nothing of a hidden one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from judge.disclosure.public_backbones import MOST_DOTS, public_backbones
from judge.disclosure.public_trajectories import MOST_BYTES
from judge.pages.tasks.ramachandran import RAMACHANDRAN, packed
from judge.publishing.folder import as_written
from judge.publishing.site_files import build_site, site_files
from judge.view.earlier_pages import EarlierPages
from submissions.store.local import LocalStore
from tasks.trajectories.dihedral_outliers import BackboneMap
from tests.judge.pages.protein_site import ANGLES, PEPTIDES, protein_site
from tests.judge.pages.simulated_site import KIND, KNOWN, PUBLIC, SECRET, SimulatedSite


@pytest.fixture
def site(tmp_path: Path) -> SimulatedSite:
    return protein_site(LocalStore(tmp_path / "store"), tmp_path / "data")


def plots(site: SimulatedSite, model: str) -> dict[str, dict[str, Any]]:
    """The plots of a model by title."""
    files = site_files(site.store, site.board, site.sources)
    page = files["tasks/known-runs.html"].decode()
    paths = [path for path in files if path.startswith(RAMACHANDRAN.folder)]
    (path,) = (path for path in paths if f'{path}" data-title="{model}:' in page)
    return {plot["title"]: plot for plot in json.loads(files[path])["plots"]}


def test_the_angles_are_those_of_the_run_and_outliers_are_apart(site: SimulatedSite) -> None:
    shown = plots(site, "whole")
    assert {title: (each["outliers"], each["angles"]) for title, each in shown.items()} == {
        "backbone ALA": (2, 5),
        "backbone GLY": (1, 5),
        "backbone PRO": (1, 5),
        "dihedral_outliers, GENERAL": (2, 5),
        "dihedral_outliers, GLY": (1, 5),
        "dihedral_outliers, PRO": (1, 5),
    }
    ala = shown["backbone ALA"]
    assert ala["near"] == [[-60, -45], [-57, -41], [-120, 130]]
    assert ala["far"] == [[-51, -40], [60, 40]]
    assert (ala["residues"], ala["reference"]) == (1, 3)
    assert ala["cells"] == [[11, 62, 1], [23, 27, 1], [24, 27, 1]]
    assert shown["backbone GLY"]["far"] == [[-170, 170]]
    assert [-175, 174] in shown["backbone GLY"]["near"]  # across the border of the plot
    assert [0, 0, 1] in shown["backbone GLY"]["cells"]


def test_shares_are_those_of_the_items(site: SimulatedSite) -> None:
    items = KIND.measure(site.observations[0], site.dataset, PEPTIDES.tasks[0].parameters, None).items
    shares = dict(zip(items.id, items.columns["predicted"].tolist(), strict=True))
    for title, each in plots(site, "whole").items():
        if title.startswith("backbone"):
            assert 100 * each["outliers"] / each["angles"] == pytest.approx(shares[f"s0/{title}"])


def test_a_run_that_broke_has_the_frames_before_its_end(site: SimulatedSite) -> None:
    ala = plots(site, "broken")["backbone ALA"]
    assert (ala["near"], ala["far"]) == ([[-60, -45], [-57, -41]], [])


def test_nothing_of_a_hidden_data_set_is_read_or_shown(site: SimulatedSite) -> None:
    files = site_files(site.store, site.board, site.sources)
    assert len([path for path in files if path.startswith(RAMACHANDRAN.folder)]) == 2
    assert "Ramachandran" not in files["tasks/secret-runs.html"].decode()
    hidden = site_files(site.store, site.board, replace(site.sources, public=frozenset()))
    assert not any(path.startswith(RAMACHANDRAN.folder) for path in hidden)
    lines = {line.task.name: line for line in site.board.rows[0].tasks}
    assert public_backbones(lines[SECRET.name], "s0", 1.0, refused, PUBLIC) == []
    known = lines[KNOWN.name]
    assert known.result is not None
    provenance = known.result.provenance.model_copy(update={"dataset": SECRET.dataset})
    other = replace(known, result=known.result.model_copy(update={"provenance": provenance}))
    assert public_backbones(other, "s0", 1.0, refused, PUBLIC) == []


def refused(*_: object) -> Sequence[BackboneMap]:
    raise AssertionError("a stored run of a hidden data set was read")


def test_files_of_the_last_build_are_used_again(site: SimulatedSite, tmp_path: Path) -> None:
    build_site(site.store, PEPTIDES, tmp_path / "site", sources=site.sources)
    for key in list(site.store.list("observations/")):
        site.store.delete(key)
    again = site_files(site.store, site.board, site.sources, EarlierPages(read=as_written(tmp_path / "site")))
    assert len([path for path in again if path.startswith(RAMACHANDRAN.folder)]) == 2
    without = site_files(site.store, site.board, site.sources)
    assert "Ramachandran" not in without["tasks/known-runs.html"].decode()


def test_a_long_run_is_thinned_and_its_share_is_not(site: SimulatedSite) -> None:
    line = next(line for line in site.board.rows[0].tasks if line.task.name == KNOWN.name)
    rng, n_frames = np.random.default_rng(0), 5000
    angles, points = rng.uniform(-180, 180, (n_frames, 25, 2)), rng.uniform(-180, 180, (20_000, 2))
    is_outlier = rng.random((n_frames, 25)) < 0.3
    whole = BackboneMap("backbone ALA", 0.1 * np.arange(n_frames), angles, is_outlier, points)
    (shown,) = public_backbones(line, "s0", np.inf, lambda *_: [whole], PUBLIC)
    assert (shown.n_angles, shown.n_outliers) == (125_000, is_outlier.sum())
    assert len(shown.near) + len(shown.far) == 25 * -(-n_frames // 3) <= MOST_DOTS
    assert shown.cells[:, 2].sum() == 20_000
    assert len(packed([shown])) < MOST_BYTES


def test_without_frames_after_the_equilibration_there_is_no_plot(site: SimulatedSite) -> None:
    parameters = PEPTIDES.tasks[0].parameters
    assert KIND.traits.backbone_maps is not None
    late = parameters.model_copy(update={"equilibration_steps": 9})
    (maps, *_) = KIND.traits.backbone_maps(site.observations[0], site.dataset, late, "s0", None)
    np.testing.assert_allclose(maps.angles[:, 0], [ANGLES[-1][0]], atol=1e-3)
    assert KIND.traits.backbone_maps(site.observations[1], site.dataset, late, "s0", None) == []
