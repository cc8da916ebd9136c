"""Starters that need large packages are built without a network, and pass the preflight. Weights that cannot be had are
random: then the test shows that image, factory and calculator work, not that the numbers are right.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import docker
import pytest

from sandbox.driver import Question
from sandbox.drivers.docker_driver import DockerDriver
from sandbox.limits import Limits
from sandbox.rundir import RunDir
from sandbox.wire.session import run_session
from submissions.card.starter import StarterName
from submissions.preflight.preflight import run_preflight
from submissions.preflight.public_structures import public_structures
from submissions.requests import Receipt
from tests.submissions.cli.starter_images import Builder, passes, run, wheels_for, write_weights
from tests.submissions.s22 import judge_s22

pytestmark = [pytest.mark.docker, pytest.mark.soak, pytest.mark.timeout(1800)]

UNTRAINED_MACE = """
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
torch.save(model, "/weights/mace.model")
"""

SEVENNET_0 = """
import shutil
from sevenn.util import pretrained_name_to_path
shutil.copy(pretrained_name_to_path("7net-0"), "/weights/checkpoint.pth")
"""

UNTRAINED_ORB = """
import torch
from orb_models.forcefield.pretrained import SystemConfig, orb_v3_conservative_architecture
torch.manual_seed(1)
cutoff = SystemConfig(radius=6.0, max_num_neighbors=120)
for name, options in {
    "orb-v3-conservative-inf-omat-20250404.ckpt": {},
    "orb-v3-conservative-omol-20250820.ckpt": {"has_charge_spin_cond": True, "has_stress": False},
}.items():
    model = orb_v3_conservative_architecture(device="cpu", system_config=cutoff, **options)
    torch.save(model.state_dict(), f"/weights/{name}")
"""

UNTRAINED_MATTERSIM = """
import torch
from mattersim.forcefield.m3gnet.m3gnet import M3Gnet
torch.manual_seed(1)
model = M3Gnet(device="cpu")
written = {"model_name": "m3gnet", "model_args": model.model_args, "model": model.state_dict()}
torch.save(written, "/weights/mattersim-v1.0.0-5M.pth")
"""

UNTRAINED_FAIRCHEM = """
import hydra, torch
from fairchem.core.units.mlip_unit.api.inference import MLIPInferenceCheckpoint
torch.manual_seed(1)
uma, tasks = "fairchem.core.models.uma", ["oc20", "omat", "omol"]
config = {
    "_target_": "fairchem.core.models.base.HydraModel",
    "pass_through_head_outputs": True,
    "backbone": {
        "model": f"{uma}.escn_md.eSCNMDBackbone", "sphere_channels": 16, "hidden_channels": 16, "edge_channels": 16,
        "num_distance_basis": 64, "cutoff": 6.0, "otf_graph": True, "always_use_pbc": False, "direct_forces": False,
        "regress_stress": True, "dataset_mapping": {name: name for name in tasks},
    },
    "heads": {
        "all": {
            "module": f"{uma}.escn_moe.DatasetSpecificSingleHeadWrapper", "dataset_names": tasks,
            "head_cls": f"{uma}.escn_md.MLP_EFS_Head", "head_kwargs": {"wrap_property": False},
        }
    },
}
unit = {"_target_": "fairchem.core.modules.normalization.normalizer.Normalizer", "mean": 0.0, "rmsd": 1.0}
stated = [
    {
        "_target_": "fairchem.core.units.mlip_unit.mlip_unit.Task", "name": f"{name}_{answer}", "property": answer,
        "level": level, "datasets": [name], "normalizer": unit,
        "out_spec": {"_target_": "fairchem.core.units.mlip_unit.mlip_unit.OutputSpec", "dim": dim, "dtype": "float32"},
    }
    for name in tasks
    for answer, level, dim in (("energy", "system", [1]), ("forces", "atom", [3]), ("stress", "system", [1, 9]))
    if (name, answer) != ("omol", "stress")
]
model = hydra.utils.instantiate(config)
averaged = torch.optim.swa_utils.AveragedModel(model)
torch.save(MLIPInferenceCheckpoint(config, model.state_dict(), averaged.state_dict(), stated), "/weights/uma.pt")
"""


@pytest.fixture
def builder(images: docker.DockerClient) -> Iterator[Builder]:
    made = Builder(images)
    yield made
    made.close()


def init(monkeypatch: pytest.MonkeyPatch, parent: Path, name: StarterName) -> Path:
    """The folder of a starter, below `parent`."""
    monkeypatch.chdir(parent)
    assert run(monkeypatch, "init", name, "--for", name) == 0
    return parent / name


def test_tblite(builder: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = init(monkeypatch, tmp_path, StarterName.TBLITE)
    image = builder.build("tblite", folder, "lambench/xtb:latest")
    assert "tblite" in passes(monkeypatch, folder, image).versions


def test_chgnet(builder: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = init(monkeypatch, tmp_path, StarterName.CHGNET)
    image = builder.build("chgnet", folder, builder.base("chgnet-base", folder=tmp_path / "base"))
    assert "torch" in passes(monkeypatch, folder, image).versions


def test_mace_with_an_untrained_model(
    builder: Builder, images: docker.DockerClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = init(monkeypatch, tmp_path, StarterName.MACE)
    receipt = passes_with_weights(builder, images, monkeypatch, folder, UNTRAINED_MACE)
    assert "e3nn" in receipt.versions


def test_sevennet_with_the_weights_in_its_wheel(
    builder: Builder, images: docker.DockerClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = init(monkeypatch, tmp_path, StarterName.SEVENNET)
    code = (folder / "calculator.py").read_text()
    (table,) = [line for line in code.splitlines() if line.startswith("MODALS = ")]
    (folder / "calculator.py").write_text(code.replace(table, "MODALS = {}"))  # SevenNet-0 has no modal
    assert "torch" in passes_with_weights(builder, images, monkeypatch, folder, SEVENNET_0).versions


def test_orb_with_untrained_models(
    builder: Builder, images: docker.DockerClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = init(monkeypatch, tmp_path, StarterName.ORB)
    assert "torch" in passes_with_weights(builder, images, monkeypatch, folder, UNTRAINED_ORB).versions
    for domain in ("Inorganic Materials", "Molecules"):  # Orb v3, and OrbMol, which demands charge and spin
        answers_all_structures(domain)


def answers_all_structures(domain: str) -> None:
    """In the preflight and in S22, the model of `domain` of the image of Orb answers whatever it is asked."""
    with TemporaryDirectory(prefix="lj") as run_dir:
        driver = DockerDriver(RunDir(Path(run_dir)))
        image, limits = driver.resolve("lambench-test/starter-orb:latest"), Limits(cpus=1)
        outcome = run_preflight(driver, image, limits, [Question(domain=domain)])
        assert outcome.value is not None, outcome
        checks = {check.name: check for check in outcome.value.checks}
        assert checks["answers"].value == f"{len(public_structures())} of {len(public_structures())} structures"
        assert "charge and spin" not in checks
        judged = run_session(driver, image, limits, Question(domain=domain), judge_s22)
    assert judged.value is not None, judged
    assert len(judged.value.items) == 22
    assert judged.value.items.failures() == {}


def test_mattersim_with_an_untrained_model(
    builder: Builder, images: docker.DockerClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = init(monkeypatch, tmp_path, StarterName.MATTERSIM)
    # PyPI's torchvision does not fit a PyTorch without CUDA. MatterSim works without it, though it states it.
    steps = ("RUN pip uninstall -y torchvision", "ENV PIP_NO_DEPS=1")
    receipt = passes_with_weights(builder, images, monkeypatch, folder, UNTRAINED_MATTERSIM, *steps)
    assert "torch" in receipt.versions


def test_fairchem_with_an_untrained_model(
    builder: Builder, images: docker.DockerClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model has the tasks of UMA, and no mixture of experts."""
    folder = init(monkeypatch, tmp_path, StarterName.FAIRCHEM)
    assert "e3nn" in passes_with_weights(builder, images, monkeypatch, folder, UNTRAINED_FAIRCHEM).versions


def passes_with_weights(
    builder: Builder,
    engine: docker.DockerClient,
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    program: str,
    *further_steps: str,
) -> Receipt:
    """The receipt of the starter in `folder`, which passed with the weights that `program` wrote into /weights."""
    name = StarterName(folder.name)
    (package,) = [
        line
        for line in (folder / "requirements.txt").read_text().splitlines()
        if "==" in line and not line.startswith("ase==")
    ]
    base = builder.base(
        f"{name}-base",
        "COPY *.whl /tmp/wheels/",
        f"RUN pip install --no-cache-dir --no-index --find-links /tmp/wheels {package}",
        *further_steps,
        wheels=wheels_for(name, folder.parent),
        folder=folder.parent / "base",
    )
    write_weights(engine, base, program, folder)
    return passes(monkeypatch, folder, builder.build(name, folder, base))
