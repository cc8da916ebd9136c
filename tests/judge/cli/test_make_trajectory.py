"""`judge data make-trajectory` and the overlap with public frames, as a maintainer sees them."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from judge.data import made_trajectories
from tasks.datasets.dataset import Dataset, load_dataset
from tasks.learning.training import named_molecules
from tasks.learning.training_folder import write_training_folder
from tests.judge.cli.data_command import run
from tests.tasks.importing.rmd17_files import rmd17_arrays, write_rmd17
from tests.world.world import World

MAKE = ("make-trajectory", "water", "ethanol", "--frames", "20", "--every", "2", "--equilibration", "10")
NAMED = ("--name", "xtb", "--version", "1")
IMPORT = ("import", "rmd17", "md17", "--domain", "Molecules", "--label-set", "PBE", "--version", "1")


def dataset_of(world: World, name: str) -> Dataset:
    return load_dataset(world.settings.data / name)


def test_a_hidden_data_set_with_its_seed_on_the_card(data_world: World) -> None:
    status, out, err = run(*MAKE, *NAMED, "--seed", "7")
    assert status == 0, err
    assert "ethanol: 9 atoms, 48 steps of 0.5 fs" in out
    assert "40 structures of 3 to 9 atoms, 240 in all, 2 groups" in out
    assert "IMPOSSIBLE" not in out
    assert "The seed is on its card." in out
    made = dataset_of(data_world, "xtb@1")
    assert made.card.hidden
    for words in ("GFN2-xTB by tblite", "Langevin", "500 K", "2/ps", "0.5 fs", "water, ethanol", "seed 7;"):
        assert words in made.card.origin
    assert {name: len(of) for name, of in named_molecules(made).items()} == {"water": 20, "ethanol": 20}
    assert made.table.id[20:22] == ("xtb@1/ethanol/10", "xtb@1/ethanol/12")
    assert np.isfinite(made.labels().forces).all()
    assert not list(data_world.settings.data.glob(".making-*"))
    assert run(*MAKE, *NAMED)[2].endswith("xtb@1: version: exists already; say another --version")


def test_a_trainer_does_not_read_the_seed(data_world: World) -> None:
    assert run(*MAKE, *NAMED, "--seed", "8675309867530986753")[0] == 0
    made = dataset_of(data_world, "xtb@1")
    assert "8675309867530986753" in made.card.origin
    Path("seen").mkdir()
    write_training_folder(made, np.arange(10), None, Path("seen"))
    assert not any(b"8675309867530986753" in path.read_bytes() for path in Path("seen").iterdir())


def test_the_same_seed_makes_the_same_frames(data_world: World) -> None:
    for name, seed in (("one", "7"), ("two", "7"), ("three", "8")):
        assert run(*MAKE, "--name", name, "--version", "1", "--seed", seed)[0] == 0
    one, two, three = (dataset_of(data_world, f"{name}@1") for name in ("one", "two", "three"))
    np.testing.assert_array_equal(one.frames.positions, two.frames.positions)
    np.testing.assert_array_equal(one.labels().energy, two.labels().energy)
    assert np.abs(one.frames.positions - three.frames.positions).max() > 0.01
    # A molecule's frames do not depend on the others of its data set.
    assert run("make-trajectory", "ethanol", *MAKE[3:], "--name", "four", "--version", "1", "--seed", "7")[0] == 0
    ethanol = dataset_of(data_world, "four@1").frames.positions
    np.testing.assert_array_equal(ethanol, one.frames.positions[-len(ethanol) :])


def test_without_a_seed_it_is_random_and_a_stopped_run_keeps_it(
    data_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("make-trajectory", "water", "--frames", "30", "--every", "50", "--equilibration", "0", *NAMED)

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(made_trajectories, "trajectory_dataset", stop)
    status, _, _ = run(*options)
    assert status != 0
    (folder,) = data_world.settings.data.glob(".making-*")
    assert folder.stat().st_mode & 0o077 == 0
    seed = made_trajectories.TrajectoryRequest.model_validate_json((folder / "request.json").read_bytes()).seed
    assert seed > 2**32
    monkeypatch.undo()
    monkeypatch.chdir(data_world.root)
    status, _, err = run(*options, "--temperature", "400")
    assert (status, "temperature_k: was begun with 500.0, not 400.0: give the same options to" in err) == (2, True)
    status, _, err = run(options[0], "ethanol", *options[1:])
    assert "xtb@1: molecules: was begun with water (f9c449), not ethanol (cf950f), water (f9c449): give the same" in err
    assert run(*options)[0] == 0
    made = dataset_of(data_world, "xtb@1")
    assert f"seed {seed};" in made.card.origin
    again = (*options[:-3], "again", "--version", "1", "--seed", str(seed))
    assert run(*again)[0] == 0
    np.testing.assert_array_equal(made.frames.positions, dataset_of(data_world, "again@1").frames.positions)


def test_a_molecule_of_your_own_comes_from_an_xyz_file(data_world: World) -> None:
    Path("oh-.xyz").write_text("2\ncharge=-1 multiplicity=1\nO 0 0 0\nH 0 0 0.96\n")
    status, _, err = run("make-trajectory", "oh-.xyz", *MAKE[3:], *NAMED)
    assert status == 0, err
    made = dataset_of(data_world, "xtb@1")
    assert set(made.table.group) == {"oh-"}
    assert set(made.frames.charge.tolist()) == {-1}


XYZ = {
    "two.xyz": "1\nmultiplicity=1\nNe 0 0 0\n1\nmultiplicity=1\nNe 0 0 1\n",
    "silent.xyz": "2\n\nH 0 0 0\nH 0 0 0.74\n",
    "a b.xyz": "2\nmultiplicity=1\nH 0 0 0\nH 0 0 0.74\n",
    "cell.xyz": '2\nmultiplicity=1 Lattice="5 0 0 0 5 0 0 0 5" pbc="T T T"\nH 0 0 0\nH 0 0 0.74\n',
    "steam.xyz": "3\nmultiplicity=1\nO 0 0 0.12\nH 0 0.76 -0.48\nH 0 -0.76 -0.48\n",
    "near.xyz": "2\nmultiplicity=1\nH 0 0 0\nH 0 0 0\n",
}
MISTAKES = {
    ("benzol",): "MOLECULE: 'benzol' is unknown: say aspirin, azobenzene, benzene, ethanol, ",
    ("nowhere.xyz",): "nowhere.xyz: is not there",
    ("two.xyz",): "two.xyz: has 2 structures, not one: keep the one to start from",
    ("silent.xyz",): "silent.xyz: frame 0: multiplicity: 2S+1 of this molecule is not stated",
    ("a b.xyz",): "a b.xyz: its name names the molecule: use letters, digits, - and _ only",
    ("cell.xyz",): "cell.xyz: pbc: the structure is periodic, and only molecules are made: remove its cell",
    ("water", "water"): "MOLECULE: water is stated twice: name each molecule once",
    ("water", "steam.xyz"): "MOLECULE: steam has the atoms of water in the same order",
    ("near.xyz",): "near: step 0: no energy: Too close interatomic distances",
    ("water", "--name", "Big"): "--name: ",
    ("water", "--public", "md17@1"): "--public: there is no data set md17@1 in ",
}


@pytest.mark.parametrize("arguments", MISTAKES, ids=" ".join)
def test_a_mistake_is_one_line(data_world: World, arguments: tuple[str, ...]) -> None:
    for name, text in XYZ.items():
        Path(name).write_text(text)
    status, _, err = run("make-trajectory", *NAMED, *MAKE[3:], *arguments)
    assert status == 2
    assert err.startswith(f"judge: {MISTAKES[arguments]}")
    assert "\n" not in err


def test_without_tblite_the_extra_is_named(data_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "tblite.library", None)
    status, _, err = run(*MAKE, *NAMED)
    assert status == 2
    assert "needs tblite, which is not installed: pip install 'lambench-judge[trajectories]'" in err


def test_public_frames_in_a_hidden_set_are_refused_unless_allowed(data_world: World) -> None:
    public = write_rmd17(Path("md17"), m=60)
    status, out, err = run(*IMPORT, "--name", "md17", "--public-since", "2020")
    assert status == 0, err
    assert dataset_of(data_world, "md17@1").card.public_since == "2020"
    # Other frames, at other times: nothing in common.
    shutil.rmtree("md17")
    arrays = rmd17_arrays(m=50, seed=3)
    write_rmd17(Path("md17"), m=50, seed=3, old_indices=arrays["old_indices"] + 1)
    hidden = (*IMPORT, "--public", "MD17@1", "--name", "hidden")
    status, out, err = run(*hidden)
    assert status == 0, err
    assert (
        "overlap with md17@1: 0 frames: within 0.02 Å: ethanol 0 of 50; at the same time of the same trajectory: 0"
        in out
    )
    # Two copies, turned and mirrored; and three frames at times that the public ones have, too.
    arrays["coords"][[4, 9]] = -rmd17_arrays(m=60)["coords"][[7, 8]][:, :, [1, 2, 0]]
    times = arrays["old_indices"] + 1
    times[[10, 11, 12]] -= 1
    write_rmd17(Path("md17"), m=50, seed=3, coords=arrays["coords"], old_indices=times)
    copied = (*IMPORT, "--public", "md17@1", "--name", "copied")
    status, out, err = run(*copied)
    assert status == 2
    assert "overlap with md17@1: 5 frames: within 0.02 Å: ethanol 2 of 50; at the same time of the same " in out
    assert "trajectory: 3; nearest: rmd17/ethanol/" in out
    assert "--public: 5 of 50 frames are in md17@1, too (above): leave them out or make others, or say" in err
    assert not (data_world.settings.data / "copied@1").exists()
    assert run(*copied, "--allow-overlap")[0] == 0
    status, _, err = run(*IMPORT, "--public", "hidden@1", "--name", "other")
    assert "--public: hidden@1: is hidden: name a data set that states since when it is public" in err
    status, _, err = run("make-trajectory", "water", *MAKE[3:], *NAMED, "--public", "md17@1")
    assert "--public: md17@1 has none of these molecules, so that nothing can be compared" in err
    status, out, err = run(*MAKE, *NAMED, "--public", "md17@1")
    assert status == 0, err
    assert "ethanol 0 of 20; at the same time of the same trajectory: 0; not in md17@1: water" in out
    assert public.exists()


def test_options_of_rmd17_are_its_own(data_world: World) -> None:
    write_rmd17(Path("md17"))
    write_rmd17(Path("md17"), "benzene")
    for options, line in (
        (("--units", "ase"), "--units: is not for rmd17, which states its units; leave it out"),
        (("--multiplicity", "1"), "--multiplicity: is not for rmd17, which has no use for it; leave it out"),
        (("--also-theory", "PBE0=PBE0"), "--also-…: is not for rmd17, whose files have one level of theory"),
        (("--only", "toluene"), "--only: 'toluene' has no file in md17: say benzene, ethanol"),
        (("--frames", "100"), "--frames: 100 are more than the 40 of md17/rmd17_benzene.npz: say at most 40"),
        (("--mode", "dev"), "--mode: is for mlipaudit, not for rmd17; leave it out"),
    ):
        status, _, err = run(*IMPORT, "--name", "md17", *options)
        assert status == 2
        assert err.startswith(f"judge: {line}")
    status, out, err = run(*IMPORT, "--name", "md17", "--only", "ethanol", "--frames", "20")
    assert status == 0, err
    assert "20 structures of 9 atoms, 180 in all" in out
    assert "clusters of frames (by cluster): 20, each its own" in out
    status, _, err = run("import", "extxyz", "x.xyz", *IMPORT[3:], "--name", "x", "--units", "ase", "--frames", "20")
    assert err == "judge: --frames: is not for extxyz, which has no use for it; leave it out"
    status, _, err = run("import", "extxyz", "x.xyz", *IMPORT[3:], "--name", "x", "--units", "ase", "--only", "a")
    assert err == "judge: --only: is for rmd17, mlipaudit and ml-peg, not for extxyz; leave it out"
