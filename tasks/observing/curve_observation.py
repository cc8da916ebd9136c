"""Observing equations of state: each curve about the minimum that the model itself has, from a drawn start.

The volumes of a data set lie about those of the reference: who is asked at these knows nearly all of the answer. So
where the search of each curve begins is drawn from the store's secret, for each curve alone; all that is asked follows
from there and from the answers (`tasks.simulation.volume_search`). All curves are searched at once, so that a model
gets full batches. The last volumes of a curve take the places of the structures of the data set: as many, and as shares
of the model's own minimum as those are of the middle of their volumes.

For a hidden data set, transformed copies of some of the last structures follow
(`tasks.observing.memorisation_probes`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.datasets.dataset import Dataset, Structures
from tasks.kind import Watch, Work
from tasks.model.calculator import BatchCalculator, compute_in_batches
from tasks.observing.memorisation_probes import Probe, draw_copies, transformed
from tasks.observing.question_order import generator_for, put_back
from tasks.simulation.curve_structures import CurveStructures, curve_numbers, curve_rows
from tasks.simulation.volume_search import USUAL_STEPS, Search, draw_start, search_volumes
from tasks.structures.frames import Float, Frames, Int
from tasks.structures.predictions import Cause, Properties

ENERGY: Properties = ("energy",)
LEAST = 5  # structures of a curve, as in `tasks.datasets.crystal_items.Curve`


@dataclass(eq=False)
class _SearchedCurve:
    """A curve whose minimum is searched.

    Args:
        rows: (k,) its structures in the data set, by ascending volume.
        volumes: [Å³] that are asked next; once it is done, those that were asked last, with their energies [eV].
    """

    rows: Int
    structures: CurveStructures
    search: Search
    volumes: Float
    energies: Float = field(default_factory=lambda: np.zeros(0))
    cause: Cause = Cause.NONE
    done: bool = False

    def go_on(self, energies: Float, failure: NDArray[np.int8]) -> None:
        """Goes on with the answers to `volumes`; if one has failed, the curve has."""
        if failure.any():
            self.stop(Cause(int(failure.max())))
            return
        self.energies = energies
        try:
            self.volumes = self.search.send(energies)
        except StopIteration as end:
            if end.value is None:
                self.cause = Cause.NOT_CONVERGED
            self.done = True

    def stop(self, cause: Cause) -> None:
        """Ends the search, if it has not ended."""
        if not self.done:
            self.cause, self.done = cause, True


def observe_curves(
    structures: Structures, observe_version: int, model: BatchCalculator, watch: Watch
) -> dict[str, NDArray[Any]]:
    """The arrays energy (n,) [eV], volume (n,) [Å³] and failure (n,) of the last structures of all curves.

    NaN where a curve has failed; structures of no curve are MISSING. Once more than the watch's share of the curves has
    failed, the others are MISSING, and at its deadline OVER_TIME.

    Raises:
        ValueError: a structure is not periodic in all directions.
    """
    frames = structures.frames
    if not frames.periodic.all():
        index = int(np.flatnonzero(~frames.periodic)[0])
        raise ValueError(f"{structures.name}/frames.safetensors: pbc: structure {index} is no crystal; leave it out")
    curves = [_begun(structures, rows, observe_version, watch.secret) for rows in curve_rows_of(structures)]
    rng = generator_for(structures.frames_sha256, observe_version, watch.secret, "order")
    _search(curves, model, watch, rng)
    n = len(frames)
    energy, volume, failure = np.full(n, np.nan), np.full(n, np.nan), np.full(n, Cause.MISSING, np.int8)
    for curve in curves:
        failure[curve.rows] = curve.cause
        if not curve.cause:
            energy[curve.rows], volume[curve.rows] = curve.energies, curve.volumes
    arrays: dict[str, NDArray[Any]] = {"energy": energy, "volume": volume, "failure": failure}
    answered = [curve for curve in curves if not curve.cause]
    if structures.hidden and answered:
        arrays |= _copies(answered, model, watch, rng)
    return arrays


def curve_rows_of(structures: Structures) -> list[Int]:
    """The rows of each curve, by ascending volume."""
    volumes = structures.frames.volumes
    rows = curve_rows(curve_numbers(structures), LEAST)
    return [each[np.argsort(volumes[each], kind="stable")] for each in rows]


def curve_faults(dataset: Dataset) -> list[str]:
    """A line for each curve of the table that `observe_curves` does not find: observing opens no table."""
    found = {frozenset(rows.tolist()) for rows in curve_rows_of(dataset.structures)}
    return [
        f"curves: {curve.id}: structures: their atoms and volumes do not tell them from those beside them: import the "
        "data set again, or number the curves in the condition `curve`"
        for curve in dataset.table.curves
        if frozenset(curve.structures) not in found
    ]


def with_curve_numbers(dataset: Dataset) -> Dataset:
    """`dataset` with the condition `curve`, if its curves are not found without it; each structure is in a curve."""
    if not curve_faults(dataset):
        return dataset
    number = np.zeros(len(dataset.frames), np.int64)
    for k, curve in enumerate(dataset.table.curves):
        number[list(curve.structures)] = k
    return replace(dataset, conditions={**dataset.conditions, "curve": number})


def curve_work(structures: Structures) -> Work:
    """Each structure once, and as often as a search usually asks before; of hidden ones, four copies of some."""
    frames = structures.frames
    times = np.zeros(len(frames))
    for rows in curve_rows_of(structures):
        times[rows] = 1.0 + USUAL_STEPS / len(rows)
    work = Work.of(frames, times)
    if not structures.hidden:
        return work
    copies = draw_copies(frames, np.random.default_rng(0))
    return work + Work.of(frames.take(copies.original), float(len(Probe)))


def _begun(structures: Structures, rows: Int, observe_version: int, secret: bytes) -> _SearchedCurve:
    own = CurveStructures(structures.frames.take(rows))
    rng = generator_for(structures.frames.take(rows).sha256(), observe_version, secret, "volumes")
    search = search_volumes(draw_start(own.middle, rng), own.volumes / own.middle)
    return _SearchedCurve(rows, own, search, next(search))


def _search(curves: list[_SearchedCurve], model: BatchCalculator, watch: Watch, rng: np.random.Generator) -> None:
    """Asks the next volumes of all curves that are not done, again and again until all are."""
    # Each curve has as many of the first questions: the share of them that fails is at most that of the curves.
    share = watch.failed_share
    while living := [curve for curve in curves if not curve.done]:
        asked = Frames.concatenate([curve.structures.at(curve.volumes) for curve in living])
        energy, failure = _answers(asked, model, watch, rng, share)
        begin = 0
        for curve in living:
            end = begin + len(curve.volumes)
            curve.go_on(energy[begin:end], failure[begin:end])
            begin = end
        watch.progress(sum(curve.done for curve in curves), len(curves), "curves")
        share = 1.0
        failed = sum(curve.cause not in (Cause.NONE, Cause.NOT_CONVERGED) for curve in curves)
        late = not watch.in_time()
        if late or failed > watch.failed_share * len(curves):
            for curve in curves:
                curve.stop(Cause.OVER_TIME if late else Cause.MISSING)


def _answers(
    asked: Frames, model: BatchCalculator, watch: Watch, rng: np.random.Generator, failed_share: float = 1.0
) -> tuple[Float, NDArray[np.int8]]:
    """(m,) each: energies [eV] and causes of the m structures, which are asked in a random order."""
    order = rng.permutation(len(asked))
    answer = compute_in_batches(model, asked.take(order), ENERGY, failed_share=failed_share, in_time=watch.in_time)
    return put_back(answer.energy, order), put_back(answer.failure, order)


def _copies(
    curves: list[_SearchedCurve], model: BatchCalculator, watch: Watch, rng: np.random.Generator
) -> dict[str, NDArray[Any]]:
    """The arrays of copies of some of the last structures of `curves`, and the answers, as `probe_…`."""
    rows = np.concatenate([curve.rows for curve in curves])
    order = np.argsort(rows)
    last = Frames.concatenate([curve.structures.at(curve.volumes) for curve in curves]).take(order)
    copies = draw_copies(last, rng)
    energy, failure = _answers(transformed(last, copies), model, watch, rng)
    stored = replace(copies, original=rows[order][copies.original]).arrays()
    shape = (len(Probe), len(copies))
    return {**stored, "probe_energy": energy.reshape(shape), "probe_failure": failure.reshape(shape)}
