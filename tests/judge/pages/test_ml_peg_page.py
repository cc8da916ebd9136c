"""The page of ML-PEG: each of its benchmarks with its state, and its faults."""

from __future__ import annotations

from judge.pages.text_pages import pages
from scoring.ml_peg import load_facts
from tests.judge.pages.page_reader import PageReader, page_frame
from tests.world.board_records import SUITE

WORDS = {"full": "measured", "part": "in part", "no": "not measured"}


def test_each_benchmark_appears_with_its_state_and_the_reason() -> None:
    page = PageReader(pages(page_frame(SUITE))["ml-peg.html"])
    rows = {row[0][0].strip(): row for row in page.rows[1:]}
    facts = load_facts()
    assert len(rows) == len(facts.benchmarks) == 77
    for name, benchmark in facts.benchmarks.items():
        assert benchmark.cover is not None
        cells = [cell[0] for cell in rows[name]]
        assert cells[2] == WORDS[benchmark.cover]
        assert cells[1] == benchmark.category
        assert cells[5].casefold().startswith(benchmark.reason.casefold())
    for slip in facts.slips:
        assert slip.text[1:] in page.words
