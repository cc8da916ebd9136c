"""The fields of a result: domain, parts, notes; and when a task stops early."""

from __future__ import annotations

import pytest

from judge.evaluation.measure import MAX_PARTS
from sandbox.limits import Limits
from sandbox.verdict import Verdict
from tasks.kinds.registry import KINDS
from tests.judge.evaluation.stand_in_kinds import Energies, only_result, submitted
from tests.world.world import World


def test_the_model_gets_its_domain_and_the_result_that_of_the_suite(world: World) -> None:
    submission = submitted(world, "assert domain == 'Inorganic Materials', domain")
    report = world.run_unit(world.unit(submission, Energies(), domain="Alloys"))
    assert report.verdict is Verdict.OK
    assert only_result(world).domain == "Alloys"
    told_otherwise = world.unit(submission, Energies(), name="other", model_domain="Catalysis")
    assert world.run_unit(told_otherwise).verdict is Verdict.STARTUP_FAILED


NAN_FOR_FIRST = """
from ase.calculators.emt import EMT

class Sometimes(EMT):
    calls = 0
    def calculate(self, *args, **kwargs):
        super().calculate(*args, **kwargs)
        self.calls += 1
        with open({calls!r}, "a") as file:
            file.write(".")
        if self.calls <= {bad}:
            self.results["energy"] = float("nan")

def make_calculator():
    return Sometimes()
"""


@pytest.mark.parametrize(
    ("bad", "failed_share", "n_calls", "verdict", "sentence"),
    [
        (6, 0.5, 4, Verdict.TOO_MANY_FAILURES, "Stopped early after 4 failures of 6 items (4 non finite); 2 were not"),
        (6, 0.25, 2, Verdict.TOO_MANY_FAILURES, "Stopped early after 2 failures of 6 items (2 non finite); 4 were not"),
        (6, 1.0, 6, Verdict.NON_FINITE, "Every one of the 6 items failed"),
        (3, 0.5, 6, Verdict.OK, "Completed; 3 of 6 items failed"),
    ],
)
def test_a_task_stops_early_beyond_its_share_of_failures(
    world: World, bad: int, failed_share: float, n_calls: int, verdict: Verdict, sentence: str
) -> None:
    calls = world.root / "calls"
    submission = world.submit("model", NAN_FOR_FIRST.format(calls=str(calls), bad=bad))
    limits = Limits(startup_s=30, message_s=30, cpus=1, max_atoms_per_batch=8)  # one frame a batch
    report = world.run_unit(world.unit(submission, KINDS["labelled_frames"], limits, failed_share=failed_share))
    assert report.verdict is verdict
    assert report.sentence.startswith(sentence)
    assert len(calls.read_text()) == n_calls


def test_parts_and_notes_are_kept_with_the_result(world: World) -> None:
    world.run_unit(world.unit(submitted(world, "pass"), Energies()))
    result = only_result(world)
    assert [(part.by, part.name, part.metric, part.value, part.unit, part.n_items) for part in result.parts] == [
        ("group", "g0", "energy", 1.5, "eV", 6),
        ("group", "g1", "energy", None, "eV", 6),
        ("group", "g2", "energy", None, "eV", 6),
    ]
    assert result.notes == {"mean": "of all frames"}
    assert result.n_items == 6


def test_a_result_keeps_no_endless_list_of_parts_and_says_so(world: World) -> None:
    kind = Energies()
    kind.n_parts = MAX_PARTS + 1
    world.run_unit(world.unit(submitted(world, "pass"), kind))
    result = only_result(world)
    assert len(result.parts) == MAX_PARTS
    assert f"of {MAX_PARTS + 1}" in result.notes["parts"]
