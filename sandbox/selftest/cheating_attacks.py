"""Attacks within the protocol: on the numbers and on the answering process; with those on secrets and on timing."""

from __future__ import annotations

import time

import numpy as np
from ase import Atoms
from ase.build import bulk
from ase.calculators.emt import EMT

from sandbox.selftest.attack import Finding, Trial, stated_attacks
from sandbox.selftest.secrecy_attacks import SECRECY_ATTACKS, ask_energy, secret_atoms, selftest_card
from sandbox.selftest.timing_attacks import TIMING_ATTACKS
from sandbox.verdict import Verdict
from sandbox.wire.remote import RemoteCalculator
from tasks.datasets.card import LabelSet
from tasks.datasets.dataset import Dataset
from tasks.kind import Observation, Watch
from tasks.kinds.labelled_frames import LabelledFrames, LabelledFramesParameters
from tasks.metrics.measurement import Measurement
from tasks.model.calculator import InProcessCalculator
from tasks.quickstart.dataset import Named, dataset_of
from tasks.structures.frames import Frames
from tasks.structures.predictions import ALL_PROPERTIES, Cause, Labels

JOKERS = 4  # of the image: NaN, infinity, minus infinity, 1e300
ASKED_S = 3.0  # for so long the child of an ended process gets questions


def labelled() -> Dataset:
    """Crystals labelled by EMT: copper as it is, and two of nine stretched."""
    rng = np.random.default_rng(7)
    entries = []
    for index in range(9):
        crystal = bulk("Cu", cubic=True, a=3.61 if index < 7 else 3.85)
        crystal.positions += rng.normal(0.0, 0.05, crystal.positions.shape)
        entries.append(Named(f"Cu {index}", "fcc", crystal))
    true = InProcessCalculator(EMT()).compute(Frames.from_atoms([entry.atoms for entry in entries]), ALL_PROPERTIES)
    label_sets = {"EMT": LabelSet(theory="EMT", dispersion=False)}
    card = selftest_card(label_sets=label_sets, default_label_set="EMT")
    return dataset_of(card, entries, labels={"EMT": Labels(true.energy, true.forces, true.stress)})


def examine_joker(trial: Trial) -> Finding:
    """Each joker is a failed frame, and no penalised metric is better than with the honest error in its place."""
    data, kind, parameters = labelled(), LabelledFrames(), LabelledFramesParameters()

    def observe(remote: RemoteCalculator) -> list[Observation]:
        seen = [kind.observe(data.structures, parameters, remote, Watch(time.monotonic))]
        for _ in range(JOKERS):
            ask_energy(remote, Atoms("Cu"))
            seen.append(kind.observe(data.structures, parameters, remote, Watch(time.monotonic)))
        return seen

    outcome = trial.run(observe)
    if outcome.value is None:
        return Finding(False, f"ended as {outcome.verdict}")
    honest, *joking = (kind.measure(seen, data, parameters, None) for seen in outcome.value)
    for number, measured in enumerate(joking, start=1):
        if measured.items.failures() != {Cause.NON_FINITE: 2}:
            return Finding(False, f"joker {number}: not every one is a failed frame")
        gained = better(measured, honest)
        if gained:
            return Finding(False, f"joker {number}: {gained} is better than without")
    return Finding(True, f"{JOKERS} jokers: each is a failed frame, and every penalised metric is worse than without")


def better(first: Measurement, second: Measurement) -> str:
    """The metrics whose penalised value is lower in `first` than in `second`, or NaN."""
    charged = {name: metric.charged for name, metric in second.metrics.items() if metric.charged is not None}
    return ", ".join(name for name, cost in charged.items() if not (first.metrics[name].charged or np.nan) >= cost)


def examine_absurd(trial: Trial) -> Finding:
    """In a batch exactly the frames with an absurd number fail, and the others keep their answers."""
    frames = Frames.from_atoms([secret_atoms(1) for _ in range(8)])
    true = InProcessCalculator(EMT()).compute(frames, ALL_PROPERTIES)
    outcome = trial.run(lambda remote: remote.compute(frames, ALL_PROPERTIES))
    if outcome.value is None or outcome.value.forces is None or outcome.value.stress is None:
        return Finding(False, f"ended as {outcome.verdict}")
    answer = outcome.value
    failed = answer.failure.tolist() == [0, *[Cause.NON_FINITE] * 6, 0]
    gone = bool(np.isnan(answer.energy[1:7]).all() and np.isnan(outcome.value.forces[4:28]).all())
    same = bool(np.abs(answer.energy - true.energy)[[0, 7]].max() < 1e-9)
    if not (failed and gone and same):
        return Finding(False, "an absurd number was accepted, or an honest frame of its batch was changed")
    return Finding(True, "six absurd numbers failed their six frames, and the other two kept their answers")


def examine_fork(trial: Trial) -> Finding:
    """All processes end with the one that the judge started, so answers of a child do not count."""

    def ask(remote: RemoteCalculator) -> int:
        until, count = time.monotonic() + ASKED_S, 0
        while time.monotonic() < until:
            ask_energy(remote, secret_atoms())
            count += 1
        return count

    outcome = trial.run(ask)
    if outcome.value is not None:
        return Finding(False, f"the child lived on and gave {outcome.value} answers")
    if outcome.verdict is not Verdict.CRASHED:
        return Finding(False, f"ended as {outcome.verdict}")
    return Finding(True, f"the child ended with its parent: {outcome.verdict}")


CHEATING_ATTACKS = (
    *stated_attacks(
        {
            "nan-as-a-joker": examine_joker,
            "absurd-numbers": examine_absurd,
        }
    ),
    *SECRECY_ATTACKS,
    *TIMING_ATTACKS,
    *stated_attacks(
        {
            "answers-from-a-child": examine_fork,
        }
    ),
)
