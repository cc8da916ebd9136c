"""The pages of other scoring schemes, of scores as published, and the explanation of a score."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from judge.records.items_file import items_path, pack_items
from submissions.store.local import LocalStore
from tasks.metrics.measurement import Items
from tasks.structures.predictions import Cause
from tests.judge.pages.built_site import TWO, build, fill, fill_two, penalised
from tests.world.board_records import SUITE, error, frames_metrics, good_results, result, save, submission


def test_the_difference_to_what_lambench_publishes(store: LocalStore, tmp_path: Path) -> None:
    """As published, failures of alpha are not penalised, and the failed set of beta is left out, not counted as 1."""
    fill_two(store, alpha=(penalised(0.1, 0.4), error(0.2, "eV")), beta=(error(0.4, "eV"), None), gamma=(None, None))
    pages, _ = build(store, tmp_path / "site", TWO)
    index = pages[tmp_path / "site" / "index.html"]
    assert index.cells("ranking-title", "alpha")[1].startswith("0.300")
    assert index.cells("ranking-title", "beta")[1].startswith("0.700 1 of 2 tasks")
    published = pages[tmp_path / "site" / "schemes.html"]
    assert published.cells("as-published-title", "alpha") == ["0.150 −0.150"]
    assert published.cells("as-published-title", "beta") == ["0.400 −0.300"]
    assert published.cells("as-published-title", "gamma") == ["–"]
    for sentence in (
        "LAMBench 0.3.1, as published",
        "Failed items are not penalised",
        "A property without an answer is left",
    ):
        assert sentence in published.text


def test_a_model_to_which_lambench_gives_no_score(store: LocalStore, tmp_path: Path) -> None:
    """Without stress: the mean of 0.5 for molecules, and of 0.9 · 0.5 + 0.1 for the domain with virials."""
    fill(store, "alpha")
    without = submission("beta")
    results = good_results(without, 0.5)
    results[0] = result(without, SUITE.tasks[0], frames_metrics(0.5))
    save(store, [without], results)
    pages, _ = build(store, tmp_path / "site")
    assert pages[tmp_path / "site" / "schemes.html"].cells("as-published-title", "beta") == [
        "– corrected: 0.525",
        "0.500 same",
        "1.5 same",  # made of times: two digits
        "0.000 same",
    ]


def test_other_schemes(store: LocalStore, tmp_path: Path) -> None:
    """ML-PEG: mean over the sets of 1 − error / error of the trivial model. As published, a missing set is left out."""
    fill_two(store, alpha=(error(0.2), error(0.6)), beta=(error(0.4), None))
    pages, _ = build(store, tmp_path / "site", TWO)
    others = pages[tmp_path / "site" / "schemes.html"]
    assert others.rows("other-schemes-title")[0] == ["Model", "ML-PEG ↑, higher is better"]
    # The items of a set are one cluster, and held: the two sets alone are drawn. Student's t of one degree of freedom
    # says nearly nothing.
    (alpha,), (beta,) = (others.cells("other-schemes-title", name) for name in ("alpha", "beta"))
    assert alpha == "0.60095 % interval 0.007 – 1.000 *, a lower bound of the width"
    assert beta.startswith("0.300 up to 0.80095 % interval 0.000 – 1.000 *")
    assert beta.endswith("as published: 0.600")
    assert "“bad” is the error of the trivial model" in others.text
    assert "MLIPAudit" not in others.text


def test_mlipaudit_scores_items(store: LocalStore, tmp_path: Path) -> None:
    """Scores of errors of 0.5 and 2 kcal/mol with a threshold of 1, and of a failed item: 1, exp(−3) and 0."""
    audited = replace(TWO.tasks[0], mlipaudit=("noncovalent_interactions",))
    model = submission("alpha")
    judged = result(model, audited, {"mae": error(0.1, "eV", n_failed=1)}, notes={"items in": "kcal/mol"})
    save(store, [model], [judged])
    names, causes = ["a", "b", "c"], np.array([Cause.NONE, Cause.NONE, Cause.ERROR], np.int8)
    items = Items(names, names, names, causes, {"error": np.array([0.5, -2.0, np.nan])})
    store.put(items_path(model.id, audited.name, judged.result_key), pack_items(items))
    pages, _ = build(store, tmp_path / "site", replace(TWO, tasks=(audited,)))
    others = pages[tmp_path / "site" / "schemes.html"]
    assert others.rows("other-schemes-title")[0] == [
        "Model",
        *(f"{name} ↑, higher is better" for name in ("ML-PEG", "MLIPAudit", "MLIPAudit, compatible benchmarks")),
    ]
    mean = f"{(1 + math.exp(-3)) / 3:.3f}"
    ml_peg, overall, compatible = others.cells("other-schemes-title", "alpha")
    assert (ml_peg, compatible) == ("0.900", mean)
    found = re.match(
        rf"{re.escape(mean)}95 % interval ([\d.]+) – ([\d.]+)", overall
    )  # of three items, one of which failed
    assert found is not None
    assert float(found[1]) < 0.05
    assert 0.7 < float(found[2]) < 1.0


def test_the_explanation_of_a_score(store: LocalStore, tmp_path: Path) -> None:
    fill_two(store, alpha=(penalised(0.1, 0.4), error(0.2, "eV")), beta=(error(0.4, "eV"), None))
    pages, _ = build(store, tmp_path / "site", TWO)
    page = pages[tmp_path / "site" / "submissions" / f"{submission('alpha').id}.html"]
    why = page.words.partition("Why these scores")[2]
    assert why.index("Property error 0.3000") < why.index("Molecules 0.3000") < why.index("One 0.4000")
    assert why.count("Each: mean over metric columns.") == 1  # once for both tasks
    assert "share 50 % as published 0.1000 Mean absolute error 0.4000" in why
    assert (
        "Error / baseline, at most 1. 400 meV; baseline 1 000 meV; 1 of 10 items failed, 100 meV without them." in why
    )
    assert "Source: LAMBench, arXiv:2504.19578" in why
    beta = pages[tmp_path / "site" / "submissions" / f"{submission('beta').id}.html"]
    why = beta.words.partition("Why these scores")[2]
    assert "Two counts 1.0000 share 50 % as published left out" in why
