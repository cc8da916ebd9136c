"""The page of ML-PEG: each of its benchmarks with its state, and its faults; and what its scores are made of."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from judge.pages import table_pages
from judge.pages.text_pages import pages
from judge.view.formatting import thousands
from scoring.ml_peg import load_facts
from tests.judge.pages.page_reader import PageReader, page_frame
from tests.world.board_records import SUITE, good_results, submission

WORDS = {"part": "in part", "no": "not measured"}


def test_each_benchmark_appears_with_its_state_and_the_reason() -> None:
    page = PageReader(pages(page_frame(SUITE))["ml-peg.html"])
    rows = {row[0][0].strip(): row for row in page.rows[1:]}
    facts = load_facts()
    whole = {name for name, benchmark in facts.benchmarks.items() if benchmark.cover == "full"}
    assert len(facts.benchmarks) == 77
    assert whole.isdisjoint(rows)
    assert whole | rows.keys() == facts.benchmarks.keys()
    html = pages(page_frame(SUITE))["ml-peg.html"].decode()
    for name, benchmark in facts.benchmarks.items():
        if name in whole:
            assert f'<li id="{name}">' in html
            assert f"<h3>{benchmark.category}</h3>" in html
            continue
        assert benchmark.cover is not None
        cells = [cell[0] for cell in rows[name]]
        assert cells[2] == WORDS[benchmark.cover]
        assert cells[1] == benchmark.category
        assert cells[5].casefold().startswith(benchmark.reason.casefold())
        assert benchmark.remark[1:] in cells[5]
    for slip in facts.slips:
        assert " ".join(slip.text[1:].split()) in page.words
        assert slip.corrected[1:] in page.words


def test_faults_say_whether_they_act() -> None:
    html = pages(page_frame(SUITE))["ml-peg.html"].decode()
    faults = html[html.index('id="slips-title"') :]
    assert faults.count(">yes</td>") == sum(slip.acts for slip in load_facts().slips) == 2
    assert faults.count(">no</td>") == len(load_facts().slips) - 2


def test_faults_agree_with_the_states_in_plain_words() -> None:
    """Only of a benchmark that is not measured they say so. They name no symbol, and write 11 961 as other pages do."""
    facts = load_facts()
    for slip in facts.slips:
        if "not measured here" in slip.corrected:
            assert {facts.benchmarks[name].cover for name in slip.benchmarks} == {"no"}
        words = f"{slip.text} {slip.corrected}"
        assert not re.search(r"\bW\b|\d,\d{3}", words)
    assert any(thousands(11961) in slip.text for slip in facts.slips)


@pytest.mark.parametrize(
    ("release", "words"), [("", "the error of the trivial model"), ("ml-peg", "that ML-PEG has published")]
)
def test_the_thresholds_that_a_suite_has(release: str, words: str) -> None:
    """A suite that names a release of ML-PEG has its thresholds; else they are those of the trivial model."""
    model = submission("A")
    first = replace(SUITE.tasks[0], ml_peg="X23") if release else SUITE.tasks[0]
    suite = replace(SUITE, ml_peg_release=release, tasks=(first, *SUITE.tasks[1:]))
    page = PageReader(table_pages.pages(page_frame(suite, [model], good_results(model, 0.5)))["schemes.html"])
    both = ("the error of the trivial model", "that ML-PEG has published")
    assert [each in page.words for each in both] == [each == words for each in both]
