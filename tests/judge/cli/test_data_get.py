"""`judge data get`: fetched from a local git repository and a local server, verified, imported; then nothing to do."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from judge.data import download as downloads
from judge.records.suite_record import SuiteRecord
from tasks.datasets.dataset import load_dataset
from tasks.suites.suite import SuiteError, load_suite, packaged_suites, read_suite
from tests.judge.cli.data_command import run
from tests.judge.data.file_servers import FileServer, repository, serving
from tests.world.world import World

pytestmark = pytest.mark.data
PHONONS = "alexandria-binary-pbe-phonon-2025.1.json.gz"
INORGANIC = "--domain 'Inorganic Materials' --label-set PBE"
VACANCIES = "benchmarks/Table-A1-fcc.csv"

TASKS = f"""
name = "two"
version = "1"
title = "Two public sets and one that is not pinned"

[[tasks]]
name = "vacancies"
kind = "relaxed_structures"
dataset = "vacancies-fcc@1"
domain = "Inorganic Materials"
time_limit_s = 600
parameters = {{ unit = "eV" }}
import = "judge data import vacancies Table-A1-fcc.csv --name vacancies-fcc --version 1 {INORGANIC}"

[[tasks]]
name = "phonons"
kind = "phonons"
dataset = "phonons@1"
domain = "Inorganic Materials"
time_limit_s = 600
import = "judge data import matcalc {PHONONS} --name phonons --version 1 {INORGANIC}"

[[tasks]]
name = "frames"
kind = "labelled_frames"
dataset = "frames@1"
domain = "Inorganic Materials"
time_limit_s = 600
source = "https://example.org/frames"
import = "judge data import extxyz FILE --name frames --version 1"
"""

SOURCES = """
[[sources]]
name = "arena"
git = "{git}"
commit = "{commit}"
licence = "Apache-2.0"
datasets = ["vacancies-fcc@1"]
files = [{{ path = "{vacancies}", sha256 = "{vacancies_sha256}" }}]

[[sources]]
name = "matcalc"
url = "https://files.example.org/matcalc"
licence = "BSD-3"
datasets = ["phonons@1"]
files = [{{ path = "{phonons}", bytes = {n_bytes}, sha256 = "{phonons_sha256}" }}]
"""


class Public:
    """A suite of public sets, the repository and the server that have them, and `judge data` with a mirror setting."""

    def __init__(self, world: World, data: Path, server: FileServer) -> None:
        self.root, self.server, self.own = world.root, server, set[str]()
        self.own = self.kept()
        vacancies = (data / "mlip_arena/vacancy_migration-Table-A1-fcc.csv").read_bytes()
        phonons = server.files[f"mirror/matcalc/{PHONONS}"]
        address, commit = repository(world.root / "theirs", {VACANCIES: vacancies, "large.bin": b"x" * 100_000})
        self.facts = {
            "git": address,
            "commit": commit,
            "vacancies": VACANCIES,
            "vacancies_sha256": hashlib.sha256(vacancies).hexdigest(),
            "phonons": PHONONS,
            "phonons_sha256": hashlib.sha256(phonons).hexdigest(),
            "n_bytes": len(phonons),
        }
        self.write()

    def write(self, **other: str) -> None:
        """The suite, with some facts in place of the true ones."""
        (self.root / "two.toml").write_text(TASKS + SOURCES.format(**self.facts | other), encoding="utf-8")

    def get(self, *options: str) -> tuple[int, str, str]:
        """Exit status, standard output and standard error of `judge data get`."""
        return run("get", "two.toml", *options)

    def kept(self) -> set[str]:
        """The data sets that are there, without the world's own."""
        return {path.parent.name for path in (self.root / "data").glob("*/card.toml")} - self.own


@pytest.fixture
def public(data_world: World, reference_data: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Public]:
    """Its server is the mirror of an address that no test can reach."""
    monkeypatch.setattr(downloads, "PAUSE_S", 0.01)
    content = (reference_data / "matcalc" / PHONONS).read_bytes()
    with serving(FileServer({f"mirror/matcalc/{PHONONS}": content})) as server:
        monkeypatch.setenv("LAMBENCH_MIRRORS", json.dumps({"https://files.example.org/": f"{server.address}/mirror/"}))
        yield Public(data_world, reference_data, server)


def test_get_imports_what_is_pinned_and_then_has_nothing_to_do(public: Public):
    status, out, err = public.get()
    assert status == 0
    assert "arena: 1 file, of no stated size, of file://" in err
    assert (
        f"matcalc: 1 file, {public.facts['n_bytes'] / 1e6:.3g} MB, of https://files.example.org/matcalc (BSD-3)" in err
    )
    assert out.splitlines() == [
        "not pinned  frames@1: https://example.org/frames; "
        "then judge data import extxyz FILE --name frames --version 1",
        "imported  vacancies-fcc@1: licence Apache-2.0",
        "imported  phonons@1: licence BSD-3",
    ]
    assert len(load_dataset(public.root / "data/phonons@1").frames) == 150
    n_asked = len(public.server.asked)
    again = [public.get("--only", name)[:2] for name in ("Vacancies-FCC@1", "phonons@1")]
    assert again == [
        (0, f"there  {name}\nNothing to do: 1 data sets of two are in {public.root / 'data'}\n")
        for name in ("vacancies-fcc@1", "phonons@1")
    ]
    assert len(public.server.asked) == n_asked


def test_files_of_the_cache_are_not_fetched_again(public: Public):
    public.get()
    for name in ("vacancies-fcc@1", "phonons@1"):
        (public.root / "data" / name).rename(public.root / name)
    (public.root / "theirs").rename(public.root / "gone")
    n_asked = len(public.server.asked)
    status, out, _ = public.get("--json")
    states = {each["dataset"]: each["state"] for each in json.loads(out)["data_sets"]}
    assert (status, states) == (
        0,
        {"frames@1": "not pinned", "vacancies-fcc@1": "imported", "phonons@1": "imported"},
    )
    assert len(public.server.asked) == n_asked


@pytest.mark.parametrize(
    ("fact", "failed", "imported"),
    [("vacancies_sha256", "vacancies-fcc@1", "phonons@1"), ("phonons_sha256", "phonons@1", "vacancies-fcc@1")],
)
def test_a_wrong_hash_is_refused_and_stops_no_other_set(public: Public, fact: str, failed: str, imported: str):
    public.write(**{fact: "0" * 64})
    status, out, _ = public.get()
    assert status == 1
    assert f"NOT  {failed}: " in out
    assert f"has another sha256 than {'0' * 64}, which is pinned" in out
    assert f"imported  {imported}" in out
    assert public.kept() == {imported}
    public.write()
    assert public.get()[0] == 0
    assert public.kept() == {failed, imported}


def test_a_wrong_commit_is_refused(public: Public):
    public.write(commit="0" * 40)
    status, out, _ = public.get("--only", "vacancies-fcc@1")
    assert (status, public.kept()) == (1, set())
    assert "NOT  vacancies-fcc@1: arena: file://" in out


def test_a_changed_file_of_the_cache_is_refused(public: Public):
    public.get("--only", "vacancies-fcc@1")
    (public.root / "data/vacancies-fcc@1").rename(public.root / "away")
    (cached,) = (public.root / "var/sources").glob("arena-*/Table-A1-fcc.csv")
    cached.write_text("symbol\n")
    status, out, _ = public.get("--only", "vacancies-fcc@1")
    assert status == 1
    assert f"{cached}: has another sha256" in out


def test_an_interrupted_download_goes_on(public: Public):
    n_bytes = int(public.facts["n_bytes"])
    public.server.cut_after = n_bytes // 10
    status, out, _ = public.get("--only", "phonons@1")
    assert status == 1
    assert f"{5 * (n_bytes // 10)} of {n_bytes} bytes are kept: run the command again to go on" in out
    public.server.cut_after = None
    assert public.get("--only", "phonons@1")[:2] == (0, "imported  phonons@1: licence BSD-3\n")
    assert public.server.asked[-1][1] == f"bytes={5 * (n_bytes // 10)}-"


def test_an_import_that_fails_is_an_outcome(public: Public):
    text = (public.root / "two.toml").read_text(encoding="utf-8")
    wrong = text.replace("--name vacancies-fcc --version 1 ", "--name vacancies-fcc --version 1 --no-such-option ")
    (public.root / "two.toml").write_text(wrong, encoding="utf-8")
    status, out, _ = public.get()
    assert status == 1
    assert "NOT  vacancies-fcc@1: task vacancies: import: " in out
    assert public.kept() == {"phonons@1"}


def test_an_unknown_data_set_is_wrong_usage(public: Public):
    status, _, err = public.get("--only", "nothing@1")
    assert (status, err) == (
        2,
        "judge: --only: two has no data set 'nothing@1', but vacancies-fcc@1, phonons@1, frames@1",
    )
    status, _, err = public.get("--only", "phonon@1")
    assert (status, err.endswith("frames@1; did you mean phonons@1?")) == (2, True)


def test_sources_enter_no_digest(public: Public):
    suite, bare = load_suite(public.root / "two.toml"), read_suite(TASKS, "two.toml")
    assert suite.sources
    assert SuiteRecord.of(suite) == SuiteRecord.of(bare)


@pytest.mark.parametrize(
    ("fact", "value", "complaint"),
    [
        ("commit", "0269a94", "sources.0.commit"),
        ("git", "ext::sh -c true", "sources.0.git"),
        ("vacancies", "../secret", "sources.0.files.0.path"),
        ("vacancies", "/etc/passwd", "sources.0.files.0.path"),
        ("phonons_sha256", "abc", "sources.1.files.0.sha256"),
    ],
)
def test_what_does_not_pin_is_refused(public: Public, fact: str, value: str, complaint: str):
    public.write(**{fact: value})
    with pytest.raises(SuiteError, match=complaint):
        load_suite(public.root / "two.toml")


def test_a_file_of_a_server_needs_its_hash(public: Public):
    text = (public.root / "two.toml").read_text(encoding="utf-8")
    without = text.replace(f', sha256 = "{public.facts["phonons_sha256"]}"', "")
    with pytest.raises(SuiteError, match="each file of a url must state sha256 and bytes"):
        read_suite(without, "two.toml")


@pytest.mark.parametrize("name", packaged_suites())
def test_packaged_sources_are_of_data_sets_of_their_suite(name: str):
    suite = load_suite(name)
    by_dataset = {task.dataset: task for task in suite.tasks}
    for source in suite.sources:
        kept = {str(file.local).split("/")[0] for file in source.files}
        for dataset in source.datasets:
            read = [line.split()[4].split("/")[0] for line in by_dataset[dataset].import_lines]
            assert read
            assert set(read) <= kept
