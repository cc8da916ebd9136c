"""The quickstart datasets: reference data that ASE carries, or that are short enough to state, for every kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from tasks.datasets.dataset import Dataset, save_dataset
from tasks.datasets.rounding import rounded
from tasks.physicality.structures import build_physicality
from tasks.quickstart.crystals import (
    build_conductivity,
    build_entropies,
    build_wien2k_compression,
    build_wien2k_elasticity,
    build_wien2k_eos,
    build_wien2k_frames,
)
from tasks.quickstart.dataset import VERSIONS
from tasks.quickstart.mixtures import build_mixtures
from tasks.quickstart.molecules import build_dbh24, build_rotors, build_s22
from tasks.quickstart.pairs import build_pairs
from tasks.quickstart.paths import build_paths
from tasks.quickstart.relaxed import build_relaxed_metals
from tasks.quickstart.structures import build_crystals, build_efficiency, build_molecules, build_slabs
from tasks.quickstart.systems import build_metals


def build_quickstart(data_root: Path) -> list[str]:
    """Writes those quickstart datasets that are not under `data_root` yet; returns the names of all, name@version.

    The same version of ASE gives the same bytes on every processor.
    """
    builders = builders_by_full_name()
    for full_name, build in builders.items():
        if not (data_root / full_name).exists():
            save_dataset(build(), data_root)
    return list(builders)


def builders_by_full_name() -> dict[str, Callable[[], Dataset]]:
    """The functions of `BUILDERS` by name@version of the data set."""
    return {f"{name}@{VERSIONS.get(name, '1')}": build for name, build in BUILDERS.items()}


def _built(build: Callable[[], Dataset]) -> Dataset:
    return rounded(build())


# With the last digits of this processor.
UNROUNDED: Mapping[str, Callable[[], Dataset]] = {
    "s22": build_s22,
    "dbh24": build_dbh24,
    "rotors": build_rotors,
    "paths": build_paths,
    "pairs": build_pairs,
    "wien2k-eos": build_wien2k_eos,
    "wien2k-frames": build_wien2k_frames,
    "wien2k-compression": build_wien2k_compression,
    "wien2k-elasticity": build_wien2k_elasticity,
    "entropies": build_entropies,
    "conductivity": build_conductivity,
    "relaxed-metals": build_relaxed_metals,
    "simulated-metals": build_metals,
    "mixtures": build_mixtures,
    "nve-crystals": build_crystals,
    "nve-molecules": build_molecules,
    "nve-slabs": build_slabs,
    "efficiency": build_efficiency,
    "physicality": build_physicality,
}

BUILDERS: Mapping[str, Callable[[], Dataset]] = {name: partial(_built, build) for name, build in UNROUNDED.items()}
