"""The preflight: a minute in the judge's sandbox, with its limits, on public structures.

An image is refused only for its start, protocol, shapes, non-finite values and limits. Physics is measured and
reported: a model whose forces are not the gradient of its energy is allowed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from ase import Atoms

from sandbox.driver import Driver, Image, Question
from sandbox.error_sentences import error_sentence
from sandbox.events import plain
from sandbox.evidence import memory_words
from sandbox.limits import Limits
from sandbox.verdict import SubmissionFault, Verdict
from sandbox.wire.remote import Hello, RemoteCalculator
from sandbox.wire.session import SessionOutcome, run_session
from submissions.preflight.batches import OneByOne, batch_check, batch_structures
from submissions.preflight.first_answers import FirstAnswers, Offering, asymmetry_check, first_answers
from submissions.preflight.larger_structures import seconds_of, time_larger, timing_of
from submissions.preflight.measured_properties import ElementCoverage, elements_of
from submissions.preflight.physics_checks import physics_checks
from submissions.preflight.probes import AnswerDifference, charge_and_spin, dominant_cause
from submissions.preflight.public_structures import CRYSTALS, MOLECULES, STATED, public_structures
from submissions.preflight.states import STATE_SENTENCE, concerns_state, state_check
from submissions.preflight.task_outlook import task_outlook
from submissions.preflight.trainer_check import try_trainer
from submissions.records import Check, PreflightReport, Timing
from tasks.model.calculator import BatchCalculator
from tasks.structures.frames import Frames
from tasks.structures.predictions import ALL_PROPERTIES, Cause, Predictions, Properties

MAX_PREFLIGHT_S = 600.0
N_STEPS = 10  # one for each structure, two for physics, two at the end

_REFUSALS = {
    Cause.NON_FINITE: (Verdict.NON_FINITE, "There was NaN or infinity in the {quantity} of every public structure."),
    Cause.WRONG_SHAPE: (
        Verdict.WRONG_SHAPE,
        "Forces must have shape (n_atoms, 3), and stress (6,) or (3, 3); answers had another shape.",
    ),
    Cause.OUT_OF_MEMORY: (Verdict.GPU_MEMORY_LIMIT, "The model ran out of memory on structures of sixteen atoms."),
    Cause.UNSUPPORTED: (
        Verdict.UNSUPPORTED,
        "The calculator supports no public structure, of Cu, Si, NaCl, Pt, or H, C, N and O: nothing can be judged.",
    ),
    Cause.ERROR: (
        Verdict.TOO_MANY_FAILURES,
        "The calculator raised an error on every public structure: see its message below, and try it on water with the "
        'charge 0 in atoms.info["charge"] and the 2S+1 of 1 in atoms.info["spin"], as the judge sets them.',
    ),
}

# What the guest says about a shape, and the judge's sentence.
_SHAPES = (
    ("WrongShape: energy", "The energy must be one number; an answer was an array: return float(energy)."),
    ("WrongShape: forces", "Forces must have shape (n_atoms, 3); an answer had another shape."),
    ("WrongShape: stress", "Stress must have shape (6,) or (3, 3); an answer had another shape."),
    ("WrongShape: compute_batch", "compute_batch must return one answer for each structure, in their order."),
    ("PropertyNotImplementedError: the calculator gave no", "calculate() must put what it offers into self.results."),
)
MAX_ERROR = 120  # characters of an error in the table

Report = Callable[[int, int, str], None]


def _silent(done: int, total: int, unit: str) -> None:
    """Does not report the progress."""


def run_preflight(
    driver: Driver, image: Image, limits: Limits, questions: Sequence[Question], report: Report = _silent
) -> SessionOutcome[PreflightReport]:
    """Runs `image` on public structures in the sandbox. The outcome has a value if its verdict is OK.

    Args:
        questions: one for each domain that the card declares: the model is measured in the first, and must start in the
            others. In the last it is asked about larger structures.
        report: called with (done, total, unit) after each step.

    Raises:
        JudgeFault: the judge's machine failed.
    """
    bounded = limits.model_copy(update={"task_s": min(limits.task_s, MAX_PREFLIGHT_S)})
    asked_s, properties, outlook = 0.0, ALL_PROPERTIES, tuple[Check, ...]()

    def measure(remote: RemoteCalculator) -> PreflightReport:
        nonlocal asked_s, properties, outlook
        begin = time.monotonic()
        measured = measure_model(remote, report)
        properties = measured.properties
        outlook = task_outlook(properties, measured.answered, bool(image.trainer))
        asked_s = time.monotonic() - begin
        return measured_report(remote, measured)

    outcome = run_session(driver, image, bounded, questions[0], measure)
    if outcome.value is None:
        return outcome
    timings = list(outcome.value.timings)
    for question in questions[1:] or questions:
        is_last = question is questions[-1]
        ask = partial(_time, properties=properties, timings=timings) if is_last else _nothing
        started = run_session(driver, image, bounded, question, ask)
        # It may fail of larger structures, of memory for example: what was timed until then counts.
        if started.verdict is not Verdict.OK and question is not questions[0] and not (is_last and started.hello):
            sentence = f"For the domain {question.domain}: {started.sentence}"
            return outcome._replace(verdict=started.verdict, sentence=sentence, value=None, private=started.private)
    resources = Check(
        name="resources",
        passed=True,
        value=f"ready in {outcome.startup_s or 0:.1f} s, peak memory {memory_words(outcome.memory_bytes)}",
        gating=True,
    )
    measured, private = outcome.value, outcome.private
    checks = (*measured.checks, resources)
    if image.trainer:
        trial = try_trainer(driver, image, limits, questions[0])
        checks = (*checks, trial.check)
        private = "\n".join(filter(None, (private, trial.printed)))
    times = {"timings": tuple(timings), "startup_s": outcome.startup_s, "session_s": outcome.wall_s - asked_s}
    measured = measured.model_copy(update={"checks": (*checks, *outlook), **times})
    return outcome._replace(value=measured, private=private)


def _nothing(remote: RemoteCalculator) -> None:
    """Asks nothing: the model has started."""


def _time(remote: RemoteCalculator, properties: Properties, timings: list[Timing]) -> None:
    """Adds the times of larger structures to `timings`, each as it is measured."""
    timings.extend(time_larger(Offering(remote, properties)))


def measured_report(remote: RemoteCalculator, measured: PreflightMeasurements) -> PreflightReport:
    """The report of what was measured of a model over its connection."""
    hello = remote.hello
    if hello is None:
        raise RuntimeError("preflight began before the hello")
    return PreflightReport(
        checks=(
            _start_check(hello),
            *measured.checks,
            *_change_check(remote.changed),
            *asymmetry_check(getattr(remote, "stress_asymmetry", 0.0)),
        ),
        calculator=hello.calculator,
        properties=hello.properties,
        batch=hello.batch,
        device=hello.device,
        versions=hello.versions,
        timings=measured.timings,
        n_parameters=hello.n_parameters,
        answered_elements=measured.elements.answered,
        unanswered_elements=measured.elements.unanswered,
    )


def _start_check(hello: Hello) -> Check:
    batching = "whole batches" if hello.batch else "one structure at a time"
    return Check(name="starts", passed=True, value=f"{hello.calculator}, {batching}, on {hello.device}", gating=True)


def _change_check(changed: Collection[str]) -> tuple[Check, ...]:
    """A row if the calculator changed structures that it got."""
    if not changed:
        return ()
    value = f"changes {' and '.join(sorted(changed))} of the structure that it gets: compute on a copy"
    return (Check(name="structures", passed=False, value=value),)


class PreflightMeasurements(NamedTuple):
    """The measurement of a model that has started, on the public structures.

    Args:
        properties: that it offers and returned.
        answered: names of the structures that got an answer.
    """

    checks: tuple[Check, ...]
    timings: tuple[Timing, ...]
    elements: ElementCoverage
    properties: Properties
    answered: tuple[str, ...]


def measure_model(model: BatchCalculator, report: Report = _silent) -> PreflightMeasurements:
    """All checks of a model that has started, and its times for single structures.

    Which structures are examined depends on the answers alone, never on times: runs can be compared.

    Raises:
        SubmissionFault: no public structure got a finite answer, or one got an answer of a wrong shape.
    """
    structures = public_structures()
    first = first_answers(model, structures)
    if not first.answered:
        is_bad = dominant_cause(first.together) is Cause.NON_FINITE
        raise _refusal(first.together, _first_not_finite(model, structures) if is_bad else "")
    # Other shapes are a mistake of the program: three atoms alone may hide it, as (3, n_atoms) does.
    if misshapen := [answer for answer in first.failed.values() if answer.failure[0] == Cause.WRONG_SHAPE]:
        raise _refusal(Predictions.join(misshapen))
    offering = Offering(model, first.properties)
    seconds = {}
    # Of molecules in other states none is timed: their times are those of other molecules.
    timed = {name: atoms for name, atoms in first.answered.items() if name not in STATED} or first.answered
    for done, (name, atoms) in enumerate(timed.items()):
        report(done, N_STEPS, "steps")
        seconds[name] = seconds_of(offering, atoms) or 0.0
    examined = _structures_for_physics(first)
    physics: list[Check] = []
    noise: list[AnswerDifference] = []
    for done, name in enumerate(examined):
        report(N_STEPS - 4 + done, N_STEPS, "steps")
        # One by one, so that a fault of batches is not taken for one of forces.
        found = physics_checks(OneByOne(offering), name, first.answered[name], seconds[name])
        physics += found.checks
        noise += [found.noise] if found.noise else []
    report(N_STEPS - 2, N_STEPS, "steps")
    batch = batch_check(offering, batch_structures(list(first.answered.values())), noise)
    awareness = [
        Check(name=f"{what} awareness", passed=None, value=words) for what, words in charge_and_spin(offering).items()
    ]
    return PreflightMeasurements(
        checks=(*_answer_checks(first), batch, *physics, *awareness, _speed(seconds, first, examined)),
        timings=tuple(timing_of(first.answered[name], taken) for name, taken in seconds.items()),
        elements=elements_of(first.answered.values(), [structures[name] for name in first.failed]),
        properties=first.properties,
        answered=tuple(first.answered),
    )


def _answer_checks(first: FirstAnswers) -> tuple[Check, ...]:
    """How many structures got an answer, and their properties."""
    failures = ", ".join(f"{name} ({_words(answer)})" for name, answer in first.failed.items())
    count = f"{len(first.answered)} of {len(first.answered) + len(first.failed)} structures"
    return (
        Check(name="answers", passed=True, value=f"{count}; not {failures}" if failures else count, gating=True),
        Check(name="offers", passed=None, value=", ".join(first.declared)),
        *first.stress_check(),
        *state_check(first.failed),
    )


def _speed(seconds: Mapping[str, float], first: FirstAnswers, names: Sequence[str]) -> Check:
    speeds = (f"{seconds[name] / len(first.answered[name]) * 1e6:,.0f} µs/atom on {name}" for name in names)
    return Check(name="speed", passed=None, value=", ".join(speeds))


def _first_not_finite(model: BatchCalculator, structures: Mapping[str, Atoms]) -> str:
    """The first of the model's properties with which no structure gets an answer, asked with those before it."""
    frames = Frames.from_atoms(list(structures.values()))
    asked = (model.properties[:n] for n in range(1, len(model.properties)))
    return next((names[-1] for names in asked if not model.compute(frames, names).ok.any()), model.properties[-1])


def _refusal(answer: Predictions, quantity: str = "") -> SubmissionFault:
    """The fault that an answer of failed structures shows; its private text begins with the most frequent error.

    Args:
        quantity: that was not finite, if that is the fault.
    """
    cause = dominant_cause(answer)
    verdict, sentence = _REFUSALS[cause]
    sentence = sentence.format(quantity=quantity)
    errors = sorted(answer.errors.values(), key=lambda error: (error.cause is not cause, error.kind, error.text))
    lines = list(dict.fromkeys(f"{error.kind}: {error.text}" for error in errors))
    first = lines[0] if lines else ""
    sentence = next((known for start, known in _SHAPES if first.startswith(start)), sentence)
    if cause is Cause.ERROR and (known := error_sentence(*first.partition(": ")[::2])):
        sentence = f"On every public structure: {known}"
    elif cause is Cause.ERROR and any(map(concerns_state, lines)):
        sentence = f"The calculator raised an error on every public structure: see its message below. {STATE_SENTENCE}"
    return SubmissionFault(verdict, sentence, private="\n".join(lines))


def _words(answer: Predictions) -> str:
    """The cause of one structure's failure, and the text of an error."""
    cause, error = Cause(int(answer.failure[0])), answer.errors.get(0)
    if cause is not Cause.ERROR or error is None:
        return cause.word
    return f"{cause.word}: {plain(f'{error.kind}: {error.text}', MAX_ERROR)}"


def _structures_for_physics(first: FirstAnswers) -> list[str]:
    """The first crystal and the first molecule that got an answer; else the first structure."""
    chosen = [next((name for name in names if name in first.answered), "") for names in (CRYSTALS, MOLECULES)]
    return [name for name in chosen if name] or list(first.answered)[:1]
