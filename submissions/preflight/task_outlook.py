"""Which tasks a model can do, which it will miss, and why: by kind, by sort of structure, and counted in the suites.

What a model offers decides about kinds of task. The public structures that got no answer decide about tasks with such
structures.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from submissions.preflight.public_structures import CRYSTALS, IONS, MOLECULES, OPEN_SHELLS, SLABS
from submissions.records import Check
from tasks.kind import Kind
from tasks.kinds.registry import KINDS
from tasks.learning.training import Learning
from tasks.structures.predictions import ALL_PROPERTIES, Properties
from tasks.suites.suite import Task, load_suite, packaged_suites

CAN_DO, IN_PART, MISSED, SUITES = "tasks", "tasks in part", "tasks missed", "suites"
# By sort of structure, its public examples. A model that fails all molecules fails those in special states, too.
SORTS: Mapping[str, tuple[str, ...]] = {
    "crystals": CRYSTALS,
    "molecules": MOLECULES,
    "slabs": SLABS,
    "charged molecules": IONS,
    "open-shell molecules": OPEN_SHELLS,
}
SPECIAL_STATES = ("charged molecules", "open-shell molecules")
# Tasks of these domains have structures of one sort alone.
DOMAINS = {"Inorganic Materials": "crystals", "Molecules": "molecules"}


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
    rows += _structure_rows(answered)
    rows.sort(key=lambda row: (CAN_DO, IN_PART, MISSED).index(row.name))
    return (*rows, _row(SUITES, suite_counts(properties, answered)))


def failed_sorts(answered: Collection[str]) -> dict[str, tuple[str, ...]]:
    """By sort of structure of which some got no answer, the names of those."""
    failed = {sort: tuple(name for name in names if name not in answered) for sort, names in SORTS.items()}
    if failed["molecules"] == MOLECULES:
        failed |= dict.fromkeys(SPECIAL_STATES, ())
    return {sort: names for sort, names in failed.items() if names}


def _structure_rows(answered: Collection[str]) -> list[Check]:
    """A row for each sort of which structures failed: all tasks with them are missed, or are done in part."""
    return [
        _row(MISSED, f"all with {sort}, if they fail as {_listed(names)} did")
        if names == SORTS[sort]
        else _row(IN_PART, f"with {sort} like {_listed(names)}, which failed")
        for sort, names in failed_sorts(answered).items()
    ]


def suite_counts(properties: Properties, answered: Collection[str] | None = None) -> str:
    """`all tasks of demo, gscdb; 26 of 29 in lambench-2026; none of kappa103`.

    Args:
        answered: names of the public structures that got an answer; None: all did. Of those that did not, the words
            say that tasks fail on structures like them; a task of nothing else is not counted.
    """
    failed = {} if answered is None else failed_sorts(answered)
    missed = [sort for sort, names in failed.items() if names == SORTS[sort]]
    whole, partly, none = [], [], []
    for name in packaged_suites():
        tasks = load_suite(name).tasks
        n_possible = sum(_is_possible(task, properties, missed) for task in tasks)
        if n_possible == len(tasks):
            whole.append(name)
        elif n_possible:
            partly.append(f"{n_possible} of {len(tasks)} in {name}")
        else:
            none.append(name)
    n_suites = len(packaged_suites())
    if len(whole) == n_suites and not failed:
        return f"all tasks of all {n_suites} suites"
    parts = (("every task of " if failed else "all tasks of ", whole), ("", partly), ("none of ", none))
    counts = "; ".join(words + ", ".join(some) for words, some in parts if some)
    if not failed:
        return counts
    if len(whole) == n_suites:
        counts = f"every task of {n_suites} suites"
    names = _listed([name for names in failed.values() for name in names])
    return f"by what it offers {counts}; items like {names} fail in them"


def _is_possible(task: Task, properties: Properties, missed: Collection[str]) -> bool:
    return not lacking(task.traits.needs, properties) and DOMAINS.get(task.domain) not in missed


def lacking(wanted: Properties, properties: Properties) -> Properties:
    """Those of `wanted` that are not among `properties`."""
    return tuple(name for name in wanted if name not in properties)


def _combinations(properties: Properties) -> list[Properties]:
    """What a kind may lack of a model with these `properties`: one of those it does not offer, or all of them."""
    missing = lacking(ALL_PROPERTIES, properties)
    return [*((name,) for name in missing), *([missing] if len(missing) > 1 else [])]


def _titles(kinds: Sequence[Kind]) -> str:
    return ", ".join(kind.traits.title for kind in kinds) or "none"


def _listed(names: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _row(name: str, value: str) -> Check:
    return Check(name=name, passed=None, value=value)
