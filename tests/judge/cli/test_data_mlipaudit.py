"""`judge data import mlipaudit`: every benchmark that a folder has, and what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.judge.cli.data_command import run
from tests.tasks.importing.mlipaudit.made_up_layout import changed, write_layout
from tests.world.world import World


@pytest.fixture
def layout(tmp_path: Path) -> Path:
    write_layout(tmp_path / "layout")
    return tmp_path / "layout"


def test_what_is_there_is_imported_and_the_rest_is_named(data_world: World, layout: Path) -> None:
    status, output, _ = run("import", "mlipaudit", str(layout))
    assert status == 0, output
    assert "mlipaudit-reactivity@1: 3 structures, 2 items (has 1 of the 11960 entries that were published)" in output
    assert (data_world.root / "data" / "mlipaudit-tautomers@1" / "card.toml").exists()
    status, output, _ = run("import", "mlipaudit", str(layout), "--mode", "2025", "--only", "conformer_selection")
    assert (status, len(output.splitlines())) == (0, 1)
    assert (data_world.root / "data" / "mlipaudit-conformer-selection-2025@1").exists()
    (layout / "tautomers" / "tautobase_2792.json").unlink()
    status, output, _ = run("import", "mlipaudit", str(layout))  # the others are there with the same content
    assert status == 0
    assert "missing  tautomers: tautobase_2792.json (in tautomers)" in output


def test_files_at_fault_are_named_and_the_others_imported(data_world: World, layout: Path) -> None:
    run("import", "mlipaudit", str(layout), "--only", "ring_planarity")
    changed(layout, "ring_planarity_data.json", lambda content: content.update(ring=content["benzene"]))
    path = changed(layout, "grambow_dataset.json", lambda content: content["000001"].update(charge=1))
    options = [word for name in ("ring_planarity", "reactivity", "tautomers") for word in ("--only", name)]
    status, output, _ = run("import", "mlipaudit", str(layout), *options)
    assert status == 1
    assert f"NOT  {path}: 000001: reactants: charge: 13 electrons" in output
    assert "mlipaudit-ring-planarity@1: is there with other content: move it away" in output
    assert (data_world.root / "data" / "mlipaudit-tautomers@1").exists()


@pytest.mark.usefixtures("data_world")
def test_options_that_do_not_fit_are_refused(layout: Path, tmp_path: Path) -> None:
    status, _, line = run("import", "mlipaudit", str(layout), "--domain", "Molecules")
    assert (status, line) == (2, "judge: --domain: is not for mlipaudit, which states it; leave it out")
    status, _, line = run("import", "scans", str(layout), "--mode", "dev", "--name", "mine")
    assert (status, line) == (2, "judge: --mode: is for mlipaudit, not for scans; leave it out")
    status, _, line = run("import", "scans", str(layout), "--label-set", "PBE")
    assert (status, line) == (2, "judge: --name: is missing: judge data import --help says what it is")
    (tmp_path / "empty").mkdir()
    status, output, line = run("import", "mlipaudit", str(tmp_path / "empty"))
    assert (status, "such as 100_NAME.xyz" in output, "{" in output) == (2, True, False)
    assert line.endswith("has no benchmark of MLIPAudit: unpack its archives there, one folder each")
