"""Attacks on the timing: the kind *efficiency* is run on models that avoid work while they are timed.

**Not stopped.** A model that answers at once and works on in a thread is detected if the answer needed that work. Work
that no answer needs (emptying a cache) can be deferred past a timed answer, and then delays the untimed answer that
follows. A model that is honest only for its first questions fails the consistency check with a fresh start. Questions
that are asked once, such as labelled frames, show it by errors alone. Not detected are a cheap model that is close to
the judged one (`tasks.timing.small_frames`), and one of the timing's structures alone (`tasks.timing.judged_frames`).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

import numpy as np
from ase import Atoms
from ase.build import bulk

from sandbox.selftest.attack import Finding, Trial, stated_attacks
from sandbox.selftest.secrecy_attacks import ask_energy, secret_atoms, selftest_card
from sandbox.verdict import SubmissionFault, Verdict
from sandbox.wire.remote import RemoteCalculator
from sandbox.wire.session import SessionOutcome
from tasks.datasets.dataset import Dataset
from tasks.kind import JudgedAnswers, Observation, Watch
from tasks.kinds.labelled_frames import LabelledFrames, LabelledFramesParameters
from tasks.metrics.measurement import Measurement
from tasks.observing.frames_observation import read_frames
from tasks.quickstart.dataset import Named, dataset_of
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause
from tasks.timing.efficiency import Efficiency, EfficiencyParameters

WORK_S = 0.02  # the time of the cheating models' work for one structure
# A shared host may disturb a selftest. The times here need only be longer than a sleep.
TIMING = EfficiencyParameters(n_frames=3, max_atoms=32, n_batches=0, max_noise=1e9)
# Cells of 108 atoms of crystals of 4.
OF_LARGE_CELLS = TIMING.model_copy(update={"min_atoms": 100, "max_atoms": 128})
TASK_S = 120.0
KIND = Efficiency()


def timing_data() -> Dataset:
    """Two crystals that are replicated to be timed."""
    return dataset_of(selftest_card(), [Named(element, "fcc", bulk(element, cubic=True)) for element in ("Cu", "Al")])


def judged_answers(trial: Trial) -> JudgedAnswers:
    """The model's answers to labelled frames.

    Raises:
        SubmissionFault: it did not answer.
    """
    rng = np.random.default_rng(7)
    crystals = [bulk("Cu", cubic=True, a=rng.uniform(3.5, 3.7)) for _ in range(9)]
    for crystal in crystals:
        crystal.positions += rng.normal(0.0, 0.05, crystal.positions.shape)
    data = dataset_of(selftest_card(), [Named(f"Cu {i}", "fcc", crystal) for i, crystal in enumerate(crystals)])

    def observe(remote: RemoteCalculator) -> Observation:
        watch = Watch(time.monotonic)
        return LabelledFrames().observe(data.structures, LabelledFramesParameters(), remote, watch)

    seen = answered(trial.run(observe, task_s=TASK_S))
    return JudgedAnswers("labelled-frames", "none", data.frames, read_frames(seen, data.frames))


def timed(
    trial: Trial,
    way: int = 1,
    again: bool = True,
    parameters: EfficiencyParameters = TIMING,
    judged: Sequence[JudgedAnswers] = (),
) -> Measurement:
    """The model measured by the kind *efficiency*, with a consistency check by a fresh start if `again` is true.

    Raises:
        SubmissionFault: it did not answer.
    """
    data = timing_data()

    def observe(remote: RemoteCalculator) -> Observation:
        return KIND.observe(data.structures, parameters, remote, Watch(time.monotonic, echo=remote.echo))

    def recheck(remote: RemoteCalculator) -> Observation:
        return KIND.recheck(seen, data.structures, parameters, remote, Watch(time.monotonic, judged=judged))

    seen = answered(trial.run(observe, max_atoms_per_batch=way, task_s=TASK_S))
    if again:
        seen = answered(trial.run(recheck, max_atoms_per_batch=way, task_s=TASK_S))
    return KIND.measure(seen, data, parameters, None)


def answered(outcome: SessionOutcome[Observation]) -> Observation:
    """The value of `outcome`.

    Raises:
        SubmissionFault: there is none.
    """
    if outcome.value is None:
        raise SubmissionFault(outcome.verdict, outcome.sentence)
    return outcome.value


def shortest(measured: Measurement) -> float:
    """Seconds of the shortest timed call; NaN if any call has no time."""
    return float(np.min(measured.items.columns["seconds"]))


def examine_timing(
    trial: Trial, way: int = 1, parameters: EfficiencyParameters | None = None, labelled: bool = False
) -> Finding:
    """No time counts, since the model fails the consistency check.

    Args:
        way: the variant of its cheating.
        parameters: of the timing; None: `TIMING`.
        labelled: whether it is asked about labelled frames before, and compared with its answers to these.
    """
    try:
        judged = [judged_answers(trial)] if labelled else []
        measured = timed(trial, way=way, parameters=parameters or TIMING, judged=judged)
    except SubmissionFault as fault:
        return Finding(False, f"ended as {fault.verdict}")
    wrong = measured.items.failures().get(Cause.INCONSISTENT, 0)
    void = all(measured.metrics[name].value is None for name in ("time_mean", "time_median", "time_p95"))
    n_rechecked = measured.metrics["n_rechecked"].value or 0.0
    differing = f"{wrong} of {n_rechecked:.0f} checked answers differ"
    if not (void and wrong > 0):
        return Finding(False, f"{differing}, and its times count")
    return Finding(True, f"{differing}: no time counts")


def examine_replays(trial: Trial) -> Finding:
    """No frame is sent twice, so a memory of frames is useless: every frame is timed with its work."""
    data = timing_data()

    def observe(remote: RemoteCalculator) -> tuple[Observation, float, float]:
        seen = KIND.observe(data.structures, TIMING, remote, Watch(time.monotonic, echo=remote.echo))
        count = remote.compute(Frames.from_atoms([Atoms("Cu")]), ("energy", "forces"))
        return seen, float(count.energy[0]), 0.0 if count.forces is None else float(count.forces[0, 0])

    outcome = trial.run(observe, max_atoms_per_batch=1, task_s=TASK_S)
    if outcome.value is None:
        return Finding(False, f"ended as {outcome.verdict}")
    seen, replayed, worked = outcome.value
    seconds = shortest(KIND.measure(seen, data, TIMING, None))
    timing = f"the shortest was timed at {1e3 * seconds:.0f} ms for work of 20"
    if not (replayed == 0.0 and worked == 2.0 * TIMING.n_frames and seconds >= WORK_S):
        return Finding(False, f"{worked:.0f} frames were new to it and {replayed:.0f} known; {timing}")
    return Finding(True, f"{worked:.0f} frames, none known; {timing}")


def examine_stopped_clock(trial: Trial) -> Finding:
    """Times and deadlines use the judge's own clock."""
    try:
        seconds = shortest(timed(trial, again=False))
    except SubmissionFault as fault:
        return Finding(False, f"ended as {fault.verdict}")
    hanging = trial.run(partial(ask_energy, atoms=secret_atoms()), max_atoms_per_batch=2, message_s=1.0)
    if hanging.verdict is not Verdict.TIME_LIMIT:
        return Finding(False, f"a model that never ends ended as {hanging.verdict}")
    if not seconds >= WORK_S:
        return Finding(False, f"timed at {1e3 * seconds:.0f} ms for work of 20: the clock was the model's")
    return Finding(True, f"timed at {1e3 * seconds:.0f} ms for work of 20, and ended at its deadline")


_of_large_cells = partial(examine_timing, parameters=OF_LARGE_CELLS)

TIMING_ATTACKS = stated_attacks(
    {
        "replays": examine_replays,
        "replays-alike": partial(examine_timing, way=2),
        "deferred-work": examine_timing,
        "state-machine": examine_timing,
        "cheap-by-first-question": _of_large_cells,
        "cheap-by-size": _of_large_cells,
        "cheap-by-call-number": _of_large_cells,
        "cheap-by-time": _of_large_cells,
        "cheap-unless-checked": _of_large_cells,
        "another-model-when-timed": partial(_of_large_cells, labelled=True),
        "stopped-clock": examine_stopped_clock,
    }
)
