"""The stress of copies of a crystal: rotated ones, and ones whose lattice has other vectors.

A stress that follows the sign of det(cell) passes all other laws: only a lattice of the other handedness shows it.
"""

from __future__ import annotations

import numpy as np

from tasks.datasets.dataset import Dataset
from tasks.kind import Observation
from tasks.physicality.measures import STRESS_GROUPS, ProbeItem, flat_array, root_mean_square, structure_item
from tasks.physicality.variants import PROBES, VOIGT
from tasks.structures.frames import Bool, Float, Int


def copies_with_stress(periodic: Bool, probe: Int, original: Int) -> Int:
    """The copies whose stress is asked.

    Args:
        periodic: (n,) whether each structure is periodic in all directions.
        probe, original: (v,) of the copies, as in `Variants`.
    """
    codes = [list(PROBES).index(name) for name in STRESS_GROUPS]
    return np.flatnonzero(np.isin(probe, codes) & periodic[original])


def copied_stress_rows(observation: Observation, dataset: Dataset) -> list[ProbeItem]:
    """By probe of `STRESS_GROUPS` and crystal, the largest error of the stress of its copies.

    `stress_error` is the root mean square over the six components of the difference from the crystal's own stress,
    rotated alike [eV/Å³]. Empty for an observation that was made before the judge asked for these stresses.
    """
    crystals = np.flatnonzero(dataset.frames.periodic)
    if not len(crystals) or "restressed_failure" not in observation.arrays:
        return []
    original, probe = (flat_array(observation, f"variant_{name}") for name in ("original", "probe"))
    copies = copies_with_stress(dataset.frames.periodic, probe, original)
    c, place = len(copies), np.searchsorted(crystals, original[copies])
    supported = {"stressed_stress", "restressed_stress"} <= observation.arrays.keys()
    error = np.full(c, np.nan)
    if supported:
        rotation = observation.array("variant_rotation", (len(original), 3, 3))[copies]
        own = observation.array("stressed_stress", (len(crystals), 6))[place]
        difference = observation.array("restressed_stress", (c, 6)) - rotated_stress(own, rotation)
        error = root_mean_square(difference.T)
    failure = np.maximum(
        observation.causes(c, name="restressed_failure"),
        observation.causes(len(crystals), name="stressed_failure")[place],
    )
    rows = []
    for name, group in STRESS_GROUPS.items():
        of_probe = probe[copies] == list(PROBES).index(name)
        for index in np.unique(original[copies][of_probe]):
            chosen = of_probe & (original[copies] == index)
            values = {"stress_error": error[chosen].max()}
            rows.append(structure_item(dataset, int(index), group, failure[chosen], values, supported))
    return rows


def rotated_stress(stress: Float, rotation: Float) -> Float:
    """The stress (k, 6) [eV/Å³] of structures that are rotated by (k, 3, 3): R σ Rᵀ."""
    tensors = np.empty((len(stress), 3, 3))
    for component, (row, column) in enumerate(VOIGT):
        tensors[:, row, column] = tensors[:, column, row] = stress[:, component]
    turned = rotation @ tensors @ rotation.transpose(0, 2, 1)
    return np.stack([turned[:, row, column] for row, column in VOIGT], axis=1)
