"""A `Release` from its `config.json`, which states LAMBench's published formula."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from scoring.errors import ScoringError
from scoring.lambench.instability import LAMBENCH_TIME_UNIT_PS
from scoring.lambench.release import LABEL_TYPES, Release
from scoring.lambench.rules import Positive
from scoring.release_files import first_fault

_UNITS_EV = {"eV": 1.0, "meV": 1e-3}


class _ConfigPart(BaseModel):
    """Unknown fields are kept and listed in the notes: a release may state more than its formula."""

    model_config = ConfigDict(frozen=True, extra="allow")


class _Label(_ConfigPart):
    weight: float | None = None
    std_eV: float | dict[str, float | None] | None = None


class _ForceFieldTask(_ConfigPart):
    domain: str
    energy: _Label | None = None
    force: _Label | None = None
    virial: _Label | None = None


class _ForceField(_ConfigPart):
    tasks: dict[str, _ForceFieldTask] = Field(min_length=1)
    metric_keys: dict[str, str]
    cap_at_1: bool
    raw_unit: str = "meV"
    std_unit: str = "eV"
    raw_to_std_factor: float = 1e-3
    type_weights_domain_with_any_virial: dict[str, float]
    type_weights_domain_without_virial: dict[str, float]
    # For readers.
    within_domain_average: object = None
    across_domains: object = None
    molecules_label_selection: object = None


class _PropertyTask(_ConfigPart):
    domain: str
    metrics: list[str] = Field(min_length=1)
    dummy: dict[str, float | None] | None = None
    penalty: str | None = None


class _Properties(_ConfigPart):
    tasks: dict[str, _PropertyTask] = Field(min_length=1)
    cap_at_1_before_penalty: bool
    missing_domain_rule: Literal["skip_for_that_model", "drop_domain_for_all_models"]
    # For readers.
    penalty: object = None
    within_domain_average: object = None
    across_domains: object = None


class _Stability(_ConfigPart):
    tolerance: Positive = 5e-4
    failure_value: Positive = 5.0
    n_structures: int = Field(9, gt=0)
    cap_slope_at_5_decades: bool = False
    num_steps: int = Field(10_000, gt=0)
    # About the tables, not about the formula.
    formula_reproducible_from_raw: object = None
    older_formula_in_force: object = None


class _Efficiency(_ConfigPart):
    eta0_us_per_atom: Positive = 100.0
    warmup_ratio: object = None


class _Rounding(_ConfigPart):
    ranking_decimals: int | None = 3
    domain_decimals: object = None  # for readers


class _Config(_ConfigPart):
    release: str = Field(min_length=1)
    note: str | None = None
    ff: _ForceField
    pc: _Properties
    stability: _Stability = _Stability()
    efficiency: _Efficiency = _Efficiency()
    rounding: _Rounding = _Rounding()


class Read(NamedTuple):
    """A release, and one note for each statement of its file that is not used."""

    release: Release
    notes: tuple[str, ...]


def release_from_config(content: object, source: str) -> Read:
    """The release as published, from the content of a `config.json`.

    Args:
        content: as parsed from JSON.
        source: its name in errors.

    Raises:
        ScoringError: naming the release and the field.
    """
    try:
        config = _Config.model_validate(content)
    except ValidationError as error:
        raise ScoringError(f"release {source}: {first_fault(error)}") from None
    name = config.release
    try:
        release = Release.model_validate(_facts(config))
    except ValidationError as error:
        raise ScoringError(f"release {name}: {first_fault(error)}") from None
    notes = [f"{source}: {path} is not part of the formula as known here, and is not used" for path in _unknown(config)]
    notes += [f"{source}: {note}" for note in _without_baseline(config)]
    if config.stability.older_formula_in_force:
        notes.append(f"{source}: stability.older_formula_in_force: the instability here is by the present formula")
    return Read(release, tuple(notes))


def _facts(config: _Config) -> dict[str, Any]:
    ff, pc, dynamics = config.ff, config.pc, config.stability
    tasks = {name: _force_field_task(config.release, name, task) for name, task in ff.tasks.items()}
    return {
        "name": config.release,
        "title": f"LAMBench {config.release}, as published",
        "source": config.note or "LAMBench, arXiv:2504.19578",
        "variant": "as_published",
        "force_field": {
            "cap": 1.0 if ff.cap_at_1 else None,
            "missing": "unscored",
            "logarithmic_mean_decimals": 7,
            "columns": {label: _key(config, label) for label in LABEL_TYPES},
            "weights_with_virial": _weights(config, "type_weights_domain_with_any_virial", LABEL_TYPES),
            "weights_without_virial": _weights(config, "type_weights_domain_without_virial", LABEL_TYPES[:2]),
        },
        "property_error": {
            "cap": 1.0 if pc.cap_at_1_before_penalty else None,
            "missing": "skipped",
            "missing_domain": pc.missing_domain_rule,
            "divided_by_success_rate": True,
        },
        "efficiency": {"reference_us_per_atom": config.efficiency.eta0_us_per_atom, "missing": "unscored"},
        "instability": {
            "tolerances": (dynamics.tolerance,),
            "time_unit_ps": LAMBENCH_TIME_UNIT_PS,
            "worst_decades": dynamics.failure_value,
            "clipped": dynamics.cap_slope_at_5_decades,
        },
        "force_field_tasks": tasks,
        "property_tasks": {name: _property_task(config.release, name, task) for name, task in pc.tasks.items()},
        "published": {
            "force_field_unit_ev": _unit(config),
            "label_sets": _label_sets(config.release, tasks),
            "n_runs": dynamics.n_structures,
            "n_steps": dynamics.num_steps,
            "ranking_decimals": config.rounding.ranking_decimals,
        },
    }


def _key(config: _Config, label: str) -> str:
    key = config.ff.metric_keys.get(label)
    if key is None:
        raise ScoringError(f"release {config.release}: ff.metric_keys.{label}: missing: which metric is scored?")
    return key


def _weights(config: _Config, name: str, labels: tuple[str, ...]) -> dict[str, float]:
    weights: dict[str, float] = getattr(config.ff, name)
    where = f"release {config.release}: ff.{name}"
    if lacking := [label for label in labels if label not in weights]:
        raise ScoringError(f"{where}.{lacking[0]}: missing: what is it weighed with? 0 leaves it out")
    if not sum(weights.values()) > 0:  # NaN loses
        raise ScoringError(f"{where}: the weights sum to zero, or to no number")
    return weights


def _force_field_task(release: str, name: str, task: _ForceFieldTask) -> dict[str, Any]:
    """Domain and baselines. A label type without a weight is not scored, with or without a baseline."""
    facts: dict[str, Any] = {"domain": task.domain}
    for label in LABEL_TYPES:
        stated: _Label | None = getattr(task, label)
        where = f"release {release}: ff.tasks.{name}.{label}"
        if stated is None or stated.weight is None:
            continue
        if stated.weight != 1.0:
            raise ScoringError(f"{where}.weight: {stated.weight} is neither 1 nor null")
        baselines = stated.std_eV.values() if isinstance(stated.std_eV, dict) else [stated.std_eV]
        if any(std is not None and not 0 < std < math.inf for std in baselines):
            raise ScoringError(f"{where}.std_eV: {stated.std_eV}: must be a positive number: errors are divided by it")
        if all(std is None for std in baselines):
            raise ScoringError(f"{where}.std_eV: null, though it has a weight: what is the error divided by?")
        facts[label] = stated.std_eV
    if len(facts) == 1:
        raise ScoringError(f"release {release}: ff.tasks.{name}: no label type has a weight")
    return facts


def _property_task(release: str, name: str, task: _PropertyTask) -> dict[str, Any]:
    dummy = task.dummy
    where = f"release {release}: pc.tasks.{name}"
    if dummy is not None and (lacking := [metric for metric in task.metrics if metric not in dummy]):
        raise ScoringError(f"{where}.dummy: nothing to divide {', '.join(lacking)} by")
    for metric, baseline in (dummy or {}).items():
        if baseline is not None and not 0 < baseline < math.inf:
            raise ScoringError(
                f"{where}.dummy.{metric}: {baseline}: must be a positive number: errors are divided by it"
            )
    if len(set(task.metrics)) < len(task.metrics):
        raise ScoringError(f"{where}.metrics: one is named twice")
    return {
        "domain": task.domain,
        "baselines": {metric: None if dummy is None else dummy[metric] for metric in task.metrics},
        "success_rate": task.penalty or "",
    }


def _label_sets(release: str, tasks: Mapping[str, Mapping[str, Any]]) -> tuple[str, str]:
    """The two label sets of the tasks that have several; the one other than PBE belongs to OMol25's models."""
    pairs = {(task, label): tuple(b) for task, row in tasks.items() for label, b in row.items() if isinstance(b, dict)}
    if not pairs:
        return "wB97", "PBE"
    known = next(iter(pairs.values()))
    for (task, label), names in pairs.items():
        if len(names) != 2 or set(names) != set(known):
            raise ScoringError(
                f"release {release}: ff.tasks.{task}.{label}.std_eV: must be a number or a pair of two names, the same "
                f"for all tasks, not {', '.join(names)}"
            )
    first, second = sorted(known, key=lambda name: name == "PBE")
    return first, second


def _without_baseline(config: _Config) -> Iterator[str]:
    for name, task in config.pc.tasks.items():
        bare = [metric for metric in task.metrics if (task.dummy or {}).get(metric) is None]
        if bare:
            yield f"pc.tasks.{name}.dummy: no baseline of {', '.join(bare)}: such errors are taken as they are"


def _unit(config: _Config) -> float:
    """eV per unit of the published force-field errors.

    Raises:
        ScoringError: the factor does not fit the two units.
    """
    ff = config.ff
    begins = [re.match(r"\s*(m?eV)\b", text) for text in (ff.raw_unit, ff.std_unit)]
    raw, std = (_UNITS_EV[begin[1]] if begin else 0.0 for begin in begins)
    if not raw or not std:
        raise ScoringError(f"release {config.release}: ff.raw_unit, ff.std_unit: must begin with eV or meV")
    if abs(ff.raw_to_std_factor - raw / std) > 1e-9 * raw / std:
        raise ScoringError(
            f"release {config.release}: ff.raw_to_std_factor: {ff.raw_to_std_factor:g} is not {raw / std:g}, "
            f"which {ff.raw_unit} to {ff.std_unit} takes"
        )
    if std != 1.0:
        raise ScoringError(f"release {config.release}: ff.std_unit: must be eV, as std_eV says")
    return raw


def _unknown(stated: BaseModel, path: str = "") -> Iterator[str]:
    """Names of unknown fields, at any depth."""
    yield from (f"{path}{name}" for name in stated.model_extra or {})
    for name in type(stated).model_fields:
        value = getattr(stated, name)
        if isinstance(value, BaseModel):
            yield from _unknown(value, f"{path}{name}.")
        elif isinstance(value, dict):
            for key, below in value.items():
                if isinstance(below, BaseModel):
                    yield from _unknown(below, f"{path}{name}.{key}.")
