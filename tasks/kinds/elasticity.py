"""Elasticity: bulk and shear modulus (Voigt–Reuss–Hill) of each crystal, from the stresses of strained cells.

A crystal is relaxed, cell and atoms, to zero stress. Each of the six strains is then applied to the relaxed cell by a
few amounts; `tasks.simulation.strains` defines strain and stress, fits the elastic tensor and computes the moduli. By
default the amounts are those of LAMBench (elastic.py at commit 09304fc): ±0.01/3 and ±0.01 in xx, yy and zz, ±0.02 and
±0.06 of the tensor component (0.12 in engineering strain) in yz, xz and xy. matcalc 0.7.0 has the same largest strains
and other smaller ones: ±0.005 and ±0.01, ±0.03 and ±0.06. So large a shear is beyond the linear response: in copper
(EMT) G comes out 6 % above its limit, in argon (Lennard-Jones) 15 %, both fcc; in hcp copper, nickel and silver (EMT,
ions relaxed) 8 to 11 % below it. The moduli are those of that protocol, and must be compared with a reference of the
same protocol.

Atoms follow the cell (`ions = "clamped"`, LAMBench's choice, and matcalc's default) or are relaxed in each strained
cell (`"relaxed"`, what a crystal does and what the references of M. de Jong et al., Sci. Data 2, 150009 (2015),
doi:10.1038/sdata.2015.9, hold). The two differ only where some atom is not at a centre of inversion.
`Crystal.reference` holds `k_vrh_gpa` and `g_vrh_gpa`.

Failure cost: if the relaxation or any strained cell of a crystal fails, the item has that cause (NOT_CONVERGED if it
takes too many steps); if its tensor is not positive definite, it is UNSTABLE, since its moduli mean nothing; all items
of a model without stress are UNSUPPORTED. Each costs ten times the mean error of the best trivial model, from the
references: its moduli are the same for every crystal, or those of equal springs between neighbours, which are inversely
proportional to the distance between atoms. A start tells no more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from ase import Atoms
from ase.units import GPa
from numpy.typing import NDArray
from pydantic import AfterValidator, Field

from tasks.datasets.dataset import Dataset, Structures
from tasks.kind import DatasetPart, KindBaseline, Observation, Parameters, ScoreFamily, Traits, Watch, Work
from tasks.kinds.crystal_kind import CrystalKind, CrystalValues
from tasks.metrics.averages import Average, contributions_to
from tasks.metrics.contributions import Contribution, WithFailureCost, baseline_column, stored_column
from tasks.metrics.kind_metric import KindMetric
from tasks.metrics.measurement import Items, Measurement
from tasks.metrics.property_errors import CrystalProperty, property_averages
from tasks.model.calculator import BatchCalculator, ItemFailed
from tasks.observing.answer_log import LoggedAnswers
from tasks.simulation.lockstep_batches import Done, Job, run_concurrently
from tasks.simulation.relaxation import Relaxation, relax_cells, relaxed, relaxed_arrays, require_periodic
from tasks.simulation.strains import elastic_tensor, is_stable, moduli, strained, voigt_strains
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import ALL_PROPERTIES, RESULTS, Cause

PROPERTIES = (
    CrystalProperty("k_vrh_gpa", "GPa", "Bulk modulus K"),
    CrystalProperty("g_vrh_gpa", "GPa", "Shear modulus G"),
)
# Mean over crystals of the mean error of those components that are not zero at the reference.
TENSOR, TENSOR_ERROR = "elastic_tensor_mae", "elastic_tensor_error"
# Moduli of crystals of equal springs times the distance between atoms [GPa Å], in steps of 3 %.
SPRINGS = np.geomspace(1.0, 1e4, 313)
# Usual steps of FIRE for a cell near its minimum, and for the atoms of a strained cell: for estimates of time.
USUAL_STEPS = 60
USUAL_ION_STEPS = 20


def _distinct(amounts: tuple[float, ...]) -> tuple[float, ...]:
    if len(set(amounts)) < len(amounts):
        raise ValueError("has one amount twice")
    return amounts


# At least two, so that a slope does not rest on the relaxed cell alone; the bounds keep a cell from turning inside out.
Amounts = Annotated[
    tuple[Annotated[float, Field(gt=-0.2, lt=0.2)], ...], Field(min_length=2), AfterValidator(_distinct)
]


class ElasticityParameters(Parameters):
    """How crystals are relaxed and strained.

    Args:
        relaxation: of the cell; with relaxed ions, also of the atoms in each strained cell.
        normal_strains: amounts of xx, yy and zz.
        shear_strains: amounts of yz, xz and xy: components of the tensor, half the engineering strain.
    """

    relaxation: Relaxation = Relaxation()
    normal_strains: Amounts = (-0.01, -0.01 / 3, 0.01 / 3, 0.01)
    shear_strains: Amounts = (-0.06, -0.02, 0.02, 0.06)
    ions: Literal["clamped", "relaxed"] = "relaxed"

    @property
    def strains(self) -> Float:
        """(s, 6) strains as in `tasks.simulation.strains.voigt_strains`: the relaxed cell first."""
        return voigt_strains(self.normal_strains, self.shear_strains)


class Elasticity(CrystalKind):
    """Errors of K and G (Voigt–Reuss–Hill) [GPa]."""

    name: str = "elasticity"
    observe_version: int = 1
    measure_version: int = 3  # since 3 the baseline is the best trivial model, not zero
    parameters: type[Parameters] = ElasticityParameters
    properties = PROPERTIES
    traits: Traits = Traits(
        title="elasticity",
        about="bulk and shear modulus from the stresses of strained cells",
        needs=("energy", "forces", "stress"),
        measures=DatasetPart.CRYSTALS,
        import_format="crystals",
        score=ScoreFamily.PROPERTY,
        metrics=(
            *(p.metric for p in PROPERTIES),
            KindMetric(TENSOR, "Elastic tensor, MAE of its components", "GPa"),
        ),
        baseline=KindBaseline(
            "Without chemistry",
            "The best model whose moduli are the same for every crystal, or those of equal springs between atoms.",
        ),
    )

    def observe(
        self, structures: Structures, parameters: ElasticityParameters, model: BatchCalculator, watch: Watch
    ) -> Observation:
        """Each crystal relaxed, and the stresses of its strained cells.

        Returns:
            The arrays of `relaxed_arrays`, strain (s, 6), and stress (n, s, 6) [eV/Å³], NaN where failed.

        Raises:
            ValueError: a structure is not periodic.
        """
        frames, strains = structures.frames, parameters.strains
        require_periodic(structures.name, frames)
        log = LoggedAnswers(self, structures, parameters, model, watch)
        ends = relax_cells(frames, log, parameters.relaxation, log.watch)
        arrays = relaxed_arrays(frames, ends)
        stress = np.full((len(frames), *strains.shape), np.nan)
        crystals = {index: end.value for index, end in enumerate(ends) if end.value is not None}
        # The failures that are still allowed, as a share of the crystals that are left; below zero the model is not
        # asked about any more.
        failed = ~np.isin(arrays["failure"], (Cause.NONE, *RESULTS))
        allowed = watch.failed_share * len(frames) - np.count_nonzero(failed)
        rest = replace(log.watch, failed_share=allowed / max(len(crystals), 1))
        answers = strained_stresses(list(crystals.values()), parameters, log, rest)
        for index, answer in zip(crystals, answers, strict=True):
            arrays["failure"][index] = answer.cause
            if answer.value is not None:
                stress[index] = answer.value
        return Observation({**arrays, "strain": strains, "stress": stress})

    def work(self, structures: Structures, parameters: ElasticityParameters) -> Work:
        """Each structure as often as its relaxation usually asks about it (`USUAL_STEPS`), and its strained cells.

        The model is asked about a strained cell once, and `USUAL_ION_STEPS` times more if its atoms are relaxed.
        """
        most = parameters.relaxation.max_steps
        each = 1 + (min(USUAL_ION_STEPS, most) if parameters.ions == "relaxed" else 0)
        return Work.of(structures.frames, min(USUAL_STEPS, most) + each * len(parameters.strains))

    def measure(
        self, observation: Observation, dataset: Dataset, parameters: ElasticityParameters, label_set: str | None
    ) -> Measurement:
        """As of every kind of crystals; where references have components of the tensor, also their mean error."""
        measured = super().measure(observation, dataset, parameters, label_set)
        chosen = dataset.label_set(label_set)
        reference = np.array([_components(c.reference[chosen]) for c in dataset.table.crystals])
        counted = np.isfinite(reference) & (reference != 0.0)
        if not counted.any():
            return measured
        n_counted = counted.sum(axis=1)
        rows = [crystal.structure for crystal in dataset.table.crystals]
        stress = observation.array("stress", (len(dataset.frames), *parameters.strains.shape))[rows]
        error = np.full(len(rows), np.nan)
        for row in np.flatnonzero((measured.items.cause == 0) & (n_counted > 0)):
            tensor = elastic_tensor(parameters.strains, stress[row] / GPa)[np.triu_indices(6)]
            error[row] = np.abs(tensor - reference[row])[counted[row]].mean()
        size = np.where(counted, np.abs(reference), 0.0).sum(axis=1) / np.maximum(n_counted, 1)
        columns = {**measured.items.columns, TENSOR_ERROR: error, baseline_column(TENSOR_ERROR): size}
        columns[f"{TENSOR}_count"] = (n_counted > 0).astype(np.float64)
        average = _tensor_average(columns)
        baseline = dataset.baselines(chosen).get(TENSOR, float(size[n_counted > 0].mean()))
        metrics = {**measured.metrics, TENSOR: average.metric(baseline)}
        return replace(measured, metrics=metrics, items=replace(measured.items, columns=columns))

    def contributions(self, items: Items, metrics: Mapping[str, WithFailureCost]) -> list[Contribution]:
        """To all metrics."""
        tensor = [_tensor_average(items.columns)] if TENSOR in metrics else []
        return contributions_to(metrics, [*property_averages(PROPERTIES, items.columns), *tensor])

    def values(self, observation: Observation, dataset: Dataset, parameters: ElasticityParameters) -> CrystalValues:
        """The moduli [GPa], and those of equal springs between neighbours, of many stiffnesses."""
        n, strains = len(dataset.frames), parameters.strains
        if not np.array_equal(observation.array("strain", strains.shape), strains):
            raise ValueError("observation: strain is not that of the parameters: it was observed with others")
        stress = observation.array("stress", (n, *strains.shape))
        cause = observation.causes(n).copy()
        predicted = np.full((n, len(PROPERTIES)), np.nan)
        for index in np.flatnonzero(cause == 0):
            cause[index], predicted[index] = _moduli_gpa(strains, stress[index])
        spacing = np.cbrt(dataset.frames.volumes / dataset.frames.n_atoms)
        springs = SPRINGS[:, None, None] / spacing[:, None]
        return CrystalValues(cause, predicted, np.repeat(springs, len(PROPERTIES), axis=2))


def _components(reference: Mapping[str, float]) -> list[float]:
    """The 21 components of the upper triangle of the tensor [GPa]; NaN where the reference has none."""
    return [reference.get(f"c{i}{j}_gpa", np.nan) for i in range(1, 7) for j in range(i, 7)]


def _tensor_average(columns: Mapping[str, Float]) -> Average:
    error, size = stored_column(columns, TENSOR_ERROR), stored_column(columns, baseline_column(TENSOR_ERROR))
    return Average(TENSOR, "GPa", error, stored_column(columns, f"{TENSOR}_count"), baseline=size)


def strained_stresses(
    crystals: list[Atoms], parameters: ElasticityParameters, model: BatchCalculator, watch: Watch
) -> list[Done[NDArray[np.float64]]]:
    """(s, 6) stresses [eV/Å³] of each of `crystals` under each strain, or the cause of its failure.

    With clamped ions the strained cells of a crystal are one job; with relaxed ions each cell is a job. All jobs of all
    crystals run concurrently.
    """
    strains = parameters.strains
    if parameters.ions == "clamped":
        return run_concurrently([_clamped_job(atoms, strains) for atoms in crystals], model, watch, "crystals")
    settings = parameters.relaxation
    jobs = [_relaxed_job(atoms, strain, settings) for atoms in crystals for strain in strains]
    ends = run_concurrently(jobs, model, watch, "strained cells")
    return [_together(ends[start : start + len(strains)]) for start in range(0, len(ends), len(strains))]


def _clamped_job(atoms: Atoms, strains: Float) -> Job[Float]:
    def run(model: BatchCalculator) -> Float:
        return _stresses(model, [strained(atoms, strain) for strain in strains])

    return Job(len(atoms), run)


def _relaxed_job(atoms: Atoms, strain: Float, settings: Relaxation) -> Job[Float]:
    def run(model: BatchCalculator) -> Float:
        return _stresses(model, [relaxed(strained(atoms, strain), model, settings, cell=False)])

    return Job(len(atoms), run)


def _stresses(model: BatchCalculator, structures: list[Atoms]) -> Float:
    """(k, 6) stresses [eV/Å³] of `structures`.

    Raises:
        ItemFailed: the model failed on one of them, with the first one's cause; or has no stress.
    """
    answer = model.compute(Frames.from_atoms(structures), ALL_PROPERTIES)
    if not answer.ok.all():
        raise ItemFailed(Cause(int(answer.failure[~answer.ok][0])))
    if answer.stress is None or not np.isfinite(answer.stress).all():
        raise ItemFailed(Cause.UNSUPPORTED)
    return answer.stress


def _together(ends: list[Done[Float]]) -> Done[Float]:
    """The stresses of all cells of one crystal; a failure of the model goes before a cell that was not measured."""
    values = [end.value[0] for end in ends if end.value is not None]
    if len(values) == len(ends):
        return Done(np.array(values), Cause.NONE)
    # The codes of `Cause` are in that order.
    return Done(None, min(end.cause for end in ends if end.cause))


def _moduli_gpa(strains: Float, stress: Float) -> tuple[Cause, tuple[float, float]]:
    """K and G (Voigt–Reuss–Hill) [GPa] from strains and stresses (s, 6) [eV/Å³]; or the cause, and NaN."""
    if not np.isfinite(stress).all():
        return Cause.NON_FINITE, (np.nan, np.nan)
    tensor = elastic_tensor(strains, stress / GPa)
    if not is_stable(tensor):
        return Cause.UNSTABLE, (np.nan, np.nan)
    bounds = moduli(tensor)
    return Cause.NONE, (bounds.k_vrh, bounds.g_vrh)
