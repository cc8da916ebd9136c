"""The datasets that the judge builds have the same bytes wherever they are built."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tasks.datasets.rounding import DECIMALS
from tasks.quickstart.registry import BUILDERS, UNROUNDED

ROOT = Path(__file__).parents[3]

# By dataset: sha256 over its files, and of its structures, which observations are known by.
STATED = {
    "s22@1": (
        "6c6edcfeeb265bfdf9edde453326bb709b5d68a067237d6330a0804962b8cd00",
        "1a42de8058b3d69fd3f5df957e7855c2780efe6be19ccea71158e33d1cc71a2b",
    ),
    "dbh24@1": (
        "e9781ef063f4e0153e6041d9845c6fdebf57e9bbe903222fe017e91691b2417b",
        "84c267319b1cecc93c7b1de567a22be3b3de257488c437e0feac74a21d3f8618",
    ),
    "rotors@1": (
        "37c8770c191066539102a1e12ad9d2f66e8f0816036ee073b018a289ec6d3b26",
        "0c47e7f18c6dc7f850b740c4a5d6751098b8a705891fe56b1f156707e2a72d1a",
    ),
    "paths@1": (
        "65064bcf4ba559f9d199ee4701d059a528c21a773a7829db9fd6a023244ab9a1",
        "cf4c7d34788795944d7edf2eee991d4b69af62a799bb9e3189eaabdbde2c245c",
    ),
    "pairs@1": (
        "a70bff6f64ac8063acc0a6cee7c81239d290fd1163fdca9b30dfe97f9674d2ea",
        "75138c18c3a0bf1a5d6e8e1627702fdbb45d238587478f560ba45fb0f92d71d9",
    ),
    "conductivity@1": (
        "6db8b8af1ff0416c8f5d0a8ed0a511c2adca3fc976d2d9fbe55080f1e8cd7d6d",
        "71cbbf4f13be816b08061d9b9ba89359e9730ed2146924b51d27910be3c63a9f",
    ),
    "wien2k-eos@1": (
        "9ffaea4224e2476d60733af60195c33db53426822676fcdebcf4aeb4243caa61",
        "93b9ff3c3857ee3f3ea0398347b2092d456e4271bb8752cd0afba4e223152ef8",
    ),
    "wien2k-frames@2": (
        "da3ff253243db7520a831d7d084e40fcdcaf54e458e116f2034585210babd282",
        "dbadd4461427ddd7a2ee4e8c804d5611ab13d85551f5ae7ef4fb54fe194dc3e0",
    ),
    "wien2k-compression@1": (
        "b1cd39d0724384464ae7e892e69df9c5f0b4bd8c6de24c9dfb0b9a8a9367ea9a",
        "bf7d615e9a6a0fc1dd59e03e679a3ee3a4787e20c070572ec453ee432e784877",
    ),
    "wien2k-elasticity@1": (
        "aa1ec51df4e95367fb27a75d2e802357b560ae6f1152743440bfc44daabec67e",
        "1f1f9135c70525ba8d5ad73d24e1bb425d3dbc2c389a3a4e9d11b001ead6b7bf",
    ),
    "entropies@1": (
        "a128666af3ec1df1c3a2344f19f21da0a6d88a233426c69c27ed33ac09149058",
        "335ee6ab145c2c7b6a3d97bd523abd9531170a974b9c516ffe21d004fb8ec288",
    ),
    "relaxed-metals@2": (
        "469f7007804b33b0f77e8b616b12aaa1cad4eeb6a66eb966de79e614aa0144bb",
        "825d6a7764f3a7fb5436f06e909e53e53d363771d107927635a3aecc48b66700",
    ),
    "simulated-metals@1": (
        "deb72648b11a5af89fa9f2daa14d125bc977724a043a50afae0f3c3675ab7599",
        "ed1bd09772148f003a7e65001a3a77e018dc1887315688cf51ba47971d32583a",
    ),
    "mixtures@1": (
        "236de8ce2461a1cc0b56a71339e5a9e4fec31a484399b6467c722f034ca2b8ee",
        "7f34695eee696217e52bcc3913bfeaa95790a3a26c94781dde1318514d8f306b",
    ),
    "nve-crystals@1": (
        "932e3a23b477078fd033a250f147ecf403372fce0a7235ef50658ea49d25994d",
        "61a500943e317e5f8b6a2579b5ad8d695030b7b4883bea660c300c86c40b086e",
    ),
    "nve-molecules@1": (
        "826f9d9d5166b468a98a33f26d4f63d7ea034aa79315f3711b8388fabe4c9d6e",
        "d20a790df5f257416b03b8863431204a21a7f645cd59387d6d37cd23c80eaf99",
    ),
    "nve-slabs@1": (
        "df5587e6862d55b8f10a3ee8dbf1712e227781078d86f78e1a8a072d12eda325",
        "cbb72d81052b1d7b4a279a6c66b86f4c4ab2295d55e61cb31c9b2901bb62c336",
    ),
    "efficiency@1": (
        "97785f480817fe700e585a45dccd03728db6d1311326fad6fb08bac0af1ae25f",
        "218042ccf985fea5703029fb591e5b066b7e01003fc3281776e236c7c62e9ca7",
    ),
    "physicality@1": (
        "31b5c8b5e2dcb6f4724e275bffd1a76cfb7b1ae252cc4b53d4d2ffae57add098",
        "768d3a0c3f6fff8b3d1bed578c1548d38a49c0ed21f632d93bd52fb800f79bc6",
    ),
}

# Vector instructions that numpy uses where the processor has them.
SIMD = np.show_config(mode="dicts")["SIMD Extensions"]
OPTIONAL = [*SIMD.get("found", []), *SIMD.get("not found", [])]
# How numpy or BLAS computes is chosen by the processor, and by these variables.
SETTINGS = {
    "this processor": {},
    "numpy without the processor's vector instructions": {"NPY_DISABLE_CPU_FEATURES": " ".join(OPTIONAL)},
    "BLAS of an old processor": {"OPENBLAS_CORETYPE": "Prescott"},
}

BUILD = """
import hashlib, json, sys
from pathlib import Path
import numpy as np
from tasks.datasets.dataset import load_dataset
from tasks.quickstart.registry import build_quickstart

hashes = {}
for name in build_quickstart(Path(sys.argv[1])):
    folder, digest = Path(sys.argv[1]) / name, hashlib.sha256()
    for file in sorted(folder.iterdir()):
        digest.update(file.name.encode() + hashlib.sha256(file.read_bytes()).digest())
    hashes[name] = (digest.hexdigest(), load_dataset(folder).structures.frames_sha256)
print(json.dumps({"hashes": hashes, "in_use": np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])}))
"""


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_processor_builds_the_stated_bytes(setting: str, tmp_path: Path) -> None:
    environment = {**os.environ, **SETTINGS[setting], "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", BUILD, str(tmp_path)]
    built = json.loads(subprocess.run(command, env=environment, check=True, capture_output=True, timeout=120).stdout)
    if "NPY_DISABLE_CPU_FEATURES" in SETTINGS[setting]:
        assert built["in_use"] == []
    assert {name: tuple(hashes) for name, hashes in built["hashes"].items()} == STATED


@pytest.mark.parametrize("name", UNROUNDED)
def test_no_number_lies_where_two_processors_could_round_it_apart(name: str) -> None:
    """They differ by some 1e-14."""
    dataset = UNROUNDED[name]()
    arrays = [*dataset.frames.arrays().values(), *dataset.conditions.values()]
    arrays += [
        array for labels in dataset.label_arrays.values() for array in vars(labels).values() if array is not None
    ]
    arrays += [array for part in dataset.geometries.values() for array in part.arrays.values()]
    arrays.append(np.array(list(floats(dataset.table.model_dump()))))
    for array in arrays:
        steps = np.asarray(array, np.float64) * 10.0**DECIMALS
        to_the_middle = np.abs(steps - np.floor(steps) - 0.5) / 10.0**DECIMALS
        assert (to_the_middle[~np.isnan(to_the_middle)] > 1e-13).all()


def floats(value: Any) -> Iterator[float]:
    """Every float in containers of containers."""
    if isinstance(value, float):
        yield value
    elif isinstance(value, dict | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from floats(part)


def test_rounding_moves_nothing_that_physics_sees() -> None:
    for name, build in BUILDERS.items():
        exact, rounded = UNROUNDED[name]().frames, build().frames
        assert np.abs(rounded.positions - exact.positions).max() < 1e-9
        assert np.abs(rounded.cell - exact.cell).max() < 1e-9
