"""Files leave the page cache: by the judge itself, by its container, and not while another program uses them."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

import docker
import pytest

from sandbox.drivers.cold_start import drop_until_none_is_left, layer_folders
from sandbox.drivers.page_cache import Remaining, cached_pages, drop, load, mapped_pages
from sandbox.drivers.page_cache_container import PageCacheContainer
from sandbox.verdict import FaultCause, JudgeFault

PAGES = 64


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a file in a folder below it, and a link that leads out of it."""
    (tmp_path / "layer" / "usr").mkdir(parents=True)
    (tmp_path / "layer" / "usr" / "file").write_bytes(os.urandom(PAGES * mmap.PAGESIZE))
    (tmp_path / "layer" / "empty").write_bytes(b"")
    (tmp_path / "outside").write_bytes(os.urandom(PAGES * mmap.PAGESIZE))
    (tmp_path / "layer" / "link").symlink_to(tmp_path / "outside")
    return tmp_path / "layer"


def cached(path: Path) -> int:
    with path.open("rb") as file:
        return cached_pages(file.fileno())


def test_a_file_that_was_just_written_has_no_page_left(folder: Path) -> None:
    assert cached(folder / "usr" / "file") == PAGES
    assert drop([str(folder)]).pages == 0
    assert cached(folder / "usr" / "file") == 0


def test_the_target_of_a_link_keeps_its_pages(folder: Path) -> None:
    drop([str(folder)])
    assert cached(folder.parent / "outside") == PAGES


def test_a_loaded_file_is_in_memory_as_a_whole(folder: Path) -> None:
    drop([str(folder)])
    load(str(folder / "usr" / "file"))
    assert cached(folder / "usr" / "file") == PAGES


def test_older_kernels_count_the_same_pages(folder: Path) -> None:
    drop([str(folder)])
    with (folder / "usr" / "file").open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        for page in (3, 7, 40):
            os.pread(file.fileno(), 1, page * mmap.PAGESIZE)
        assert mapped_pages(file.fileno()) == cached_pages(file.fileno()) == 3
    with (folder / "empty").open("rb") as file:
        assert mapped_pages(file.fileno()) == 0


def test_a_page_that_a_program_uses_stays_and_its_file_is_named(folder: Path) -> None:
    path = folder / "usr" / "file"
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as used:
        assert used[5 * mmap.PAGESIZE] >= 0
        remaining = drop([str(folder)])
        assert 0 < remaining.pages <= PAGES
        assert remaining.file == str(path)
        with pytest.raises(JudgeFault, match=rf"another program on this host uses {path}: end other containers"):
            drop_until_none_is_left(lambda: drop([str(folder)]), patience_s=0.3)
    assert drop([str(folder)]).pages == 0


def test_the_judge_waits_for_a_program_that_is_about_to_end(folder: Path) -> None:
    counts = iter([Remaining(3, "a"), Remaining(1, "a"), Remaining(0, "")])
    drop_until_none_is_left(lambda: next(counts))
    assert next(counts, None) is None


def test_a_folder_that_cannot_be_read_is_a_fault_of_this_machine(folder: Path) -> None:
    with pytest.raises(JudgeFault, match="cannot be dropped from memory") as caught:
        drop_until_none_is_left(lambda: drop([str(folder / "absent")]))
    assert caught.value.cause is FaultCause.DOCKER


def test_an_engine_that_does_not_name_the_folders_is_a_fault_with_its_remedy() -> None:
    with pytest.raises(JudgeFault, match=r"storage \(overlayfs\) does not name .* use overlay2, or set cold_start"):
        layer_folders({"GraphDriver": {"Name": "overlayfs", "Data": None}})


@pytest.mark.docker
def test_the_container_drops_what_the_judge_itself_would(images: docker.DockerClient) -> None:
    folders = layer_folders(images.api.inspect_image("lambench/calculator:latest"))
    file = next(path for folder in folders for path in sorted(Path(folder).rglob("*.py")) if path.stat().st_size)
    helper = PageCacheContainer(images, {"org.lambench.test": "page-cache"})
    load(str(file))
    assert cached(file) > 0
    assert helper.drop(folders).pages == 0
    assert cached(file) == 0
    containers = images.containers.list(filters={"label": "org.lambench.test=page-cache"})
    assert len(containers) == 1
    del helper
    assert not images.containers.list(all=True, filters={"label": "org.lambench.test=page-cache"})


@pytest.mark.docker
def test_the_container_names_a_folder_that_it_cannot_read(images: docker.DockerClient, folder: Path) -> None:
    helper = PageCacheContainer(images, {"org.lambench.test": "page-cache"})
    with pytest.raises(JudgeFault, match="absent"):
        helper.drop([str(folder), str(folder / "absent")])
