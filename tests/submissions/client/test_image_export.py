"""Layers of an image as parts: of both layouts, the same each time, and never more than one on the disk."""

from __future__ import annotations

import gzip
import hashlib
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import docker
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.verdict import JudgeFault, SubmissionFault
from submissions.client.image_archive import LayerFile, read_layout, save_image
from submissions.client.image_export import layer_parts
from submissions.requests import MAX_REQUEST_BYTES
from tests.submissions.small_image import SmallImage, config_of, digest, layer, noise, small_image, tar_of

LAYERS = (layer("base", noise(100_000, 1)), layer("text", b"abc" * 100_000), layer("weights", noise(300_000, 2)))


@pytest.fixture(scope="module")
def image(engine: docker.DockerClient) -> Iterator[SmallImage]:
    with small_image(engine, *LAYERS, LAYERS[1]) as made:  # one of them twice
        yield made


def in_chunks(archive: bytes, n_bytes: int = 4321) -> Iterator[bytes]:
    return (archive[at : at + n_bytes] for at in range(0, len(archive), n_bytes))


def packed(
    archive: Iterator[bytes], files: Sequence[LayerFile], folder: Path, max_bytes: int
) -> dict[str, list[bytes]]:
    """The parts of each layer, by its diff ID; checked one by one as they come."""
    folder.mkdir(exist_ok=True)
    layers: dict[str, list[bytes]] = {}
    for file, parts in layer_parts(archive, files, folder, max_bytes):
        for part in parts:
            data = part.path.read_bytes()
            assert list(folder.iterdir()) == [part.path]
            assert (len(data), hashlib.sha256(data).hexdigest()) == (part.n_bytes, part.sha256)
            assert 0 < len(data) <= max_bytes
            layers.setdefault(file.diff_id, []).append(data)
    assert list(folder.iterdir()) == []
    return layers


@pytest.mark.docker
def test_an_image_of_the_engine_is_exported(image: SmallImage, tmp_path: Path) -> None:
    layout = read_layout(save_image(image.id))
    assert layout.image_id == image.id
    assert layout.diff_ids == image.diff_ids
    assert [file.diff_id for file in layout.files] == list(image.diff_ids[:3])
    parts = packed(save_image(image.id), layout.files, tmp_path / "a", 70_000)
    for each in LAYERS:
        assert gzip.decompress(b"".join(parts[digest(each)])) == each
    assert [len(parts[digest(each)]) for each in LAYERS] == [2, 1, 5]
    assert packed(save_image(image.id), layout.files, tmp_path / "b", 70_000) == parts


@pytest.mark.docker
def test_what_the_judge_has_is_left_out(image: SmallImage, tmp_path: Path) -> None:
    layout = read_layout(save_image(image.id))
    wanted = layout.without([digest(LAYERS[0]), digest(LAYERS[1])])
    assert list(packed(save_image(image.id), wanted, tmp_path / "a", 10**6)) == [digest(LAYERS[2])]


@pytest.mark.docker
@pytest.mark.usefixtures("engine")
def test_an_image_that_is_gone_is_a_fault_of_this_machine() -> None:
    with pytest.raises(JudgeFault, match="DOCKER: the Docker engine refused a request"):
        read_layout(save_image(f"sha256:{'0' * 64}"))


def blob(data: bytes) -> tuple[str, bytes]:
    return f"blobs/sha256/{hashlib.sha256(data).hexdigest()}", data


def oci_archive(
    layers: Sequence[bytes], seed: int, compressed: bool = False, docker_list: bool = False, note: str = ""
) -> bytes:
    """An archive as newer engines write it, its files in any order."""
    config = config_of(layers, note)
    kept = [gzip.compress(each) if compressed else each for each in layers]
    manifest = json.dumps({"config": {"digest": digest(config)}, "layers": [{"digest": digest(each)} for each in kept]})
    attestation = json.dumps({"config": {"digest": digest(b"{}")}, "layers": []})
    inner = json.dumps(
        {
            "manifests": [
                {"digest": digest(attestation.encode()), "platform": {"os": "unknown", "architecture": "unknown"}},
                {"digest": digest(b"of another platform"), "platform": {"os": "linux"}},
                {"digest": digest(manifest.encode()), "platform": {"os": "linux"}},
            ]
        }
    )
    files = [blob(data) for data in (config, manifest.encode(), attestation.encode(), inner.encode(), *kept)]
    files.append(("index.json", json.dumps({"manifests": [{"digest": digest(inner.encode())}]}).encode()))
    if docker_list:
        names = {"Config": blob(config)[0], "RepoTags": None, "Layers": [blob(each)[0] for each in kept]}
        files.append(("manifest.json", json.dumps([names]).encode()))
    random.Random(seed).shuffle(files)
    return tar_of(dict(files))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("docker_list", [False, True])
def test_the_layout_of_newer_engines(tmp_path: Path, seed: int, compressed: bool, docker_list: bool) -> None:
    archive = oci_archive(LAYERS, seed, compressed, docker_list)
    layout = read_layout(in_chunks(archive))
    assert layout.config == config_of(LAYERS)
    assert layout.diff_ids == tuple(map(digest, LAYERS))
    parts = packed(in_chunks(archive), layout.files, tmp_path / "work", 70_000)
    assert {diff_id: gzip.decompress(b"".join(data)) for diff_id, data in parts.items()} == {
        digest(each): each for each in LAYERS
    }


@settings(max_examples=60, deadline=None)
@given(content=st.binary(max_size=3000), max_bytes=st.integers(50, 2000), chunk=st.integers(1, 5000))
def test_parts_one_after_the_other_are_the_layer(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, max_bytes: int, chunk: int
) -> None:
    content = b"tar" + content  # what begins as gzip or zstd does would be taken for it
    archive = tar_of({"0/layer.tar": content, "more": b"x"})
    file = LayerFile(digest(content), "0/layer.tar", len(content))
    folder = tmp_path_factory.mktemp("work")
    (parts,) = packed(in_chunks(archive, chunk), [file], folder, max_bytes).values()
    assert gzip.decompress(b"".join(parts)) == content
    assert all(len(part) == max_bytes for part in parts[:-1])


@pytest.mark.parametrize("keep", [0, 10, 600, 5000])
def test_an_archive_that_is_cut_off(keep: int) -> None:
    with pytest.raises(SubmissionFault, match="IMAGE_INVALID"):
        read_layout(in_chunks(oci_archive(LAYERS, 0)[:keep]))


def test_a_layer_that_is_cut_off(tmp_path: Path) -> None:
    archive = tar_of({"0/layer.tar": LAYERS[0]})
    file = LayerFile(digest(LAYERS[0]), "0/layer.tar", len(LAYERS[0]))
    with pytest.raises(SubmissionFault, match="broken archive"):
        packed(in_chunks(archive[:50_000]), [file], tmp_path / "work", 10**6)


def test_other_bytes_than_the_diff_id_says(tmp_path: Path) -> None:
    file = LayerFile(digest(b"other"), "0/layer.tar", 3)
    with pytest.raises(SubmissionFault, match="other bytes than the layer"):
        packed(in_chunks(tar_of({"0/layer.tar": b"abc"})), [file], tmp_path / "work", 10**6)


def test_a_disk_that_does_not_take_a_part_is_named(tmp_path: Path) -> None:
    file = LayerFile(digest(LAYERS[0]), "0/layer.tar", len(LAYERS[0]))
    parts = layer_parts(in_chunks(tar_of({file.name: LAYERS[0]})), [file], tmp_path / "gone", 10**6)
    _, of_layer = next(parts)
    with pytest.raises(JudgeFault, match=r"DISK: .*gone/part: No such file or directory: free some space"):
        next(of_layer)


def test_a_layer_in_zstd_is_named_with_the_remedy(tmp_path: Path) -> None:
    file = LayerFile(digest(b"other"), "blob", 9)
    with pytest.raises(SubmissionFault, match=r"compressed with zstd.*submit it by reference"):
        packed(in_chunks(tar_of({"blob": b"\x28\xb5\x2f\xfdabcde"})), [file], tmp_path / "work", 10**6)


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"manifest.json": b"[]"},
        {"manifest.json": b"no json"},
        {"manifest.json": b'[{"Config": "c", "Layers": ["l"]}]', "c": b"{}"},
        {"manifest.json": b'[{"Config": "c", "Layers": []}]', "c": b'{"rootfs": {"diff_ids": ["sha256:0"]}}'},
        {"manifest.json": b'[{"Config": "c", "Layers": ["l"]}]', "c": b'{"rootfs": {"diff_ids": ["sha256:0"]}}'},
        {"index.json": b'{"manifests": []}'},
    ],
)
def test_something_else_than_an_image(files: dict[str, bytes]) -> None:
    with pytest.raises(SubmissionFault, match="IMAGE_INVALID: The engine saves the image") as caught:
        read_layout(in_chunks(tar_of(files)))
    assert caught.value.sentence.isprintable()


@pytest.mark.parametrize("docker_list", [False, True])
def test_a_configuration_that_fits_no_request_is_named(docker_list: bool) -> None:
    archive = oci_archive([b"layer"], 0, docker_list=docker_list, note="x" * MAX_REQUEST_BYTES)
    with pytest.raises(SubmissionFault, match=r"configuration has 10\d+ bytes, 1048576 at most: give it fewer labels"):
        read_layout(in_chunks(archive))
