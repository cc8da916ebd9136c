"""Compression: the volume of each crystal under a pressure, relaxed from its cell at zero pressure.

Cell and atoms are relaxed together until the stress is minus the pressure: an unmodified ASE optimiser on
`ase.filters.FrechetCellFilter` with `scalar_pressure`, which minimises the enthalpy E + PV. The structures of the
data set are those at zero pressure, and its condition `pressure_gpa` states the pressure of each; one crystal at six
pressures is six structures. `Crystal.reference` holds `volume_per_atom` [Å³] at the pressure. Structures and references
as published: A. Loew et al., J. Phys. Mater. 9, 015010 (2026), doi:10.1088/2515-7639/ae2ba8.

LAMBench (pressure.py at commit 4e5cd8a) reads start and reference from one file, so that its relaxations begin at the
compressed reference; and it counts a relaxation that ran out of steps as converged. This kind does neither.

The volume at zero pressure alone tells most of the answer. So relaxations begin at a drawn share of it, 10 to 20 % away
on either side, the same for one crystal at all pressures. Half of the crystals begin above it and half below, since a
model of springs about the start gains where all begin above. Where a model relaxes to does not depend on it.

The trivial model is the one of two that has the smaller mean error. In the first nothing gives way to pressure. The
second knows the start alone: all crystals have one bulk modulus, the best for the data set, and B0′ = 4.5
(`tasks.simulation.constant_bulk_modulus`). Its error is that for the two nearest starts that may be drawn.

Failure cost: if the model fails during a relaxation, the item has that cause; if a relaxation does not end within the
steps, it is NOT_CONVERGED; if its volume runs away, EXPLODED; all items of a model without stress are UNSUPPORTED. Each
costs ten times the mean error of the trivial model.
"""

from __future__ import annotations

import numpy as np

from tasks.datasets.dataset import Dataset, Structures
from tasks.kind import DatasetPart, KindBaseline, Observation, Parameters, ScoreFamily, Traits, Watch, Work
from tasks.kinds.crystal_kind import CrystalKind, CrystalValues
from tasks.metrics.property_errors import CrystalProperty, references
from tasks.model.calculator import BatchCalculator
from tasks.observing.answer_log import LoggedAnswers
from tasks.observing.drawn_shares import drawn_shares
from tasks.simulation.constant_bulk_modulus import least_errors
from tasks.simulation.curve_structures import CurveStructures
from tasks.simulation.relaxation import Relaxation, relax_cells, relaxed_arrays, require_periodic
from tasks.structures.frames import Float, Frames

# How far the volumes of drawn starts are from that at zero pressure, in the logarithm.
NEAREST, FARTHEST = 0.10, 0.20
NEAREST_SHARES = np.exp([-NEAREST, NEAREST])
PROPERTIES = (CrystalProperty("volume_per_atom", "Å³/atom", "Volume"),)
METRIC, ROUNDING = PROPERTIES[0].metric.name, 1e-9
# Steps that FIRE usually takes from zero pressure to tens of GPa, for estimates of time.
USUAL_STEPS = 80


class CompressionParameters(Parameters):
    """How structures are relaxed under pressure."""

    relaxation: Relaxation = Relaxation()


class Compression(CrystalKind):
    """Error of the volume under pressure [Å³/atom]."""

    name: str = "compression"
    # Since 2 relaxations begin at a drawn volume, since 3 half of them above that at zero pressure.
    observe_version: int = 3
    # Since 3 the items have the errors of the trivial model, since 4 it may have a bulk modulus.
    measure_version: int = 4
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
        baseline=KindBaseline(
            "Volume at zero pressure, or one bulk modulus",
            "The better of two trivial models: nothing gives way to pressure; or all crystals have one bulk modulus, "
            "about a drawn volume.",
        ),
        draws="Of each crystal, the share of its volume at which relaxations begin.",
    )

    def observe(
        self, structures: Structures, parameters: CompressionParameters, model: BatchCalculator, watch: Watch
    ) -> Observation:
        """Each structure relaxed under its pressure: the arrays of `relaxed_arrays`, and `start_volume` (n,) [Å³].

        Raises:
            ValueError: a structure is not periodic, or the data set states no pressures.
        """
        require_periodic(structures.name, structures.frames)
        pressures = structures.condition("pressure_gpa")
        starts = self._starts(structures, watch.secret)
        log = LoggedAnswers(self, structures, parameters, model, watch)
        ends = relax_cells(starts, log, parameters.relaxation, log.watch, pressures)
        return Observation({**relaxed_arrays(starts, ends), "start_volume": starts.volumes})

    def _starts(self, structures: Structures, secret: bytes) -> Frames:
        shares = drawn_shares(structures, self.observe_version, secret, (NEAREST, FARTHEST), balanced=True)
        crystals = [CurveStructures(structures.frames.take([index])) for index in range(len(shares))]
        return Frames.concatenate([each.at(each.volumes * share) for each, share in zip(crystals, shares, strict=True)])

    def build_faults(self, dataset: Dataset) -> list[str]:
        """As of all crystals; and a baseline on the card that a trivial model reaches."""
        faults = super().build_faults(dataset)
        for label_set, stated in dataset.card.baselines.items():
            if METRIC in stated and "pressure_gpa" in dataset.conditions:
                reference = references(dataset.table.crystals, label_set, PROPERTIES)
                error = float(np.nanmean(np.abs(_better_trivial(dataset, reference) - reference)))
                if stated[METRIC] > error * (1 + ROUNDING):
                    faults.append(
                        f"baselines.{label_set}.{METRIC}: {stated[METRIC]:.4g} is larger than the error of a trivial "
                        f"model, {error:.4g}, which would pass for a good one: leave it out, or state at most this"
                    )
        return faults

    def trivial(self, values: CrystalValues, dataset: Dataset, reference: Float) -> Float:
        """(k, 1) volumes [Å³/atom] as far from the references as those of the better trivial model."""
        return _better_trivial(dataset, reference)

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


def _better_trivial(dataset: Dataset, reference: Float) -> Float:
    """(k, 1) volumes [Å³/atom] as far from the references (k, 1) as those of the better trivial model."""
    rows = np.array([crystal.structure for crystal in dataset.table.crystals])
    volumes, at_pressure = (dataset.frames.volumes / dataset.frames.n_atoms)[rows], reference[:, 0]
    pressures = dataset.structures.condition("pressure_gpa")[rows]
    errors = least_errors(volumes, pressures, at_pressure, NEAREST_SHARES)
    better = float(np.nanmean(errors)) < float(np.nanmean(np.abs(volumes - at_pressure)))
    return (at_pressure + errors if better else volumes)[:, None]
