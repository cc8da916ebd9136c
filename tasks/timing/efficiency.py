"""Efficiency: microseconds per atom for energy, forces and stress of one frame a message, on the judge's clock.

Structures are replicated to 800 to 1000 atoms, the shortest axes most often, then rattled, so that no frame repeats
and no cache helps; each timed frame follows an untimed one of its shape. Where a frame does not fit into memory, the
largest compact size of its structure that does is found by bisection and timed in its place: its true size is shown,
and `n_reduced` says of how many frames this is true. A model without stress is timed on energy and forces, and
`n_with_stress` says so; one without forces is unsupported, and so is a frame for which a model leaves out what it
offers. Batches filled to the model's atom budget come after the single frames: `batched_time`.

The cost of the wire is measured last, since an echo tells a model that it is being timed, and shown, never subtracted.
If the host was too noisy (`tasks.timing.timing`) there is no observation: the timing is run again.

A share of the timed frames is asked about again of a fresh start (`tasks.timing.consistency_check`). A frame on which
the model disagrees with itself fails as INCONSISTENT; where more than a tenth of those asked about disagree, or could
not be decided, no time of the model counts. So are some frames of the batches (`tasks.timing.batched_frames`): where
they disagree with those, `n_batched_inconsistent`, `batched_time` does not count.

**What a failure costs.** A time has no trivial model, so W is declared: one second per atom, ten thousand times the
100 µs/atom at which LAMBench's efficiency is 1 (arXiv:2504.19578), and longer than any frame that a task's time allows.
`charged` is the same statistic with every failed frame, also of the warm-up, at W: not even leaving out the slowest
frames makes a model look faster. Nor does failing at the first call hide what it costs: then there is no `time_cold`.

**What a smaller frame costs.** The value of a metric is of the times per atom as measured, at whatever size. In
`charged`, which scores are made of, the time per atom of a frame that has n atoms where N were planned counts N/n-fold:
what it would be at N if the cost grew with the square of the atoms, as of a model in which every atom attends to every
other, the steepest growth that is in use. An honest model whose cost grows less is charged more than it would need, as
if it had asked N/n times; but no such model gains by saying that it is out of memory where it is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.datasets.dataset import Dataset, Structures
from tasks.kind import Observation, Parameters, ScoreFamily, Traits, Watch, Work
from tasks.metrics.contributions import Charged, Contribution
from tasks.metrics.measurement import Items, Measurement
from tasks.model.calculator import BatchCalculator
from tasks.simulation.supercells import Counts
from tasks.timing.batched_frames import ask_batches_again, time_batches
from tasks.timing.consistency_check import Answer, ask_again, pack_answers
from tasks.timing.efficiency_metrics import TIME_METRICS, measure_times, time_contributions
from tasks.timing.single_frames import Single, SingleFrames
from tasks.timing.timing import Host, time_wire
from tasks.timing.timing_plan import CHECKED_IN_BATCHES, EfficiencyParameters, Plan

__all__ = ["Efficiency", "EfficiencyParameters"]

# What a batch is taken to hold when time is estimated before there is a model to ask.
USUAL_BATCH_ATOMS = 20_000


class Efficiency:
    """Time per atom."""

    name: str = "efficiency"
    observe_version: int = 3
    measure_version: int = 4
    parameters: type[Parameters] = EfficiencyParameters
    traits: Traits = Traits(
        title="efficiency",
        about="time per atom of energy, forces and stress, one structure at a time",
        import_format="structures",
        score=ScoreFamily.EFFICIENCY,
        metrics=TIME_METRICS,
        times=True,
    )

    def observe(
        self, structures: Structures, parameters: EfficiencyParameters, model: BatchCalculator, watch: Watch
    ) -> Observation:
        """Times the model.

        Arrays, of the n timed frames: seconds, NaN where it failed; source, its structure; counts (n, 3), how often
        that was repeated; n_atoms, and planned_atoms; reduced and with_stress, 0 or 1; failure. kept (r,): those that
        may be asked about again, with their answers kept_energy, kept_forces and kept_stress. cold (2,): seconds and
        atoms of the first call. batch_… and batched_…: see `time_batches`. wire_s (k,) of echoes as large as a frame,
        empty where there is no wire. reference_s (l, 2) of each look at the host: the shortest call and the upper
        quartile. The note `properties` says what the model offers.

        Raises:
            HostTooNoisy: the host disturbed the timing.
        """
        plan = Plan(structures, parameters)
        host, frames = Host(watch.clock, parameters.max_noise), SingleFrames(plan, model, watch)
        host.look()
        singles = frames.run(host)
        arrays = _timed(plan, singles) | _kept(plan, singles) | {"cold": frames.cold}
        per_atom = (arrays["seconds"] / arrays["n_atoms"])[arrays["failure"] == 0]
        pace = float(np.median(per_atom)) if per_atom.size else np.inf
        arrays |= time_batches(plan, frames.sizes, pace, model, watch)
        arrays["wire_s"] = time_wire(watch, plan.pair(0, singles[0].counts).timed)
        host.look()
        arrays["reference_s"] = host.looks
        return Observation(arrays, {"properties": ",".join(model.properties)})

    def work(self, structures: Structures, parameters: EfficiencyParameters) -> Work:
        """Two calls a timed frame, the batches, three calls a frame that is asked about again, one if of a batch."""
        plan = Plan(structures, parameters)
        atoms = [plan.planned_atoms[s] for s in plan.sources.tolist()]
        calls = 2 * parameters.n_frames + 3 * parameters.n_rechecked
        calls += CHECKED_IN_BATCHES if parameters.n_batches else 0
        mean = sum(atoms) / len(atoms)
        in_batches = (parameters.n_batches + 1) * USUAL_BATCH_ATOMS if parameters.n_batches else 0
        return Work(calls + in_batches / mean, calls * mean + in_batches)

    def recheck(
        self,
        observation: Observation,
        structures: Structures,
        parameters: EfficiencyParameters,
        model: BatchCalculator,
        watch: Watch,
    ) -> Observation:
        """`observation` with what a fresh start answers: see `ask_again` and `ask_batches_again`."""
        counts = observation.array("counts", (parameters.n_frames, 3), np.int64)
        kept = observation.arrays["kept"]
        sizes: list[Counts] = [(int(a), int(b), int(c)) for a, b, c in counts[kept]]
        plan = Plan(structures, parameters)
        answers = ask_again(plan, kept, sizes, model, watch)
        answers |= ask_batches_again(plan, observation, model, watch)
        return replace(observation, arrays={**observation.arrays, **answers})

    def measure(
        self, observation: Observation, dataset: Dataset, parameters: EfficiencyParameters, label_set: str | None
    ) -> Measurement:
        """Times per atom over the frames after the warm-up; one item a timed frame."""
        return measure_times(observation, dataset, parameters)

    def contributions(self, items: Items, metrics: Mapping[str, Charged]) -> list[Contribution]:
        """Of `time_mean` alone; a frame of the warm-up that was answered takes no part."""
        return time_contributions(items, metrics)


def _with_sources(plan: Plan, singles: list[Single]) -> list[tuple[int, Single]]:
    return list(zip(plan.sources.tolist(), singles, strict=True))


def _timed(plan: Plan, singles: list[Single]) -> dict[str, NDArray[Any]]:
    """The arrays of one row a timed frame."""
    return {
        "seconds": np.array([x.seconds for x in singles]),
        "source": plan.sources,
        "counts": np.array([x.counts for x in singles], np.int64),
        "n_atoms": np.array([plan.atoms(s, x.counts) for s, x in _with_sources(plan, singles)], np.int64),
        "planned_atoms": np.array([plan.planned_atoms[s] for s in plan.sources.tolist()], np.int64),
        "reduced": np.array([x.counts != plan.counts(s) for s, x in _with_sources(plan, singles)], np.int8),
        "with_stress": np.array([x.with_stress for x in singles], np.int8),
        "failure": np.array([x.cause for x in singles], np.int8),
    }


def _kept(plan: Plan, singles: list[Single]) -> dict[str, NDArray[Any]]:
    """What is kept to be compared: the answers of those preferred among the frames that were answered."""
    kept: list[int] = []
    answers: list[Answer] = []
    for index in plan.preference().tolist():
        answer = singles[index].answer
        if len(kept) < plan.parameters.n_rechecked and answer is not None and answer.forces is not None:
            kept.append(index)
            stress = np.full(6, np.nan) if answer.stress is None else answer.stress[0]
            answers.append(Answer(float(answer.energy[0]), answer.forces, stress))
    return {"kept": np.array(kept, np.int64), **pack_answers("kept", answers)}
