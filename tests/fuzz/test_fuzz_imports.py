"""A damaged input of any format is imported and can be judged, or is refused in one line with exit status 2."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from random import Random

import numpy as np
import pytest

from judge.data.import_options import LAYOUTS
from judge.data.importing import FORMATS
from tasks.datasets.dataset import Dataset, load_dataset
from tasks.importing.checks.buildable import build_faults
from tasks.kind import Watch
from tasks.kinds.registry import KINDS
from tasks.structures.frames import Frames
from tasks.structures.predictions import ALL_PROPERTIES, Predictions, Properties, property_shapes
from tasks.suites.rehearsal import rehearse
from tests.fuzz.import_damage import damage
from tests.fuzz.import_inputs import FURTHER, INPUTS, ImportInput
from tests.fuzz.mutations import COUNTS, SOAK_SEED
from tests.judge.cli.data_command import run

ALL = {**{name: (name, given) for name, given in INPUTS.items()}, **FURTHER}
# Seconds for an import and a judging: these inputs are taken so many times less often than the others.
SLOW = {"thermal-conductivity": 10, "phonopy": 4, "crystals with supercells": 4, "vacancies": 4, "vacancy-migration": 4}
SLOW |= {"mlipaudit": 10, "ml-peg": 5}


class Still:
    """A `BatchCalculator` for which every structure is at rest."""

    properties: Properties = ALL_PROPERTIES
    max_atoms_per_batch = 1 << 40

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        zeros = {name: np.zeros(shape) for name, shape in property_shapes(frames).items() if name in properties}
        if "stress" in zeros:
            zeros["stress"][~frames.periodic] = np.nan
        energy = np.zeros(len(frames))
        return Predictions(energy, zeros.get("forces"), zeros.get("stress"), np.zeros(len(frames), np.int8))


class ImportTrial:
    """Imports damaged copies of the sound inputs, and judges what was accepted."""

    def __init__(self, sound: Path, scratch: Path, names: list[str]) -> None:
        self.sound, self.scratch, self.names = sound, scratch, names
        self.accepted: Counter[str] = Counter()
        self.numbers = count()

    def __call__(self, random: Random) -> None:
        """One input. What is wrong is said with the format and the damage."""
        name = random.choice(self.names)
        form, given = ALL[name]
        where = self.scratch / f"{next(self.numbers)}"
        shutil.copytree(self.sound / name, where / "input")
        path = where / "input" / (self.sound / name / "path").read_text()
        (where / "input" / "path").unlink()
        done = f"{name}: {damage(random, path)}"
        try:
            self._imported(form, given, path, where, random.random() < 0.8)
        except Exception as error:
            raise AssertionError(f"{done}: {type(error).__name__}: {str(error)[:500]}") from error
        finally:
            shutil.rmtree(where)

    def _imported(self, form: str, given: ImportInput, path: Path, where: Path, trusted: bool) -> None:
        options = (*given.options, *(("--trust-ranges",) if trusted else ()))
        if form not in LAYOUTS:
            options = (*options, "--name", "mine", "--version", "1")
        data = where / "data"
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("LAMBENCH_DATA", str(data))
            status, out, line = run("import", form, str(path), *options)
        said = f"exit status {status}: {line!r}"
        assert "Traceback" not in out + line, said
        if status == 2:
            assert line.strip(), said
            assert len(line.strip().splitlines()) == 1, said
            assert line.startswith("judge: "), said
            return
        assert status == 0 or (status == 1 and form in LAYOUTS and "NOT  " in out), said
        self.accepted[form] += 1
        for folder in data.iterdir() if data.exists() else ():
            try:
                check_judged(load_dataset(folder), given)
            except ValueError as error:
                # References that are all zero give no baseline, which was doubted with the remedy.
                if "state one under [baselines]" not in str(error) or "so a task has no baseline" not in out:
                    raise


def check_judged(dataset: Dataset, given: ImportInput) -> None:
    """A data set that was imported can be built, and judged by the kind of the input, without an error."""
    assert build_faults(dataset) == []
    if not given.kind:
        return
    kind = KINDS[given.kind]
    parameters = kind.parameters.model_validate(dict(given.parameters))
    rehearse(kind, dataset, parameters)
    if given.kind == "thermal_conductivity":
        return  # to solve one takes seconds
    observation = kind.observe(dataset.structures, parameters, Still(), Watch(time.monotonic))
    label_sets: list[str | None] = [*sorted(dataset.card.label_sets)]
    for label_set in label_sets or [None]:
        kind.measure(observation, dataset, parameters, label_set)


@pytest.fixture(scope="module")
def sound_inputs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for each input, with what is to be imported in it named by a file `path`."""
    root = tmp_path_factory.mktemp("sound")
    for name, (_, given) in ALL.items():
        folder = root / name / "files"
        folder.mkdir(parents=True)
        path = given.write(folder)
        (root / name / "path").write_text(str(path.relative_to(root / name)))
    yield root
    shutil.rmtree(root)


def test_every_format_has_an_input() -> None:
    assert INPUTS.keys() == FORMATS.keys() | set(LAYOUTS)


@pytest.mark.parametrize("name", ALL)
def test_an_input_without_damage_is_imported_and_judged(name: str, sound_inputs: Path, tmp_path: Path) -> None:
    form, given = ALL[name]
    trial = ImportTrial(sound_inputs, tmp_path, [name])
    path = sound_inputs / name / (sound_inputs / name / "path").read_text()
    trial._imported(form, given, path, tmp_path, False)
    assert trial.accepted[form]


def import_damaged(sound_inputs: Path, scratch: Path, first: int, n: int) -> None:
    """Imports `n` damaged inputs, each with a seed of its own, which a failure names: to shrink one takes hours."""
    names = [name for name in ALL for _ in range(max(1, 20 // SLOW.get(name, 1)))]
    trial = ImportTrial(sound_inputs, scratch, names)
    for seed in range(first, first + n):
        try:
            trial(Random(seed))
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
        COUNTS["imports"] += 1
    assert sum(trial.accepted.values())


def test_damaged_inputs(tmp_path: Path, sound_inputs: Path) -> None:
    import_damaged(sound_inputs, tmp_path, 0, 300)


@pytest.mark.soak
@pytest.mark.timeout(10_000)
def test_many_damaged_inputs(tmp_path: Path, sound_inputs: Path) -> None:
    import_damaged(sound_inputs, tmp_path, SOAK_SEED, 10_000)
