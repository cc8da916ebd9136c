"""Starters: each is whole and states a valid card; that of ASE passes the preflight. See test_starters_soak.py."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from sandbox.image.image_check import CALCULATOR_LABEL, TRAINER_LABEL
from submissions.card.file import CardError, read_card
from submissions.card.starter import Starter, StarterName, starter
from submissions.cli.init import write_starter
from submissions.records import ModelCard
from tests.submissions.cli.starter_images import Builder, passes, run

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


def test_init_writes_a_folder_and_never_over_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, "init", "my model", "--for", "mace") == 0
    output = capsys.readouterr().out
    assert "Put your weights into my model/weights/mace.model" in output
    assert "cd 'my model' && docker build -t my-model ." in output
    assert "lambench-submit my-model --invite FILE --upload" in output
    assert {"*.invite.json", "var"} <= {*(tmp_path / "my model" / ".dockerignore").read_text().splitlines()}
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


@pytest.fixture
def builder(images: docker.DockerClient) -> Iterator[Builder]:
    made = Builder(images)
    yield made
    made.close()


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
