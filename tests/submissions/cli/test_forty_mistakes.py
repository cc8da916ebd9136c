"""The mistakes of an author, one folder or image each, and the line that each gets."""

from __future__ import annotations

import socket
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import docker
import pytest

from sandbox.driver import Question
from sandbox.drivers import docker_driver
from sandbox.drivers.docker_driver import DockerDriver
from sandbox.drivers.process_driver import ProcessDriver
from sandbox.image.image_check import MACHINE, image_from_inspection
from sandbox.limits import MIB, Limits
from sandbox.rundir import RunDir
from sandbox.verdict import SubmissionFault, Verdict
from submissions.cli.main import main
from submissions.cli.refusal import ENTRYPOINT_WORDS, MAX_LINE
from submissions.preflight.preflight import run_preflight
from tests.sandbox.drivers.docker_sessions import labelled

V = Verdict
EMT = "from ase.calculators.emt import EMT\n"
FACTORY = f"{EMT}def make_calculator():\n    return EMT()\n"


class Mistake(NamedTuple):
    """A `calculator.py`, the verdict, and words of the judge's sentence and of the first line of the error."""

    code: str
    verdict: Verdict
    sentence: str
    error: str = ""
    python: str = 'exec "{python}" "$@"'


def raising(error: str) -> str:
    """A factory that raises, as libraries do."""
    return f"def make_calculator():\n    raise {error}\n"


def answering(line: str, properties: str = '["energy", "forces"]') -> str:
    """A calculator with a wrong line in `calculate`."""
    return textwrap.dedent(f"""
        import numpy as np
        from ase.calculators.calculator import Calculator
        class Mine(Calculator):
            implemented_properties = {properties}
            def calculate(self, atoms=None, properties=(), system_changes=()):
                n = len(atoms)
                self.results = {{"energy": 0.0, "forces": np.zeros((n, 3)), "stress": np.zeros(6)}}
                {line}
        def make_calculator():
            return Mine()
        """)


BATCH = """
class Mine:
    implemented_properties = ["energy", "forces"]
    def calculate(self, atoms, properties, system_changes): ...
    def compute_batch(self, atoms, properties):
        return {answers}
def make_calculator():
    return Mine()
"""
GAIERROR = 'OSError("<urlopen error [Errno -3] Temporary failure in name resolution>")'

STARTS = {
    "no ase": Mistake(FACTORY, V.STARTUP_FAILED, "has no ase: add `RUN pip", "No module named 'ase'", "{no_ase}"),
    "no numpy": Mistake(
        FACTORY, V.STARTUP_FAILED, "has no numpy", "No module named 'numpy'", 'exec "{python}" -S "$@"'
    ),
    "an old Python": Mistake(FACTORY, V.STARTUP_FAILED, "Python is too old", "this is Python 3.8", "{old}"),
    "a module that is not installed": Mistake(
        "import no_such_package\n" + FACTORY, V.STARTUP_FAILED, "not in the image", "No module named 'no_such_package'"
    ),
    "a file of another name": Mistake("", V.STARTUP_FAILED, "no such module as the label", "no module 'calculator'"),
    "a factory of another name": Mistake(
        "def make(): ...\n", V.STARTUP_FAILED, "no such factory", "no factory 'make_calculator' in 'calculator'"
    ),
    "a label that names a calculator": Mistake(
        f"{EMT}make_calculator = EMT()\n", V.STARTUP_FAILED, "names no function", "is a EMT"
    ),
    "a syntax error": Mistake("def make_calculator(:\n", V.STARTUP_FAILED, "a syntax error", "calculator.py, line 1"),
    "a wrong indentation": Mistake(
        "def make_calculator():\nreturn 1\n", V.STARTUP_FAILED, "a syntax error", "calculator.py, line 2"
    ),
    "a class returned": Mistake(
        f"{EMT}def make_calculator():\n    return EMT\n", V.STARTUP_FAILED, "returned a class", "return EMT()"
    ),
    "no return": Mistake(f"{EMT}def make_calculator():\n    EMT()\n", V.STARTUP_FAILED, "returned None"),
    "no calculator returned": Mistake(
        "def make_calculator():\n    return 1.0\n", V.STARTUP_FAILED, "has no calculate()", "a float has no"
    ),
    "an argument without a default": Mistake(
        "def make_calculator(path): ...\n", V.STARTUP_FAILED, "needs more arguments", "argument: 'path'"
    ),
    "no energy offered": Mistake(answering("", '["forces"]'), V.STARTUP_FAILED, "offers no energy"),
    "network at start": Mistake(raising(GAIERROR), V.STARTUP_FAILED, "needs the network", "name resolution"),
    "a model of a hub": Mistake(
        raising('OSError("We couldn\'t connect to the hub, and cannot find it in the cached files")'),
        V.STARTUP_FAILED,
        "needs the network",
    ),
    "weights that are missing": Mistake(
        'def make_calculator():\n    open("w.pt")\n', V.STARTUP_FAILED, "misses a file", "'w.pt'"
    ),
    "a pointer of Git LFS": Mistake(
        'import pickle\ndef make_calculator():\n    pickle.loads(b"version https://git-lfs")\n',
        V.STARTUP_FAILED,
        "pointer of Git LFS",
    ),
    "weights for a GPU": Mistake(
        raising('RuntimeError("Attempting to deserialize object on a CUDA device")'), V.STARTUP_FAILED, "map_location"
    ),
    "weights of another PyTorch": Mistake(
        raising('RuntimeError("Weights only load failed. Re-running")'), V.STARTUP_FAILED, "weights_only=False"
    ),
    "a system library": Mistake(
        raising('ImportError("libgomp.so.1: cannot open shared object file")'), V.STARTUP_FAILED, "apt-get"
    ),
    "another NumPy": Mistake(
        raising('ValueError("numpy.dtype size changed, may indicate binary")'), V.STARTUP_FAILED, "another NumPy"
    ),
    "a program that ends": Mistake("import sys\nsys.exit(2)\n", V.STARTUP_FAILED, "ended Python"),
    "an unknown keyword": Mistake(
        raising("KeyError('uma')"), V.STARTUP_FAILED, "The factory raised an error", "KeyError: 'uma'"
    ),
    "energy of shape (1,)": Mistake(
        answering('self.results["energy"] = np.zeros(1)'), V.WRONG_SHAPE, "must be one number", "shape (1,), not ()"
    ),
    "energy of each atom": Mistake(
        answering('self.results["energy"] = np.zeros(n)'), V.WRONG_SHAPE, "must be one number", "energy has shape"
    ),
    "flat forces": Mistake(
        answering('self.results["forces"] = np.zeros(3 * n)'), V.WRONG_SHAPE, "Forces must have shape (n_atoms, 3)"
    ),
    "fewer answers than structures": Mistake(
        BATCH.format(answers="[{'energy': 0.0}]"), V.WRONG_SHAPE, "one answer for each structure", "answered 1 of"
    ),
    "nothing in results": Mistake(answering("self.results = {}"), V.UNSUPPORTED, "into self.results", "no energy"),
    "NaN": Mistake(answering('self.results["energy"] = np.nan'), V.NON_FINITE, "NaN or infinity"),
    "an error on every structure": Mistake(
        answering("self.model(atoms)"), V.TOO_MANY_FAILURES, "another version of a package", "no attribute 'model'"
    ),
    "a crash": Mistake(answering("import os; os.kill(os.getpid(), 11)"), V.CRASHED, "segmentation fault"),
}


@pytest.fixture(scope="module")
def run_dir() -> Iterator[RunDir]:
    with TemporaryDirectory(prefix="lj") as folder:
        yield RunDir(Path(folder))


def python_of(mistake: Mistake, folder: Path) -> str:
    """A Python for a mistake: this one, or one without some package, or an older one."""
    import numpy

    only_numpy = folder / "only"
    only_numpy.mkdir()
    for found in Path(numpy.__file__).parents[1].glob("numpy*"):
        (only_numpy / found.name).symlink_to(found)
    old = (
        "import runpy, sys; sys.argv = sys.argv[1:]; sys.version_info = (3, 8); "
        "runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    lines = {
        "{no_ase}": f'PYTHONPATH="{only_numpy}" exec "{sys.executable}" -S "$@"',
        "{old}": f'exec "{sys.executable}" -c "{old}" "$@"',
    }
    wrapper = folder / "python"
    line = lines.get(mistake.python) or mistake.python.format(python=sys.executable)
    wrapper.write_text(f"#!/bin/sh\n{line}\n")
    wrapper.chmod(0o755)
    return str(wrapper)


@pytest.mark.parametrize("name", STARTS)
def test_a_mistake_gets_the_sentence_that_names_it(run_dir: RunDir, tmp_path: Path, name: str) -> None:
    mistake = STARTS[name]
    folder = tmp_path / "model"
    folder.mkdir()
    if mistake.code:
        (folder / "calculator.py").write_text(mistake.code)
    driver = ProcessDriver(run_dir)
    image = driver.resolve(f"{folder}?python={python_of(mistake, tmp_path)}")
    outcome = run_preflight(driver, image, Limits(), [Question()])
    assert (outcome.verdict, outcome.value) == (mistake.verdict, None), outcome
    assert mistake.sentence in outcome.sentence, outcome
    assert mistake.error in outcome.private.split("\n")[0], outcome
    assert "lambench_guest" not in outcome.private, outcome.private


LABELS: dict[str, tuple[dict[str, Any], str]] = {
    "no label": ({"Labels": {}}, "has no label org.lambench.calculator"),
    "a label with .py": ({"label": "calculator.py:make"}, "write 'calculator:make'"),
    "a label with a call": ({"label": "calculator:make()"}, "write 'calculator:make'"),
    "a label with a path": ({"label": "model/calculator.py:make"}, "write 'model.calculator:make'"),
    "a label without a factory": ({"label": "calculator"}, "must be module:factory"),
    "a library path": ({"Env": ["LD_LIBRARY_PATH=/opt/lib"]}, "end its Dockerfile with `ENV LD_LIBRARY_PATH=`"),
    "a volume": ({"Volumes": {"/data": {}}}, "remove the VOLUME line"),
    "a Python that is no list": ({"python": "/opt/conda/bin/python"}, "must be a JSON list of words"),
    "another architecture": ({"Architecture": "riscv64"}, f"--platform linux/{MACHINE}"),
}


@pytest.mark.parametrize("name", LABELS)
def test_a_mistake_of_a_configuration_is_named_before_a_container_starts(name: str) -> None:
    stated, words = LABELS[name]
    labels = {"org.lambench.calculator": stated.get("label", "calculator:make_calculator")}
    if "python" in stated:
        labels["org.lambench.python"] = stated["python"]
    config = {"Labels": labels, **{key: stated[key] for key in ("Labels", "Env", "Volumes") if key in stated}}
    architecture = stated.get("Architecture", MACHINE)
    inspection = {"Id": "sha256:0", "Os": "linux", "Architecture": architecture, "Config": config}
    with pytest.raises(SubmissionFault) as caught:
        image_from_inspection("a:1", inspection)
    assert words in caught.value.sentence


def test_there_are_forty() -> None:
    assert len(STARTS) + len(LABELS) >= 40


Command = Callable[..., str]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    """Runs `lambench-submit` in an author's folder with these files; what it said, in one line."""
    with TemporaryDirectory(prefix="lj") as folder:
        monkeypatch.chdir(folder)
        monkeypatch.setenv("LAMBENCH_RUN_DIR", f"{folder}/.run")

        def run(*arguments: str, **files: str) -> str:
            for name, text in files.items():
                Path(f"{name}.py").write_text(text)
            monkeypatch.setattr(sys, "argv", ["lambench-submit", *arguments])
            with suppress(SystemExit):
                main()
            captured = capsys.readouterr()
            return captured.out + captured.err

        yield run


def test_the_authors_frames_come_first_and_long_lines_are_cut(command: Command) -> None:
    code = "def weights():\n    raise ValueError('x' * 5000)\ndef make_calculator():\n    weights()\n"
    said = command("check", "calculator:make_calculator", calculator=code)
    assert "in make_calculator" in said
    assert "of the judge's guest and of Python's import are left out" in said
    assert "lambench_guest" not in said
    assert max(map(len, said.splitlines())) < MAX_LINE + 60


def test_no_card_and_the_text_of_an_error_are_said_beside_a_model_that_passes(command: Command) -> None:
    molecules = answering('if atoms.pbc.any(): raise ValueError("no crystals here")')
    said = " ".join(command("check", "calculator:make_calculator", calculator=molecules).split())
    assert "There is no lambench.toml in this folder" in said
    assert "no crystals here" in said
    assert "passes the preflight" in said


def test_a_wrong_shape_in_one_structure_refuses_the_model(command: Command) -> None:
    nine = answering('self.results["stress"] = np.zeros(9)', '["energy", "forces", "stress"]')
    said = " ".join(command("check", "calculator:make_calculator", calculator=nine).split())
    assert "stress has shape (9,), not (6,)" in said
    assert "passes the preflight" not in said


@pytest.mark.parametrize("subject", ["my-model:1", "my_model:latest"])
def test_a_busy_engine_is_no_fault_of_the_image(
    command: Command, monkeypatch: pytest.MonkeyPatch, subject: str
) -> None:
    monkeypatch.setattr(docker_driver, "ENGINE_TIMEOUT_S", 0.2)
    with socket.socket(socket.AF_UNIX) as engine:
        engine.bind("engine.sock")
        engine.listen(8)
        monkeypatch.setenv("DOCKER_HOST", f"unix://{Path.cwd()}/engine.sock")
        said = " ".join(command("check", subject).split())
    assert "This machine (DOCKER): the Docker engine is busy" in said


def test_a_file_is_no_module(command: Command) -> None:
    said = command("check", "calculator.py:make_calculator", calculator=FACTORY)
    assert "is a file: name its module and factory, calculator:make_calculator" in " ".join(said.split())


CACHED = """
import os
from ase.calculators.emt import EMT
def make_calculator():
    cache = os.path.expanduser("~/.cache")
    assert open(os.path.join(cache, "mine/weights")).read() == "1"
    os.makedirs(os.path.join(cache, "mine/compiled"))
    os.makedirs(os.path.join(os.path.expanduser("~"), ".other"))
    return EMT()
"""


@pytest.mark.docker
def test_caches_of_a_home_that_can_be_read_are_found_and_beside_them_is_room(
    images: docker.DockerClient, run_dir: RunDir
) -> None:
    written = CACHED.replace("\n", "\\n")
    common = (
        "USER root",
        f"RUN mkdir -p /root/.cache/mine && printf 1 > /root/.cache/mine/weights && printf '{written}' > /mine.py",
        'LABEL org.lambench.calculator="mine:make_calculator"',
        "ENV PYTHONPATH=/",
        'ENTRYPOINT ["/bin/false"]',
    )
    limits = Limits(memory_bytes=512 * MIB, startup_s=60, cpus=1)
    driver = DockerDriver(run_dir)
    hidden = driver.resolve(labelled("lambench/emt", *common, "RUN chmod 0700 /root"))
    assert hidden.entrypoint
    assert "does not run" in ENTRYPOINT_WORDS
    refused = run_preflight(driver, hidden, limits, [Question()])
    assert refused.verdict is Verdict.STARTUP_FAILED
    assert "RUN chmod -R a+rX ~" in refused.sentence, refused
    assert "cannot read /root" in refused.private
    readable = driver.resolve(labelled("lambench/emt", *common, "RUN chmod -R a+rX ~"))
    outcome = run_preflight(driver, readable, limits, [Question()])
    assert outcome.verdict is Verdict.OK, outcome
