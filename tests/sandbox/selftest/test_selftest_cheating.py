"""The attacks on protocol, numbers, secrets and timing: their examinations can also find that the sandbox did not hold.

tests/sandbox/selftest/test_selftest.py shows that it holds, through Docker. Most tests here run without a container.
"""

from __future__ import annotations

import ast
import os
import pickle
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from sandbox.driver import Question
from sandbox.drivers.docker_driver import DockerDriver
from sandbox.drivers.process_driver import ProcessDriver
from sandbox.evidence import Phase
from sandbox.limits import MIB
from sandbox.rundir import RunDir
from sandbox.selftest import cheating_attacks, conversation_attacks, protocol_attacks, secrecy_attacks, timing_attacks
from sandbox.selftest.attack import LIMITS, Attack, Trial
from sandbox.selftest.cheating_attacks import CHEATING_ATTACKS, better, labelled
from sandbox.selftest.conversation_attacks import CONVERSATION_ATTACKS
from sandbox.selftest.hostile import cheating, messages
from sandbox.selftest.images import HostileImages
from sandbox.selftest.own_memory import watched_memory
from sandbox.selftest.protocol_attacks import PROTOCOL_ATTACKS, Watched, atoms, complaint, marker_of
from sandbox.selftest.secrecy_attacks import ask_energy, holds, secret_atoms, without_status
from sandbox.verdict import Verdict
from sandbox.wire.remote import RemoteCalculator
from sandbox.wire.session import SessionOutcome
from submissions.preflight.preflight import run_preflight
from tasks.kind import Watch
from tasks.kinds.labelled_frames import LabelledFrames, LabelledFramesParameters
from tasks.model.calculator import InProcessCalculator
from tasks.simulation.supercells import part_of
from tasks.timing import consistency_check, judged_frames, small_frames
from tasks.timing.small_frames import SmallFrames

HOSTILE = Path(cheating.__file__).parent
ALL = {attack.name: attack for attack in (*PROTOCOL_ATTACKS, *CONVERSATION_ATTACKS, *CHEATING_ATTACKS)}


@pytest.fixture(scope="module")
def driver() -> Iterator[ProcessDriver]:
    with TemporaryDirectory(prefix="lj") as folder:
        yield ProcessDriver(RunDir(Path(folder)))


def trial(driver: ProcessDriver, factory: str) -> Trial:
    """A trial of one of the hostile calculators, in a process."""
    return Trial(driver, driver.resolve(f"{HOSTILE}?calculator={factory}"))


# An honest model is no attack.


@pytest.mark.parametrize("name", ALL)
def test_an_honest_model_is_not_taken_for_an_attack_that_was_held(driver: ProcessDriver, name: str) -> None:
    """An examination needs an attack: without one, it must not report that the sandbox held."""
    attack = ALL[name]
    finding = attack.examine(trial(driver, "cheating:Emt"))
    assert not finding.held, finding.how


class ScriptedTrial(Trial):
    """A trial whose sessions have the given outcomes, one after the other."""

    def ending_with(self, *outcomes: SessionOutcome[Any]) -> ScriptedTrial:
        object.__setattr__(self, "outcomes", iter(outcomes))
        return self

    def run(self, body: Callable[[RemoteCalculator], Any], **limits: Any) -> SessionOutcome[Any]:
        return next(self.outcomes)  # type: ignore[attr-defined,no-any-return]


def ended_as(verdict: Verdict, value: Any = None, private: str = "", phase: Phase = Phase.START) -> SessionOutcome[Any]:
    return SessionOutcome(verdict, "", value, private, None, 1.0, 0.5, None, phase)


OK, CRASHED, LATE, BREACH = Verdict.OK, Verdict.CRASHED, Verdict.STARTUP_TIMEOUT, Verdict.PROTOCOL_ERROR


@pytest.mark.parametrize(
    ("name", "held", "not_held"),
    [
        ("answers-from-a-child", [ended_as(CRASHED)], [ended_as(Verdict.TIME_LIMIT)]),
        (
            "notes-for-the-next-start",
            [ended_as(OK, (0.0, 3.0))] * 2,
            [ended_as(OK, (0.0, 3.0)), ended_as(OK, (3.0, 3.0))],
        ),
        ("looks-around", [ended_as(OK, 1.0)] * 2, [ended_as(OK, 1.0), ended_as(OK, 2.0)]),
        ("second-connection", [ended_as(OK, [0.0, 0.0])], [ended_as(OK, [1.0, 0.0])]),
        ("reconnecting", [ended_as(CRASHED, private="refused twenty times")], [ended_as(CRASHED)]),
        ("beside-the-guest", [ended_as(BREACH)], [ended_as(OK, [0.0, 0.0])]),
        ("sleeps-at-start", [ended_as(LATE, private="asleep")], [ended_as(LATE)]),
    ],
)
def test_what_was_not_held_is_not_said_in_the_words_of_what_was(
    driver: ProcessDriver, name: str, held: list[SessionOutcome[Any]], not_held: list[SessionOutcome[Any]]
) -> None:
    """A record is signed and kept: it must not state that a child ended if the child lived on."""
    image = driver.resolve(f"{HOSTILE}?calculator=cheating:Emt")
    good = ALL[name].examine(ScriptedTrial(driver, image).ending_with(*held))
    bad = ALL[name].examine(ScriptedTrial(driver, image).ending_with(*not_held))
    assert (good.held, bad.held) == (True, False)
    assert re.sub(r"[A-Z_]{2,}|[0-9.]+", "", good.how) != re.sub(r"[A-Z_]{2,}|[0-9.]+", "", bad.how)


def calls_of_finding() -> Iterator[tuple[str, ast.Call]]:
    for module in (cheating_attacks, conversation_attacks, protocol_attacks, secrecy_attacks, timing_attacks):
        for node in ast.walk(ast.parse(Path(str(module.__file__)).read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Finding":
                yield f"{module.__name__}:{node.lineno}", node


def test_no_sentence_is_said_of_both_ends() -> None:
    """Each place in the code that makes a finding knows the outcome, so held and not held have different words."""
    calls = dict(calls_of_finding())
    assert len(calls) >= 40
    assert [place for place, call in calls.items() if not isinstance(call.args[0], ast.Constant)] == []
    texts: dict[bool, set[str]] = {True: set(), False: set()}
    for call in calls.values():
        texts[ast.literal_eval(call.args[0])].add(ast.unparse(call.args[1]))
    assert not texts[True] & texts[False]


def test_names_are_unique_and_every_factory_is_there() -> None:
    assert len(ALL) == len(PROTOCOL_ATTACKS) + len(CONVERSATION_ATTACKS) + len(CHEATING_ATTACKS) >= 28
    for attack in ALL.values():
        module, _, factory = attack.factory.partition(":")
        body = ast.parse((HOSTILE / f"{module}.py").read_text()).body
        assert factory in {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", attack.name)
        assert attack.tries.endswith(".")


# The tricks work where they are not held.


def test_the_pickle_makes_its_file_where_it_is_loaded() -> None:
    frames = atoms()
    path = marker_of(frames)
    assert path == messages.marker(messages.Question(1, 1, frames.positions.tobytes(), b""))
    assert not os.path.lexists(path)
    pickle.loads(messages.pickled(path))
    assert os.path.lexists(path)
    os.unlink(path)


def test_a_judge_that_unpickled_would_be_found_out(driver: ProcessDriver) -> None:
    class Loads(Trial):
        """A judge that unpickles the answers."""

        def run(self, body, **limits):  # type: ignore[no-untyped-def]
            def loads_first(remote):  # type: ignore[no-untyped-def]
                def compute(frames, properties, compute_remotely=remote.compute):  # type: ignore[no-untyped-def]
                    pickle.loads(messages.pickled(marker_of(frames)))
                    return compute_remotely(frames, properties)

                remote.compute = compute
                return body(remote)

            return super().run(loads_first, **limits)

    unwise = Loads(driver, driver.resolve(f"{HOSTILE}?calculator=cheating:Emt"))
    finding = ALL["pickle"].examine(unwise)
    assert (finding.held, finding.how) == (False, "way 1: the judge loaded the pickle")


@pytest.mark.parametrize(("name", "factory"), [("replays", "Replays"), ("replays-alike", "Replays")])
def test_memory_would_be_of_use_if_frames_repeated(
    driver: ProcessDriver, monkeypatch: pytest.MonkeyPatch, name: str, factory: str
) -> None:
    repeating = timing_attacks.TIMING.model_copy(update={"rattle": 1e-300})
    monkeypatch.setattr(timing_attacks, "TIMING", repeating)
    finding = ALL[name].examine(trial(driver, f"cheating:{factory}"))
    assert not finding.held, finding.how


CHEAP = [name for name in ALL if name.startswith("cheap-")]


@pytest.mark.parametrize("name", CHEAP)
def test_without_small_frames_a_cheap_model_of_large_ones_would_be_timed(
    driver: ProcessDriver, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A check of frames of the timed sizes alone finds that the cheap model agrees with itself."""
    monkeypatch.setattr(SmallFrames, "tied", property(lambda small: [False] * len(small.kept)))
    monkeypatch.setattr(small_frames, "LEAST_STIFFNESS", 0.0)
    monkeypatch.setattr(consistency_check, "part_of_row", lambda plan, index, counts, row: part_of(counts))
    finding = ALL[name].examine(trial(driver, ALL[name].factory))
    assert (finding.held, finding.how) == (False, "0 of 3 checked answers differ, and its times count")


def test_without_labelled_frames_a_model_that_is_another_one_when_timed_would_be_timed(
    driver: ProcessDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that it answers while it is timed or checked is one potential, and no more tells it from an honest model."""
    monkeypatch.setattr(judged_frames, "N_JUDGED", 0)
    attack = ALL["another-model-when-timed"]
    finding = attack.examine(trial(driver, attack.factory))
    assert (finding.held, finding.how) == (False, "0 of 3 checked answers differ, and its times count")


WITHOUT_CONTAINER = ("nan-as-a-joker", "replays", "deferred-work", "state-machine", "secrets-in-errors", *CHEAP)


@pytest.mark.parametrize("name", [*WITHOUT_CONTAINER, "another-model-when-timed"])
def test_what_needs_no_container_is_held_without_one(driver: ProcessDriver, name: str) -> None:
    finding = ALL[name].examine(trial(driver, ALL[name].factory))
    assert finding.held, finding.how


def test_the_honest_errors_are_better_than_the_jokers() -> None:
    data, kind, parameters = labelled(), LabelledFrames(), LabelledFramesParameters()
    measured = []
    for played in (0, 1):
        joker = cheating.Joker()
        joker.played = played
        seen = kind.observe(data.structures, parameters, InProcessCalculator(joker), Watch(lambda: 0.0))
        measured.append(kind.measure(seen, data, parameters, None))
    honest, joking = measured
    assert better(joking, honest) == ""
    assert len(better(honest, joking).split(", ")) == 6
    spoilt = replace(
        joking, metrics={**joking.metrics, "force_rmse": replace(joking.metrics["force_rmse"], charged=np.nan)}
    )
    assert better(spoilt, honest) == "force_rmse"


# What costs memory or time is noticed.


def ended(verdict: Verdict) -> SessionOutcome[None]:
    return SessionOutcome(verdict, "", None, "", None, 1.0, 0.5, None)


def test_what_costs_memory_or_time_is_a_complaint() -> None:
    with watched_memory() as memory:
        held = bytearray(32 * MIB)
        del held
    assert 32 * MIB <= memory.peak_bytes < 40 * MIB
    with watched_memory() as little:
        pass
    assert little.peak_bytes < MIB
    late, refused = Verdict.TIME_LIMIT, Verdict.PROTOCOL_ERROR
    assert complaint(Watched(ended(late), 0, 0.5), late) == ""
    assert complaint(Watched(ended(late), memory.peak_bytes, 0.5), late) == "took 32 MiB of the judge's memory"
    assert complaint(Watched(ended(late), 0, 9.0), late) == "ended late, after 9.0 s"
    assert complaint(Watched(ended(late), 0, np.nan), late) != ""
    assert complaint(Watched(ended(late), 0, 0.5), refused) == "ended as TIME_LIMIT, not PROTOCOL_ERROR"


# Secrets.


def test_a_coordinate_is_recognised_wherever_it_is() -> None:
    secret = secret_atoms()
    assert holds(cheating.in_words(secret), secret)
    assert holds(f"of class 'At{secret.positions[1, 2]:.9f}'", secret)
    assert not holds(cheating.in_words(secret_atoms()), secret)


def test_of_an_exit_status_nothing_but_its_number_may_differ() -> None:
    one, other = "It ended (exit status 7): see its log.", "It ended (segmentation fault): see its log."
    assert without_status(one) == without_status(other)
    assert without_status(one) != without_status("It ended (at 3.61): see its log.")


# A preflight looks like an evaluation.


def digest(text: str) -> str:
    digests = re.findall(r"^digest ([0-9a-f]{12})$", text, re.MULTILINE)
    assert digests, text
    return str(digests[-1])


@pytest.mark.slow
@pytest.mark.docker
def test_a_preflight_looks_like_an_evaluation_from_inside(docker_driver: DockerDriver) -> None:
    attack: Attack = ALL["looks-around"]
    image = HostileImages().of(attack, docker_driver)
    examined = Trial(docker_driver, image)
    of_preflight = run_preflight(docker_driver, examined.image, LIMITS, [Question()])  # type: ignore[arg-type]
    ask = partial(ask_energy, atoms=secret_atoms())
    of_evaluation = examined.run(ask, task_s=3600.0)
    assert digest(of_preflight.private) == digest(of_evaluation.private)
    assert digest(examined.run(ask, open_files=128).private) != digest(of_evaluation.private)
