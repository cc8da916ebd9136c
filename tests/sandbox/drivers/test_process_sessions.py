"""Sessions on the process driver: every verdict that needs no container."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest
from ase.build import bulk, molecule
from ase.calculators.emt import EMT

from sandbox.driver import Question
from sandbox.drivers.process_driver import ProcessDriver
from sandbox.limits import Limits
from sandbox.rundir import RunDir
from sandbox.verdict import SubmissionFault, Verdict
from sandbox.wire.remote import RemoteCalculator
from sandbox.wire.session import SessionOutcome, run_session
from tasks.model.calculator import AseCalculator, InProcessCalculator
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause, Predictions

HOSTILE = Path(__file__).parents[2] / "hostile"
LIMITS = Limits(startup_s=20, message_s=2, task_s=20)


def ask(remote: RemoteCalculator) -> Predictions:
    return remote.compute(Frames.from_atoms([bulk("Cu"), molecule("H2O")]), remote.properties)


def judged(driver: ProcessDriver, factory: str, limits: Limits = LIMITS, body=ask) -> SessionOutcome:
    image = driver.resolve(f"{HOSTILE}?calculator=hostile:{factory}")
    return run_session(driver, image, limits, Question(), body)


@pytest.mark.parametrize(
    ("factory", "verdict", "clue"),
    [
        ("raises", Verdict.STARTUP_FAILED, "factory raised"),
        ("absent", Verdict.STARTUP_FAILED, "no such factory"),
        ("exits", Verdict.STARTUP_FAILED, "exit status 0"),
        ("segfaults", Verdict.STARTUP_FAILED, "segmentation fault"),
        ("wrong_type", Verdict.STARTUP_FAILED, "ASE calculator"),
        ("garbage", Verdict.PROTOCOL_ERROR, "breaks the protocol"),
        ("flood", Verdict.OUTPUT_LIMIT, "Too many bytes were sent"),
        ("trickle", Verdict.TIME_LIMIT, "One batch took longer"),
        ("dies", Verdict.CRASHED, "killed"),
        ("hangs", Verdict.TIME_LIMIT, "One batch took longer"),
    ],
)
def test_verdicts(process_driver: ProcessDriver, factory: str, verdict: Verdict, clue: str) -> None:
    outcome = judged(process_driver, factory)
    assert outcome.verdict is verdict, outcome
    assert clue in outcome.sentence
    assert outcome.value is None


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "calculator.py").write_text("def make_calculator(): ...")
    return folder


@pytest.mark.parametrize("name", ["c++", "50%41", "a&b", "a b", "one;two", "what?"])
def test_the_stored_reference_names_the_same_image(process_driver: ProcessDriver, model: Path, name: str) -> None:
    python = model.parent / name / "python"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    image = process_driver.resolve(f"{model}?{urlencode({'python': python})}")
    assert image.python == (str(python),)
    assert process_driver.resolve(image.reference) == image


def test_a_reference_without_unusual_characters_is_readable(process_driver: ProcessDriver, model: Path) -> None:
    reference = f"{model}?python={sys.executable}&calculator=calculator:make_calculator&trainer=trainer:train"
    assert process_driver.resolve(reference).reference == reference


@pytest.mark.parametrize("name", ["what?", "what?/model"])
def test_a_folder_with_a_question_mark_is_refused(
    process_driver: ProcessDriver, model: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = model.parent / name
    shutil.copytree(model, folder)
    monkeypatch.chdir(folder)
    for reference in (str(folder), "."):
        with pytest.raises(SubmissionFault, match=r"what\?.* has a question mark, .*: rename the folder") as raised:
            process_driver.resolve(reference)
        assert raised.value.verdict is Verdict.IMAGE_INVALID


def test_files_may_have_names_that_are_no_utf8(process_driver: ProcessDriver, model: Path) -> None:
    ids = {process_driver.resolve(str(model)).id}
    for name in (b"caf\xe9", b"caf\xe8"):
        (model / os.fsdecode(name)).touch()
        ids.add(process_driver.resolve(str(model)).id)
    assert len(ids) == 3


def test_a_slow_start_is_ended(process_driver: ProcessDriver) -> None:
    outcome = judged(process_driver, "sleeps", Limits(startup_s=1))
    assert outcome.verdict is Verdict.STARTUP_TIMEOUT
    assert outcome.wall_s < 6


def test_the_task_time_is_told_from_the_message_time(process_driver: ProcessDriver) -> None:
    outcome = judged(process_driver, "hangs", Limits(startup_s=20, message_s=30, task_s=1))
    assert outcome.verdict is Verdict.TIME_LIMIT
    assert "The task took longer" in outcome.sentence


@pytest.mark.parametrize(
    ("factory", "cause"),
    [
        ("nan", Cause.NON_FINITE),
        ("infinite_forces", Cause.NON_FINITE),
        ("wrong_shape", Cause.WRONG_SHAPE),
        ("no_elements", Cause.UNSUPPORTED),
        ("wrong_units", Cause.ERROR),
    ],
)
def test_what_a_frame_may_do_wrong_is_that_frames_failure(process_driver, factory: str, cause: Cause) -> None:
    outcome = judged(process_driver, factory)
    assert outcome.verdict is Verdict.OK
    assert set(outcome.value.failure.tolist()) == {cause}
    assert np.isnan(outcome.value.energy).all()
    assert np.isnan(outcome.value.forces).all()
    assert all(len(e.text) <= 2048 for e in outcome.value.errors.values())


def test_a_model_in_the_sandbox_answers_as_it_does_in_this_process(process_driver: ProcessDriver) -> None:
    rng = np.random.default_rng(3)
    structures = [bulk(s, cubic=True).repeat(2) for s in ("Cu", "Al", "Ni")] + [molecule("CH4")]
    for atoms in structures:
        atoms.positions += rng.normal(0, 0.1, atoms.positions.shape)
    frames = Frames.from_atoms(structures)
    wanted = ("energy", "forces", "stress")
    outcome = judged(process_driver, "honest", body=lambda remote: remote.compute(frames, wanted))
    here = InProcessCalculator(EMT()).compute(frames, wanted)
    for name in wanted:
        np.testing.assert_array_equal(getattr(outcome.value, name), getattr(here, name))
    assert np.isnan(outcome.value.stress[3]).all()


def test_ase_runs_over_the_sandbox_unchanged(process_driver: ProcessDriver) -> None:
    def relax(remote: RemoteCalculator) -> tuple[float, float]:
        atoms = bulk("Cu", a=3.7)
        atoms.calc = AseCalculator(remote)
        return atoms.get_potential_energy(), float(atoms.get_stress()[0])

    outcome = judged(process_driver, "honest", body=relax)
    atoms = bulk("Cu", a=3.7)
    atoms.calc = EMT()
    assert outcome.value == (atoms.get_potential_energy(), atoms.get_stress()[0])


def test_a_fault_raised_by_the_judges_side_is_the_verdict(process_driver: ProcessDriver) -> None:
    def refuse(remote: RemoteCalculator) -> None:
        raise SubmissionFault(Verdict.NON_FINITE, "Everything is NaN.", "private")

    outcome = judged(process_driver, "honest", body=refuse)
    assert outcome[:4] == (Verdict.NON_FINITE, "Everything is NaN.", None, "private")


def test_nothing_is_left_behind_whatever_the_body_raises(process_driver: ProcessDriver, run_dir: RunDir) -> None:
    seen = []

    def interrupted(remote: RemoteCalculator) -> None:
        seen.extend((run_dir.root / "sessions").iterdir())
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        judged(process_driver, "honest", body=interrupted)
    assert len(seen) == 1
    assert not list((run_dir.root / "sessions").iterdir())


def test_only_what_dead_judges_left_is_swept(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from sandbox.rundir import RunDir; "
        "r = RunDir(Path(sys.argv[1])); s = r.session(); s.__enter__(); os.kill(os.getpid(), 9)"
    )
    root = Path(f"/tmp/lj{os.getpid()}")
    living = RunDir(root)
    with living.session() as (folder, _):
        subprocess.run([sys.executable, "-c", code, str(root)], check=False)
        assert len(list((root / "sessions").iterdir())) == 2
        assert living.sweep() == 1
        assert [p.name for p in (root / "sessions").iterdir()] == [folder.name]
        assert [p.name for p in (root / "judges").iterdir()] == [living.token]
    subprocess.run(["rm", "-r", str(root)], check=True)
