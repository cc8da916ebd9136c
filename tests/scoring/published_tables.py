"""Releases and tables in LAMBench's published layout, small enough for scores by hand.

The numbers give simple normalised errors; raw errors of force fields are in meV, as published.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from scoring.lambench.published import TableModel, score_published
from scoring.lambench.published_config import release_from_config

Json = dict[str, Any]
Std = float | Mapping[str, float | None]
KEYS = {"energy": "energy_rmse_natoms", "force": "force_rmse", "virial": "virial_rmse_natoms"}
FF, PC, USE = (
    "generalizability_force_field_results",
    "generalizability_domain_specific_results",
    "applicability_results",
)


def labels(domain: str, **stds: Std) -> Json:
    """A force-field task of `config.json`, with the baselines [eV] of its label types."""
    stated = {label: {"weight": 1.0 if label in stds else None, "std_eV": stds.get(label)} for label in KEYS}
    return {"domain": domain, **stated}


def columns(domain: str, penalty: str | None = None, **dummy: float | None) -> Json:
    """A property task of `config.json` with the baselines of its columns."""
    return {"domain": domain, "metrics": list(dummy), "dummy": dict(dummy), "penalty": penalty}


def errors(**mev: float | None) -> Json:
    """A row of force-field errors [meV] by label type."""
    return {KEYS[label]: value for label, value in mev.items()}


def release(ff: Json, pc: Json) -> Json:
    """A `config.json` without a cap; every switch has LAMBench's first value."""
    return {
        "release": "by-hand",
        "note": None,
        "ff": {
            "tasks": ff,
            "metric_keys": dict(KEYS),
            "raw_unit": "meV (rounded to 0.1)",
            "std_unit": "eV",
            "raw_to_std_factor": 0.001,
            "cap_at_1": False,
            "type_weights_domain_with_any_virial": {"energy": 0.45, "force": 0.45, "virial": 0.1},
            "type_weights_domain_without_virial": {"energy": 0.5, "force": 0.5},
        },
        "pc": {"tasks": pc, "cap_at_1_before_penalty": False, "missing_domain_rule": "skip_for_that_model"},
        "stability": {
            "tolerance": 0.0005,
            "failure_value": 5,
            "n_structures": 9,
            "cap_slope_at_5_decades": False,
            "num_steps": 10000,
        },
        "efficiency": {"eta0_us_per_atom": 100.0},
        "rounding": {"ranking_decimals": 3, "domain_decimals": 2},
    }


def model(ff: Json, pc: Json, *, time: Json | None = None, nve: Json | None = None, omol: bool | None = False) -> Json:
    """One model of a `raw.json`."""
    used = {name: row for name, row in (("inference_efficiency", time), ("nve_md", nve)) if row is not None}
    return {FF: ff, PC: pc, USE: used, "model": {"supports_omol": omol}}


def scored(config: Json, raw: object, *, corrected: bool = False) -> dict[str, TableModel]:
    """The scores of the models of a table, from the content of both files, as the command reads them."""
    rules = release_from_config(config, "config.json").release
    return score_published(rules.corrected() if corrected else rules, raw)


def changed(content: Json, path: str, value: object) -> Json:
    """A copy with the value at the dotted `path`; KeyError if a part of the path does not exist."""
    copy = deepcopy(content)
    *way, last = path.split(".")
    at = copy
    for name in way:
        at = at[name]
    at[last] = value
    return copy


def without(content: Json, path: str) -> Json:
    """A copy without the entry at `path`."""
    copy = deepcopy(content)
    *way, last = path.split(".")
    at = copy
    for name in way:
        at = at[name]
    del at[last]
    return copy


FIVE = release(
    {
        "ani": labels("Small Molecules", energy=0.1, force=1.0),
        "chig": labels("Biomolecules & Supramolecules", energy=0.01, force=0.5),
        "h2": labels("Reactions", energy={"wB97": 0.2, "PBE": 0.4}, force={"wB97": 2.0, "PBE": 1.0}),
        "co2": labels("Catalysis", energy=0.1, force=0.2),
        "mgo": labels("Catalysis", energy=0.1, force=0.2),
        "hea": labels("Inorganic Materials", energy=0.5, force=2.0, virial=1.0),
        "bat": labels("Inorganic Materials", energy=0.02, force=0.5),
    },
    {
        "phonon": columns("Inorganic Materials", "success_rate", entropy=100.0, frequency=200.0),
        "elastic": columns("Inorganic Materials", shear=50.0),
        "neb": columns("Catalysis", barrier=2.0, ø_Transfer=100.0),
        "torsion": columns("Small Molecules", MAE=None),
    },
)
"""Five domains, no cap; in single domains virials, a pair of baselines, a dividing rate, a column without baseline."""

GENERAL = model(
    {
        "ani": errors(energy=50.0, force=100.0),  # 0.5 and 0.1
        "chig": errors(energy=20.0, force=100.0),  # 2, twice as bad as the baseline, and 0.2
        "h2": errors(energy=100.0, force=250.0),  # PBE: 0.25 and 0.25; wB97: 0.5 and 0.125
        "co2": errors(energy=10.0, force=20.0),  # 0.1 and 0.1
        "mgo": errors(energy=40.0, force=180.0),  # 0.4 and 0.9
        "hea": errors(energy=100.0, force=400.0, virial=500.0),  # 0.2, 0.2 and 0.5
        "bat": errors(energy=16.0, force=400.0, virial=None),  # 0.8 and 0.8
    },
    {
        "phonon": {"entropy": 20.0, "frequency": 300.0, "success_rate": 0.5},  # 0.2 and 1.5, divided by 0.5
        "elastic": {"shear": 10.0, "success_rate": 0.1},  # 0.2; not divided by the rate
        "neb": {"barrier": 1.0, "ø_Transfer": 70.0},  # 0.5 and 0.7
        "torsion": {"MAE": 0.4, "RMSE": 9.0},  # not divided
    },
    time={"average_time": 250.0, "standard_deviation": 3.0, "success_rate": 100.0},
    nve={"slope": 0.05, "steps": 10000.0, "success_rate": 0.67},  # two decades; 6 runs of 9
)
