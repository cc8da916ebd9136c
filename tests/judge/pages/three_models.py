"""A board of three models on the small suite; only the data set `crystals` is public."""

from __future__ import annotations

from judge.view.page_context import Frame
from judge.view.sources import Sources
from sandbox.verdict import Verdict
from submissions.records import TrainingSet
from tasks.datasets.card import Card, LabelSet
from tests.judge.pages.page_reader import page_frame
from tests.world.board_records import (
    ENERGY,
    FORCE,
    SUITE,
    VIRIAL,
    digest,
    error,
    good_results,
    refused,
    result,
    submission,
)

CRYSTALS_CARD = Card(
    name="crystals",
    version="1",
    title="Crystals of everything",
    domain="Inorganic Materials",
    periodic=True,
    default_label_set="PBE",
    label_sets={"PBE": LabelSet(theory="PBE, plane waves", dispersion=False)},
    citation="A. Author, J. Crystals 1, 1 (2014)",
    licence="CC-BY-4.0",
    public_since="2014",
    sha256={"labels.safetensors": digest("labels of the card")},
)


def three_models() -> Frame:
    """Two models with all tasks, and one that crashed in `crystals`."""
    good, worse = submission("Good"), submission("Worse", training=(TrainingSet(name="crystals OF everything"),))
    broken = submission("Broken")
    results = good_results(good, 0.1) + good_results(worse, 0.8)
    lost = refused(broken, SUITE.tasks[0], Verdict.CRASHED, sentence="It ended.")
    uneven = {ENERGY: error(0.01), FORCE: error(0.03, "eV/Å"), VIRIAL: error(0.9)}
    results = [result(good, SUITE.tasks[0], uneven), *results[1:], *good_results(broken, 0.5)[1:], lost]
    sources = Sources(public={"crystals@1"}, cards={"crystals@1": CRYSTALS_CARD})
    return page_frame(SUITE, [good, worse, broken], results, sources)
