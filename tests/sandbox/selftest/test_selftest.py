"""The selftest: the real sandbox holds against every attack, and a sandbox that lacks a restriction is detected."""

from __future__ import annotations

import io
import tomllib
import zipfile
from collections.abc import Callable, Iterator, Mapping
from importlib import resources
from typing import Any

import docker
import pytest
from docker.types import LogConfig, Ulimit

import sandbox.drivers.docker_driver
import sandbox.rundir
import sandbox.wire.training
from sandbox.driver import Question
from sandbox.drivers.docker_driver import LOCK_LABEL, DockerDriver, container_options
from sandbox.drivers.process_driver import ProcessDriver
from sandbox.guest_archive import training_guest_archive
from sandbox.image import image_check, image_links, layer_check, start_faults
from sandbox.limits import MIB
from sandbox.selftest.attack import LIMITS, Attack, Finding, Trial
from sandbox.selftest.catalog import ATTACKS
from sandbox.selftest.images import INPUTS_LABEL, HostileImages, remove_images
from sandbox.selftest.reading_attacks import CANARY
from sandbox.selftest.run import LEFT_BEHIND, run_attack, selftest
from sandbox.verdict import FaultCause, JudgeFault, SubmissionFault, Verdict
from sandbox.wire.session import run_session
from tests.selftested import Selftested

pytestmark = [pytest.mark.together("selftest"), pytest.mark.timeout(1200)]  # the first waits for all attacks
docker_only = pytest.mark.docker
BY_NAME = {attack.name: attack for attack in ATTACKS}


@pytest.fixture(scope="module")
def hostile_images(images: docker.DockerClient) -> HostileImages:
    return HostileImages()


def test_there_are_at_least_forty_attacks_each_of_its_own_name() -> None:
    assert len(ATTACKS) >= 40
    assert len(BY_NAME) == len(ATTACKS)
    assert all(name == name.lower() and " " not in name and "_" not in name for name in BY_NAME)


def test_every_stated_attack_is_examined() -> None:
    stated = tomllib.loads(resources.files("sandbox.selftest").joinpath("attacks.toml").read_text(encoding="utf-8"))
    assert set(BY_NAME) - set(stated) == {"start-folder-long"}  # its path of 6,000 bytes is made in Python
    assert not set(stated) - set(BY_NAME)


@docker_only
@pytest.mark.parametrize("name", BY_NAME)
def test_attack_is_held(selftested: Selftested, name: str) -> None:
    assert selftested.results[name].held, selftested.results[name]


@docker_only
def test_a_selftest_whose_every_attack_was_held_has_passed(selftested: Selftested) -> None:
    assert selftested.record.passed
    assert set(selftested.results) == {*BY_NAME, LEFT_BEHIND}


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Starts containers with other options than the sandbox's."""

    def change(options: dict[str, Any]) -> None:
        monkeypatch.setattr(
            sandbox.drivers.docker_driver, "container_options", lambda *given: {**container_options(*given), **options}
        )

    return change


UNFILTERED = {"security_opt": ["no-new-privileges", "seccomp=unconfined"]}
NO_RESTRICTION = {
    "network-public": {"network_mode": "host", "hostname": None},
    "network-dns": {"network_mode": "host", "hostname": None},
    "socket-abstract": {"network_mode": "host", "hostname": None},
    "socket-engine": {"binds": ["/var/run/docker.sock:/var/run/docker.sock"]},
    "socket-vsock": UNFILTERED,
    "socket-families": UNFILTERED,
    "fill-tmp": {"tmpfs": {"/tmp": f"rw,exec,mode=1777,size={256 * MIB}"}},
    "fill-shared-memory": {"shm_size": 64 * MIB},
    "fill-memory": {"mem_limit": 1024 * MIB, "memswap_limit": 1024 * MIB},
    "fill-processes": {"pids_limit": 150},
    "fill-open-files": {"ulimits": []},
    "fill-log": {"log_config": LogConfig(type="json-file", config={"max-size": "8m", "max-file": "2"})},
    "gain-capabilities": {"cap_drop": []},
    "gain-root-by-setuid": {"security_opt": []},
    "gain-root-by-user": {"user": None},
    "gain-keyring": UNFILTERED,
    "gain-io-uring": UNFILTERED,
    "gain-other-abi": UNFILTERED,
    "gain-devices": {"devices": ["/dev/null:/dev/fuse:rw"]},
    "core-dump": {"ulimits": [Ulimit(name="core", soft=1 << 24, hard=1 << 24)]},
    "write-outside-tmp": {"read_only": False},
    "read-processes": {"pid_mode": "host"},
    "read-host-facts": {"masked_paths": []},
    "read-neighbour": {"ipc_mode": "host", "shm_size": None},
    "image-healthcheck": {"healthcheck": None},
    "trainer-notes-for-the-next": {"ipc_mode": "host", "shm_size": None},
    "trainer-fills-out": {"tmpfs": {"/tmp": "rw,mode=1777", "/out": f"rw,mode=1777,size={32 * MIB}"}},
}


@docker_only
@pytest.mark.parametrize("name", NO_RESTRICTION)
def test_a_sandbox_that_lacks_a_restriction_is_found_out(
    docker_driver: DockerDriver, hostile_images: HostileImages, without: Callable[[dict[str, Any]], None], name: str
) -> None:
    without(NO_RESTRICTION[name])
    result = run_attack(BY_NAME[name], docker_driver, hostile_images)
    assert not result.held, result
    assert "proves nothing" not in result.how, result
    assert "this machine" not in result.how, result


@docker_only
def test_a_guest_that_leaves_processes_is_found_out(
    docker_driver: DockerDriver, hostile_images: HostileImages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own children that changed the model would go on while the judge reads it."""
    stated = "channel.send(pack_header([], left), [])"
    # On a busy machine the process could otherwise stand still from the hash to the last byte that is sent.
    lenient = changed_guest({"if alone:": "if not alone:", stated: f"{stated}; time.sleep(0.5)"})
    monkeypatch.setattr(sandbox.wire.training, "training_guest_archive", lambda: lenient)
    result = run_attack(BY_NAME["trainer-leaves-processes"], docker_driver, hostile_images)
    assert (result.held, result.how) == (False, "its process changed the model while the judge read it")


def changed_guest(lines: Mapping[str, str]) -> bytes:
    """The archive of the guest of a training with other lines, by those that they replace."""
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(training_guest_archive())) as whole, zipfile.ZipFile(changed, "w") as archive:
        code = {name: whole.read(name).decode() for name in whole.namelist()}
        for old, new in lines.items():
            assert old in code["lambench_guest/training.py"]
            code["lambench_guest/training.py"] = code["lambench_guest/training.py"].replace(old, new)
        for name, text in code.items():
            archive.writestr(name, text)
    return changed.getvalue()


@docker_only
def test_a_host_whose_files_a_trainer_sees_is_found_out(
    docker_driver: DockerDriver, hostile_images: HostileImages, without: Callable[[dict[str, Any]], None]
) -> None:
    without({"binds": [f"{docker_driver.run_dir.root / CANARY}:/mnt/{CANARY}:ro"]})
    result = run_attack(BY_NAME["trainer-reads-outside"], docker_driver, hostile_images)
    assert not result.held
    assert "files that are not its own" in result.how


@docker_only
@pytest.mark.parametrize("leak", ["folder", "address"])
def test_names_that_tell_of_the_judge_are_found_out(
    docker_driver: DockerDriver, hostile_images: HostileImages, monkeypatch: pytest.MonkeyPatch, leak: str
) -> None:
    if leak == "folder":
        monkeypatch.setattr(sandbox.rundir, "_session_name", lambda: f"{docker_driver.run_dir.token}-0")
    else:
        monkeypatch.setattr(sandbox.rundir, "_bind", lambda listener, folder: listener.bind(f"{folder}/judge.sock"))
    result = run_attack(BY_NAME["read-host-facts"], docker_driver, hostile_images)
    assert not result.held
    assert "it reads 0 facts of the host, and 1 names tell of the judge" in result.how


@docker_only
def test_a_refused_image_that_is_taken_is_found_out(docker_driver: DockerDriver, hostile_images: HostileImages) -> None:
    honest = hostile_images.of(BY_NAME["honest-compiler"], docker_driver)
    assert not isinstance(honest, SubmissionFault)
    for name in ("image-ld-preload", "image-ld-library-path", "image-visible-devices", "image-volume"):
        assert not BY_NAME[name].examine(Trial(docker_driver, honest)).held


@pytest.mark.parametrize(
    "name",
    ["start-mount-link", "start-folder-loop", "start-folder-long", "start-folder-sys", "start-nameless-variable"],
)
@docker_only
def test_a_fault_of_an_image_that_is_taken_for_this_machines_is_found_out(
    docker_driver: DockerDriver, hostile_images: HostileImages, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    for patterns in ("_OF_THE_IMAGE", "_OF_A_LINK"):
        monkeypatch.setattr(start_faults, patterns, ())
    for check in ("_check_start", "_check_environment"):
        monkeypatch.setattr(image_check, check, lambda *given: None)
    result = run_attack(BY_NAME[name], docker_driver, hostile_images)
    assert not result.held
    assert "this machine (DOCKER)" in result.how


@pytest.mark.parametrize("name", ["bzip2", "xz", "zstd"])
@docker_only
def test_a_check_that_does_not_know_a_compression_is_found_out(
    docker_driver: DockerDriver, hostile_images: HostileImages, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    known = {each: magic for each, magic in layer_check._COMPRESSIONS.items() if each != name}
    monkeypatch.setattr(layer_check, "_COMPRESSIONS", known)
    result = run_attack(BY_NAME[f"layer-{name}"], docker_driver, hostile_images)
    assert not result.held
    assert "taken as a tar" in result.how


@docker_only
def test_a_check_that_follows_no_links_is_found_out(
    docker_driver: DockerDriver, hostile_images: HostileImages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image_links.ImageLinks, "add", lambda *given: None)
    result = run_attack(BY_NAME["layer-root-link"], docker_driver, hostile_images)
    assert not result.held
    assert "taken as a tar" in result.how


@docker_only
def test_what_cannot_be_tried_is_not_held(docker_driver: DockerDriver, hostile_images: HostileImages) -> None:
    def breaks(trial: Trial) -> Finding:
        raise JudgeFault(FaultCause.DOCKER, "the engine is away")

    broken = Attack("breaks", "Nothing.", "network:reach", breaks)
    absent = Attack("absent", "Nothing.", "network:no_such_factory", BY_NAME["network-gateway"].examine)
    reported: list[str] = []
    results = selftest(docker_driver, lambda result: reported.append(result.name), attacks=(broken, absent))
    assert [(result.name, result.held) for result in results] == [
        ("breaks", False),
        ("absent", False),
        (LEFT_BEHIND, True),
    ]
    assert reported == [result.name for result in results]
    assert "the engine is away" in results[0].how
    assert "could not be tried" in results[1].how


@docker_only
def test_a_container_that_is_left_behind_is_found(
    docker_driver: DockerDriver, hostile_images: HostileImages, images: docker.DockerClient
) -> None:
    image = hostile_images.of(BY_NAME["honest-compiler"], docker_driver)
    assert not isinstance(image, SubmissionFault)
    labels = {LOCK_LABEL: docker_driver.run_dir.token}
    left = images.containers.create(image.id, ["true"], labels=labels, network_mode="none")
    try:
        (result,) = selftest(docker_driver, attacks=())
    finally:
        left.remove()
    assert not result.held
    assert selftest(docker_driver, attacks=())[0].held


@docker_only
def test_images_are_built_once(docker_driver: DockerDriver, images: docker.DockerClient) -> None:
    attack = BY_NAME["network-gateway"]
    first = HostileImages().of(attack, docker_driver)
    again = HostileImages().of(attack, docker_driver)
    assert not isinstance(first, SubmissionFault)
    assert first == again
    assert images.images.get(first.id).labels[INPUTS_LABEL]


@docker_only
def test_images_are_removed_with_their_base(docker_driver: DockerDriver, images: docker.DockerClient) -> None:
    repository = "lambench-selftest-of-a-test"
    HostileImages(repository=repository).of(BY_NAME["network-gateway"], docker_driver)
    assert remove_images(repository) == 2
    assert images.images.list(f"{repository}/*") == []
    assert remove_images(repository) == 0


@docker_only
def test_a_missing_base_is_named_with_its_remedy(images: docker.DockerClient) -> None:
    with pytest.raises(JudgeFault, match=r"no image lambench/absent:latest, .*: make images"):
        HostileImages("lambench/absent:latest")


def test_a_driver_that_isolates_nothing_has_no_selftest(process_driver: ProcessDriver) -> None:
    with pytest.raises(JudgeFault, match="isolates nothing"):
        selftest(process_driver)


@docker_only
def test_a_trial_runs_with_limits_of_its_own(docker_driver: DockerDriver, hostile_images: HostileImages) -> None:
    image = hostile_images.of(BY_NAME["freeze"], docker_driver)
    assert not isinstance(image, SubmissionFault)
    changed = Trial(docker_driver, image).run(lambda remote: remote.echo(8), startup_s=0.01)
    assert changed.verdict is Verdict.STARTUP_TIMEOUT
    assert run_session(docker_driver, image, LIMITS, Question(), lambda remote: 1).verdict is Verdict.OK
