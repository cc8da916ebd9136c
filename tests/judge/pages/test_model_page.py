"""The page of a model: verdicts, metrics and scores, also for odd input."""

from __future__ import annotations

import gzip
import re
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from markupsafe import escape

from judge.pages.models.score_tree import Branch
from judge.pages.models.tree_markup import tree_markup
from judge.view.escaping import words
from judge.view.formatting import plain
from judge.view.sources import Sources
from sandbox.verdict import Verdict
from scoring.intervals import Interval
from submissions.records import Check, StatedLabelSet, Submission, TrainingSet
from tasks.metrics.metric import MetricPart
from tests.judge.pages.model_page_reader import Reader, changed, page_of, pages_of
from tests.world.board_records import SUITE, error, good_results, refused, result, submission

HOSTILE = (
    '<script>alert(1)</script>"><img src=x onerror=alert(2)>',
    "\u202ereversed \u05e9\u05dc\u05d5\u05dd \u2066unclosed",
    "🧪" * 200,
    "W" * 200,
)


def test_a_model_with_no_result_says_so(tmp_path: Path) -> None:
    page = page_of(tmp_path, submission("alpha"))
    assert "Not ranked: no task was judged yet." in page.words
    assert page.words.count("Not judged yet.") == len(SUITE.tasks)
    assert "No task was judged yet." in page.words  # in the part about repeated runs
    assert "No task ran yet." in page.words
    assert "0 of 3 OK" in page.words
    assert page.words.count("None") == page.words.count("nan") == 0


def test_a_model_that_failed_everything_has_its_verdicts(tmp_path: Path) -> None:
    model = submission("alpha")
    sentence = "Answer within ten minutes."
    failed = [refused(model, each, Verdict.TIME_LIMIT, sentence=sentence) for each in SUITE.tasks]
    page = page_of(tmp_path, model, failed)
    assert "Not ranked: 5 of 5 tasks failed or not judged." in page.words
    assert page.words.count("time limit") == 5
    assert page.words.count(sentence) == 5
    assert "0 of 3 OK" in page.words
    assert "Metrics of Crystals" not in page.tables


def test_one_task_only(tmp_path: Path) -> None:
    """If the suite has only one task, its line is open."""
    model = submission("alpha")
    page = page_of(tmp_path, model, good_results(model, 0.2)[2:3], suite=replace(SUITE, tasks=SUITE.tasks[2:3]))
    assert "Rank 1 of 1" in page.words
    assert [a.get("open", "closed") for tag, a in page.tags if tag == "details" and a.get("class") == "task"] == [None]
    assert page.rows("Metrics of Barriers") == [
        ["Mean absolute error", "200", "1 000", "meV", "0.200", "10", "0"],
    ]


def test_a_suite_that_lost_a_task_shows_the_others(tmp_path: Path) -> None:
    model = submission("alpha")
    page = page_of(
        tmp_path, model, good_results(model, 0.2), suite=replace(SUITE, tasks=SUITE.tasks[:2] + SUITE.tasks[3:])
    )
    assert "barriers" not in page.words
    assert "Property error" not in page.words
    assert "Rank 1 of 1" in page.words


def test_hostile_text_is_text(tmp_path: Path) -> None:
    known = [hostile(name) for name in HOSTILE]
    results = [each for model in known for each in good_results(model, 0.2)]
    pages = pages_of(tmp_path, known, results, sources=Sources(logs={model.id: model.card.name for model in known}))
    for model in known:
        page = Reader(pages[model.id])
        assert not {"img", "iframe", "style", "object", "form", "base"} & {tag for tag, _ in page.tags}
        assert all(not key.startswith("on") and key != "style" for _, a in page.tags for key in a)
        assert not re.search("[\u0000-\u0008\u001b\u202a-\u202e\u2066-\u2069]", "".join(page.pieces))
        assert plain(model.card.name) in "".join(page.pieces)


def hostile(name: str) -> Submission:
    """A submission with this name in every field that takes a text."""
    check = Check(name=name, passed=None, value=name)
    model = submission(
        name,
        description=name,
        authors=(name,),
        license=name[:200],
        version=name[:64],
        hardware=name,
        precision="float32",
        training=(TrainingSet(name=name, level_of_theory=name),),
        label_sets={"Molecules": StatedLabelSet(name=name[:64])},
    )
    return changed(model, author=name, preflight=model.preflight.model_copy(update={"checks": (check,)}))


@given(st.text(max_size=60))
def test_words_are_cleared_and_escaped(text: str) -> None:
    assert words(text) == escape(plain(text))


def test_a_differing_published_number_stands_beside_the_corrected_one(tmp_path: Path) -> None:
    """One item of ten failed: penalised here, not as published. Equal numbers are shown once."""
    model = submission("alpha")
    results = good_results(model, 0.2)
    penalised = replace(error(0.4, "eV", n_failed=1), value=0.1)
    results[2] = result(model, SUITE.tasks[2], {"mae": penalised})
    page = page_of(tmp_path, model, results)
    why = page.words.partition("Why these scores")[2].partition("Tasks Inorganic")[0]
    assert "Mean absolute error 0.4000 share 100 % as published 0.1000" in why.replace("\u00a0", " ")
    assert "Force-field error 0.2000 Energy" in why  # no `as published` between
    assert "1 of 10 items failed, 100 meV without them" in why


def test_an_interval_that_is_a_lower_bound_has_an_asterisk() -> None:
    branch = Branch("error", "0.2", False, None, Interval(0.1, 0.3), None, "", "", "", None, ())
    assert "<small>0.100\u00a0–\u00a00.300</small>" in tree_markup(branch)
    assert "0.300 *</small>" in tree_markup(branch._replace(interval=Interval(0.1, 0.3, n_held=1)))


def test_times_have_two_digits(tmp_path: Path) -> None:
    model = submission("alpha")
    results = good_results(model, 0.2)
    results[4] = result(model, SUITE.tasks[4], {"time_mean": replace(results[4].metrics["time_mean"], value=83.4567)})
    page = page_of(tmp_path, model, results)
    assert page.rows("Metrics of Speed")[0][1] == "83.0"
    assert "83.4567" not in "".join(page.pieces)


def test_parts_are_a_line_each(tmp_path: Path) -> None:
    model = submission("alpha")
    results = good_results(model, 0.2)
    parts = [
        MetricPart(by="element", name=name, metric=metric, value=0.01, unit="eV/atom", n_items=n, n_failed=0)
        for name in ("Cu", "Ni")
        for metric, n in (("energy_rmse_per_atom", 10), ("energy_mae_per_atom", 8))
    ]
    results[0] = results[0].model_copy(update={"parts": tuple(parts)})
    page = page_of(tmp_path, model, results)
    assert page.rows("Metrics of Crystals by element") == [
        ["Cu", "10.0", "10.0", "8–10", "0"],
        ["Ni", "10.0", "10.0", "8–10", "0"],
    ]


def test_shared_provenance_is_shown_once(tmp_path: Path) -> None:
    model = submission("alpha")
    results = good_results(model, 0.2)
    html = pages_of(tmp_path, [model], results)[model.id]
    assert html.count(f"<code>{model.image.id}</code>") == 2  # in the card, and once for all tasks
    for each in results:
        assert f"<code>{each.result_key}</code>" in html
    assert len(gzip.compress(html.encode(), 9)) < 12_000


def test_a_resumed_observation_says_so(tmp_path: Path) -> None:
    model = submission("alpha")
    first, *others = good_results(model, 0.2)
    resumed = first.model_copy(update={"provenance": first.provenance.model_copy(update={"resumed": True})})
    assert page_of(tmp_path, model, [resumed, *others]).words.count("Resumed after an interruption") == 1
