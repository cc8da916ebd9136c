"""Which tasks a model can do by what it offers, which it will miss, and why: by kind, and counted in the suites."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from submissions.preflight.probes import CRYSTALS, MOLECULES
from submissions.records import Check
from tasks.kind import Kind
from tasks.kinds.registry import KINDS
from tasks.learning.training import Learning
from tasks.structures.predictions import ALL_PROPERTIES, Properties
from tasks.suites.suite import load_suite, packaged_suites

CAN_DO, IN_PART, MISSED, SUITES = "tasks", "tasks in part", "tasks missed", "suites"
SORTS = {"crystal": CRYSTALS, "molecule": MOLECULES}


def task_outlook(properties: Properties, answered: Collection[str], has_trainer: bool) -> tuple[Check, ...]:
    """Rows of the preflight: the kinds of task that can be done, in part or not at all, and the tasks of each suite.

    Args:
        properties: that the model offers and returned.
        answered: names of the public structures that got an answer.
        has_trainer: whether the image names one.
    """
    kinds = list(KINDS.values())
    possible = [kind for kind in kinds if not lacking(kind.traits.needs, properties)]
    untrained = [kind for kind in possible if isinstance(kind, Learning) and not has_trainer]
    whole = [k for k in possible if k not in untrained and not lacking(k.traits.also_uses, properties)]
    rows = [_row(CAN_DO, _titles(whole))]
    for missing in _combinations(properties):
        why = f"without {' and '.join(missing)}"
        partly = [k for k in possible if k not in untrained and lacking(k.traits.also_uses, properties) == missing]
        missed = [kind for kind in kinds if lacking(kind.traits.needs, properties) == missing]
        rows += [_row(name, f"{why}: {_titles(some)}") for name, some in ((IN_PART, partly), (MISSED, missed)) if some]
    if untrained:
        rows.append(_row(IN_PART, f"without a trainer (only an image names one), asked as it is: {_titles(untrained)}"))
    for sort, names in SORTS.items():
        if not set(names) & set(answered):
            rows.append(_row(MISSED, f"all with {sort}s, if they fail as {', '.join(names[:-1])} and {names[-1]} did"))
    rows.sort(key=lambda row: (CAN_DO, IN_PART, MISSED).index(row.name))
    return (*rows, _row(SUITES, suite_counts(properties)))


def suite_counts(properties: Properties) -> str:
    """`all tasks of demo, gscdb; 26 of 29 in lambench-2026; none of kappa103`."""
    whole, partly, none = [], [], []
    for name in packaged_suites():
        tasks = load_suite(name).tasks
        n_possible = sum(not lacking(task.traits.needs, properties) for task in tasks)
        if n_possible == len(tasks):
            whole.append(name)
        elif n_possible:
            partly.append(f"{n_possible} of {len(tasks)} in {name}")
        else:
            none.append(name)
    if len(whole) == len(packaged_suites()):
        return f"all tasks of all {len(whole)} suites"
    parts = (("all tasks of ", whole), ("", partly), ("none of ", none))
    return "; ".join(words + ", ".join(some) for words, some in parts if some)


def lacking(wanted: Properties, properties: Properties) -> Properties:
    """Those of `wanted` that are not among `properties`."""
    return tuple(name for name in wanted if name not in properties)


def _combinations(properties: Properties) -> list[Properties]:
    """What a kind may lack of a model with these `properties`: one of those it does not offer, or all of them."""
    missing = lacking(ALL_PROPERTIES, properties)
    return [*((name,) for name in missing), *([missing] if len(missing) > 1 else [])]


def _titles(kinds: Sequence[Kind]) -> str:
    return ", ".join(kind.traits.title for kind in kinds) or "none"


def _row(name: str, value: str) -> Check:
    return Check(name=name, passed=None, value=value)
