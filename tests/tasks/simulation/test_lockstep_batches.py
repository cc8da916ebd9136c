"""Many ASE algorithms over one model: the numbers of each alone, whole batches, the same bytes, nothing left behind."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from ase.calculators.calculator import Calculator, all_changes
from ase.calculators.emt import EMT
from ase.optimize import BFGS

from tasks.kind import Watch
from tasks.model.calculator import AseCalculator, BatchCalculator, InProcessCalculator, ItemFailed
from tasks.simulation.lockstep_batches import THREAD_NAME, Done, Job, run_concurrently
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import Cause, Predictions, Properties


class Counting(InProcessCalculator):
    """EMT that records its calls, and takes the time of a call from its own clock."""

    def __init__(self, max_atoms_per_batch: int = 20_000) -> None:
        super().__init__(EMT(), max_atoms_per_batch)
        self.calls: list[tuple[int, ...]] = []
        self.threads: set[int] = set()
        self.now = 0.0

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        self.calls.append(tuple(int(n) for n in frames.n_atoms))
        self.threads.add(threading.get_ident())
        self.now += 1.0
        return super().compute(frames, properties)


def jobs_left() -> list[threading.Thread]:
    """Threads of jobs that have not ended."""
    return [thread for thread in threading.enumerate() if thread.name == THREAD_NAME]


def crystals(count: int) -> list[Atoms]:
    rng = np.random.default_rng(5)
    made = []
    for k in range(count):
        atoms = bulk(("Cu", "Al", "Ni", "Pt")[k % 4], cubic=True)
        atoms.positions += rng.normal(0.0, 0.1, atoms.positions.shape)
        made.append(atoms)
    return made


def relax(atoms: Atoms, steps: int = 20) -> Job[Float]:
    def run(model: BatchCalculator) -> Float:
        mobile = atoms.copy()
        mobile.calc = AseCalculator(model, ("energy", "forces"))
        BFGS(mobile, logfile=None).run(fmax=1e-3, steps=steps)
        return np.array(mobile.positions)

    return Job(len(atoms), run)


def fail(cause: Cause) -> Job[Float]:
    def run(model: BatchCalculator) -> Float:
        raise ItemFailed(cause)

    return Job(1, run)


def watch(**changes: Any) -> Watch:
    return Watch(**{"clock": time.monotonic, **changes})


class Springs(Calculator):
    """Every pair of atoms on a spring: the same bits whatever came before (EMT's neighbour lists remember)."""

    implemented_properties = ["energy", "forces"]  # noqa: RUF012

    def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
        apart = atoms.positions[:, None] - atoms.positions
        length = np.linalg.norm(apart, axis=2) + np.eye(len(atoms))
        pull = np.where(np.eye(len(atoms), dtype=bool), 0.0, length - 2.5)
        forces = -(pull / length)[:, :, None] * apart
        self.results = {"energy": 0.25 * float((pull**2).sum()), "forces": forces.sum(axis=1)}


def test_each_comes_out_as_it_does_alone_to_the_last_bit_and_in_order() -> None:
    structures = crystals(9)
    done = run_concurrently([relax(a) for a in structures], InProcessCalculator(Springs()), watch())
    for end, atoms in zip(done, structures, strict=True):
        alone = relax(atoms).run(InProcessCalculator(Springs()))
        assert end.cause == Cause.NONE
        assert end.value is not None
        assert end.value.tobytes() == alone.tobytes()


def test_with_emt_each_comes_out_as_alone_but_for_rounding() -> None:
    structures = crystals(4)
    done = run_concurrently([relax(a) for a in structures], InProcessCalculator(EMT()), watch())
    for end, atoms in zip(done, structures, strict=True):
        assert end.value is not None
        assert np.abs(end.value - relax(atoms).run(InProcessCalculator(EMT()))).max() < 1e-9


def test_all_that_wait_are_asked_together_by_one_thread_in_the_same_order_each_time() -> None:
    models = [Counting(), Counting()]
    for model in models:
        run_concurrently([relax(a) for a in crystals(8)], model, watch())
    first, second = models
    assert first.calls[0] == (4,) * 8
    assert first.calls == second.calls
    assert first.threads == {threading.get_ident()}
    # As many calls as the longest relaxation alone has, not as all together.
    longest = 0
    for atoms in crystals(8):
        alone = Counting()
        relax(atoms).run(alone)
        longest = max(longest, len(alone.calls))
    assert len(first.calls) == longest


def test_no_batch_is_larger_than_the_model_takes() -> None:
    model = Counting(max_atoms_per_batch=12)
    run_concurrently([relax(a) for a in crystals(10)], model, watch())
    assert max(sum(batch) for batch in model.calls) == 12


def test_a_failing_item_ends_alone() -> None:
    unknown = Atoms("U2", [(0, 0, 0), (0, 0, 2.5)])
    done = run_concurrently([relax(crystals(1)[0]), relax(unknown), fail(Cause.EXPLODED)], Counting(), watch())
    assert [d.cause for d in done] == [Cause.NONE, Cause.UNSUPPORTED, Cause.EXPLODED]
    assert [d.value is None for d in done] == [False, True, True]


def test_what_leads_an_algorithm_astray_is_the_items_failure() -> None:
    def diverge(model: BatchCalculator) -> Float:
        return np.linalg.inv(np.zeros((2, 2)))

    assert run_concurrently([Job(1, diverge)], Counting(), watch()) == [Done(None, Cause.NOT_CONVERGED)]


def test_at_the_deadline_those_that_are_done_stay_and_the_others_are_over_time() -> None:
    model = Counting()
    short, long = relax(crystals(1)[0], steps=1), relax(crystals(2)[1], steps=500)
    late = watch(clock=lambda: model.now, deadline=4.0)
    done = run_concurrently([short, long], model, late)
    assert [d.cause for d in done] == [Cause.NONE, Cause.OVER_TIME]
    assert not jobs_left()


def test_beyond_the_share_of_failures_nothing_more_is_asked() -> None:
    model = Counting(max_atoms_per_batch=4)  # one lives at a time
    jobs = [fail(Cause.ERROR)] * 3 + [relax(a) for a in crystals(3)]
    done = run_concurrently(jobs, model, watch(failed_share=0.3))
    assert [d.cause for d in done] == [Cause.ERROR] * 3 + [Cause.MISSING] * 3
    assert model.calls == []


def test_results_are_no_failures_to_stop_for() -> None:
    jobs = [fail(Cause.EXPLODED)] * 3 + [relax(crystals(1)[0], steps=1)]
    done = run_concurrently(jobs, Counting(max_atoms_per_batch=1), watch(failed_share=0.3))
    assert [d.cause for d in done] == [Cause.EXPLODED] * 3 + [Cause.NONE]


class Gone(Exception):
    """The model is gone."""


def test_when_the_model_is_gone_every_job_is_ended_and_it_is_said() -> None:
    class Dying(Counting):
        def compute(self, frames: Frames, properties: Properties) -> Predictions:
            if len(self.calls) == 3:
                raise Gone
            return super().compute(frames, properties)

    with pytest.raises(Gone):
        run_concurrently([relax(a) for a in crystals(5)], Dying(), watch())
    assert not jobs_left()


def test_an_error_of_our_own_code_is_raised_not_counted() -> None:
    def wrong(model: BatchCalculator) -> Float:
        raise KeyError("no such thing")

    with pytest.raises(KeyError, match="no such thing"):
        run_concurrently([relax(crystals(1)[0]), Job(1, wrong)], Counting(), watch())
    assert not jobs_left()


def test_code_that_swallows_every_exception_is_ended_all_the_same() -> None:
    def stubborn(model: BatchCalculator) -> Float:
        frames = Frames.from_atoms(crystals(1))
        while True:
            try:
                model.compute(frames, ("energy",))
            except Exception:  # noqa: BLE001 - this is what is tested
                continue

    model = Counting()
    done = run_concurrently([Job(4, stubborn)], model, watch(clock=lambda: model.now, deadline=3.0))
    assert done == [Done(None, Cause.OVER_TIME)]
    assert not jobs_left()


def test_the_deadline_holds_within_a_round_of_many_batches() -> None:
    model = Counting(max_atoms_per_batch=16)

    def ask(atoms: Atoms) -> Job[float]:
        def run(model: BatchCalculator) -> float:
            answer = model.compute(Frames.from_atoms([atoms] * 4), ("energy",))
            if not answer.ok.all():
                raise ItemFailed(Cause(int(answer.failure.max())))
            return float(answer.energy[0])

        return Job(len(atoms), run)

    done = run_concurrently([ask(a) for a in crystals(4)], model, watch(clock=lambda: model.now, deadline=1.5))
    assert [d.cause for d in done] == [Cause.NONE, Cause.NONE, Cause.OVER_TIME, Cause.OVER_TIME]
    assert len(model.calls) == 2


@pytest.mark.parametrize("after_s", [0.3, 0.5])
def test_ctrl_c_ends_every_job_whatever_it_is_at(after_s: float) -> None:
    """Sent while some lanes have ended, some compute by themselves and some wait."""

    def busy(seconds: float) -> Job[int]:
        def run(model: BatchCalculator) -> int:
            frames = Frames.from_atoms(crystals(1))
            for _ in range(1000):
                end = time.monotonic() + seconds
                while time.monotonic() < end:
                    pass
                model.compute(frames, ("energy",))
            return 0

        return Job(4, run)

    def nothing(model: BatchCalculator) -> int:
        return 0

    killer = threading.Timer(after_s, lambda: os.kill(os.getpid(), signal.SIGINT))
    killer.start()
    with pytest.raises(KeyboardInterrupt):
        run_concurrently([busy(0.02), Job(1, nothing), busy(0.001)], Counting(), watch())
    killer.join()
    assert not jobs_left()
