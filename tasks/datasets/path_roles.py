"""The structures of reactions: the conditions `path` and `role` of a data set say which of them belong together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum

from tasks.datasets.dataset import Structures


class PathRole(IntEnum):
    """The part of a structure in its reaction."""

    REACTANT = 0
    PRODUCT = 1
    GUESS = 2  # of the transition state: the first band goes through it
    TRANSITION_STATE = 3  # of the reference: only compared with, and never sent to a model


ENDS = (PathRole.REACTANT, PathRole.PRODUCT)


def path_structures(structures: Structures) -> Sequence[Mapping[PathRole, int]]:
    """By reaction, in the order of their numbers, the index of the structure of each role.

    Raises:
        ValueError: the data set states no roles, a number is left out, or a reaction lacks an end or has a role twice.
    """
    paths, roles = structures.condition("path").tolist(), structures.condition("role").tolist()
    where = f"{structures.name}/frames.safetensors"
    if sorted(set(paths)) != list(range(len(set(paths)))):
        raise ValueError(f"{where}: path: must number the reactions from 0 on, without a gap")
    by_path: list[dict[PathRole, int]] = [{} for _ in set(paths)]
    for index, (path, role) in enumerate(zip(paths, roles, strict=True)):
        if role not in set(PathRole):
            raise ValueError(f"{where}: role: {role} of structure {index} is none of {', '.join(map(str, PathRole))}")
        if role in by_path[path]:
            first = by_path[path][PathRole(role)]
            raise ValueError(f"{where}: role: structures {first} and {index} of path {path} have one role: {role}")
        by_path[path][PathRole(role)] = index
    for path, of_role in enumerate(by_path):
        for role in ENDS:
            if role not in of_role:
                raise ValueError(f"{where}: role: path {path} has no {role.name.lower()}")
    return by_path
