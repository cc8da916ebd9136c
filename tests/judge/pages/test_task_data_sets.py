"""The data set of a task: its public facts, declared training data, and hidden against public errors."""

from __future__ import annotations

import re
import statistics
from dataclasses import replace

from judge.pages.tasks.task_card import DataSet, overlap, plain_name, task_parameters
from judge.pages.tasks.task_pages import pages
from judge.view.page_context import Frame
from judge.view.sources import Sources
from submissions.records import TrainingSet
from tests.judge.pages.page_reader import PageReader, page_frame
from tests.judge.pages.three_models import CRYSTALS_CARD
from tests.world.board_records import SUITE, digest, error, result, submission, task


def test_the_card_of_a_public_set_is_shown(read: dict[str, PageReader]) -> None:
    words = read["tasks/crystals.html"].words
    for fact in (
        CRYSTALS_CARD.title,
        CRYSTALS_CARD.citation,
        CRYSTALS_CARD.licence,
        "public since 2014",
        "PBE, plane waves",
    ):
        assert fact in words
    assert digest("labels of the card") not in words


def test_hidden_sets_show_no_hash_no_seed_and_no_source_of_their_own() -> None:
    secret = replace(task("secret", "nve", "Molecules", seed=71, steps=5), source="the shelf on the left")
    known = replace(secret, name="known", dataset="known@1")
    suite = replace(SUITE, tasks=(secret, known))
    cards = {name: CRYSTALS_CARD.model_copy(update={"name": name}) for name in ("secret", "known")}
    cards["secret"] = cards["secret"].model_copy(update={"public_since": ""})
    sources = Sources(public={"known@1"}, cards={f"{name}@1": card for name, card in cards.items()})
    trained = submission("Model", training=(TrainingSet(name="The shelf on the left"),))
    files = pages(page_frame(suite, [trained], [result(trained, each, {}) for each in suite.tasks], sources))
    hidden, public = PageReader(files["tasks/secret.html"]), PageReader(files["tasks/known.html"])
    assert "only the judge knows structures and labels" in hidden.words
    assert "the shelf on the left" not in hidden.words
    assert "No model declares this data set." in hidden.words  # a card cannot reveal a hidden source
    assert "71" not in hidden.words
    assert ("steps 5" in hidden.words, "seed 71" in public.words) == (True, True)
    assert "declares The shelf on the left" in public.words
    for page in files.values():
        assert not re.search(rb"[0-9a-f]{64}", page)


def test_parameters_have_the_units_of_their_names() -> None:
    dynamics = task(
        "liquid", "dynamics", "Molecules", steps=10, store_every=5, temperature_k=300.0, friction_per_ps=2.0
    )
    stated = {each.name: each.value for each in task_parameters(dynamics, hidden=False)}
    assert (stated["temperature_k"], stated["timestep_fs"], stated["friction_per_ps"]) == ("300 K", "1 fs", "2 ps⁻¹")
    assert (stated["minimise_fmax"], stated["explode_energy_ev_per_atom"]) == ("0.01 eV/Å", "10 eV/atom")
    assert (stated["steps"], stated["pressure_bar"]) == ("10", "1.01325 bar")


def test_declared_training_is_named_and_the_rest_is_not_known(three: Frame, read: dict[str, PageReader]) -> None:
    words = read["tasks/crystals.html"].words
    assert "Worse declares crystals OF everything" in words
    assert "2 models no data at all" in words or "and 2 no data at all" in words
    assert "The judge cannot check these declarations." in words
    assert "No model declares this data set." in read["tasks/molecules.html"].words
    assert plain_name("MD-22") == plain_name("md 22") != plain_name("MD-221")
    assert overlap(three.board, SUITE.tasks[0], DataSet("…", None, "", "")).declared == ()


def test_hidden_errors_are_compared_with_public_errors() -> None:
    suite = replace(SUITE, tasks=(task("open", "energy_differences", "Molecules"), SUITE.tasks[2]))
    models = [submission(f"M{i}") for i in range(3)]
    hidden, public, results = (0.2, 0.6, 0.4), (0.1, 0.5, 0.1), []
    for model, hidden_mae, public_mae in zip(models, hidden, public, strict=True):
        results += [
            result(model, suite.tasks[0], {"mae": error(public_mae, "eV")}),
            result(model, suite.tasks[1], {"mae": error(hidden_mae, "eV")}),
        ]
    card = CRYSTALS_CARD.model_copy(update={"name": "open"})
    files = pages(page_frame(suite, models, results, Sources(public={"open@1"}, cards={"open@1": card})))
    median = statistics.median(a / b for a, b in zip(hidden, public, strict=True))
    for name, other in (("open", "barriers"), ("barriers", "open")):
        page = PageReader(files[f"tasks/{name}.html"])
        assert re.search(rf"Mean absolute error .*{median:.2f} 3 ", page.words)
        assert f"../tasks/{other}.html" in page.links
