"""Images in the mirror can be pulled and run, also after the author's copy has changed or is gone."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import docker
import docker.errors
import pytest

from judge.config import JudgeSettings
from judge.images.fetch import MirroredImage, mirror_image
from judge.images.mirror import open_mirror
from judge.images.pull import pull_image, resolve_image
from judge.upkeep import gc_machine
from judge.workspace import Workspace
from sandbox.driver import Image, Login
from sandbox.drivers.docker_driver import DockerDriver
from sandbox.drivers.process_driver import ProcessDriver
from sandbox.rundir import RunDir
from sandbox.selftest.polyglots import POLYGLOTS
from sandbox.verdict import FaultCause, JudgeFault, SubmissionFault, Verdict
from submissions.records import ImageRecord, ModelCard, PreflightReport, Submission, submission_id, utc_now
from submissions.requests import ReferredImage
from tests.servers.registry import RegistryServer
from tests.world.small_images import AuthorsRepository, MadeImage, manifest_of, send, sha256, some_tar, tar_of

LAYER = "application/vnd.docker.image.rootfs.diff.tar"


@pytest.fixture
def driver(engine: docker.DockerClient, tmp_path_factory: pytest.TempPathFactory) -> DockerDriver:
    return DockerDriver(RunDir(tmp_path_factory.mktemp("r", numbered=True)))


@pytest.fixture
def forget(engine: docker.DockerClient) -> Iterator[Callable[[str], None]]:
    """Removes an image of the test from the engine, and again after the test."""
    ids: set[str] = set()

    def remove(image_id: str) -> None:
        ids.add(image_id)
        engine.images.remove(image_id, force=True)

    yield remove
    for image_id in ids:
        try:
            engine.images.remove(image_id, force=True)
        except docker.errors.ImageNotFound:
            continue


def settings_of(registry: RegistryServer, tmp_path: Path, **fields: object) -> JudgeSettings:
    name = tmp_path.name.lower().replace("_", "-")[-30:].strip("-")
    return JudgeSettings(
        store=str(tmp_path / "store"),
        mirror=f"{registry.host}/judge/{name}",
        registries=(registry.host,),
        **fields,  # type: ignore[arg-type]
    )


def upload(settings: JudgeSettings, image: MadeImage) -> MirroredImage:
    sent = send(image)
    return mirror_image(Workspace(settings), sent.request, (), sent.part, lambda line: None)


def submission_of(arrived: MirroredImage) -> Submission:
    return Submission(
        id=submission_id("model", arrived.image_id),
        created=utc_now(),
        card=ModelCard(name="model"),
        image=ImageRecord(
            reference=arrived.reference,
            id=arrived.image_id,
            mirror=arrived.mirror,
            size_bytes=arrived.size_bytes,
        ),
        preflight=PreflightReport(checks=()),
    )


@pytest.mark.docker
def test_the_mirror_does_not_depend_on_the_authors_image(
    registry: RegistryServer, driver: DockerDriver, forget: Callable[[str], None], tmp_path: Path
) -> None:
    """The tag moves, the manifest is deleted, and the engine loses the image: the same image comes from the mirror."""
    settings, alice = (
        settings_of(registry, tmp_path),
        AuthorsRepository(registry, f"alice/{tmp_path.name[-20:]}".lower()),
    )
    image = MadeImage([some_tar(), some_tar()], settings={"Env": ["A=b"], "WorkingDir": "/opt"})
    reference = alice.push(image)
    arrived = mirror_image(
        Workspace(settings), ReferredImage(reference=reference), (), lambda part: iter(()), lambda line: None
    )
    submission = submission_of(arrived)
    pulled = pull_image(driver, arrived.mirror, arrived.image_id, arrived.size_bytes)
    assert (pulled.id, pulled.calculator) == (image.id, "calculator:make_calculator")
    alice.push(MadeImage([some_tar()]))
    alice.delete(reference)
    forget(image.id)
    again = resolve_image(driver, submission)
    assert isinstance(again, Image)
    assert again.id == image.id == submission.image.id
    unmirrored = submission.model_copy(update={"image": submission.image.model_copy(update={"mirror": ""})})
    assert isinstance(resolve_image(driver, unmirrored), Image)
    forget(image.id)
    assert isinstance(resolve_image(driver, unmirrored), JudgeFault)


@pytest.mark.docker
def test_an_image_in_parts_is_pulled_with_the_same_id(
    registry: RegistryServer, driver: DockerDriver, forget: Callable[[str], None], tmp_path: Path
) -> None:
    twice = some_tar()
    image = MadeImage([twice, some_tar(), twice])
    arrived = upload(settings_of(registry, tmp_path), image)
    assert pull_image(driver, arrived.mirror, arrived.image_id, arrived.size_bytes).id == image.id
    forget(image.id)


@pytest.mark.docker
def test_a_private_mirror_is_pulled_from_with_the_judges_credential(
    private_registry: RegistryServer, driver: DockerDriver, forget: Callable[[str], None], tmp_path: Path
) -> None:
    login = tmp_path / "config.json"
    login.write_text(json.dumps(private_registry.docker_config))
    arrived = upload(settings_of(private_registry, tmp_path, registry_config=login), MadeImage([some_tar()]))
    submission = submission_of(arrived)
    for config in (None, tmp_path / "wrong.json"):
        (tmp_path / "wrong.json").write_text('{"auths": {"127.0.0.1:1": {"auth": "YTpi"}}}')
        fault = resolve_image(driver, submission, registry_config=config)
        assert isinstance(fault, JudgeFault)
        assert fault.cause is FaultCause.REGISTRY
    with pytest.raises(JudgeFault) as caught:
        driver.pull(arrived.mirror, Login(private_registry.user, "not this one"))
    assert "not this one" not in str(caught.value)
    image = resolve_image(driver, submission, registry_config=login)
    assert isinstance(image, Image)
    forget(image.id)


@pytest.mark.docker
def test_an_image_that_cannot_be_pulled_is_a_judge_fault(
    registry: RegistryServer, driver: DockerDriver, forget: Callable[[str], None], tmp_path: Path
) -> None:
    settings = settings_of(registry, tmp_path)
    image, other = (upload(settings, MadeImage([some_tar()])) for _ in range(2))
    unknown = image.mirror.partition("@")[0] + "@sha256:" + "0" * 64
    for mirror, clue in ((unknown, "cannot pull"), ("127.0.0.1:9/x@sha256:" + "0" * 64, "127.0.0.1:9")):
        with pytest.raises(JudgeFault, match=clue) as caught:
            pull_image(driver, mirror, image.image_id, 1)
        assert caught.value.cause is FaultCause.REGISTRY
        assert "\n" not in caught.value.remedy
    with pytest.raises(JudgeFault, match=image.image_id) as caught:
        pull_image(driver, other.mirror, image.image_id, 1)
    forget(other.image_id)
    fault = resolve_image(driver, submission_of(image), min_free_bytes=1 << 60)
    assert isinstance(fault, JudgeFault)
    assert fault.cause is FaultCause.DISK
    huge = submission_of(image).image.model_copy(update={"size_bytes": 1 << 60})
    fault = resolve_image(driver, submission_of(image).model_copy(update={"image": huge}))
    assert isinstance(fault, JudgeFault)
    assert fault.cause is FaultCause.DISK
    with pytest.raises(JudgeFault, match="--driver docker"):
        ProcessDriver(driver.run_dir).pull(image.mirror)


def link(name: str, target: str) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = tarfile.LNKTYPE, target
    return info


@pytest.mark.docker
@pytest.mark.parametrize(
    "layers",
    [
        [tar_of(link("opt/x", "opt/nothing-there"))],
        [tar_of(("srv", b"a file"), ("srv/x", b"below it"))],
    ],
    ids=["a link to nothing", "a file for a folder"],
)
def test_layers_that_no_engine_can_unpack_are_a_submission_fault(
    registry: RegistryServer, driver: DockerDriver, layers: list[bytes], tmp_path: Path
) -> None:
    arrived = upload(settings_of(registry, tmp_path), MadeImage([some_tar("first.bin"), *layers]))
    with pytest.raises(SubmissionFault, match="cannot be unpacked") as caught:
        pull_image(driver, arrived.mirror, arrived.image_id, 1)
    assert caught.value.verdict is Verdict.IMAGE_INVALID


@pytest.mark.docker
@pytest.mark.parametrize("name", ["bzip2", "xz"])
def test_a_layer_that_the_engine_unpacks_to_another_one_is_a_submission_fault(
    registry: RegistryServer, driver: DockerDriver, tmp_path: Path, name: str
) -> None:
    """An image of a mirror of former days, with the layer as its author sent it: the diff ID does not match."""
    layer, repository = POLYGLOTS[name](), AuthorsRepository(registry, f"judge/{tmp_path.name[-20:]}".lower())
    image = MadeImage([some_tar(), layer])
    described = [
        {"digest": repository.push_blob(blob), "size": len(blob), "mediaType": kind}
        for blob, kind in ((image.blobs()[0], LAYER + ".gzip"), (layer, LAYER))
    ]
    config = {"digest": repository.push_blob(image.config), "size": len(image.config)}
    mirror = repository.push_manifest(manifest_of(config, described))
    with pytest.raises(SubmissionFault, match="not the one that the image names") as caught:
        pull_image(driver, mirror, image.id, 1)
    assert caught.value.verdict is Verdict.IMAGE_INVALID


@pytest.mark.docker
def test_a_pulled_image_is_kept_while_a_submission_refers_to_it(
    registry: RegistryServer, driver: DockerDriver, forget: Callable[[str], None], tmp_path: Path
) -> None:
    """It has no name, like an image that a newer build replaced. It is garbage only if no submission refers to it."""
    arrived = upload(settings_of(registry, tmp_path), MadeImage([some_tar()]))
    pull_image(driver, arrived.mirror, arrived.image_id, 1)
    assert arrived.image_id not in {each.name for each in gc_machine.unreferred_images(lambda: [arrived.image_id])}
    garbage = {each.name: each for each in gc_machine.unreferred_images(list)}
    assert garbage[arrived.image_id].remove()
    assert isinstance(resolve_image(driver, submission_of(arrived)), Image)
    forget(arrived.image_id)


def test_blobs_in_the_mirror_are_not_sent_again(registry: RegistryServer, tmp_path: Path) -> None:
    settings = settings_of(registry, tmp_path)
    image = MadeImage([some_tar(), some_tar()])
    first = upload(settings, image)
    mirrored = AuthorsRepository(registry, settings.mirror.partition("/")[2])
    folder = registry.folder / "blobs/docker/registry/v2/blobs/sha256"
    paths = [folder / d[7:9] / d[7:] / "data" for d in (image.id, *(sha256(blob) for blob in image.mirrored_blobs()))]
    before = [path.stat().st_mtime_ns for path in paths]
    assert upload(settings, image) == first
    assert [path.stat().st_mtime_ns for path in paths] == before
    assert mirrored.has_blob(image.id)


def test_a_layer_is_found_by_its_diff_id(registry: RegistryServer, tmp_path: Path) -> None:
    settings = settings_of(registry, tmp_path)
    image = MadeImage([some_tar()])
    mirror = open_mirror(Workspace(settings))
    assert mirror.layer(image.diff_ids[0]) is None
    upload(settings, image)
    layer = mirror.layer(image.diff_ids[0])
    assert layer is not None
    (blob,) = image.mirrored_blobs()
    assert (layer.digest, layer.n_bytes, layer.received) == (sha256(blob), len(blob), sha256(image.blobs()[0]))
    assert (layer.unpacked_bytes, layer.gzipped) == (len(image.tars[0]), True)
    elsewhere = settings.model_copy(update={"mirror": settings.mirror + "/other"})
    assert open_mirror(Workspace(elsewhere)).layer(image.diff_ids[0]) is None
    upload(elsewhere, image)
    assert open_mirror(Workspace(elsewhere)).layer(image.diff_ids[0]) == layer
