"""A store on a real S3 server gives the same results as a folder, with the same commands."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from judge.config import JudgeSettings
from judge.evaluation.unit_report import Did
from judge.records.probe_secret import order_secret
from submissions.store.interface import Store
from submissions.store.open_store import open_store
from tests.servers.rgw import RgwServer
from tests.world.world import World


@dataclass
class S3World(World):
    """The same world with its store in a bucket.

    Args:
        url: `s3://bucket/prefix`.
    """

    url: str
    endpoint: str

    @property
    def store(self) -> Store:  # type: ignore[override]
        return open_store(self.url, self.endpoint)

    @property
    def settings(self) -> JudgeSettings:
        return super().settings.model_copy(update={"store": self.url, "endpoint_url": self.endpoint})

    def command_here(self, *arguments: str) -> str:
        """The output of `judge` with these arguments; the environment names the store."""
        status, out, err = self.run_here(*arguments, LAMBENCH_STORE=self.url, LAMBENCH_ENDPOINT_URL=self.endpoint)
        assert (status, err) == (0, "")
        return out


@pytest.mark.slow
def test_a_store_in_a_bucket_has_the_digest_of_a_folder(world: World, aws_environment: RgwServer) -> None:
    bucket = aws_environment.new_bucket()
    in_bucket = S3World(world.root, f"s3://{bucket}/private/judge", aws_environment.endpoint)
    world.write_settings()
    submission = world.submit("emt")
    order_secret(world.store)
    for key in (*world.store.list("submissions/"), *world.store.list("secrets/")):
        assert in_bucket.store.put_if_absent(key, world.store.get(key))

    summary, _ = world.evaluate()
    in_bucket.command_here("evaluate", "--all")
    assert summary.exit_status == 0
    results = in_bucket.results()
    assert [result.submission for result in results] == [submission.id] * 2
    assert {result.verdict.value for result in results} == {"OK"}
    digest = in_bucket.command_here("store", "digest")
    assert digest.endswith("  2 results\n")
    assert digest == world.run_here("store", "digest")[1]
    for prefix in ("results/", "observations/", "submissions/"):
        assert list(in_bucket.store.list(prefix)) == list(world.store.list(prefix)) != []

    again, _ = in_bucket.evaluate()
    assert again.counts == {Did.NOTHING: 2}
    listed = aws_environment.client().list_objects_v2(Bucket=bucket)["Contents"]
    assert all(each["Key"].startswith("private/judge/") for each in listed)
