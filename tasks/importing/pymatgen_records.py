"""Structures as pymatgen writes them to JSON, read without pymatgen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from ase import Atoms


def atoms_of_record(record: Mapping[str, Any]) -> Atoms:
    """The crystal of a record with `lattice` and `sites`.

    Raises:
        KeyError, TypeError, ValueError: it has another form, or a site is not one whole atom.
    """
    symbols, scaled = [], []
    for number, site in enumerate(record["sites"]):
        species = site["species"]
        if len(species) != 1 or float(species[0].get("occu", 1)) != 1:
            raise ValueError(f"sites.{number}: is not one whole atom")
        symbols.append(str(species[0]["element"]))
        scaled.append(site["abc"])
    cell = np.array(record["lattice"]["matrix"], np.float64)
    return Atoms(symbols, scaled_positions=np.array(scaled, np.float64), cell=cell, pbc=True)
