"""Starters: each is whole and states a valid card; those that can be built here pass the preflight."""

from __future__ import annotations

import ast
import base64
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from sandbox.image.image_check import CALCULATOR_LABEL, TRAINER_LABEL
from sandbox.verdict import Verdict
from submissions.card.file import CardError, read_card
from submissions.card.starter import WEIGHTS, Starter, StarterName, starter
from submissions.cli.init import write_starter
from submissions.cli.main import main
from submissions.records import ModelCard
from submissions.requests import Receipt

ROOT = Path(__file__).parents[3]
DOMAIN_TABLES = {"HEADS", "MODALS", "MODELS", "TASKS"}


@pytest.mark.parametrize("name", StarterName)
def test_a_starter_is_whole(name: StarterName, tmp_path: Path) -> None:
    made = starter(name, 'A "model" [bold]')
    assert {"lambench.toml", "Dockerfile", "calculator.py", "requirements.txt", ".dockerignore"} <= made.files.keys()
    card = ModelCard.model_validate(tomllib.loads(made.files["lambench.toml"]))
    assert card.name == 'A "model" [bold]'
    assert card.label_sets
    for field in ModelCard.model_fields:
        assert field in made.files["lambench.toml"], field
    tree = ast.parse(made.files["calculator.py"])
    factory = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "make_calculator")
    trained = ["model_dir"] if name is StarterName.TRAINER else []
    assert [argument.arg for argument in factory.args.args] == ["device", "domain", *trained]
    assert len(factory.args.defaults) == len(factory.args.args)  # it may also be called with nothing
    assert f'LABEL {CALCULATOR_LABEL}="calculator:make_calculator"' in made.files["Dockerfile"].splitlines()
    assert "$" not in made.files["Dockerfile"].replace("FROM ${BASE}", "")
    pinned = [line for line in made.files["requirements.txt"].splitlines() if not line.startswith("#")]
    assert pinned
    assert all("==" in line for line in pinned)
    assert (f'LABEL {TRAINER_LABEL}="train:train"' in made.files["Dockerfile"].splitlines()) == bool(trained)
    for table, domains in _tables(tree).items():
        assert domains in (set(), set(card.label_sets)), table
    assert bool(made.weights) == ("COPY weights/ weights/" in made.files["Dockerfile"])
    for file in made.weights:
        assert f'"{file}"' in made.files["calculator.py"], file


def _tables(tree: ast.Module) -> dict[str, set[str]]:
    """The domains of each table by domain in a starter's module."""
    written = {}
    for node in tree.body:
        if (
            isinstance(node, ast.Assign)
            and isinstance(target := node.targets[0], ast.Name)
            and target.id in DOMAIN_TABLES
        ):
            assert isinstance(node.value, ast.Dict)
            written[target.id] = {ast.literal_eval(key) for key in node.value.keys if key is not None}
    return written


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """The exit status of the command, run in this process."""
    monkeypatch.setattr(sys, "argv", ["lambench-submit", *arguments])
    try:
        main()
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def test_init_writes_a_folder_and_never_over_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, "init", "my model", "--for", "mace") == 0
    output = capsys.readouterr().out
    assert "Put your weights into my model/weights/mace.model" in output
    assert "cd 'my model' && docker build -t my-model ." in output
    assert "lambench-submit my-model --invite FILE --upload" in output
    assert "*.invite.json" in (tmp_path / "my model" / ".dockerignore").read_text().splitlines()
    assert read_card(tmp_path / "my model" / "lambench.toml").name == "my model"
    (tmp_path / "my model" / "lambench.toml").unlink()
    (tmp_path / "my model" / "calculator.py").write_text("mine")
    assert run(monkeypatch, "init", "my model", "--for", "orb", "--name", "Other") == 2
    assert "my model/calculator.py exists already" in " ".join(capsys.readouterr().err.split())
    assert (tmp_path / "my model" / "calculator.py").read_text() == "mine"
    assert not (tmp_path / "my model" / "lambench.toml").exists()
    assert run(monkeypatch, "init", "my model", "--for", "orb", "--name", "Other", "--force") == 0
    assert read_card(tmp_path / "my model" / "lambench.toml").name == "Other"
    assert "ORBCalculator" in (tmp_path / "my model" / "calculator.py").read_text()
    (tmp_path / "file").touch()
    assert run(monkeypatch, "init", "file/below", "--for", "ase") == 2


def test_force_writes_over_files_and_replaces_links_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "calculator.py").write_text("mine")
    (folder / "Dockerfile").symlink_to(tmp_path / "elsewhere")
    assert run(monkeypatch, "init", "mine", "--force") == 0
    assert "EMT" in (folder / "calculator.py").read_text()
    assert not (folder / "Dockerfile").is_symlink()
    assert not (tmp_path / "elsewhere").exists()
    assert sorted(path.name for path in folder.iterdir()) == sorted(starter(StarterName.ASE, "mine").files)


def test_a_link_that_leads_nowhere_exists_already(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "Dockerfile").symlink_to(tmp_path / "elsewhere")
    assert run(monkeypatch, "init", "mine") == 2
    assert "mine/Dockerfile exists already" in " ".join(capsys.readouterr().err.split())
    assert [path.name for path in tmp_path.rglob("*")] == ["mine", "Dockerfile"]


@pytest.mark.parametrize("force", [False, True])
def test_every_file_is_written_or_none(force: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = starter(StarterName.ASE, "mine")
    longest = Starter({**made.files, f"{'x' * 300}.txt": ""})  # a name that no file may have
    if force:
        (tmp_path / "calculator.py").write_text("mine")
    with pytest.raises(CardError, match="cannot be written"):
        write_starter(longest, tmp_path, force)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("calculator.py", "mine")] * force


@pytest.mark.parametrize("force", [False, True])
def test_a_folder_in_the_place_of_a_file_is_one_line(force: bool, tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").mkdir()
    with pytest.raises(CardError, match=r"Dockerfile (exists already|is a folder)"):
        write_starter(starter(StarterName.ASE, "mine"), tmp_path, force)
    assert [path.name for path in tmp_path.iterdir()] == ["Dockerfile"]


class Builder:
    """Builds folders and removes what it built."""

    def __init__(self, engine: docker.DockerClient) -> None:
        self._engine = engine
        self._built: list[str] = []

    def build(self, name: str, folder: Path, base: str) -> str:
        """The tag of the image of `folder` on `base`, built without a network."""
        tag = f"lambench-test/starter-{name}:latest"
        self._engine.images.build(
            path=str(folder), tag=tag, buildargs={"BASE": base}, network_mode="none", rm=True, forcerm=True
        )
        self._built.append(tag)
        return tag

    def base(self, name: str, *lines: str, wheels: Path | None = None, folder: Path) -> str:
        """The tag of a base image: the example image of CHGNet, which has PyTorch, and `lines`."""
        folder.mkdir()
        # Copied over one another, its stages leave two records of setuptools, and pip believes the older.
        first = "FROM lambench/chgnet:latest\nRUN rm -rf /opt/venv/lib/python3*/site-packages/setuptools-66*\n"
        (folder / "Dockerfile").write_text(first + "\n".join(lines) + "\n")
        for wheel in wheels.glob("*.whl") if wheels else ():
            if not wheel.name.startswith("torch-"):
                shutil.copy(wheel, folder)
        return self.build(name, folder, "")

    def close(self) -> None:
        for tag in reversed(self._built):
            self._engine.images.remove(tag, force=True)


@pytest.fixture
def builder(images: docker.DockerClient) -> Iterator[Builder]:
    made = Builder(images)
    yield made
    made.close()


def passes(monkeypatch: pytest.MonkeyPatch, folder: Path, image: str) -> Receipt:
    """The receipt of a check of `image` that passed."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("LAMBENCH_LIMITS__CPUS", "1")  # threads that wait for one another are slow on a busy machine
    assert run(monkeypatch, "check", image, "--image") == 0
    receipt = Receipt.read((folder / "lambench-receipt.json").read_bytes())
    assert receipt.verdict is Verdict.OK
    return receipt


@pytest.mark.docker
def test_the_starter_of_ase_builds_and_passes(
    builder: Builder,
    images: docker.DockerClient,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, "init", "ase", "--for", "ase") == 0
    image = builder.build("ase", tmp_path / "ase", "lambench/calculator:latest")
    receipt = passes(monkeypatch, tmp_path / "ase", image)
    output = " ".join(capsys.readouterr().out.split())
    assert "as an image, in the judge's own sandbox" in output
    assert "Without Docker" not in output
    assert receipt.subject == image
    assert receipt.digest == images.images.get(image).id
    assert receipt.versions["sandbox"] != "none"


@pytest.mark.soak
@pytest.mark.docker
def test_the_starter_of_tblite_builds_and_passes(
    builder: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, "init", "tblite", "--for", "tblite") == 0
    image = builder.build("tblite", tmp_path / "tblite", "lambench/xtb:latest")
    assert "tblite" in passes(monkeypatch, tmp_path / "tblite", image).versions


@pytest.mark.soak
@pytest.mark.docker
def test_the_starter_of_chgnet_builds_and_passes(
    builder: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, "init", "chgnet", "--for", "chgnet") == 0
    base = builder.base("chgnet-base", folder=tmp_path / "base")
    image = builder.build("chgnet", tmp_path / "chgnet", base)
    assert "torch" in passes(monkeypatch, tmp_path / "chgnet", image).versions


UNTRAINED = """
import base64, io
import mace.calculators  # first: e3nn cannot be imported without what it sets
import numpy as np, torch
from e3nn import o3
from mace import modules
torch.set_default_dtype(torch.float64)
numbers = [1, 6, 8, 11, 14, 17, 29, 78]
block = modules.interaction_classes["RealAgnosticResidualInteractionBlock"]
model = modules.ScaleShiftMACE(
    r_max=4.5, num_bessel=4, num_polynomial_cutoff=5, max_ell=1, interaction_cls=block, interaction_cls_first=block,
    num_interactions=2, num_elements=len(numbers), hidden_irreps=o3.Irreps("8x0e"), MLP_irreps=o3.Irreps("4x0e"),
    atomic_energies=np.zeros(len(numbers)), avg_num_neighbors=10.0, atomic_numbers=numbers, correlation=2,
    gate=torch.nn.functional.silu, atomic_inter_scale=1.0, atomic_inter_shift=0.0,
)
written = io.BytesIO()
torch.save(model, written)
print("MODEL", base64.b64encode(written.getvalue()).decode())
"""


@pytest.mark.soak
@pytest.mark.docker
def test_the_starter_of_mace_builds_and_passes_with_an_untrained_model(
    builder: Builder, images: docker.DockerClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, "init", "mace", "--for", "mace") == 0
    base = builder.base(
        "mace-base",
        "COPY *.whl /tmp/wheels/",
        "RUN pip install --no-cache-dir --no-index --find-links /tmp/wheels mace-torch",
        wheels=_wheels(tmp_path),
        folder=tmp_path / "base",
    )
    output = images.containers.run(base, ["python", "-c", UNTRAINED], remove=True, network_mode="none").decode()
    (tmp_path / "mace" / WEIGHTS / "mace.model").write_bytes(base64.b64decode(output.rpartition("MODEL ")[2]))
    image = builder.build("mace", tmp_path / "mace", base)
    assert "e3nn" in passes(monkeypatch, tmp_path / "mace", image).versions


def _wheels(tmp_path: Path) -> Path:
    """A folder with the wheels of MACE and of the PyTorch that the example image has."""
    wanted = tmp_path / "requirements.txt"
    torch = (ROOT / "submissions" / "examples" / "chgnet" / "requirements.txt").read_text()
    mace = starter(StarterName.MACE, "mace").files["requirements.txt"]
    pins = {line for line in f"{torch}\n{mace}".splitlines() if line.startswith(("torch==", "mace-torch==", "ase=="))}
    wanted.write_text("\n".join(sorted(pins)) + "\n")
    done = subprocess.run([ROOT / "setup" / "wheels.sh", wanted], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"the wheels of MACE cannot be had: {done.stderr[-200:]}")
    return Path(done.stdout.strip())
