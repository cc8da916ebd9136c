"""The chooser "Which model for …": what a reader may need, and the files that the browser ranks models from.

What a task is good for follows from its kind, its domain, its parameters and the words of its titles: no task is named
here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any, NamedTuple
from urllib.parse import urlencode

from pydantic import TypeAdapter

from judge.ranking.item_makeup import INCLUDED, StructureClass
from judge.ranking.leaderboard import Row, TaskLine
from judge.view import formatting
from judge.view.assets import hashed
from judge.view.leaderboard_export import task_page
from judge.view.page_context import Frame
from scoring.choice import Choice, columns_of_choice, fits
from scoring.choice_sums import SumGroup, TaskSums
from scoring.intervals import MIN_INDEPENDENT
from tasks.datasets.card import Card
from tasks.kind import DatasetPart, ScoreFamily
from tasks.suites.suite import Task

FILE = "choices.json"
_SUMS = TypeAdapter(TaskSums)


class Need(StrEnum):
    """What a reader needs a model for, in the order of the page."""

    ENERGIES = "energies"
    FORCES = "forces"
    BARRIERS = "barriers"
    CONFORMERS = "conformers"
    STRUCTURES = "structures"
    PHONONS = "phonons"
    DYNAMICS = "dynamics"


LABELS: Mapping[Need, str] = {
    Need.ENERGIES: "energies",
    Need.FORCES: "forces",
    Need.BARRIERS: "barriers",
    Need.CONFORMERS: "conformers",
    Need.STRUCTURES: "structures, stress and elasticity",
    Need.PHONONS: "phonons",
    Need.DYNAMICS: "long MD",
}
CLASS_LABELS = {each: each.value for each in StructureClass} | {StructureClass.DRUG_LIKE: "drug-like molecule"}
_WORDS = {
    Need.BARRIERS: re.compile(r"barriers?\b|transition state|nudged", re.IGNORECASE),
    Need.CONFORMERS: re.compile(r"conform|torsion|dihedral|rotor", re.IGNORECASE),
    Need.PHONONS: re.compile(r"phonon|thermal conductivity", re.IGNORECASE),
}
_NEED_OF_LABEL = {"energy": Need.ENERGIES, "force": Need.FORCES, "virial": Need.STRUCTURES}
_OF_STRUCTURES = (DatasetPart.CURVES, DatasetPart.CRYSTALS, DatasetPart.GEOMETRIES)
SALT_METALS = frozenset(["Li", "Na", "K", "Rb", "Cs", "Be", "Mg", "Ca", "Sr", "Ba"])
HALOGENS = frozenset(["F", "Cl", "Br", "I"])


class ChoicePreset(NamedTuple):
    """A choice with a name; `query` is its address."""

    label: str
    query: str


class Chooser(NamedTuple):
    """The chooser of a site.

    Args:
        path: of the file with the list of tasks, models and speeds.
        classes: of structures, with their labels.
        has_runs: whether a task runs dynamics.
        files: content by path.
    """

    path: str
    needs: tuple[tuple[str, str], ...]
    classes: tuple[tuple[str, str], ...]
    has_runs: bool
    hardware: tuple[str, ...]
    presets: tuple[ChoicePreset, ...]
    files: dict[str, bytes]


def chooser(frame: Frame) -> Chooser | None:
    """The chooser; None if no task has errors by groups of items."""
    tasks = {task.name: task for task in frame.board.suite.tasks}
    with_needs = [_with_needs(each, tasks[each.task], frame) for each in frame.sources.choices()]
    shown = [each for each in with_needs if each.columns]
    if not shown:
        return None
    rows = [row for row in frame.board.rows if not row.reference]
    files, entries = {}, []
    for each in shown:
        content = _SUMS.dump_json(each)
        path = hashed(f"choices-{each.task}.json", content)
        files[path] = content
        entries.append(_entry(each, tasks[each.task], frame, path))
    speeds = [speed for row in rows for line in row.tasks if (speed := _speed(row, line))]
    listed = {
        "tasks": entries,
        "models": [{"id": row.submission.id, "name": _name(row), "page": row.page} for row in rows],
        "speeds": speeds,
        "min_independent": MIN_INDEPENDENT,
        "included": {each: sorted(included) for each, included in INCLUDED.items()},
    }
    index = _json(listed)
    path = hashed(FILE, index)
    needs = [need for need in Need if any(need in column.needs for each in shown for column in each.columns)]
    classes = [c for c in StructureClass if any(not INCLUDED[c].isdisjoint(g.classes) for g in _groups(shown))]
    return Chooser(
        path,
        tuple((need, LABELS[need]) for need in needs),
        tuple((each, CLASS_LABELS[each]) for each in classes),
        any(each.runs for each in shown),
        tuple(sorted({speed["hardware"] for speed in speeds})),
        tuple(_presets(shown)),
        {path: index, **files},
    )


def _with_needs(sums: TaskSums, task: Task, frame: Frame) -> TaskSums:
    card = frame.sources.cards.get(task.dataset)
    columns = [replace(column, needs=needs_of(task, column.metric, card)) for column in sums.columns]
    return replace(sums, columns=tuple(columns))


def needs_of(task: Task, metric: str, card: Card | None) -> tuple[Need, ...]:
    """What a metric of a task is good for."""
    traits = task.traits
    if traits.score is ScoreFamily.FORCE_FIELD:
        return (_NEED_OF_LABEL.get(metric.partition("_")[0], Need.STRUCTURES),)
    if traits.measures is DatasetPart.SYSTEMS or traits.score is ScoreFamily.INSTABILITY:
        return (Need.DYNAMICS,)
    if _WORDS[Need.PHONONS].search(f"{traits.title} {traits.about}"):
        return (Need.PHONONS,)
    if traits.measures in _OF_STRUCTURES:
        return (Need.STRUCTURES,)
    if traits.measures is DatasetPart.PAIRS:
        return (Need.ENERGIES,)
    metric_words = metric.replace("_", " ")
    if _WORDS[Need.BARRIERS].search(metric_words):
        return (Need.BARRIERS,)
    if "reaction energy" in metric_words:
        return (Need.ENERGIES,)
    quantities = [str(getattr(task.parameters, name, "")) for name in ("quantity", "tolerance_quantity")]
    stated = [task.label, task.domain, *task.mlipaudit, task.ml_peg, *quantities, card.title if card else ""]
    words = " ".join(stated).replace("_", " ").replace("-", " ")
    found = [need for need in (Need.BARRIERS, Need.CONFORMERS) if _WORDS[need].search(words)]
    if traits.measures is DatasetPart.PATHS and Need.BARRIERS not in found:
        found.insert(0, Need.BARRIERS)
    return tuple(found) or (Need.ENERGIES,)


def _presets(tasks: Sequence[TaskSums]) -> list[ChoicePreset]:
    """The choices with a name for which the suite has tasks."""
    molten = frozenset(_salt_elements(tasks))
    liquid = "Molten salts in MD" if molten else "Liquids in MD"
    candidates = [
        ("Barriers on surfaces", Need.BARRIERS, StructureClass.SURFACE, frozenset()),
        (liquid, Need.DYNAMICS, StructureClass.LIQUID, molten),
        ("Conformers of drug-like molecules", Need.CONFORMERS, StructureClass.DRUG_LIKE, frozenset()),
        ("Conformers of molecules", Need.CONFORMERS, StructureClass.MOLECULE, frozenset()),
        ("Barriers of molecules", Need.BARRIERS, StructureClass.MOLECULE, frozenset()),
        ("Phonons of crystals", Need.PHONONS, StructureClass.CRYSTAL, frozenset()),
        ("Forces in crystals", Need.FORCES, StructureClass.CRYSTAL, frozenset()),
        ("Forces on surfaces", Need.FORCES, StructureClass.SURFACE, frozenset()),
        ("Structures of crystals", Need.STRUCTURES, StructureClass.CRYSTAL, frozenset()),
    ]
    presets = []
    for label, need, structure, elements in candidates:
        choice = Choice(elements, frozenset(INCLUDED[structure]), frozenset({need}))
        if any(columns_of_choice(task, choice) for task in tasks):
            stated = {"for.elements": " ".join(sorted(elements)), "for.class": structure, "for.need": need}
            presets.append(ChoicePreset(label, "?" + urlencode(sorted((k, str(v)) for k, v in stated.items() if v))))
    return presets


def _salt_elements(tasks: Sequence[TaskSums]) -> set[str]:
    """The elements of the salts whose liquids are simulated."""
    salts = Choice(SALT_METALS | HALOGENS, frozenset({StructureClass.LIQUID}), frozenset({Need.DYNAMICS}))
    groups = [
        group
        for task in tasks
        for column in columns_of_choice(task, salts)
        for reference in column.references
        for group in reference.groups
        if fits(group, salts)
    ]
    return {
        symbol
        for group in groups
        if not (SALT_METALS.isdisjoint(group.elements) or HALOGENS.isdisjoint(group.elements))
        for symbol in group.elements
    }


def _groups(tasks: Sequence[TaskSums]) -> list[SumGroup]:
    return [g for task in tasks for column in task.columns for reference in column.references for g in reference.groups]


def _entry(sums: TaskSums, task: Task, frame: Frame, path: str) -> dict[str, Any]:
    """The task in the list of tasks: what it is good for, the classes of its items, and what its errors of 1 are."""
    groups, card = _groups([sums]), frame.sources.cards.get(task.dataset)
    return {
        "name": task.name,
        "title": task.label,
        "page": task_page(task.name),
        "file": path,
        "needs": sorted({need for column in sums.columns for need in column.needs}),
        "runs": None if sums.runs is None else vars(sums.runs),
        "classes": sorted({structure for group in groups for structure in group.classes}),
        "columns": {column.metric: formatting.metric_label(column.metric) for column in sums.columns},
        "ones": {column.metric: meaning_of_one(task, column.metric, card) for column in sums.columns},
    }


def meaning_of_one(task: Task, metric: str, card: Card | None) -> str:
    """What an error of 1 is, in a sentence."""
    if task.traits.score is ScoreFamily.INSTABILITY:
        return "For energy drifts, 1 is the largest that counts."
    if card is not None and any(metric in stated for stated in card.baselines.values()):
        return "If a data set states the divisor of an error, 1 is an error as large as that, or larger."
    return task.traits.baseline.one


def _speed(row: Row, line: TaskLine) -> dict[str, Any] | None:
    """The time per atom [µs] of a model at the sizes that were measured; None if the task measures none."""
    if not (line.ok and line.task.traits.score is ScoreFamily.EFFICIENCY and line.result is not None):
        return None
    metrics = line.result.metrics
    names = ("atoms_min", "atoms_mean", "atoms_max")
    sizes = [metrics[name].value for name in names if name in metrics]
    time = metrics["time_mean"].value if "time_mean" in metrics else None
    if time is None or time <= 0 or len(sizes) < len(names) or None in sizes:
        return None
    hardware = line.result.provenance.origin.hardware
    return {"model": row.submission.id, "hardware": hardware, "atoms": sizes, "us_per_atom": time}


def _name(row: Row) -> str:
    return formatting.plain(row.submission.card.name)


def _json(data: object) -> bytes:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def sums_of_file(content: bytes) -> TaskSums:
    """The sums in a file `choices-TASK.json`."""
    return _SUMS.validate_json(content)
