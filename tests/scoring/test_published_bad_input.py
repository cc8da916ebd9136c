"""Bad input gets one line that names release, model, task and field; or the stated worst, with a note."""

from __future__ import annotations

import math
from typing import Any

import pytest

from scoring import ScoringError, load_release
from scoring.lambench.published import score_published
from scoring.lambench.published_config import release_from_config
from tests.scoring.published_tables import FF, FIVE, GENERAL, PC, USE, Json, changed, labels, scored, without

TIMED, NVE = f"{USE}.inference_efficiency", f"{USE}.nve_md"


def complaint(config: object, raw: object) -> str:
    with pytest.raises(ScoringError) as caught:
        score_published(release_from_config(config, "config.json").release, raw)
    text = str(caught.value)
    assert "\n" not in text
    assert len(text) < 400
    return text


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (f"{FF}.ani.energy_rmse_natoms", -1.0, "task ani: energy_rmse_natoms: -1.0 is not a number from 0 up"),
        (f"{FF}.ani.force_rmse", math.inf, "task ani: force_rmse: inf is not a number from 0 up"),
        (f"{FF}.ani.force_rmse", "12.5", "task ani: force_rmse: '12.5' is not a number"),
        (f"{FF}.ani.force_rmse", True, "task ani: force_rmse: True is not a number"),
        (f"{FF}.ani.force_rmse", [1.0], "task ani: force_rmse: [1.0] is not a number"),
        pytest.param(f"{FF}.ani.force_rmse", 10**400, "task ani: force_rmse: 1000000", id="huge"),
        pytest.param(f"{FF}.ani.force_rmse", "x" * 9999, "task ani: force_rmse: 'xxx", id="long"),
        (f"{FF}.ani", [1, 2], f"{FF}: ani: must be a table of names and values, not list"),
        (FF, "none", f"{FF}: must be a table of names and values, not str"),
        (f"{PC}.neb.barrier", -0.1, "task neb: barrier: -0.1 is not a number from 0 up"),
        (f"{PC}.phonon.success_rate", -0.1, "task phonon: success_rate: -0.1 is not a number from 0 up"),
        (f"{PC}.phonon.success_rate", "all", "task phonon: success_rate: 'all' is not a number"),
        (f"{PC}.neb", 3.0, f"{PC}: neb: must be a table of names and values, not float"),
        (f"{TIMED}.average_time", 0.0, "task inference_efficiency: a time of 0.0 µs/atom is not positive"),
        (f"{TIMED}.average_time", -5, "task inference_efficiency: average_time: -5 is not a number from 0 up"),
        (TIMED, {"water": {"average_time": "fast"}}, "inference_efficiency: water: average_time: 'fast' is not"),
        (TIMED, [250.0], "inference_efficiency: must be a table of names and values, not list"),
        (f"{NVE}.slope", -1e-6, "nve_md: slope: -1e-06 is not a number from 0 up"),
        (f"{NVE}.success_rate", 67.0, "nve_md: success_rate: 67.0 is not a share from 0 to 1"),
        (NVE, {"a": {"slope": -1.0, "steps": 10000}}, "nve_md: a: slope: -1.0 is not a number from 0 up"),
        ("model.supports_omol", "yes", "model.supports_omol: 'yes' is neither true nor false"),
        ("model", [], "model: must be a table of names and values, not list"),
    ],
)
def test_a_bad_number_names_release_model_task_and_field(path: str, value: object, words: str) -> None:
    text = complaint(FIVE, {"fine": GENERAL, "broken": changed(GENERAL, path, value)})
    assert text.startswith("release by-hand: model broken: ")
    assert words in text


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ({}, "release by-hand: the file has no model"),
        ([GENERAL], "release by-hand: the file: must be a table of names and values, not list"),
        (None, "release by-hand: the file: must be a table of names and values, not NoneType"),
        ({"broken": None}, "release by-hand: model broken: must be a table of names and values, not NoneType"),
        ({"broken": [1]}, "release by-hand: model broken: must be a table of names and values, not list"),
    ],
)
def test_a_file_that_is_no_table_of_models(raw: object, words: str) -> None:
    assert complaint(FIVE, raw) == words


@pytest.mark.parametrize("value", [math.nan, None])
def test_nan_is_missing_and_never_an_answer(value: float | None) -> None:
    for path, note in (
        (f"{FF}.ani.force_rmse", f"{FF}: missing, so there is no score: ani (force)"),
        (f"{PC}.neb.barrier", f"{PC}: missing, left out: neb (barrier)"),
    ):
        raw = {"general": changed(GENERAL, path, value)}
        assert scored(FIVE, raw)["general"].notes == (note,)
        corrected = scored(FIVE, raw, corrected=True)["general"]
        lost = [
            term for s in (corrected.scores["force_field"], corrected.scores["property_error"]) for _, term in s.walk()
        ]
        assert [term.rule for term in lost if term.raw and term.raw.value is None] == ["no answer: counted as worst"]


def test_a_model_with_no_results_has_no_scores_and_says_so() -> None:
    both = scored(FIVE, {"general": GENERAL, "empty": {}})
    empty = both["empty"]
    terms = (
        empty.scores["force_field"],
        empty.scores["property_error"],
        empty.scores["efficiency"],
        empty.scores["instability"],
    )
    assert [term.value for term in terms] == [None] * 4
    assert len(empty.notes) == 5
    notes = " ".join(empty.notes)
    for part in (FF, PC, "inference_efficiency", "nve_md", "supports_omol", *FIVE["ff"]["tasks"], *FIVE["pc"]["tasks"]):
        assert part in notes
    assert both["general"].notes == ()


def test_unknown_tasks_are_named() -> None:
    table = changed(changed(GENERAL, f"{FF}.water", {"energy_rmse_natoms": 1.0}), f"{PC}.surface", {"MAE": 1.0})
    table = changed(table, f"{FF}.Weighted", None)  # a summary, not a task
    assert scored(FIVE, {"general": table})["general"].notes == (
        f"{FF}: not in the release, and not scored: water",
        f"{PC}: not in the release, and not scored: surface",
    )


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("pc.tasks.neb.metrics", ["barrier", "MAE_nonsense"], "pc.tasks.neb.dummy: nothing to divide MAE_nonsense by"),
        ("pc.tasks.neb.metrics", ["barrier", "barrier"], "pc.tasks.neb.metrics: one is named twice"),
        ("pc.tasks.neb.metrics", [], "pc.tasks.neb.metrics: "),
        ("pc.tasks.phonon.penalty", "sucess_rate", "task phonon: metric sucess_rate: no model has it; there are entro"),
        ("pc.tasks.neb.dummy", {"barrier": 2.0, "ø_Transfer": 0.0}, "pc.tasks.neb.dummy.ø_Transfer: "),
        ("pc.tasks.neb.dummy", {"barrier": 2.0, "ø_Transfer": -1.0}, "pc.tasks.neb.dummy.ø_Transfer: "),
        ("pc.tasks.neb.dummy", {"barrier": 2.0, "ø_Transfer": math.nan}, "pc.tasks.neb.dummy.ø_Transfer: "),
        ("pc.missing_domain_rule", "ignore", "pc.missing_domain_rule: "),
        ("pc.tasks", {}, "pc.tasks: "),
        (
            "ff.metric_keys.energy",
            "energy_rmse_atoms",
            "task ani: metric energy_rmse_atoms: no model has it; there are",
        ),
        ("ff.metric_keys", {"energy": "energy_rmse_natoms"}, "ff.metric_keys.force: missing"),
        ("ff.tasks.ani.energy.weight", 2, "ff.tasks.ani.energy.weight: 2.0 is neither 1 nor null"),
        ("ff.tasks.ani.energy.weight", math.nan, "ff.tasks.ani.energy.weight: nan is neither 1 nor null"),
        ("ff.tasks.ani.energy.std_eV", None, "ff.tasks.ani.energy.std_eV: null, though it has a weight"),
        ("ff.tasks.h2.energy.std_eV", {"wB97": None, "PBE": None}, "ff.tasks.h2.energy.std_eV: null, though it has"),
        ("ff.tasks.ani.energy.std_eV", 0.0, "ff.tasks.ani.energy.std_eV: "),
        ("ff.tasks.ani.energy.std_eV", -0.1, "ff.tasks.ani.energy.std_eV: "),
        ("ff.tasks.ani.energy.std_eV", math.nan, "ff.tasks.ani.energy.std_eV: "),
        ("ff.tasks.ani.energy.std_eV", {"A": 1, "PBE": 1, "C": 1}, "ff.tasks.ani.energy.std_eV: must be a number or a"),
        ("ff.tasks.h2.energy.std_eV", {"wB97": 0.2}, "ff.tasks.h2.energy.std_eV: must be a number or a pair"),
        ("ff.tasks.ani", {"domain": "Molecules"}, "ff.tasks.ani: no label type has a weight"),
        ("ff.raw_to_std_factor", 1.0, "ff.raw_to_std_factor: 1 is not 0.001, which meV (rounded to 0.1) to eV takes"),
        ("ff.raw_unit", "kcal/mol", "ff.raw_unit, ff.std_unit: must begin with eV or meV"),
        ("ff.type_weights_domain_with_any_virial", {"energy": 0, "force": 0, "virial": 0}, "sum to zero"),
        ("ff.type_weights_domain_without_virial", {"energy": 0.5}, "type_weights_domain_without_virial.force: missing"),
        ("ff.type_weights_domain_without_virial", {"energy": 1, "force": 1, "dipole": 1}, "dipole"),
        ("ff.type_weights_domain_without_virial", {"energy": -1, "force": 2}, "weights_without_virial.energy: "),
        (
            "ff.type_weights_domain_without_virial",
            {"energy": math.nan, "force": 1},
            "type_weights_domain_without_virial",
        ),
        ("ff.cap_at_1", None, "ff.cap_at_1: "),
        ("ff.tasks", {}, "ff.tasks: "),
        ("stability.tolerance", 0.0, "stability.tolerance: "),
        ("stability.n_structures", 0, "stability.n_structures: "),
        ("efficiency.eta0_us_per_atom", math.nan, "efficiency.eta0_us_per_atom: "),
        ("rounding.ranking_decimals", "three", "rounding.ranking_decimals: "),
    ],
)
def test_a_bad_fact_names_release_task_and_field(path: str, value: object, words: str) -> None:
    raw = {"one": GENERAL, "two": GENERAL}
    text = complaint(changed(FIVE, path, value), raw)
    assert text.startswith(("release by-hand: ", "release config.json: "))
    assert words in text


def test_published_errors_are_divided_by_numbers_in_ev() -> None:
    config = changed(changed(FIVE, "ff.std_unit", "meV"), "ff.raw_to_std_factor", 1.0)
    assert complaint(config, {"one": GENERAL}) == "release by-hand: ff.std_unit: must be eV, as std_eV says"


@pytest.mark.parametrize("path", ["release", "ff", "pc", "ff.cap_at_1", "pc.cap_at_1_before_penalty", "ff.metric_keys"])
def test_a_missing_key_is_named(path: str) -> None:
    assert complaint(without(FIVE, path), {"one": GENERAL}) == f"release config.json: {path}: Field required"


@pytest.mark.parametrize("content", [None, [], "config", 3])
def test_a_config_that_is_no_table(content: object) -> None:
    assert complaint(content, {"one": GENERAL}).startswith("release config.json: Input should be a valid dictionary")


def test_weights_that_leave_a_domain_without_any() -> None:
    config = changed(FIVE, "ff.type_weights_domain_without_virial", {"energy": 0.0, "force": 1.0})
    assert scored(config, {"one": GENERAL})["one"].scores["force_field"].value is not None
    config = changed(config, "ff.tasks.ani", labels("Small Molecules", energy=0.1))
    text = complaint(config, {"one": GENERAL})
    assert text.startswith(
        "release by-hand: model one: domain Small Molecules: the weights of its label types (energy)"
    )


def test_a_metric_that_no_model_has_is_unknown_and_a_label_type_that_none_predicts_is_missing() -> None:
    config = changed(FIVE, "pc.tasks.neb.metrics", ["barrier", "ø_Tranfser"])
    config = changed(config, "pc.tasks.neb.dummy", {"barrier": 2.0, "ø_Tranfser": 100.0})
    text = complaint(config, {"one": GENERAL, "two": GENERAL})
    assert text == "release by-hand: task neb: metric ø_Tranfser: no model has it; there are barrier, ø_Transfer"
    # A single model is no evidence of a misspelt name: its metric is missing, with a note.
    assert scored(config, {"one": GENERAL})["one"].notes == (f"{PC}: missing, left out: neb (ø_Tranfser)",)
    no_stress = without(GENERAL, f"{FF}.hea.virial_rmse_natoms")
    both = scored(FIVE, {"one": no_stress, "two": no_stress}, corrected=True)
    assert both["two"].scores["force_field"].value == pytest.approx((0.3 + 0.6 + 0.25 + 0.25 + 0.46) / 5)


def test_facts_outside_the_formula_are_named() -> None:
    config = changed(changed(FIVE, "ff.tasks.ani.colour", "red"), "stability.older_formula_in_force", True)
    config = changed(config, "ff.molecules_label_selection", {"any": ["thing"]})
    assert release_from_config(config, "config.json").notes == (
        "config.json: ff.tasks.ani.colour is not part of the formula as known here, and is not used",
        "config.json: pc.tasks.torsion.dummy: no baseline of MAE: such errors are taken as they are",
        "config.json: stability.older_formula_in_force: the instability here is by the present formula",
    )


def test_units_may_be_stated_in_ev() -> None:
    config = changed(changed(FIVE, "ff.raw_unit", "eV"), "ff.raw_to_std_factor", 1.0)
    table: Json = changed(GENERAL, FF, {t: {k: _thousandth(v) for k, v in r.items()} for t, r in GENERAL[FF].items()})
    in_ev, in_mev = scored(config, {"m": table})["m"], scored(FIVE, {"m": GENERAL})["m"]
    assert in_ev.scores["force_field"].value == pytest.approx(in_mev.scores["force_field"].value, rel=1e-12)


def _thousandth(value: Any) -> Any:
    return None if value is None else value / 1000


def test_a_release_without_tasks_scores_no_table() -> None:
    with pytest.raises(ScoringError, match="release corrected: it names no published tasks"):
        score_published(load_release("corrected"), {"one": GENERAL})
