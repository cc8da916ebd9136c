"""Compression: the volume of each crystal under a pressure, relaxed from its cell at none.

Cell and atoms are relaxed together until the stress is minus the pressure: an unmodified ASE optimiser on
`ase.filters.FrechetCellFilter` with `scalar_pressure`, which minimises the enthalpy E + PV. The structures of the
dataset are those at zero pressure, its condition `pressure_gpa` states under which each is put; one crystal at six
pressures is six structures. `Crystal.reference` holds `volume_per_atom` [Å³] at the pressure. Structures and references
as published: A. Loew et al., J. Phys. Mater. 9, 015010 (2026), doi:10.1088/2515-7639/ae2ba8.

LAMBench's implementation reads start and reference from one file, so that its relaxations begin at the compressed
reference; it takes its errors at 150 GPa alone, the last of six pressures; and it counts a relaxation that ran out of
steps as converged. Here none of these holds.

What a failure costs: a relaxation on the way of which the model fails has that cause; one that does not end within the
steps is NOT_CONVERGED, one whose volume runs away EXPLODED; all of a model without stress are UNSUPPORTED. Each is
charged ten times the mean error of the trivial model, in which nothing gives way: the volume is that of the start.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tasks.datasets.dataset import Dataset, Structures
from tasks.kind import DatasetPart, KindBaseline, Observation, Parameters, ScoreFamily, Traits, Watch, Work
from tasks.metrics.contributions import Charged, Contribution
from tasks.metrics.measurement import Items, Measurement
from tasks.metrics.property_errors import Property, property_contributions, property_items, property_metrics, references
from tasks.model.calculator import BatchCalculator
from tasks.simulation.relaxation import Relaxation, relax_cells, relaxed_arrays, require_periodic

PROPERTIES = (Property("volume_per_atom", "Å³/atom", "Volume"),)
# For an estimate of time: so many steps FIRE takes from no pressure to tens of GPa.
USUAL_STEPS = 80


class CompressionParameters(Parameters):
    """How structures are relaxed under pressure."""

    relaxation: Relaxation = Relaxation()


class Compression:
    """Error of the volume under pressure [Å³/atom]."""

    name: str = "compression"
    observe_version: int = 1
    measure_version: int = 2
    parameters: type[Parameters] = CompressionParameters
    traits: Traits = Traits(
        title="compression",
        about="volume of a crystal relaxed at a pressure",
        measures=DatasetPart.CRYSTALS,
        import_format="crystals",
        score=ScoreFamily.PROPERTY,
        metrics=tuple(p.metric for p in PROPERTIES),
        baseline=KindBaseline("Volume of the start", "A trivial model in which nothing gives way to pressure."),
    )

    def observe(
        self, structures: Structures, parameters: CompressionParameters, model: BatchCalculator, watch: Watch
    ) -> Observation:
        """Each structure relaxed under its pressure: the arrays of `relaxed_arrays`.

        Raises:
            ValueError: a structure is not periodic, or the dataset states no pressures.
        """
        require_periodic(structures.name, structures.frames)
        pressures = structures.condition("pressure_gpa")
        ends = relax_cells(structures.frames, model, parameters.relaxation, watch, pressures)
        return Observation(relaxed_arrays(structures.frames, ends))

    def work(self, structures: Structures, parameters: CompressionParameters) -> Work:
        """Each structure as often as a relaxation under pressure usually asks of it, `USUAL_STEPS`."""
        return Work.of(structures.frames, min(USUAL_STEPS, parameters.relaxation.max_steps))

    def measure(
        self, observation: Observation, dataset: Dataset, parameters: CompressionParameters, label_set: str | None
    ) -> Measurement:
        """One item a crystal, with its volume [Å³/atom], the reference and the error."""
        crystals, chosen = dataset.table.crystals, dataset.label_set(label_set)
        if not crystals:
            raise ValueError(f"{dataset.card.full_name}: table.json: crystals: there are none")
        frames, n = dataset.frames, len(dataset.frames)
        where = np.array([crystal.structure for crystal in crystals])
        cause = observation.causes(n)[where]
        cell, n_atoms = observation.array("cell", (n, 3, 3))[where], frames.n_atoms[where]
        there = cause == 0
        predicted = np.full((len(crystals), 1), np.nan)
        predicted[there, 0] = np.abs(np.linalg.det(cell[there])) / n_atoms[there]
        trivial = (frames.volumes[where] / n_atoms)[:, None]
        reference = references(crystals, chosen, PROPERTIES)
        metrics = property_metrics(PROPERTIES, predicted, reference, trivial, dataset.baselines(chosen))
        return Measurement(metrics, property_items(crystals, cause, PROPERTIES, predicted, reference))

    def contributions(self, items: Items, metrics: Mapping[str, Charged]) -> list[Contribution]:
        """Of all metrics."""
        return property_contributions(PROPERTIES, items, metrics)
