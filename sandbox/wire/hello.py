"""The guest's hello: what it says of its calculator, checked and cut to size."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from ase.data import chemical_symbols

from sandbox.guest.parameters import MAX_PARAMETERS
from sandbox.guest.wire import WireError
from tasks.model.further_outputs import MAX_MEMBERS, NAMES
from tasks.model.states import INPUTS
from tasks.structures.predictions import ALL_PROPERTIES, Properties


class Hello(NamedTuple):
    """A guest's statement about its calculator.

    Args:
        n_parameters: as counted in the container; None if they were not.
        inputs: arrays that the judge may send beside those of `Frames`, of `tasks.model.states.INPUTS`.
        further: names of further outputs that it may ask for, of `tasks.model.further_outputs.NAMES`.
        members: of a committee; 0 if the model is none.
        costs: whether it may ask what calls cost.
    """

    calculator: str
    properties: Properties
    batch: bool
    max_atoms_per_batch: int
    elements: tuple[int, ...] | None
    device: str
    versions: dict[str, str]
    n_parameters: int | None = None
    inputs: tuple[str, ...] = ()
    further: tuple[str, ...] = ()
    members: int = 0
    costs: bool = False


def read_hello(fields: dict[str, str]) -> Hello:
    """A guest's hello, checked and cut to size.

    Raises:
        WireError: a field is missing or malformed.
    """
    try:
        versions = json.loads(fields.get("versions", "{}"))
        elements = tuple(int(z) for z in fields.get("elements", "").split(",") if z)
        budget = int(fields.get("max_atoms_per_batch", "0"))
        n_parameters = int(fields["n_parameters"]) if "n_parameters" in fields else None
        members = int(fields.get("members", "0"))
    except (ValueError, RecursionError):
        raise WireError("the hello is malformed") from None
    if (
        not isinstance(versions, dict)
        or len(versions) > 64
        # A list nested as deep as the reader allows could not be written as text again.
        or not all(isinstance(version, str) for version in versions.values())
        or budget < 0
        or not 0 <= members <= MAX_MEMBERS
        or not 0 <= (n_parameters or 0) <= MAX_PARAMETERS
        or len(elements) > len(chemical_symbols)
        or not all(0 < z < len(chemical_symbols) for z in elements)
    ):
        raise WireError("the hello is malformed")
    stated = fields.get("properties", "").split(",")
    properties: Properties = tuple(p for p in ALL_PROPERTIES if p in stated)
    if "energy" not in properties:
        raise WireError("the calculator must offer energy")
    return Hello(
        calculator=_clean(fields.get("calculator", ""), 200),
        properties=properties,
        batch=fields.get("batch") == "true",
        max_atoms_per_batch=budget,
        elements=elements or None,
        device=_clean(fields.get("device", ""), 100),
        versions={_clean(name, 64): _clean(version, 64) for name, version in versions.items()},
        n_parameters=n_parameters,
        inputs=_listed(fields, "inputs", INPUTS),
        further=_listed(fields, "further", tuple(NAMES)),
        members=members,
        costs=fields.get("costs") == "true",
    )


def _listed(fields: Mapping[str, str], name: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """Those of `known` that a field lists, separated by commas."""
    stated = fields.get(name, "").split(",")
    return tuple(each for each in known if each in stated)


def _clean(text: str, length: int) -> str:
    """`text` cut to `length`, without characters that cannot be stored or that move a terminal's cursor."""
    return "".join(c if c.isprintable() else "�" for c in text[:length])
