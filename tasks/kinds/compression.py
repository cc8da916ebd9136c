"""Compression: the volume of each crystal under a pressure, relaxed from its cell at zero pressure.

Cell and atoms are relaxed together until the stress is minus the pressure: an unmodified ASE optimiser on
`ase.filters.FrechetCellFilter` with `scalar_pressure`, which minimises the enthalpy E + PV. The structures of the
data set are those at zero pressure, and its condition `pressure_gpa` states the pressure of each; one crystal at six
pressures is six structures. `Crystal.reference` holds `volume_per_atom` [Å³] at the pressure. Structures and references
as published: A. Loew et al., J. Phys. Mater. 9, 015010 (2026), doi:10.1088/2515-7639/ae2ba8.

LAMBench (pressure.py at commit 4e5cd8a) reads start and reference from one file, so that its relaxations begin at the
compressed reference; and it counts a relaxation that ran out of steps as converged. This kind does neither.

Failure cost: if the model fails during a relaxation, the item has that cause; if a relaxation does not end within the
steps, it is NOT_CONVERGED; if its volume runs away, EXPLODED; all items of a model without stress are UNSUPPORTED. Each
costs ten times the mean error of the trivial model, in which the volume stays that of the start.
"""

from __future__ import annotations

import numpy as np

from tasks.datasets.dataset import Dataset, Structures
from tasks.kind import DatasetPart, KindBaseline, Observation, Parameters, ScoreFamily, Traits, Watch, Work
from tasks.kinds.crystal_kind import CrystalKind, CrystalValues
from tasks.metrics.property_errors import CrystalProperty
from tasks.model.calculator import BatchCalculator
from tasks.observing.answer_log import LoggedAnswers
from tasks.simulation.relaxation import Relaxation, relax_cells, relaxed_arrays, require_periodic

PROPERTIES = (CrystalProperty("volume_per_atom", "Å³/atom", "Volume"),)
# Steps that FIRE usually takes from zero pressure to tens of GPa, for estimates of time.
USUAL_STEPS = 80


class CompressionParameters(Parameters):
    """How structures are relaxed under pressure."""

    relaxation: Relaxation = Relaxation()


class Compression(CrystalKind):
    """Error of the volume under pressure [Å³/atom]."""

    name: str = "compression"
    observe_version: int = 1
    measure_version: int = 3  # since 3 the items have the errors of the trivial model
    parameters: type[Parameters] = CompressionParameters
    properties = PROPERTIES
    traits: Traits = Traits(
        title="compression",
        about="volume of a crystal relaxed at a pressure",
        needs=("energy", "forces", "stress"),
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
            ValueError: a structure is not periodic, or the data set states no pressures.
        """
        require_periodic(structures.name, structures.frames)
        pressures = structures.condition("pressure_gpa")
        log = LoggedAnswers(self, structures, parameters, model, watch)
        ends = relax_cells(structures.frames, log, parameters.relaxation, log.watch, pressures)
        return Observation(relaxed_arrays(structures.frames, ends))

    def work(self, structures: Structures, parameters: CompressionParameters) -> Work:
        """Each structure as often as a relaxation under pressure usually asks about it, `USUAL_STEPS`."""
        return Work.of(structures.frames, min(USUAL_STEPS, parameters.relaxation.max_steps))

    def values(self, observation: Observation, dataset: Dataset, parameters: CompressionParameters) -> CrystalValues:
        """The relaxed volumes per atom [Å³]."""
        frames, n = dataset.frames, len(dataset.frames)
        cause, cell = observation.causes(n), observation.array("cell", (n, 3, 3))
        volumes = np.full(n, np.nan)
        volumes[cause == 0] = np.abs(np.linalg.det(cell[cause == 0]))
        return CrystalValues(cause, (volumes / frames.n_atoms)[:, None], (frames.volumes / frames.n_atoms)[:, None])
