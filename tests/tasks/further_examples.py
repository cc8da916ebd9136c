"""The examples of `kind_examples` with what their kinds measure on request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tasks.datasets.crystal_items import Bands
from tasks.datasets.dataset import Dataset
from tests.tasks.kind_examples import EXAMPLES, PBE, KindExample


def asking(name: str, **parameters: Any) -> KindExample:
    """The example of a kind with further parameters."""
    example = EXAMPLES[name]()
    stated = {**example.parameters.model_dump(), **parameters}
    return example._replace(parameters=type(example.parameters).model_validate(stated))


def with_table(example: KindExample, **rows: Any) -> KindExample:
    dataset: Dataset = example.dataset
    return example._replace(dataset=replace(dataset, table=dataset.table.model_copy(update=rows)))


def with_references(
    example: KindExample, references: list[dict[str, float]], bands: Bands | None = None
) -> KindExample:
    """Crystals with further values in their references, and with bands."""
    crystals = [
        crystal.model_copy(
            update={
                "reference": {PBE: {**crystal.reference[PBE], **reference}},
                "bands": {} if bands is None else {PBE: bands},
            }
        )
        for crystal, reference in zip(example.dataset.table.crystals, references, strict=True)
    ]
    return with_table(example, crystals=tuple(crystals))


def force_slope() -> KindExample:
    return asking("labelled_frames", force_slope=True)


def ordered_differences() -> KindExample:
    """Each quantity of a group is one of its conformers."""
    return asking("energy_differences", statistics=("spearman", "lowest_found", "r2"))


def scans_of_phases() -> KindExample:
    """Two groups of two phases, with the shape of each energy."""
    example = asking("equation_of_state", distances=True, shape=True, volumes="published")
    curves = [
        curve.model_copy(
            update={
                "group": ("one", "two")[i // 2],
                "reference": {PBE: curve.reference[PBE].model_copy(update={"e0_per_atom": 0.1 * i})},
            }
        )
        for i, curve in enumerate(example.dataset.table.curves)
    ]
    return with_table(example, curves=tuple(curves))


def tensors() -> KindExample:
    components = {"c11_gpa": 170.0, "c12_gpa": 110.0, "c44_gpa": 60.0}
    return with_references(asking("elasticity"), [components] * 4)


def spectra() -> KindExample:
    """Three crystals that are stable at the reference, and one that is not."""
    bands = Bands(
        qpoints=((0.1, 0.2, 0.3), (0.5, 0.0, 0.0)), weights=(1, 3), frequencies=((2.0, 2.5, 4.0), (3.0, 3.5, 5.0))
    )
    lowest = [{"mean_frequency_k": 200.0, "min_frequency_k": low} for low in (100.0, 90.0, -50.0, 120.0)]
    return with_references(asking("phonons", spectrum=True), lowest, bands)


def cells_and_space_groups() -> KindExample:
    return asking("relaxed_structures", extent="volume", symmetry=True, statistics=("spearman", "lowest_found", "r2"))


def surviving_runs() -> KindExample:
    return asking("dynamics", survival=True, absolute_density=True)


FURTHER: Mapping[str, Callable[[], KindExample]] = {
    make.__name__: make
    for make in (
        force_slope,
        ordered_differences,
        scans_of_phases,
        tensors,
        spectra,
        cells_and_space_groups,
        surviving_runs,
    )
}
# The metrics that only these have, by example.
ADDED: Mapping[str, frozenset[str]] = {
    "force_slope": frozenset({"force_slope_error"}),
    "ordered_differences": frozenset({"barrier_spearman", "barrier_lowest_found_percent", "barrier_r2"}),
    "scans_of_phases": frozenset(
        {"epsilon", "flips_error", "stiffening_spearman", "phase_energy_mae", "phase_order_percent"}
    ),
    "tensors": frozenset({"elastic_tensor_mae"}),
    "spectra": frozenset({"mean_frequency_k_mae", "min_frequency_k_mae", "band_mae", "stability_f1"}),
    "cells_and_space_groups": frozenset({"volume_mae", "symmetry_kept_percent"}),
    "surviving_runs": frozenset({"survival_percent", "density_mae"}),
}
