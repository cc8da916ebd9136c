"""The preflight: a minute in the judge's sandbox, with its limits, on public structures.

An image is refused only for its start, protocol, shapes, non-finite values and limits. Physics is measured and
reported: a model whose forces are not the gradient of its energy is allowed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from ase import Atoms

from sandbox.driver import Driver, Image, Question
from sandbox.error_sentences import error_sentence
from sandbox.events import plain
from sandbox.evidence import memory_words
from sandbox.limits import Limits
from sandbox.verdict import SubmissionFault, Verdict
from sandbox.wire.remote import Hello, RemoteCalculator
from sandbox.wire.session import SessionOutcome, run_session
from submissions.preflight.larger_structures import seconds_of, time_larger, timing_of
from submissions.preflight.measured_properties import ElementCoverage, elements_of
from submissions.preflight.probes import (
    batch_difference,
    batch_structures,
    charge_and_spin,
    dominant_cause,
    force_consistency,
    invariances,
    n_physics_calls,
    public_structures,
)
from submissions.preflight.trainer_check import try_trainer
from submissions.records import Check, PreflightReport, Timing
from tasks.model.calculator import BatchCalculator
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause, Predictions

MAX_PREFLIGHT_S = 600.0
N_STEPS = 10  # one for each structure, two for physics, two at the end
PHYSICS_S = 15.0  # for each examined structure: the whole takes about a minute

_REFUSALS = {
    Cause.NON_FINITE: (Verdict.NON_FINITE, "The answer for every public structure was NaN or infinity."),
    Cause.WRONG_SHAPE: (
        Verdict.WRONG_SHAPE,
        "Forces must have shape (n_atoms, 3), and stress (6,) or (3, 3); every answer had another shape.",
    ),
    Cause.OUT_OF_MEMORY: (Verdict.GPU_MEMORY_LIMIT, "The model ran out of memory on structures of sixteen atoms."),
    Cause.UNSUPPORTED: (
        Verdict.UNSUPPORTED,
        "The calculator supports none of Cu, Si, NaCl, H2O, ethanol and Pt: nothing can be judged.",
    ),
    Cause.ERROR: (
        Verdict.TOO_MANY_FAILURES,
        "The calculator raised an error on every public structure: see its message below, and try it on water.",
    ),
}

# What the guest says about a shape, and the judge's sentence.
_SHAPES = (
    ("WrongShape: energy", "The energy must be one number; every answer was an array: return float(energy)."),
    ("WrongShape: forces", "Forces must have shape (n_atoms, 3); every answer had another shape."),
    ("WrongShape: stress", "Stress must have shape (6,) or (3, 3); every answer had another shape."),
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
            others.
        report: called with (done, total, unit) after each step.

    Raises:
        JudgeFault: the judge's machine failed.
    """
    bounded = limits.model_copy(update={"task_s": min(limits.task_s, MAX_PREFLIGHT_S)})
    asked_s = 0.0

    def measure(remote: RemoteCalculator) -> PreflightReport:
        nonlocal asked_s
        begin = time.monotonic()
        found = _measure(remote, report)
        asked_s = time.monotonic() - begin
        return found

    outcome = run_session(driver, image, bounded, questions[0], measure)
    if outcome.value is None:
        return outcome
    for question in questions[1:]:
        started = run_session(driver, image, bounded, question, lambda remote: None)
        if started.verdict is not Verdict.OK:
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
    timings = list(measured.timings)
    # It may fail, of memory for example: what was timed until then counts.
    run_session(driver, image, bounded, questions[0], lambda remote: timings.extend(time_larger(remote)))
    times = {"timings": tuple(timings), "startup_s": outcome.startup_s, "session_s": outcome.wall_s - asked_s}
    measured = measured.model_copy(update={"checks": checks, **times})
    return outcome._replace(value=measured, private=private)


def _measure(remote: RemoteCalculator, report: Report) -> PreflightReport:
    hello = remote.hello
    if hello is None:
        raise RuntimeError("preflight began before the hello")
    measured = measure_model(remote, report)
    return PreflightReport(
        checks=(_start_check(hello), *measured.checks),
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


class PreflightMeasurements(NamedTuple):
    """The measurement of a model that has started, on the public structures."""

    checks: tuple[Check, ...]
    timings: tuple[Timing, ...]
    elements: ElementCoverage


def measure_model(model: BatchCalculator, report: Report = _silent) -> PreflightMeasurements:
    """All checks of a model that has started, and its times for single structures.

    Raises:
        SubmissionFault: no public structure got a finite answer of the right shape.
    """
    structures = public_structures()
    names = list(structures)
    answer = model.compute(Frames.from_atoms(list(structures.values())), model.properties)
    if not answer.ok.any():
        raise _refusal(answer)
    answered_structures = {name: structures[name] for name, ok in zip(names, answer.ok, strict=True) if ok}
    failures = [f"{name} ({_words(answer, n)})" for n, name in enumerate(names) if answer.failure[n] != 0]
    answered = Check(
        name="answers",
        passed=True,
        value=f"{len(answered_structures)} of {len(names)} structures"
        + (f"; not {', '.join(failures)}" if failures else ""),
        gating=True,
    )
    checks = [answered, Check(name="offers", passed=None, value=", ".join(model.properties))]
    seconds = {}
    for done, (name, atoms) in enumerate(answered_structures.items()):
        report(done, N_STEPS, "steps")
        seconds[name] = seconds_of(model, atoms) or 0.0
    chosen = _structures_for_physics(seconds)
    timings = [timing_of(answered_structures[name], taken) for name, taken in seconds.items()]
    for done, name in enumerate(chosen):
        report(N_STEPS - 4 + done, N_STEPS, "steps")
        checks += _physics(model, name, answered_structures[name], seconds[name])
    report(N_STEPS - 2, N_STEPS, "steps")
    fastest = [answered_structures[name] for name in sorted(seconds, key=lambda name: seconds[name])]
    together = batch_difference(model, batch_structures(fastest))
    checks.append(Check(name="batch against single", passed=together.is_small, value=together.words()))
    awareness = charge_and_spin(model)
    checks += [Check(name=f"{what} awareness", passed=None, value=words) for what, words in awareness.items()]
    speeds = ", ".join(
        f"{seconds[name] / len(answered_structures[name]) * 1e6:,.0f} µs/atom on {name}" for name in chosen
    )
    checks.append(Check(name="speed", passed=None, value=speeds))
    failed = [structures[name] for name in names if name not in answered_structures]
    return PreflightMeasurements(tuple(checks), tuple(timings), elements_of(answered_structures.values(), failed))


def _refusal(answer: Predictions) -> SubmissionFault:
    """The fault of a model that answered no structure; its private text begins with the most frequent error."""
    cause = dominant_cause(answer)
    verdict, sentence = _REFUSALS[cause]
    errors = sorted(answer.errors.values(), key=lambda error: (error.cause is not cause, error.kind, error.text))
    lines = list(dict.fromkeys(f"{error.kind}: {error.text}" for error in errors))
    first = lines[0] if lines else ""
    sentence = next((known for start, known in _SHAPES if first.startswith(start)), sentence)
    if cause is Cause.ERROR and (known := error_sentence(*first.partition(": ")[::2])):
        sentence = f"On every public structure: {known}"
    return SubmissionFault(verdict, sentence, private="\n".join(lines))


def _words(answer: Predictions, n: int) -> str:
    """The cause of a failed structure, and the text of an error or of a wrong shape."""
    cause, error = Cause(int(answer.failure[n])), answer.errors.get(n)
    if cause not in (Cause.ERROR, Cause.WRONG_SHAPE) or error is None:
        return cause.word
    return f"{cause.word}: {plain(f'{error.kind}: {error.text}', MAX_ERROR)}"


def _structures_for_physics(seconds: dict[str, float]) -> list[str]:
    """The fastest crystal and the largest molecule; else the first structure."""
    crystals = sorted((name for name in seconds if "crystal" in name or "salt" in name), key=lambda n: seconds[n])
    molecules = [name for name in ("ethanol", "water") if name in seconds]
    return (crystals[:1] + molecules[:1]) or list(seconds)[:1]


def _physics(model: BatchCalculator, name: str, atoms: Atoms, seconds: float) -> list[Check]:
    """The physics checks on one structure, along fewer directions if a call is slow."""
    directions = max((n for n in (1, 2, 4) if n_physics_calls(n) * seconds < PHYSICS_S), default=0)
    if not directions:
        return [Check(name=name, passed=None, value=f"not examined: one call takes {seconds:.1f} s")]
    consistency = force_consistency(model, atoms, directions)
    best = int(np.argmin(consistency.errors))
    agreement = "agree within" if consistency.conservative else "differ by"
    checks = [
        Check(
            name=f"forces = −∇E, {name}",
            passed=consistency.conservative,
            value=f"{agreement} {consistency.best:.1e} eV/Å (noise {consistency.noise[best]:.0e}, "
            f"forces {consistency.scale:.2g})",
        )
    ]
    for what, size in invariances(model, atoms).items():
        checks.append(Check(name=f"{what}, {name}", passed=size.is_small, value=size.words()))
    return checks
