"""A model page shows what the author states beside what the judge measured."""

from __future__ import annotations

from pathlib import Path

from submissions.records import StatedLabelSet, TrainingSet
from submissions.store.local import LocalStore
from tests.judge.pages.built_site import build
from tests.world.board_records import good_results, save, submission

STATED = {
    "affiliation": "A department",
    "license": "https://example.org/licence",
    "open_weights": False,
    "n_parameters": 412525,
    "conservative": True,
    "dispersion": False,
    "precision": "mixed",
    "elements": ("H", "Si", "U"),
    "training": (TrainingSet(name="MPtrj", level_of_theory="PBE+U", url="https://example.org/mptrj"),),
    "hardware": "One GPU with 80 GB",
    "label_sets": {
        "Molecules": StatedLabelSet(name="PBE", dispersion=False),
        "Catalysis": StatedLabelSet(name="RPBE"),
    },
}


def test_statements_stand_beside_measurements(store: LocalStore, tmp_path: Path) -> None:
    full, bare = submission("full", **STATED), submission("bare")
    measured = {
        "n_parameters": 412525,
        "answered_elements": ("H", "C", "O", "Na", "Cl", "Cu", "Pt"),
        "unanswered_elements": ("Si",),
    }
    full = full.model_copy(update={"preflight": full.preflight.model_copy(update=measured)})
    save(store, [full, bare], good_results(full, 0.2) + good_results(bare, 0.3))
    pages, problems = build(store, tmp_path / "site")
    assert problems == []
    page = next(page for path, page in pages.items() if path.stem == full.id)
    assert page.rows("measured-title")[1:] == [
        ["Parameters", "412 525", "412 525, counted in the model"],
        [
            "Forces",
            "the gradient of the energy",
            "differ from the gradient of the energy △ differs from the statement",
        ],
        ["Elements", "H Si U", "answered H C O Na Cl Cu Pt; no answer with Si △ differs from the statement"],
        ["Dispersion", "not in the energies", "not measured"],
        ["Charge", "not stated", "not measured"],
        ["Spin", "not stated", "not measured"],
        ["Precision", "mixed", "not measured"],
        ["Level of theory, Inorganic Materials", "not stated", "not judged against labels"],
        ["Level of theory, Molecules", "PBE, without dispersion", "not judged against labels"],
        ["Level of theory, Catalysis", "RPBE", "not judged against labels"],
        ["Hardware", "One GPU with 80 GB", "timed on x86_64, 2 cores"],
    ]
    assert page.rows("training-title")[1:] == [["MPtrj", "PBE+U", "https://example.org/mptrj"]]
    for field, words in (
        ("Affiliation", "A department"),
        ("Weights", "not open"),
    ):
        assert field + words in page.words
    assert "https://example.org/licence" in {a.get("href") for _, a in page.tags}
    page = next(page for path, page in pages.items() if path.stem == bare.id)
    assert page.rows("measured-title")[1:4] == [
        ["Parameters", "not stated", "not measured"],
        ["Forces", "not stated", "differ from the gradient of the energy"],
        ["Elements", "not stated", "not measured"],
    ]
    assert "training-title" not in page.tables
    assert "The author does not state the training data." in page.words
