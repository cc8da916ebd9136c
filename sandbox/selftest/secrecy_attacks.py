"""Attacks on secrecy: no structure of a question may leave the container in any other way than in the answers.

A model's numbers, its answers and which frames fail, are stored with the observation and are not public. A model still
chooses the verdict, the moment at which it ends, its exit status and the number of failed frames: a few bits for each
attempt, in the judge's words.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np
from ase import Atoms
from ase.build import bulk

from sandbox.evidence import exit_words
from sandbox.selftest.attack import LIMITS, Finding, Trial, stated_attacks
from sandbox.verdict import Verdict
from sandbox.wire.remote import RemoteCalculator
from sandbox.wire.session import SessionOutcome
from tasks.datasets.card import Card
from tasks.kind import Observation, Watch
from tasks.kinds.labelled_frames import LabelledFrames, LabelledFramesParameters
from tasks.quickstart.dataset import Named, dataset_of
from tasks.structures.frames import Frames


def selftest_card(**labels: Any) -> Card:
    """The card of a data set of crystals, without labels unless they are stated."""
    return Card(name="selftest", version="1", title="Selftest", domain="Inorganic Materials", periodic=True, **labels)


def secret_atoms(count: int = 2) -> Atoms:
    """A new random copper crystal of `count` cells."""
    crystal: Atoms = bulk("Cu", cubic=True).repeat((1, 1, count))
    crystal.positions += np.random.default_rng().normal(0.0, 0.05, crystal.positions.shape)
    return crystal


def ask_energy(remote: RemoteCalculator, atoms: Atoms) -> float:
    """The model's energy of one structure [eV]."""
    return float(remote.compute(Frames.from_atoms([atoms]), ("energy",)).energy[0])


def in_words(atoms: Atoms) -> tuple[str, ...]:
    """Some coordinates of a structure as its image writes them: texts that must not be found outside."""
    return tuple(f"{x:.9f}" for x in atoms.positions[:3].ravel())


def told(outcome: SessionOutcome[Any]) -> str:
    """All texts of an outcome that are stored, and may be published."""
    return f"{outcome.verdict} {outcome.sentence} {outcome.phase} {outcome.hello}"


def holds(text: str, atoms: Atoms) -> bool:
    """Whether `text` contains coordinates of the structure."""
    return any(word in text for word in in_words(atoms))


def examine_log(trial: Trial) -> Finding:
    """No text of the outcome but the log holds the structure; authors see logs of public structures only."""
    atoms = secret_atoms()
    outcome = trial.run(lambda remote: ask_energy(remote, atoms))
    if outcome.verdict is not Verdict.CRASHED or not holds(outcome.private, atoms):
        return Finding(False, f"ended as {outcome.verdict}, or the log did not come")
    if holds(told(outcome), atoms):
        return Finding(False, "the structure is in verdict, sentence or hello")
    return Finding(True, "the structure is in the log, and not in verdict, sentence or hello")


def examine_errors(trial: Trial) -> Finding:
    """The cause of an error is stored, its class and text are not."""
    atoms = secret_atoms()
    data = dataset_of(selftest_card(), [Named("secret", "", atoms)])

    def ask(remote: RemoteCalculator) -> tuple[bool, Observation]:
        error = remote.compute(data.frames, ("energy",)).errors.get(0)
        arrived = error is not None and holds(error.text, atoms) and holds(error.kind, atoms)
        watch = Watch(time.monotonic)
        return arrived, LabelledFrames().observe(data.structures, LabelledFramesParameters(), remote, watch)

    outcome = trial.run(ask)
    if outcome.value is None or not outcome.value[0]:
        return Finding(False, f"ended as {outcome.verdict}, or the error did not come")
    seen = outcome.value[1]
    stored = " ".join([told(outcome), *seen.notes, *seen.notes.values(), *seen.arrays])
    raw = b"".join(array.tobytes() for array in seen.arrays.values())
    leaked = holds(stored, atoms) or any(word.encode() in raw for word in in_words(atoms))
    if leaked:
        return Finding(False, "the structure came as the class and the text of an error, and would be stored")
    return Finding(True, "the structure came as the class and the text of an error, and was not stored")


def examine_exit_status(trial: Trial) -> Finding:
    """The outcomes for two structures differ only in a number below 256."""
    sentences = set()
    for _ in range(2):
        atoms = secret_atoms()
        outcome = trial.run(partial(ask_energy, atoms=atoms))
        if outcome.verdict is not Verdict.CRASHED or not holds(outcome.private, atoms):
            return Finding(False, f"ended as {outcome.verdict}, or it did not try")
        if holds(told(outcome), atoms):
            return Finding(False, "the structure is in the outcome")
        sentences.add(without_status(outcome.sentence))
    if len(sentences) != 1:
        return Finding(False, "the sentences for two structures differ by more than the exit status")
    return Finding(True, "the sentence shows at most the number of an exit status that was made of the structure")


def without_status(sentence: str) -> str:
    """`sentence` without the judge's words for an exit status."""
    for code in (None, *range(256)):
        sentence = sentence.replace(f"({exit_words(code)})", "")
    return sentence


def examine_notes(trial: Trial) -> Finding:
    """A fresh start finds no file of an earlier start, and its hello is the same."""
    frames = Frames.from_atoms([secret_atoms()])

    def ask(remote: RemoteCalculator) -> tuple[float, float]:
        answer = remote.compute(frames, ("energy", "forces"))
        return float(answer.energy[0]), 0.0 if answer.forces is None else float(answer.forces[0, 0])

    first, second = trial.run(ask), trial.run(ask)
    if first.value is None or second.value is None or not first.value[1] >= 1:
        return Finding(False, f"ended as {first.verdict} and {second.verdict}, or no note could be written")
    if second.value[0] != 0.0 or first.hello != second.hello:
        return Finding(False, f"at the next start {second.value[0]:.0f} notes were found, or another hello was said")
    return Finding(True, f"notes written in {first.value[1]:.0f} places were gone at the next start")


def examine_surroundings(trial: Trial) -> Finding:
    """Starts with other structures and another time for the task look the same from inside.

    The preflight differs from an evaluation in these alone.
    """
    limits = (LIMITS.task_s, 2 * LIMITS.task_s)
    seen = [trial.run(partial(ask_energy, atoms=secret_atoms()), task_s=seconds).value for seconds in limits]
    if None in seen or len(set(seen)) != 1:
        return Finding(False, "the two starts differ from inside, or could not be compared")
    return Finding(True, "environment, arguments, limits, user, host name and folders were the same at both starts")


SECRECY_ATTACKS = stated_attacks(
    {
        "secrets-in-the-log": examine_log,
        "secrets-in-errors": examine_errors,
        "secrets-in-the-exit": examine_exit_status,
        "notes-for-the-next-start": examine_notes,
        "looks-around": examine_surroundings,
    }
)
