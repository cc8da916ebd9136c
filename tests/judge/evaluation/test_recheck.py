"""Kinds with a consistency check in a fresh start: which answers count, and the verdict if that start fails."""

from __future__ import annotations

from typing import Any

from judge.evaluation.unit_report import Did
from judge.records.attempts import read_history
from judge.records.probe_secret import order_secret
from sandbox.verdict import Verdict
from tasks.datasets.dataset import Structures
from tasks.kind import Observation, Watch
from tasks.model.calculator import BatchCalculator
from tests.judge.evaluation.stand_in_kinds import AskedTwice, Energies, only_result, starts, submitted
from tests.world.world import World


def test_a_kind_that_asks_again_gets_a_fresh_start_and_its_second_observation_counts(world: World) -> None:
    unit = world.unit(submitted(world, "pass"), AskedTwice())
    report = world.run_unit(unit)
    assert (report.did, report.verdict) == (Did.OBSERVED, Verdict.OK)
    assert starts(world) == 2
    end = read_history(world.store, unit.prefix).end
    assert end is not None
    assert end.peaks is not None
    assert end.peaks.startup_s is not None
    assert end.peaks.wall_s > 1.5 * end.peaks.startup_s  # both starts
    assert only_result(world).failures == {}
    assert world.run_unit(unit).did is Did.NOTHING
    assert starts(world) == 2


def test_a_consistency_check_of_public_structures_has_the_secret_of_the_store(world: World) -> None:
    """Else anyone could compute what it asks."""
    secrets: list[bytes] = []

    class KeepsSecrets(AskedTwice):
        def recheck(
            self,
            observation: Observation,
            structures: Structures,
            parameters: Any,
            model: BatchCalculator,
            watch: Watch,
        ) -> Observation:
            assert not structures.hidden
            secrets.append(watch.secret)
            return super().recheck(observation, structures, parameters, model, watch)

    world.run_unit(world.unit(submitted(world, "pass"), KeepsSecrets()))
    assert secrets == [order_secret(world.store)]


def test_a_kind_that_does_not_ask_again_starts_the_model_once(world: World) -> None:
    world.run_unit(world.unit(submitted(world, "pass"), Energies()))
    assert starts(world) == 1


def test_a_model_that_answers_otherwise_when_started_anew_is_caught(world: World) -> None:
    report = world.run_unit(world.unit(submitted(world, "calculator.shift = lambda calls: 0.01 * n"), AskedTwice()))
    assert report.verdict is Verdict.TOO_MANY_FAILURES
    assert "3 of 6 items differently" in report.sentence
    assert only_result(world).failures == {"INCONSISTENT": 3}
    assert only_result(world).metrics["energy"].value is None


def test_one_answer_that_differs_is_for_the_kind_to_weigh(world: World) -> None:
    """The first call of the second start only: the kind still gives its number, over the five that hold."""
    line = "calculator.shift = lambda calls: 0.01 * n * (calls == 1)"
    report = world.run_unit(world.unit(submitted(world, line), AskedTwice()))
    assert (report.verdict, report.sentence) == (Verdict.OK, "Completed; 1 of 6 items failed (1 inconsistent).")
    assert only_result(world).metrics["energy"].value is not None


def test_a_second_start_that_fails_gives_its_own_verdict(world: World) -> None:
    unit = world.unit(submitted(world, "assert n == 0"), AskedTwice())
    report = world.run_unit(unit)
    assert report.verdict is Verdict.STARTUP_FAILED
    assert report.sentence.startswith("In the consistency check, after a fresh start: ")
    end = read_history(world.store, unit.prefix).end
    assert end is not None
    assert end.observation is None
    assert starts(world) == 2


def test_a_first_start_that_fails_is_not_followed_by_another(world: World) -> None:
    report = world.run_unit(world.unit(submitted(world, "assert n == 1"), AskedTwice()))
    assert report.verdict is Verdict.STARTUP_FAILED
    assert not report.sentence.startswith("In the consistency check")
    assert starts(world) == 1
