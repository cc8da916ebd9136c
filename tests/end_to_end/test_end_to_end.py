"""From two authors' machines to a page in a browser, every part real: registries, an S3 server, a Docker engine.

One author's image travels by reference from a private registry, the other's in parts. Neither has a credential of the
judge's, and the judge has no server of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import docker
import docker.errors
import pytest
from docker.models.images import Image

from submissions.store.interface import Store
from submissions.store.open_store import open_store
from tests.selftested import Selftested
from tests.servers.registry import PASSWORD, USER, RegistryServer
from tests.servers.rgw import RgwServer
from tests.world.commands import ROOT
from tests.world.world import World, small_world

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.together("selftest"), pytest.mark.timeout(900)]

SECRET = {"username": USER, "password": PASSWORD}
CARD = 'name = "{name}"\nversion = "1"\nauthors = ["{author}"]\n[label_sets."Inorganic Materials"]\nname = "EMT"\n'


@dataclass
class Judge(World):
    """A judge whose store, upload bucket, status bucket and site are in S3.

    Args:
        run_dir: short, since the paths of sockets are.
    """

    rgw: RgwServer
    mirror: str
    registry: str
    run_dir: Path
    private: str = ""
    uploads: str = ""
    public: str = ""
    site: str = ""

    @property
    def place(self) -> Store:
        """The store."""
        return open_store(f"s3://{self.private}/judge", self.rgw.endpoint)

    @property
    def page(self) -> str:
        """The address of the site: the S3 server's website endpoint."""
        return f"{self.rgw.website_endpoint}/{self.site}/"

    @property
    def stated_settings(self) -> dict[str, Any]:
        return {
            **super().stated_settings,
            "driver": "docker",
            "allow_process": False,
            "store": f"s3://{self.private}/judge",
            "upload_bucket": f"s3://{self.uploads}",
            "status_bucket": f"s3://{self.public}/mail",
            "status_url": f"{self.rgw.endpoint}/{self.public}/mail",
            "publish_to": f"s3://{self.site}",
            "site_url": self.page,
            "endpoint_url": self.rgw.endpoint,
            "mirror": f"{self.mirror}/lambench",
            "registries": [self.registry],
            "registry_config": "config.json",
            "run_dir": str(self.run_dir),
            "limits": {"cpus": 1, "startup_s": 60},
        }

    def says(self, *arguments: str, status: int = 0) -> str:
        """The output of `judge` with these arguments, in a new process."""
        process = self.command(*arguments)
        out, err = process.communicate(timeout=300)
        assert process.returncode == status, f"judge {' '.join(arguments)}: {out}\n{err}"
        return out + err


@dataclass(frozen=True)
class Author:
    """An author's machine: a folder, an invitation, an engine, and no credentials."""

    folder: Path

    def says(self, *arguments: str, status: int = 0) -> str:
        """The output of `lambench-submit` with these arguments."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        environment |= {
            "PYTHONPATH": str(ROOT),
            "HOME": str(self.folder),
            "XDG_STATE_HOME": str(self.folder / "state"),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "LAMBENCH_INVITE": str(self.folder / "invite.json"),
        }
        done = subprocess.run(
            [sys.executable, "-m", "submissions.cli.main", *arguments],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == status, f"lambench-submit {' '.join(arguments)}: {done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    def asks(self, *arguments: str) -> Any:
        """Its output with `--json`, parsed."""
        return json.loads(self.says(*arguments, "--json"))


@pytest.fixture
def judge(
    aws_environment: RgwServer,
    registry: RegistryServer,
    private_registry: RegistryServer,
    selftested: Selftested,
    tmp_path: Path,
) -> Iterator[Judge]:
    rgw = aws_environment
    root = tmp_path / "judge"
    root.mkdir()
    with TemporaryDirectory(prefix="lj") as short:
        world = Judge(root, rgw, registry.host, private_registry.host, Path(short))
        world.private, world.uploads = rgw.new_bucket(), rgw.new_bucket(versioned=True)
        world.public, world.site = rgw.new_bucket(public=True), rgw.new_bucket(public=True)
        website = {"IndexDocument": {"Suffix": "index.html"}, "ErrorDocument": {"Key": "404.html"}}
        rgw.client().put_bucket_website(Bucket=world.site, WebsiteConfiguration=website)
        (root / "config.json").write_text(json.dumps(private_registry.docker_config))
        small_world(root)
        shutil.copy(selftested.key_file, root / "signing.key")
        world.write_settings()
        selftested.store(world.place)
        yield world


def author(tmp_path: Path, name: str, model: str) -> Author:
    folder = tmp_path / name
    folder.mkdir()
    (folder / "lambench.toml").write_text(CARD.format(name=model, author=name.title()))
    return Author(folder)


def built(engine: docker.DockerClient, folder: Path, tag: str, line: str) -> Image:
    """EMT under another name: an image with one more layer."""
    (folder / "note.txt").write_text(tag)
    (folder / "Dockerfile").write_text(f"FROM lambench/emt:latest\nCOPY note.txt /model/note.txt\n{line}\n")
    return engine.images.build(path=str(folder), tag=tag, rm=True)[0]


def test_two_authors_a_judge_and_a_reader(
    judge: Judge, images: docker.DockerClient, private_registry: RegistryServer, browser: Browser, tmp_path: Path
) -> None:
    alice, bob = author(tmp_path, "alice", "Referred EMT"), author(tmp_path, "bob", "Uploaded EMT")
    base, tag = f"{private_registry.host}/base", f"{private_registry.host}/alice/emt:1"
    made = []
    try:
        made += [built(images, alice.folder, tag, ""), built(images, bob.folder, "bob-emt:1", "LABEL by=bob")]
        images.images.get("lambench/emt:latest").tag(base)
        for reference in (base, tag):
            assert "errorDetail" not in images.images.push(reference, auth_config=SECRET)
        base_digest = next(d for d in images.images.get(base).attrs["RepoDigests"] if d.startswith(f"{base}@"))

        # The maintainer: public layers, and an invitation for each; Bob may submit once.
        judge.says("layers", "add", base_digest)
        repository = f"{private_registry.host}/alice"  # private: the judge's credential may read it for her alone
        judge.says("invite", "alice", "--repository", repository, "--out", str(alice.folder / "invite.json"))
        judge.says("invite", "bob", "--max", "1", "--out", str(bob.folder / "invite.json"))
        for invited in (alice, bob):
            assert judge.rgw.access_key not in (invited.folder / "invite.json").read_text()

        # The authors.
        alice.says(tag)
        bob.says("bob-emt:1", "--upload")
        assert sent_bytes(judge) < 100_000  # of 500 MB: the new layer, and the submission request

        # The tag is moved and the images are removed from this engine: the judge must take the submitted image.
        images.images.remove(tag, force=True)
        images.images.remove("bob-emt:1", force=True)
        said = judge.says("evaluate", "--all")
        ids = {row["name"]: row["id"] for row in json.loads(judge.says("list", "--json"))}
        assert set(ids) == {"Referred EMT", "Uploaded EMT"}, said
        assert ids["Referred EMT"].endswith(str(made[0].id).removeprefix("sha256:")[:12])
        assert ids["Uploaded EMT"].endswith(str(made[1].id).removeprefix("sha256:")[:12])
        (row,) = [row for row in json.loads(judge.says("list", "--json")) if row["name"] == "Uploaded EMT"]
        assert (row["ok"], row["results"]) == (2, 2)

        judge.says("site", "publish")
        assert models_in_a_browser(browser, judge.page) == {"Referred EMT", "Uploaded EMT"}
        (item,) = alice.asks("list")["submissions"]
        assert (item["state"], item["id"]) == ("published", ids["Referred EMT"])
        assert "copper" in alice.says("status", ids["Referred EMT"])

        made += quota_and_revocation_hold(judge, images, alice, bob, tag)
        judge.says("verify", "--all")
    finally:
        for name in (tag, base, "bob-emt:1", "bob-emt:2"):  # removes tags only: lambench/emt keeps its tag
            with suppress(docker.errors.ImageNotFound):
                images.images.remove(name)
        for image in made:
            with suppress(docker.errors.ImageNotFound):
                images.images.remove(str(image.id), force=True)


def quota_and_revocation_hold(
    judge: Judge, images: docker.DockerClient, alice: Author, bob: Author, tag: str
) -> list[Image]:
    """Images that are refused: one author has used up his quota, the other is revoked."""
    bob.folder.joinpath("lambench.toml").write_text(CARD.format(name="Second", author="Bob"))
    made = [built(images, bob.folder, "bob-emt:2", "LABEL by=bob-again")]
    assert "1 of 1 submissions are taken" in bob.says("bob-emt:2", "--upload", "--no-check", status=2)
    made.append(built(images, alice.folder, tag, "LABEL by=alice-again"))
    images.images.push(tag, auth_config=SECRET)
    alice.says(tag, "--no-check")
    judge.says("revoke", "alice", "--reason", "the project has ended")
    assert "revoked" in judge.says("intake")
    (refused,) = [item for item in alice.asks("list")["submissions"] if item["state"] == "refused"]
    assert "revoked" in refused["fate"]["sentence"]
    assert len(json.loads(judge.says("list", "--json"))) == 2
    return made


def sent_bytes(judge: Judge) -> int:
    """The number of bytes in the upload bucket."""
    found = judge.rgw.client().list_object_versions(Bucket=judge.uploads)
    return sum(version["Size"] for version in found.get("Versions", []))


def models_in_a_browser(browser: Browser, address: str) -> set[str]:
    """The models that the page shows in a browser, and the page of each."""
    seen = set()
    with browser.new_page() as page:
        broken: list[str] = []
        page.on("pageerror", lambda error: broken.append(str(error)))
        for name in ("Referred EMT", "Uploaded EMT"):
            page.goto(address)
            page.get_by_role("link", name=name).first.click()
            seen.add(page.locator("h1").inner_text())
        assert not broken
    return {name for name in ("Referred EMT", "Uploaded EMT") if any(name in title for title in seen)}
