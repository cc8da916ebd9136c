"""Timing batches that are filled to a model's atom budget: what it can do when it is kept busy."""

from __future__ import annotations

import numpy as np

from tasks.calculator import BatchCalculator
from tasks.frames import Float
from tasks.kind import Watch
from tasks.predictions import Cause
from tasks.replicate import Counts
from tasks.timing import asked_for, timed
from tasks.timing_plan import Plan

# Batches are timed only if, at the pace of single frames, they take at most this share of the time that is left.
SHARE_OF_TIME = 0.5

Members = list[tuple[int, Counts]]


def filled_batch(plan: Plan, sizes: dict[int, Counts], max_atoms: int) -> Members:
    """Structures with their sizes, in the plan's order and over again, to at most `max_atoms` atoms; one at least."""
    n_atoms = plan.structures.frames.n_atoms
    members: Members = []
    order = [int(s) for s in plan.sources if int(s) in sizes]
    total = 0
    while order:
        source = order[len(members) % len(order)]
        total += int(n_atoms[source]) * int(np.prod(sizes[source]))
        if members and total > max_atoms:
            break
        members.append((source, sizes[source]))
    return members


def time_batches(
    plan: Plan, sizes: dict[int, Counts], seconds_per_atom: float, model: BatchCalculator, watch: Watch
) -> dict[str, Float]:
    """Times batches of one composition after one that is not timed.

    Args:
        sizes: of the structures that fitted.
        seconds_per_atom: of single frames, by which it is judged whether there is time.

    Returns:
        batch_s (n_batches,) seconds, NaN where not asked or where a frame in it failed; batch_atoms (1,) and
        batch_frames (1,) of each.
    """
    members = filled_batch(plan, sizes, model.max_atoms_per_batch)
    n_atoms = plan.structures.frames.n_atoms
    atoms = float(sum(n_atoms[source] * np.prod(counts) for source, counts in members))
    n = plan.parameters.n_batches
    seconds = np.full(n, np.nan)
    left = watch.deadline - watch.clock()
    if n and members and (n + 1) * atoms * seconds_per_atom <= SHARE_OF_TIME * left:
        for index in range(-1, n):
            if watch.clock() > watch.deadline:
                break
            batch = plan.batch(index + 1, members)
            elapsed, answer = timed(model, batch, asked_for(model, batch), watch.clock)
            if index >= 0 and (answer.failure == Cause.NONE).all():
                seconds[index] = elapsed
            watch.progress(index + 1, n, "batches")
    return {"batch_s": seconds, "batch_atoms": np.array([atoms]), "batch_frames": np.array([float(len(members))])}
