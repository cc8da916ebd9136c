"""Attacks of trainers: on data that are not theirs, on the time, on what is kept, and on what is told of a model.

A model may hold every label that its trainer saw. It is as secret as they are: it stays in the store, and no published
record states its names, sizes, times or hash. What the judge says of a training is a verdict of a closed list and one
of three ways to end: a few bits, and the same for all labels that do not change them.
"""

from __future__ import annotations

import errno
import json
import secrets
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from sandbox.limits import MIB
from sandbox.rundir import DATA_NAME
from sandbox.selftest.asking import found, report
from sandbox.selftest.attack import Finding, Trial, stated_attacks
from sandbox.selftest.lifetime_attacks import gone
from sandbox.selftest.reading_attacks import CANARY
from sandbox.selftest.secrecy_attacks import told, without_status
from sandbox.training import TrainedModel
from sandbox.verdict import Verdict
from sandbox.wire.remote import RemoteCalculator
from sandbox.wire.session import SessionOutcome
from sandbox.wire.training import MARGIN_BYTES, TrainingOrder

OUT_BYTES = 2 * MIB
WALL_S = 20.0
SHORT_S, PATIENT_S = 0.5, 5.0  # a trainer with clocks at a quarter of their speed ends in that grace
LONGER_S, IMPATIENT_S = 1.5, 1.0  # and does not in this one
ENDING_S = 5.0  # to remove a container
LEFT_NOTES = 7  # /tmp, /out, /dev/shm, /dev/mqueue, and three of System V IPC
MAX_REPORT_BYTES = 4096
Outcome = SessionOutcome[TrainedModel]


def train(trial: Trial, number: int = 0, wall_s: float = WALL_S, grace_s: float = 10.0) -> Outcome:
    """The outcome of a training whose data are a number for the trainer, and a canary."""

    def fill(folder: Path) -> None:
        (folder / "number").write_text(str(number))
        (folder / CANARY).write_text("its own data")

    return trial.train(TrainingOrder(fill, wall_s, 7, OUT_BYTES, grace_s))


def numbers_in(outcome: Outcome, name: str = "report.json") -> list[float]:
    """What a trainer reports; empty if it left no report."""
    text = outcome.value.files.get(name, b"") if outcome.value else b""
    stated: Any = None
    if len(text) <= MAX_REPORT_BYTES:
        with suppress(ValueError, RecursionError):
            stated = json.loads(text)
    return [float(number) for number in stated] if isinstance(stated, list) else []


def _untried(outcome: Outcome) -> Finding:
    return Finding(False, f"it could not be tried: {outcome.verdict}: {outcome.sentence}")


def examine_reading(trial: Trial) -> Finding:
    """Canaries lie in the run directory, and among the data of another session that is open at the same time."""
    canary = trial.driver.run_dir.root / CANARY
    with trial.driver.run_dir.session() as (other, _):
        (other / DATA_NAME).mkdir(mode=0o755)
        try:
            for path in (canary, other / DATA_NAME / CANARY):
                path.write_text("labels")
                path.chmod(0o644)
            outcome = train(trial)
        finally:
            canary.unlink(missing_ok=True)
    match numbers_in(outcome):
        case [elsewhere, 1]:
            if elsewhere:
                return Finding(False, f"it found {elsewhere:.0f} files that are not its own")
            return Finding(True, "it found its own data, and no file of the judge or of another session")
        case [_, own]:
            return Finding(False, f"it found its own data {own:.0f} times: this proves nothing")
    return _untried(outcome)


def examine_notes(trial: Trial) -> Finding:
    """What one training could write, in memory alone, the next one does not find."""
    for outcome in (train(trial), train(trial)):
        match numbers_in(outcome):
            case [0, left, 0] if left == LEFT_NOTES:
                continue
            case [before, left, elsewhere]:
                if before or elsewhere:
                    return Finding(
                        False, f"{before:.0f} notes of an earlier training; {elsewhere:.0f} written elsewhere"
                    )
                return Finding(False, f"it could leave {left:.0f} notes of {LEFT_NOTES}: this proves nothing")
            case _:
                return _untried(outcome)
    return Finding(True, f"{LEFT_NOTES} notes, none outside of its own memory, were gone in the next training")


def examine_processes(trial: Trial) -> Finding:
    """The model is whole, so nobody changed it while it was read; and no process outlives the training."""
    number = secrets.randbelow(10**9)
    outcome = train(trial, number)
    if outcome.verdict is Verdict.PROTOCOL_ERROR:
        return Finding(False, "its process changed the model while the judge read it")
    if numbers_in(outcome) != [1] or outcome.value is None or not outcome.value.files.get("beats"):
        return _untried(outcome)
    if not gone(trial, number):
        return Finding(False, "a process or container of it is left")
    return Finding(True, "its processes were gone before its model was read")


def examine_filling(trial: Trial) -> Finding:
    """The folder is full at its limit, and a full one is no model."""
    outcome = train(trial, 1)
    match numbers_in(outcome):
        case [written, error]:
            if error != errno.ENOSPC or not OUT_BYTES < written <= OUT_BYTES + MARGIN_BYTES:
                return Finding(False, f"{written / MIB:.0f} MiB went in, of {OUT_BYTES / MIB:.0f} MiB")
        case _:
            return _untried(outcome)
    left_full = train(trial)
    if left_full.verdict is not Verdict.OUTPUT_LIMIT:
        return Finding(False, f"a full folder ended as {left_full.verdict}")
    return Finding(True, f"it was full after {written / MIB:.0f} MiB, and is no model: {left_full.verdict}")


def examine_clock(trial: Trial) -> Finding:
    """The judge's clock ends what the guest's clock does not: a trainer gains the grace, and no more."""
    outcome = train(trial, wall_s=SHORT_S, grace_s=PATIENT_S)
    worked = numbers_in(outcome, "worked.json")
    if len(worked) != 1:
        return _untried(outcome)
    gained = worked[0] - SHORT_S
    if gained < SHORT_S:
        return Finding(False, f"it worked {gained:.1f} s longer: its clocks were not slow, this proves nothing")
    if gained > PATIENT_S:
        return Finding(False, f"it worked {gained:.1f} s longer, with a grace of {PATIENT_S:g} s")
    begin = time.monotonic()
    late = train(trial, wall_s=LONGER_S, grace_s=IMPATIENT_S)
    took = time.monotonic() - begin - (late.startup_s or 0.0)
    if late.verdict is not Verdict.TIME_LIMIT or took > LONGER_S + IMPATIENT_S + ENDING_S:
        return Finding(False, f"beyond the grace of {IMPATIENT_S:g} s it ended as {late.verdict}, after {took:.1f} s")
    return Finding(
        True, f"it gained {gained:.1f} s in a grace of {PATIENT_S:g} s, and beyond the grace it left nothing"
    )


def examine_encoding(trial: Trial) -> Finding:
    """The words for two trainings are the same for models of any name and size."""
    words = set()
    for _ in range(2):
        label = 10**6 + secrets.randbelow(10**8)
        outcome = train(trial, label)
        held = outcome.value.files if outcome.value else {}
        if len([name for name in held if str(label) in name]) != 3 or str(label) not in outcome.private:
            return _untried(outcome)
        if str(label) in told(outcome) or str(len(next(iter(held.values())))) in told(outcome):
            return Finding(False, "the label or the size of a file is in verdict, sentence or hello")
        words.add(without_status(told(outcome)))
    if len(words) != 1:
        return Finding(False, "the words for two labels differ")
    return Finding(True, "verdict, sentence and hello are the same for two labels")


def examine_code(trial: Trial) -> Finding:
    """Code in a model runs in the sandbox of an evaluation: it sees nothing of its training, and changes nothing."""
    outcome = train(trial)
    if outcome.value is None:
        return _untried(outcome)

    def look(remote: RemoteCalculator) -> Finding:
        ran, seen, written, reached, root = report(remote)
        if ran != 1:
            return Finding(False, "the code did not run: this proves nothing")
        if seen or written or reached or root:
            return Finding(
                False, f"{seen:.0f} things seen, {written:.0f} written, {reached:.0f} reached; root: {root:.0f}"
            )
        return Finding(True, "its code ran, and saw nothing of the training, wrote nothing and reached nobody")

    return found(trial.ask(outcome.value, look))


def examine_forged_model(trial: Trial) -> Finding:
    """What comes after the end of the time must have the hashes that were stated by then."""
    outcome = train(trial)
    if outcome.verdict is not Verdict.PROTOCOL_ERROR or "changed" not in outcome.sentence:
        return Finding(False, f"ended as {outcome.verdict}: {outcome.sentence}")
    return Finding(True, f"a file with another hash was refused: {outcome.verdict}")


TRAINING_ATTACKS = stated_attacks(
    {
        "trainer-reads-outside": examine_reading,
        "trainer-notes-for-the-next": examine_notes,
        "trainer-leaves-processes": examine_processes,
        "trainer-fills-out": examine_filling,
        "trainer-slows-the-clock": examine_clock,
        "trainer-encodes-labels": examine_encoding,
        "trainer-ships-code": examine_code,
        "trainer-changes-its-model": examine_forged_model,
    }
)
