"""Results are published to a real bucket, verified there, and checked by `judge doctor`."""

from __future__ import annotations

import json
import threading

import pytest

from judge.publishing.publish import propose, publish_site
from judge.records.manifest import manifest_path, read_chain
from judge.upkeep.doctor import CheckResult, examine
from judge.workspace import Workspace
from submissions.store.interface import StoreError
from tasks.suites.suite import load_suite
from tests.servers.rgw import RgwServer
from tests.world.judged import own_key_of, submission_of
from tests.world.site_bucket import Bucket, files_of
from tests.world.world import World

PUBLISH = ("site", "publish")
DRY = (*PUBLISH, "--dry-run")
NO_BUCKET = {"LAMBENCH_PUBLISH_TO": "s3://nowhere-to-be-found"}


@pytest.fixture
def bucket(aws_environment: RgwServer) -> Bucket:
    return Bucket(aws_environment)


@pytest.fixture
def world(judged_world: World) -> World:
    return judged_world


def environment(bucket: Bucket) -> dict[str, str]:
    return {"LAMBENCH_PUBLISH_TO": bucket.url, "LAMBENCH_ENDPOINT_URL": bucket.rgw.endpoint}


def test_what_was_judged_is_published_in_a_bucket_and_verified_there(world: World, bucket: Bucket) -> None:
    id, where = submission_of(world), environment(bucket)
    world.store.put(f"submissions/{id}/preflight.log", "ready: 3.6 Å\n".encode())
    status, out, err = world.run_here(*PUBLISH, "--dry-run", **where)
    assert (status, err, bucket.names()) == (0, "", set())
    assert out.splitlines()[-1].startswith(f"To be published in {bucket.url}: 1 submissions with 2 results;")
    assert len(out.splitlines()) == 1
    status, out, err = world.run_here(*PUBLISH, "--dry-run", "--files", **where)
    assert "new: index.html" in out.splitlines()
    status, out, err = world.run_here(*PUBLISH, **where)
    assert (status, out, err) == (0, f"Published, manifest 1: {bucket.url}index.html\n", "")
    assert bucket.read("manifest.json") == world.store.get(manifest_path(1))
    assert bucket.read(f"logs/{id}.txt") == "ready: 3.6 Å\n".encode()
    assert {"404.html", f"submissions/{id}.html"} <= bucket.names()
    assert not (world.root / "public").exists()
    status, out, _ = world.run_here("verify", "--all", **where)
    assert (status, f"{len(bucket.names()) - 2} files of the site" in out) == (0, True)


def test_a_change_by_another_writer_is_detected_and_undone(world: World, bucket: Bucket) -> None:
    id, where, page = submission_of(world), environment(bucket), f"submissions/{submission_of(world)}.html"
    assert world.run_here(*PUBLISH, **where)[0] == 0
    bucket.s3.put_object(Bucket=bucket.name, Key="site/index.html", Body=b"defaced")
    copied = {"Bucket": bucket.name, "Key": f"site/{page}"}
    bucket.s3.copy_object(**copied, CopySource=copied, MetadataDirective="REPLACE", ContentEncoding="gzip")
    for name in ("404.html", "site.json"):
        bucket.s3.delete_object(Bucket=bucket.name, Key=f"site/{name}")
    status, out, _ = world.run_here("verify", id, "--json", **where)
    assert status == 1
    assert [
        (row["what"].removeprefix(bucket.url), row["why"].partition(":")[0]) for row in json.loads(out)["broken"]
    ] == [
        ("site.json", "is gone, or cannot be read"),
        ("404.html", "is gone"),
        ("index.html", "is not what was published"),
        ("index.html", "is served with wrong headers"),
        (page, "is served with wrong headers"),
    ]
    status, _, err = world.run_here(*PUBLISH, **where)
    assert (status, "judge site publish --anew" in err) == (3, True)
    status, out, _ = world.run_here(*PUBLISH, "--anew", "--dry-run", "--files", **where)
    assert (status, f"changed: {page}" in out.splitlines(), "new: 404.html" in out.splitlines()) == (0, True, True)
    assert world.run_here(*PUBLISH, "--anew", **where)[0] == 0
    status, out, _ = world.run_here("verify", id, **where)
    assert (status, out.splitlines()[-1]) == (0, "Everything holds.")
    assert bucket.raw(page)["ContentType"] == "text/html; charset=utf-8"
    for key in sorted(bucket.keys()):
        bucket.s3.delete_object(Bucket=bucket.name, Key=key)
    status, out, _ = world.run_here("verify", id, **where)
    assert (status, f"{bucket.url}manifest.json: is gone" in out) == (1, True)


def test_a_bucket_may_be_named_for_once(world: World, bucket: Bucket) -> None:
    status, _, _ = world.run_here(*PUBLISH, "--to", bucket.url, LAMBENCH_ENDPOINT_URL=bucket.rgw.endpoint)
    assert (status, "index.html" in bucket.names()) == (0, True)
    assert not (world.root / "public").exists()


def test_the_manifest_is_not_made_where_the_assets_cannot_be_put(world: World, bucket: Bucket) -> None:
    bucket.policy(
        {"Effect": "Deny", "Principal": "*", "Action": "s3:PutObject", "Resource": bucket.arn("site/assets/*")}
    )
    status, out, err = world.run_here(*PUBLISH, **environment(bucket))
    assert (status, out, err.count("\n")) == (3, "", 1)
    assert err.startswith(f"judge: this machine (STORE): {bucket.url}assets/")
    assert "allow them to read, write, list and delete" in err
    assert list(world.store.list("manifests/")) == []


def test_two_judges_of_one_store_publish_at_once(world: World, bucket: Bucket) -> None:
    suite, key = load_suite(world.settings.suite), own_key_of(world)
    proposal = propose(world.workspace, suite, bucket.clock())
    start, outputs = threading.Barrier(2), []

    def publish() -> None:
        start.wait(timeout=20)
        try:
            publish_site(world.store, proposal, bucket.site(), key, bucket.clock())
        except StoreError as error:
            outputs.append(str(error))

    threads = [threading.Thread(target=publish) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    chain = read_chain(world.store, {key.public})
    assert (len(chain.manifests) + len(outputs) >= 2, chain.defects) == (True, ())
    last = publish_site(world.store, proposal, bucket.site(), key, bucket.clock())
    assert bucket.read("manifest.json") == last.data


@pytest.mark.parametrize(
    ("command", "variables", "remedy"),
    [
        (DRY, {"AWS_SECRET_ACCESS_KEY": "wrong"}, "AWS_SECRET_ACCESS_KEY"),
        (DRY, {"AWS_ACCESS_KEY_ID": "nobody"}, "AWS_ACCESS_KEY_ID"),
        (DRY, {"LAMBENCH_PUBLISH_TO": "s3://not/../allowed"}, "publish_to"),
        (DRY, NO_BUCKET, "there is no such bucket: make it"),
        (PUBLISH, NO_BUCKET, "there is no such bucket: make it"),
    ],
    ids=["secret", "key", "address", "bucket", "publish"],
)
def test_wrong_settings_are_reported_in_one_line(
    world: World, bucket: Bucket, command: tuple[str, ...], variables: dict[str, str], remedy: str
) -> None:
    status, out, err = world.run_here(*command, **{**environment(bucket), **variables})
    assert (status, out, err.count("\n"), remedy in err) == (3, "", 1, True), err
    assert list(world.store.list("manifests/")) == []


def test_the_doctor_tells_whether_the_bucket_answers(world: World, bucket: Bucket) -> None:
    destination = {"publish_to": bucket.url, "endpoint_url": bucket.rgw.endpoint}

    def found(**settings: str) -> CheckResult:
        findings = examine(Workspace(world.settings.model_copy(update={**destination, **settings})))
        return next(finding for finding in findings if finding.name == "site")

    nobody = "nobody else lists or writes it"
    assert found() == ("site", True, f"{bucket.url}: {nobody}; nothing is published there yet")
    bucket.publish(files_of(1))
    names = bucket.names()
    assert found() == ("site", True, f"{bucket.url}: {nobody}")
    address = f"{bucket.rgw.endpoint}/{bucket.name}/site/"
    assert found(site_url=address) == ("site", True, f"{bucket.url}: read at site_url; {nobody}")
    assert bucket.names() == names
    bucket.s3.put_object(Bucket=bucket.name, Key="other/manifest.json", Body=b"of another")
    for settings, remedy in (
        ({"publish_to": "s3://nowhere-to-be-found"}, "make it"),
        ({"upload_bucket": bucket.url}, "one lies within the other"),
        ({"site_url": f"{bucket.rgw.endpoint}/{bucket.name}/other"}, "manifest.json is another there"),
    ):
        finding = found(**settings)
        assert (finding.ok, remedy in finding.text) == (False, True), finding
    bucket.policy({"Effect": "Allow", "Principal": "*", "Action": "s3:PutObject", "Resource": bucket.arn("*")})
    finding = found()
    assert (finding.ok, "publish_to: anybody may write into it" in finding.text) == (False, True), finding
    assert bucket.names() == {*names, "other/manifest.json"}
