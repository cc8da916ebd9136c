"""Outputs that a calculator may give beside energy, forces and stress. The judge asks for them by name.

What a calculator leaves out, or gives in another shape, is NaN: it never fails the structure.

This file is packed beside the guest: the standard library, numpy and ASE only, Python 3.9.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence, Tuple

import numpy as np

MAX_MEMBERS = 64

# By output, the names under which calculators give it in `results`, the preferred one first. `energy_var` is a
# variance. MACE gives the energies of a committee as `energies`, which in ASE are the energies of atoms: they are taken
# only beside `forces_comm`.
NAMES = {
    "energy_std": ("energy_std", "energy_uncertainty", "energy_var"),
    "forces_std": ("forces_std", "forces_uncertainty"),
    "energy_members": ("energy_members", "energies"),
    "forces_members": ("forces_members", "forces_comm"),
    "dipole": ("dipole",),
    "charges": ("charges",),
    "magmoms": ("magmoms",),
}
OF_MEMBERS = ("energy_members", "forces_members")
# Not asked of structures that are periodic in all directions.
OF_MOLECULES = ("dipole",)


def count_members(calculator: Any) -> int:
    """The members of a committee, as the attribute `n_members` or `num_models` says; 0 if it is none."""
    for name in ("n_members", "num_models"):
        try:
            count = getattr(calculator, name, None)
        except Exception:  # a property of the author's class
            continue
        if type(count) is int and 1 < count <= MAX_MEMBERS:
            return count
    return 0


def offered_outputs(implemented: Sequence[str], members: int) -> Dict[str, Tuple[str, ...]]:
    """By output, its names among `implemented`, the properties that a calculator states.

    Args:
        members: of the committee; 0 if there is none.
    """
    offered = {}
    for output, names in NAMES.items():
        own = tuple(name for name in names if name in implemented)
        if "energies" in own and "forces_comm" not in implemented:
            own = tuple(name for name in own if name != "energies")
        if own and (members or output not in OF_MEMBERS):
            offered[output] = own
    return offered


def output_shapes(n: int, total: int, members: int) -> Dict[str, Tuple[int, ...]]:
    """By output, the shape of its array for `n` structures with `total` atoms.

    `energy_std` [eV], `forces_std` [eV/Å], `energy_members` [eV], `forces_members` [eV/Å], `dipole` [e Å], `charges`
    [e], `magmoms` [μB].
    """
    return {
        "energy_std": (n,),
        "forces_std": (total, 3),
        "energy_members": (n, members),
        "forces_members": (total, members, 3),
        "dipole": (n, 3),
        "charges": (total,),
        "magmoms": (total,),
    }


def empty_outputs(names: Sequence[str], n: int, total: int, members: int) -> Dict[str, Any]:
    """The arrays of the outputs `names`, all NaN. Unknown names are left out."""
    shapes = output_shapes(n, total, members)
    return {name: np.full(shapes[name], np.nan) for name in names if name in shapes}


def asked_names(outputs: Mapping[str, Any], offered: Mapping[str, Tuple[str, ...]], periodic: bool) -> List[str]:
    """The properties that a calculator is asked for, to give `outputs`, of a structure."""
    return [name for output in outputs if not (periodic and output in OF_MOLECULES) for name in offered.get(output, ())]


def store_outputs(
    answer: Mapping[str, Any], outputs: Mapping[str, Any], index: int, start: int, stop: int, periodic: bool
) -> None:
    """Copies what `answer` has for structure `index`, the atoms start … stop − 1, into the arrays of `outputs`.

    Committees: energies (M,) and forces (M, n, 3) of the structure.
    """
    for output, array in outputs.items():
        if periodic and output in OF_MOLECULES:
            continue
        where = slice(start, stop) if _is_per_atom(output) else index
        for name in NAMES[output]:
            try:
                value = _read(answer, name, output)
                if value.shape == array[where].shape:
                    array[where] = value
                    break
            except Exception:  # whatever the author's object is: it is not this output
                continue


def _is_per_atom(output: str) -> bool:
    return output.startswith("forces") or output in ("charges", "magmoms")


def _read(answer: Mapping[str, Any], name: str, output: str) -> Any:
    value = np.asarray(answer[name], np.float64)
    if name == "energies" and len(answer["forces_comm"]) != len(value):
        raise ValueError(name)
    if name == "energy_var":
        with np.errstate(invalid="ignore"):
            value = np.asarray(np.sqrt(value))
    return np.moveaxis(value, 0, 1) if output == "forces_members" else value
