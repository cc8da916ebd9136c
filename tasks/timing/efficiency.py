"""Efficiency: microseconds per atom for energy, forces and stress, one frame per message, on the judge's clock.

Structures are replicated to 800 to 1000 atoms, the shortest axes most often, then rattled, so that no frame repeats and
no cache helps; each timed frame follows an untimed one of the same shape. If a frame does not fit into memory,
bisection finds the largest compact size of its structure that fits, and this is timed instead: its true size is shown,
and `n_reduced` counts such frames. A model without stress is timed on energy and forces, which `n_with_stress` shows; a
model without forces is unsupported, and so is a frame if the answer lacks a property that the model offers. Batches
filled to the model's atom budget follow the single frames: `batched_time`.

The cost of the wire is measured last, since an echo tells a model that it is being timed; it is shown and never
subtracted. If the host was too noisy (`tasks.timing.timing`), there is no observation, and the timing is run again.

A fresh start of the model answers small frames and some timed frames again (`tasks.timing.consistency_check`). A frame
on which the model disagrees with itself fails as INCONSISTENT; if more than a tenth of the checked frames disagree, or
could not be decided, no time of the model counts. None counts, either, if it answers frames of tasks with labels
otherwise than in these tasks (`tasks.timing.judged_frames`). The same holds for some frames of the batches
(`tasks.timing.batched_frames`): if any disagrees, `n_batched_inconsistent`, `batched_time` does not count.

**Failure cost.** A time has no trivial model, so W is declared: one second per atom, ten thousand times the 100 µs/atom
at which LAMBench's efficiency is 1 (arXiv:2504.19578), and longer than any frame within a task's time limit. The
penalised value is the same statistic with every failed frame, also of the warm-up, at W: leaving out the slowest frames
does not make a model look faster. Nor does failing the first call hide its cost: then there is no `time_cold`.

**Cost of a smaller frame.** The value of a metric uses the times per atom as measured, at any size. In the penalised
value, which scores use, the time per atom of a frame that has n atoms where N were planned counts N/n-fold. That is the
time at N atoms if the cost grew with the square of the atoms, as of a model in which every atom attends to every other,
the steepest growth in use. A model whose cost grows less pays more than it would at N atoms; but no such model gains by
claiming to be out of memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.datasets.dataset import Dataset, Structures
from tasks.kind import Observation, Parameters, ScoreFamily, Traits, Watch, Work
from tasks.metrics.contributions import Contribution, WithFailureCost
from tasks.metrics.measurement import Items, Measurement
from tasks.model.calculator import BatchCalculator
from tasks.model.work import density_of
from tasks.simulation.supercells import Counts
from tasks.timing.batched_frames import frames_of_batches, pack_alone, time_batches
from tasks.timing.consistency_check import ConsistencyQuestions
from tasks.timing.efficiency_metrics import TIME_METRICS, measure_times, time_contributions
from tasks.timing.frame_answers import FrameAnswer, pack_answers
from tasks.timing.fresh_start import FreshStart
from tasks.timing.judged_frames import JudgedFrames
from tasks.timing.single_frames import SingleFrameTimer, TimedFrame
from tasks.timing.small_frames import SmallFrames
from tasks.timing.timing import HostNoise, time_wire
from tasks.timing.timing_plan import CHECKED_IN_BATCHES, EfficiencyParameters, TimingPlan

__all__ = ["Efficiency", "EfficiencyParameters"]

# The atoms of a batch, for estimates of time before a model is known.
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
        needs=("energy", "forces"),
        import_format="structures",
        score=ScoreFamily.EFFICIENCY,
        metrics=TIME_METRICS,
        times=True,
    )

    def observe(
        self, structures: Structures, parameters: EfficiencyParameters, model: BatchCalculator, watch: Watch
    ) -> Observation:
        """Times the model.

        Arrays of the n timed frames: seconds, NaN where it failed; source, its structure; counts (n, 3), the repeats;
        n_atoms, and planned_atoms; reduced and with_stress, 0 or 1; failure. kept (r,): the frames that may be checked,
        with their answers kept_energy, kept_forces and kept_stress. cold (2,): seconds and atoms of the first call.
        batch_… and batched_…: see `time_batches`. wire_s (k,) of echoes as large as a frame, empty without a wire.
        reference_s (l, 2) of each look at the host: the shortest call and the upper quartile. The note `properties`
        lists the properties of the model.

        Raises:
            HostTooNoisy: the host disturbed the timing.
        """
        plan = TimingPlan(structures, parameters, watch.secret)
        host, timer = HostNoise(watch.clock, parameters.max_noise), SingleFrameTimer(plan, model, watch)
        host.look()
        frames = timer.run(host)
        arrays = _timed(plan, frames) | _kept(plan, frames) | {"cold": timer.cold}
        per_atom = (arrays["seconds"] / arrays["n_atoms"])[arrays["failure"] == 0]
        seconds_per_atom = float(np.median(per_atom)) if per_atom.size else np.inf
        arrays |= time_batches(plan, timer.sizes, seconds_per_atom, model, watch)
        arrays["wire_s"] = time_wire(watch, plan.pair(0, frames[0].counts).timed)
        host.look()
        arrays["reference_s"] = host.looks
        return Observation(arrays, {"properties": ",".join(model.properties)})

    def work(self, structures: Structures, parameters: EfficiencyParameters) -> Work:
        """Two calls a timed frame, the batches, and the consistency check."""
        plan = TimingPlan(structures, parameters)
        atoms = np.array([plan.planned_atoms[s] for s in plan.sources.tolist()], np.float64)
        calls = 2 * parameters.n_frames + 3 * parameters.n_rechecked
        calls += CHECKED_IN_BATCHES if parameters.n_batches else 0
        in_batches = (parameters.n_batches + 1) * USUAL_BATCH_ATOMS if parameters.n_batches else 0
        kept = plan.preference().tolist()[: parameters.n_rechecked]
        small = SmallFrames(plan, kept, [plan.counts(int(plan.sources[index])) for index in kept])
        frames = [*small.structures, *(block.frame for block in small.blocks), *small.structures]
        times = np.full(len(atoms), calls / len(atoms) + in_batches / atoms.sum())
        large = Work(atoms, density_of(structures.frames)[plan.sources], times)
        return sum((Work.of(frame) for frame in frames), large)

    def recheck(
        self,
        observation: Observation,
        structures: Structures,
        parameters: EfficiencyParameters,
        model: BatchCalculator,
        watch: Watch,
    ) -> Observation:
        """`observation` with the answers of a fresh start: see `tasks.timing.consistency_check`."""
        counts = observation.array("counts", (parameters.n_frames, 3), np.int64)
        kept = observation.arrays["kept"].tolist()
        sizes: list[Counts] = [(int(a), int(b), int(c)) for a, b, c in counts[kept]]
        plan = TimingPlan(structures, parameters, watch.secret)
        small, questions = SmallFrames(plan, kept, sizes), ConsistencyQuestions(plan, kept, sizes)
        judged = JudgedFrames.of(plan, kept, sizes, watch.judged or ())
        large, parts, members = questions.large, questions.parts, frames_of_batches(plan, observation)
        n_small, n_large, n_parts = len(small.sources), len(large), len(parts)
        n_timed, n_judged = n_large + len(members), len(judged.frames)
        n_frames = 2 * n_small + len(small.blocks) + n_timed + n_parts + 3 * n_judged
        start = FreshStart(model, watch, plan.fresh_start(), n_frames)
        early = start.ask_as_labelled([*small.structures, *judged.early])
        in_blocks = start.ask([block.frame for block in small.blocks])
        of_large = start.ask([*large, *members, *judged.repeated])
        at_the_end = start.ask([*parts, *small.structures, *judged.early])
        late = at_the_end[n_parts:]
        answers = small.pack(early[:n_small], in_blocks, late[:n_small])
        answers |= questions.pack(of_large[:n_large], at_the_end[:n_parts])
        answers |= pack_alone(of_large[n_large:n_timed])
        answers |= judged.pack(early[n_small:], of_large[n_timed:], late[n_small:])
        return Observation({**observation.arrays, **answers}, {**observation.notes, **judged.notes})

    def measure(
        self, observation: Observation, dataset: Dataset, parameters: EfficiencyParameters, label_set: str | None
    ) -> Measurement:
        """Times per atom over the frames after the warm-up; one item a timed frame."""
        return measure_times(observation, dataset, parameters)

    def contributions(self, items: Items, metrics: Mapping[str, WithFailureCost]) -> list[Contribution]:
        """To `time_mean` alone; an answered frame of the warm-up takes no part."""
        return time_contributions(items, metrics)


def _timed(plan: TimingPlan, frames: list[TimedFrame]) -> dict[str, NDArray[Any]]:
    """The arrays with one row a timed frame."""
    rows = list(zip(plan.sources.tolist(), frames, strict=True))
    return {
        "seconds": np.array([frame.seconds for frame in frames]),
        "source": plan.sources,
        "counts": np.array([frame.counts for frame in frames], np.int64),
        "n_atoms": np.array([plan.atoms(source, frame.counts) for source, frame in rows], np.int64),
        "planned_atoms": np.array([plan.planned_atoms[source] for source, _ in rows], np.int64),
        "reduced": np.array([frame.counts != plan.counts(source) for source, frame in rows], np.int8),
        "with_stress": np.array([frame.with_stress for frame in frames], np.int8),
        "failure": np.array([frame.cause for frame in frames], np.int8),
    }


def _kept(plan: TimingPlan, frames: list[TimedFrame]) -> dict[str, NDArray[Any]]:
    """The answers that the consistency check compares: those of the first answered frames in order of preference."""
    kept: list[int] = []
    answers: list[FrameAnswer] = []
    for index in plan.preference().tolist():
        answer = frames[index].answer
        if len(kept) < plan.parameters.n_rechecked and answer is not None and answer.forces is not None:
            kept.append(index)
            stress = np.full(6, np.nan) if answer.stress is None else answer.stress[0]
            answers.append(FrameAnswer(float(answer.energy[0]), answer.forces, stress))
    return {"kept": np.array(kept, np.int64), **pack_answers("kept", answers)}
