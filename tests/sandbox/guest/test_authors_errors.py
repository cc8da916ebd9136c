"""Whatever an author's code raises for one structure is the failure of that structure, and the guest goes on."""

from __future__ import annotations

import random
import re
import traceback
from functools import partial
from types import SimpleNamespace

import pytest
from ase import Atoms
from ase.build import molecule

from sandbox.drivers.process_driver import ProcessDriver
from sandbox.guest.tracebacks import FirstErrors, readable_lines
from sandbox.verdict import Verdict
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause
from tests.sandbox.guest.asking import asked_by_guest, asked_here, through_the_guest

HELIUM = [Atoms("He" * n, [[3.0 * i, 0.0, 0.0] for i in range(n)]) for n in (1, 2, 3)]


@pytest.mark.parametrize("model", ["Leaves", "LeavesInBatches"])
def test_a_calculator_that_ends_the_program_fails_in_that_structure(process_driver: ProcessDriver, model: str) -> None:
    frames = Frames.from_atoms([molecule("H2O"), HELIUM[0], molecule("CH4"), HELIUM[1], HELIUM[2], molecule("H2O")])
    answer = asked_by_guest(process_driver, model, frames)
    assert answer.failure.tolist() == [0, Cause.ERROR, 0, Cause.ERROR, Cause.ERROR, 0]
    assert [answer.errors[i].kind for i in (1, 3, 4)] == ["SystemExit", "KeyboardInterrupt", "GeneratorExit"]
    assert answer.errors[1].text == "sys.exit('helium is not for me') was called"


@pytest.mark.parametrize("model", ["Leaves", "LeavesInBatches"])
def test_in_this_process_an_exit_is_a_failure_and_ctrl_c_is_not(model: str) -> None:
    answer = asked_here(model, Frames.from_atoms([molecule("H2O"), HELIUM[0]]))
    assert answer.failure.tolist() == [0, Cause.ERROR]
    with pytest.raises(KeyboardInterrupt):
        asked_here(model, Frames.from_atoms([HELIUM[1]]))


def test_an_exception_without_a_text_does_not_end_the_guest(process_driver: ProcessDriver) -> None:
    answer = asked_by_guest(process_driver, "RaisesUnprintable", Frames.from_atoms([HELIUM[0], HELIUM[1]]))
    assert answer.failure.tolist() == [Cause.ERROR, 0]
    assert answer.errors[0].kind == "Unprintable"


def test_the_author_reads_what_python_would_print(process_driver: ProcessDriver) -> None:
    frames = Frames.from_atoms([molecule("H2O")])
    outcome = through_the_guest(process_driver, "NestedErrors", partial(ask_energy, frames=frames))
    assert outcome.verdict is Verdict.OK
    assert "RuntimeError: what the author should read" in outcome.private
    assert "detour" not in outcome.private


def ask_energy(remote, frames: Frames):
    return remote.compute(frames, ("energy",))


def chained(seed: int) -> BaseException:
    """An error with others behind it, by `from`, by `from None` and by neither."""
    rng = random.Random(seed)

    def fail(depth: int) -> None:
        if depth:
            try:
                fail(depth - 1)
            except ValueError as error:
                message = f"reason {depth}"
                match rng.choice(["from", "none", "bare", "other"]):
                    case "from":
                        raise ValueError(message) from error
                    case "none":
                        raise ValueError(message) from None
                    case "other":
                        raise ValueError(message) from KeyError(f"another cause {depth}")
                    case _:
                        raise ValueError(message)  # noqa: B904
        raise ValueError("reason 0")

    with pytest.raises(ValueError, match="reason") as raised:
        fail(6)
    return raised.value


@pytest.mark.parametrize("seed", range(12))
def test_chained_errors_are_shown_in_pythons_order(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    error = chained(seed)
    assert readable_lines(error) == traceback.format_exception(error)
    # As if some frames were the judge's: the messages stay as they are, in the same order.
    monkeypatch.setattr("sandbox.guest.tracebacks.is_ours", lambda filename: __file__ == filename)
    assert readable_lines(error) == []
    monkeypatch.setattr("sandbox.guest.tracebacks.is_ours", SomeOfThem())
    folded = "".join(readable_lines(error))
    reasons = re.compile(r"^(?:ValueError|KeyError): .*", re.MULTILINE)
    assert reasons.findall(folded) == reasons.findall("".join(traceback.format_exception(error)))
    assert re.search(r"\((\d+) frames of the judge's guest", folded)


class SomeOfThem:
    """Takes every second frame for the judge's."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, filename: str) -> bool:
        self.count += 1
        return self.count % 2 == 0


def test_frames_that_are_not_shown_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def is_ours(filename: str) -> bool:
        seen.append(filename)
        return False

    monkeypatch.setattr("sandbox.guest.tracebacks.is_ours", is_ours)
    try:
        try:
            raise KeyError("hidden")
        except KeyError:
            raise ValueError("shown") from None
    except ValueError as error:
        readable_lines(error)
    assert len(seen) == 1


def test_an_error_that_cannot_be_printed_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    FirstErrors()(SimpleNamespace(__traceback__=None))  # no exception at all
    assert capsys.readouterr().err == ""
