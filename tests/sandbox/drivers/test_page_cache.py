"""Files leave the page cache: by the judge itself, by its container, and not while another program uses them."""

from __future__ import annotations

import mmap
import os
import select
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import docker
import pytest

from sandbox.drivers.cold_start import drop_until_none_is_left, layer_folders
from sandbox.drivers.docker_driver import DockerDriver
from sandbox.drivers.page_cache import DROP_CACHES, Remaining, cached_pages, drop, load, mapped_pages
from sandbox.drivers.page_cache_container import PageCacheContainer
from sandbox.rundir import RunDir
from sandbox.verdict import FaultCause, JudgeFault
from tests.sandbox.drivers.docker_sessions import judged

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


def drop_here(folder: Path) -> Remaining:
    """Without the rights of root, the host forgets no names."""
    return drop([str(folder)], DROP_CACHES if os.access(DROP_CACHES, os.W_OK) else os.devnull)


def cached(path: Path) -> int:
    with path.open("rb") as file:
        return cached_pages(file.fileno())


def test_a_file_that_was_just_written_has_no_page_left(folder: Path) -> None:
    assert cached(folder / "usr" / "file") == PAGES
    assert drop_here(folder).pages == 0
    assert cached(folder / "usr" / "file") == 0


def test_the_target_of_a_link_keeps_its_pages(folder: Path) -> None:
    drop_here(folder)
    assert cached(folder.parent / "outside") == PAGES


def test_a_loaded_file_is_in_memory_as_a_whole(folder: Path) -> None:
    drop_here(folder)
    load(str(folder / "usr" / "file"))
    assert cached(folder / "usr" / "file") == PAGES


def test_older_kernels_count_the_same_pages(folder: Path) -> None:
    drop_here(folder)
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
        remaining = drop_here(folder)
        assert 0 < remaining.pages <= PAGES
        assert remaining.file == str(path)
        with pytest.raises(JudgeFault, match=rf"another program on this host uses {path}: end other containers"):
            drop_until_none_is_left(lambda: drop_here(folder), lambda: None, patience_s=0.3)
    assert drop_here(folder).pages == 0


def test_the_judge_waits_for_a_program_that_is_about_to_end(folder: Path) -> None:
    counts, reaped = iter([Remaining(3, "a"), Remaining(1, "a"), Remaining(0, "")]), []
    drop_until_none_is_left(lambda: next(counts), lambda: reaped.append("containers of dead judges"))
    assert next(counts, None) is None
    assert len(reaped) == 2


def test_a_folder_that_cannot_be_read_is_a_fault_of_this_machine(folder: Path) -> None:
    with pytest.raises(JudgeFault, match="cannot be dropped from memory") as caught:
        drop_until_none_is_left(lambda: drop_here(folder / "absent"), lambda: None)
    assert caught.value.cause is FaultCause.DOCKER


def test_an_engine_that_does_not_name_the_folders_is_a_fault_with_its_remedy() -> None:
    with pytest.raises(JudgeFault, match=r"storage \(overlayfs\) does not name .* use overlay2, or set cold_start"):
        layer_folders({"GraphDriver": {"Name": "overlayfs", "Data": None}})


@pytest.mark.docker
def test_an_image_that_is_gone_is_a_fault_with_its_remedy(run_dir: RunDir, images: object) -> None:
    driver = DockerDriver(run_dir)
    gone = replace(driver.resolve("lambench/emt:latest"), id=f"sha256:{'0' * 64}")
    with pytest.raises(JudgeFault, match="is gone: build or pull it again") as caught, driver.session(gone):
        pass
    assert caught.value.cause is FaultCause.DOCKER


@pytest.mark.docker
def test_the_container_drops_what_the_judge_itself_would(run_dir: RunDir, images: docker.DockerClient) -> None:
    driver = DockerDriver(run_dir)
    folders = layer_folders(images.api.inspect_image("lambench/emt:latest"))
    file = next(path for folder in folders for path in sorted(Path(folder).rglob("*.py")) if path.stat().st_size)
    helper = PageCacheContainer(images, {"org.lambench.test": "page-cache"})
    with driver.session(driver.resolve("lambench/emt:latest")):  # no other container uses the files
        load(str(file))
        assert cached(file) > 0
        helper.drop(folders[:1])  # the first image may have a single layer
        assert helper.drop(folders).pages == 0
        assert cached(file) == 0
        for container in images.containers.list(filters={"label": "org.lambench.test=page-cache"}):
            container.remove(force=True)  # as after a restart of the engine
        with pytest.raises(JudgeFault):
            helper.drop(folders)
        assert helper.drop(folders).pages == 0
    containers = images.containers.list(filters={"label": "org.lambench.test=page-cache"})
    assert len(containers) == 1
    del helper
    assert not images.containers.list(all=True, filters={"label": "org.lambench.test=page-cache"})


@pytest.mark.docker
def test_the_container_names_a_folder_that_it_cannot_read(images: docker.DockerClient, folder: Path) -> None:
    helper = PageCacheContainer(images, {"org.lambench.test": "page-cache"})
    with pytest.raises(JudgeFault, match="absent"):
        helper.drop([str(folder), str(folder / "absent")])


@pytest.mark.docker
def test_a_start_removes_the_container_of_a_dead_judge_that_uses_the_files(run_dir: RunDir, images: object) -> None:
    """It is paused: else it could have ended by itself before, and use none."""
    code = (
        "import docker, os, sys; from pathlib import Path; from sandbox.drivers.open_driver import open_driver;"
        "from sandbox.driver import Question; from sandbox.limits import Limits;"
        "from sandbox.wire.session import run_session;"
        "from sandbox.drivers.docker_driver import RUN_DIR_LABEL;\n"
        "def die(remote):\n"
        "    label = {'label': f'{RUN_DIR_LABEL}={sys.argv[1]}'}\n"
        "    docker.from_env().containers.list(filters=label)[0].pause()\n"
        "    os.kill(os.getpid(), 9)\n"
        "d = open_driver('docker', Path(sys.argv[1]));"
        "run_session(d, d.resolve('lambench/emt:latest'), Limits(), Question(), die)"
    )
    driver = DockerDriver(run_dir)
    subprocess.run([sys.executable, "-c", code, str(run_dir.root)], check=False)
    assert judged(driver, driver.resolve("lambench/emt:latest")).value == "ok"
    assert driver.reap() == 0


@pytest.mark.docker
def test_a_session_waits_until_that_of_another_judge_has_ended(tmp_path: Path, images: object) -> None:
    code = (
        "import sys; from pathlib import Path; from sandbox.drivers.open_driver import open_driver;"
        "d = open_driver('docker', Path(sys.argv[1]));\n"
        "with d.session(d.resolve('lambench/emt:latest')): print('begun', flush=True); sys.stdin.read(); print('ended')"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    first, second = (
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)
    )
    outputs = [process.stdout for process in (first, second) if process.stdout]
    ready, _, _ = select.select(outputs, [], [], 60)
    assert len(ready) == 1
    holder, waiter = (first, second) if first.stdout is ready[0] else (second, first)
    assert select.select([waiter.stdout], [], [], 2) == ([], [], [])
    assert holder.communicate("")[0] == "begun\nended\n"
    assert waiter.communicate("")[0] == "begun\nended\n"
