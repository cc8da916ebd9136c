"""Publishing to a folder replaces its own files and nothing else."""

from __future__ import annotations

from pathlib import Path

from judge.publishing.folder import MANIFEST, publish
from submissions.store.local import LocalStore
from tests.judge.pages.built_site import build, fill
from tests.world.board_records import submission


def test_pages_no_longer_made_are_removed_and_nothing_else(tmp_path: Path) -> None:
    store, site = LocalStore(tmp_path / "store"), tmp_path / "site"
    fill(store, "alpha", "beta")
    build(store, site)
    (site / "submissions" / "of-somebody-else.html").write_text("mine")
    store.delete(f"submissions/{submission('beta').id}/submission.json")
    build(store, site)
    left = sorted(path.name for path in (site / "submissions").iterdir())
    assert left == sorted([f"{submission('alpha').id}.html", "of-somebody-else.html"])
    assert not list(site.rglob(".*"))


def test_index_comes_last_and_an_old_asset_outlives_one_build(tmp_path: Path) -> None:
    written = publish({"index.html": b"1", "assets/style-1.css": b"1", "submissions/a.html": b"1"}, tmp_path)
    assert [path.name for path in written] == ["style-1.css", "a.html", "index.html"]
    publish({"index.html": b"2", "assets/style-2.css": b"2"}, tmp_path)
    assert (tmp_path / "assets" / "style-1.css").exists()
    assert not (tmp_path / "submissions" / "a.html").exists()
    publish({"index.html": b"3", "assets/style-2.css": b"2"}, tmp_path)
    assert not (tmp_path / "assets" / "style-1.css").exists()
    assert (tmp_path / "assets" / "style-2.css").exists()


def test_an_unchanged_file_is_not_written_again(tmp_path: Path) -> None:
    """The same file stays; one that only points to such content does not, and what a killed build left goes."""
    publish({"index.html": b"1", "submissions/a.html": b"a", "submissions/b.html": b"b"}, tmp_path)
    pages = tmp_path / "submissions"
    (tmp_path / "elsewhere").write_bytes(b"b")
    (pages / "b.html").unlink()
    (pages / "b.html").symlink_to(tmp_path / "elsewhere")
    (pages / ".a.html.0123abcd").write_bytes(b"half")
    (pages / ".of-somebody-else").write_bytes(b"mine")
    before = {name: (tmp_path / name).stat().st_ino for name in ("index.html", "submissions/a.html")}
    written = publish({"index.html": b"2", "submissions/a.html": b"a", "submissions/b.html": b"b"}, tmp_path)
    assert len(written) == 3
    assert (pages / "a.html").stat().st_ino == before["submissions/a.html"]
    assert (tmp_path / "index.html").stat().st_ino != before["index.html"]
    assert not (pages / "b.html").is_symlink()
    assert sorted(path.name for path in pages.iterdir()) == [".of-somebody-else", "a.html", "b.html"]
    (pages / "a.html").write_bytes(b"x")  # by a stranger's hand: the same length
    publish({"index.html": b"2", "submissions/a.html": b"a", "submissions/b.html": b"b"}, tmp_path)
    assert (pages / "a.html").read_bytes() == b"a"


def test_a_manifest_that_points_elsewhere_removes_nothing(tmp_path: Path) -> None:
    outside = tmp_path / "precious"
    outside.write_text("mine")
    site = tmp_path / "site"
    site.mkdir()
    (site / MANIFEST).write_text('{"files": {"../precious": "0"}}')
    publish({"index.html": b"1"}, site)
    assert outside.read_text() == "mine"
