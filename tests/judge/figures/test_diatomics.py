"""Diatomic curves: one scale for all pairs, and all energies in the table."""

from __future__ import annotations

import numpy as np

from judge.figures.diatomic import diatomics_of
from tests.judge.figures.hostile_board import plot_of
from tests.world.curves import LAWS, frame_of, pairs, three, wells


def test_pairs_are_drawn_to_one_scale_and_the_table_goes_beyond_it() -> None:
    row = three().rows[0]
    energies = wells(depth=3.0)
    energies[2] = np.nan
    figure = diatomics_of(frame_of(three(), {(row.submission.id, LAWS.name): pairs(energies)}), row)
    plot = plot_of(figure)
    assert figure is not None
    assert "from −3 to 1.5 eV" in figure.about
    assert [trace["name"] for trace in plot["data"]] == ["H–H", "Cu–Cu", "Zn–Zn"]
    assert {(trace["xaxis"], trace["yaxis"]) for trace in plot["data"]} == {("x", "y"), ("x2", "y"), ("x3", "y")}
    assert plot["layout"]["yaxis"]["range"] == [-3, 1.5]
    labels = [label["text"] for label in plot["layout"]["annotations"]]
    assert labels[:3] == ["H", "Cu", "Zn: failed"]
    in_table = [cells[2] for cells in figure.rows if cells[0] == "H"]
    assert max(value for value in in_table if value is not None) > 10.0
    assert {cells[2] for cells in figure.rows if cells[0] == "Zn"} == {None}
    assert diatomics_of(frame_of(three()), row) is None
