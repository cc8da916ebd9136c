"""Manifests and configurations of strangers have one meaning, or are a submission fault; they never cause a crash."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.images.manifest import ImageIndex, read_config, read_manifest
from sandbox.image.image_check import MACHINE, image_from_inspection
from sandbox.verdict import SubmissionFault, Verdict
from tests.world.small_images import MadeImage, index_of, sha256, tar_of

IMAGE = MadeImage([tar_of(("a", b"a"))])
CONFIG = json.loads(IMAGE.config)
FIELDS = (
    *("os", "architecture", "config", "rootfs", "type", "diff_ids", "Labels", "Env", "Volumes", "WorkingDir", "Cmd"),
    *("Entrypoint", "env", "ROOTFS", "org.lambench.calculator", "org.lambench.python", "org.lambench.protocol"),
)
TEXTS = (
    "",
    "1",
    "\0",
    "\x1b[2J",
    "/lambench",
    "a:b",
    "LD_\x1b=x",
    "LD_PRELOAD=x",
    "../..",
    '["a"]',
    "[" * 3000,
    "\u202e",
)
VALUES = (None, True, -1, 10**40, 0.5, [], {}, [[]], *TEXTS)


def altered(chance: random.Random) -> Any:
    """A valid configuration with up to three changed fields, each in one of its objects."""
    config = json.loads(IMAGE.config)
    for _ in range(chance.randint(1, 3)):
        inside = config.get("config")
        labels = inside.get("Labels") if isinstance(inside, dict) else None
        place = chance.choice([config, inside, config.get("rootfs"), labels])
        first, second = chance.choices(VALUES, k=2)
        if isinstance(place, dict):
            place[chance.choice(FIELDS)] = chance.choice(
                [first, [first, second], {chance.choice(FIELDS): first, "/tmp/x": second}]
            )
    return config


@given(st.integers(0, 2**32))
@settings(max_examples=20, deadline=None)
def test_a_configuration_is_valid_or_a_submission_fault(seed: int) -> None:
    """A thousand configurations."""
    chance = random.Random(seed)
    for data in (json.dumps(altered(chance)).encode() for _ in range(50)):
        try:
            image, refusal = image_from_inspection("x", read_config(data).inspection(sha256(data))), None
        except SubmissionFault as fault:
            image, refusal = None, fault
        if image:
            assert (image.id, image.architecture) == (sha256(data), MACHINE)
        if refusal:
            assert refusal.verdict in (Verdict.IMAGE_INVALID, Verdict.POLICY_VIOLATION), data
            assert refusal.sentence.isprintable(), data


@given(st.binary(max_size=300))
@settings(max_examples=200, deadline=None)
def test_bytes_are_no_configuration_and_no_manifest(data: bytes) -> None:
    for read in (read_config, read_manifest):
        with pytest.raises(SubmissionFault):
            read(data)


NESTED = b'{"config": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"


@pytest.mark.parametrize(
    "data",
    [
        NESTED,
        b"[]",
        b"null",
        b'{"os": 1' + b"0" * 5000 + b"}",
        json.dumps({**CONFIG, "x": float("nan")}).encode(),
        json.dumps({**CONFIG, "x": "\ud800"}).encode(),
        json.dumps(CONFIG).encode("utf-16"),
        json.dumps({**CONFIG, "x": "y" * 1024**2}).encode(),
        json.dumps({**CONFIG, "rootfs": {"type": "layers", "diff_ids": []}}).encode(),
        json.dumps({**CONFIG, "rootfs": {"type": "layers", "diff_ids": [IMAGE.diff_ids[0]] * 126}}).encode(),
        json.dumps({**CONFIG, "rootfs": {"type": "layers+base", "diff_ids": [*IMAGE.diff_ids]}}).encode(),
        json.dumps({**CONFIG, "rootfs": {"type": "layers", "diff_ids": ["sha256:../../x"]}}).encode(),
    ],
    ids=range(12),
)
def test_invalid_configurations_are_refused(data: bytes) -> None:
    with pytest.raises(SubmissionFault) as caught:
        read_config(data)
    assert caught.value.verdict is Verdict.IMAGE_INVALID


@pytest.mark.parametrize(
    "fields",
    [
        {"created": "x"},
        {"created": 5},
        {"created": "2024-01-01 00:00:00Z"},
        {"created": "2024-13-01T00:00:00Z"},
        {"history": {}},
        {"history": [{"created": "x"}]},
        {"history": [{"Created": "x"}]},
        {"history": [{"empty_layer": "no"}]},
        {"history": [{"created_by": "more than there are"}] * 2},
        {"variant": 8},
        {"os.version": 10},
        {"container_config": {"Env": 5}},
        *(
            {"config": {**CONFIG["config"], **each}}
            for each in (
                {"ExposedPorts": 5},
                {"ExposedPorts": {"80/tcp": 5}},
                {"Volumes": {"/tmp/x": 5}},
                {"User": 5},
                {"Tty": "yes"},
                {"Shell": "sh"},
                {"StopTimeout": 1.0},
                {"StopTimeout": 1 << 63},
                {"Healthcheck": {"Interval": "1s"}},
                {"Healthcheck": {"interval": "1s"}},
            )
        ),
    ],
    ids=str,
)
def test_a_configuration_that_an_engine_could_not_read_is_refused_before_it_is_mirrored(fields: Any) -> None:
    """An engine refuses each of them, so no pull would succeed."""
    with pytest.raises(SubmissionFault) as caught:
        read_config(json.dumps({**CONFIG, **fields}).encode())
    assert caught.value.verdict is Verdict.IMAGE_INVALID


def test_a_configuration_of_a_common_builder_is_read() -> None:
    built = {
        "created": "2024-02-29T23:59:59.123456789Z",
        "history": [{"created": "0001-01-01T00:00:00Z", "created_by": "x"}, {"created_by": "y", "empty_layer": True}],
        "container_config": None,
        "config": {
            **CONFIG["config"],
            "ExposedPorts": {"80/tcp": {}},
            "OnBuild": None,
            "ArgsEscaped": True,
            "Healthcheck": {"Test": ["CMD", "x"], "Interval": 30_000_000_000, "Retries": 3},
        },
        "moby.buildkit.buildinfo.v1": "eyJ9",
    }
    assert read_config(json.dumps({**CONFIG, **built}).encode()).diff_ids == IMAGE.diff_ids


def test_a_configuration_with_a_second_meaning_is_refused() -> None:
    """Go reads `env` as `Env`, and merges names that occur twice: a setting could be hidden from the judge."""
    text = IMAGE.config.decode()
    hidden = '"Env": ["LD_PRELOAD=/x.so"]'
    for config in (
        text.replace('"config": {', '"config": {' + hidden.replace("Env", "env") + ", "),
        text.replace('"config": {', '"Config": {' + hidden + '}, "config": {'),
        text.replace('"config": {', '"config": {' + hidden + '}, "config": {'),
        text.replace('"rootfs"', '"Rootfs": {"diff_ids": []}, "rootfs"'),
        text.replace('"config": {', '"config": {"\u017fhell": [], "Entrypoint": [], "entrypoint": ["/x"], '),
    ):
        assert config != text
        with pytest.raises(SubmissionFault, match=r"cannot be read|in another case than the standard"):
            read_config(config.encode())
    assert read_config(text.encode()).diff_ids == IMAGE.diff_ids


def test_a_manifest_is_of_one_image_or_of_several() -> None:
    manifest, index = json.loads(IMAGE.manifest()), json.loads(index_of({"linux/amd64": IMAGE.manifest()}))
    assert not isinstance(read_manifest(IMAGE.manifest()), ImageIndex)
    for fields in (
        {**manifest, "manifests": index["manifests"]},
        {**manifest, "Manifests": index["manifests"]},
        {**manifest, "schemaVersion": 1},
        {"schemaVersion": 2},
        {**manifest, "layers": manifest["layers"] * 126},
        {**manifest, "layers": [{**manifest["layers"][0], "size": -1}]},
        {**manifest, "layers": [{**manifest["layers"][0], "digest": "sha512:" + "0" * 128}]},
        {**manifest, "config": None},
        {**manifest, "config": {**manifest["config"], "size": "5"}},
    ):
        with pytest.raises(SubmissionFault) as caught:
            read_manifest(json.dumps(fields).encode())
        assert caught.value.verdict is Verdict.IMAGE_INVALID


def test_an_index_gives_the_plainest_variant_for_this_machine() -> None:
    def index(*platforms: dict[str, str]) -> ImageIndex:
        manifests = [{"digest": f"sha256:{i:064d}", "size": 1, "platform": each} for i, each in enumerate(platforms)]
        parsed = read_manifest(json.dumps({"schemaVersion": 2, "manifests": manifests}).encode())
        assert isinstance(parsed, ImageIndex)
        return parsed

    other = {"os": "unknown", "architecture": "unknown"}
    mine = {"os": "linux", "architecture": "amd64"}
    assert index(other, {**mine, "variant": "v3"}, mine).manifest("amd64").digest.endswith("2")
    assert index(other, {**mine, "variant": "v3"}).manifest("amd64").digest.endswith("1")
    with pytest.raises(SubmissionFault, match="--platform linux/arm64"):
        index(other, mine).manifest("arm64")
