"""A published site as a browser gets it from the bucket's own website: compressed, styled, and with a page for what is
not there.
"""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

import pytest

from judge.publishing.bucket import BucketSite
from judge.publishing.bucket_objects import BucketObjects
from judge.publishing.site_files import NOT_FOUND, not_found_page, site_files
from judge.ranking.load import read_board
from judge.view.sources import Sources
from submissions.preflight.log import store_log
from submissions.store.local import LocalStore
from submissions.store.s3_client import BucketPlace
from tests.servers.rgw import RgwServer
from tests.world.board_records import SUITE, good_results, save, submission

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Browser, Response, expect

pytestmark = pytest.mark.slow
PREFIX = "boards/small/"


class Site(NamedTuple):
    address: str
    log: str


@pytest.fixture(scope="module")
def site(rgw: RgwServer, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Two models, one with a preflight log, published below a prefix: other sites may be beside it."""
    store = LocalStore(tmp_path_factory.mktemp("bucket-site"))
    models = [submission(name) for name in ("alpha", "beta")]
    store_log(store, models[0].id, "ready\nat 3.6 Å <b>\n")
    for model in models:
        save(store, [model], good_results(model, 0.1))
    bucket = rgw.new_bucket(public=True)
    website = {"IndexDocument": {"Suffix": "index.html"}, "ErrorDocument": {"Key": PREFIX + NOT_FOUND}}
    client = rgw.client()
    client.put_bucket_website(Bucket=bucket, WebsiteConfiguration=website)
    address = f"{rgw.website_of(bucket)}/{PREFIX.rstrip('/')}"
    missing = not_found_page(f"{address}/")
    files = {**site_files(store, read_board(store, SUITE, pytest.fail), Sources()), NOT_FOUND: missing}
    with BucketSite(BucketObjects(client, BucketPlace(bucket, PREFIX)), timedelta(days=1)).staged(files) as staged:
        staged.show()
    return Site(address, f"logs/{models[0].id}.txt")


def test_a_reader_finds_both_models(site: Site, browser: Browser) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        messages: list[str] = []
        got: dict[str, Response] = {}
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.on("response", lambda response: got.update({response.url: response}))
        page.goto(f"{site.address}/")
        cells = page.locator("section#ranking th.model[scope=row] a")
        assert sorted(text.split()[0] for text in cells.all_text_contents()) == ["alpha", "beta"]
        page.get_by_role("link", name="alpha").first.click()
        assert page.locator("h1").text_content() == "alpha"
        assert (
            page.evaluate("getComputedStyle(document.querySelector('.skip')).position") != "static"
        )  # the style's own
        page.go_back()
        page.locator("#ranking").get_by_role("button", name="Model").click()  # the script's own
        assert messages == []
        assert all(response.ok and response.url.startswith(site.address) for response in got.values())
        kinds = {response.headers["content-type"]: response for response in got.values()}
        for kind in ("text/html", "text/css", "text/javascript"):
            assert kinds[f"{kind}; charset=utf-8"].headers["content-encoding"] == "gzip"
        for address, response in got.items():
            assert ("immutable" in response.headers["cache-control"]) == ("/assets/" in address)


def test_where_the_address_is_not_known_the_way_back_is_to_the_top() -> None:
    assert b'<a href="/">' in not_found_page()
    assert b'<a href="/">' in not_found_page("https://leaderboard.example.org/")
    assert b'<a href="/lb/">' in not_found_page("https://example.org/lb")


def test_a_log_is_text(site: Site, browser: Browser) -> None:
    with browser.new_page() as page:
        response = page.goto(f"{site.address}/{site.log}")
        assert response is not None
        assert response.headers["content-type"] == "text/plain; charset=utf-8"
        assert page.locator("body").inner_text().splitlines() == ["ready", "at 3.6 Å <b>"]


@pytest.mark.parametrize("path", ["nowhere.html", "submissions/nowhere.html"])
def test_a_missing_page_has_a_link_back(site: Site, browser: Browser, path: str) -> None:
    with browser.new_page() as page:
        response = page.goto(f"{site.address}/{path}")
        assert response is not None
        assert response.status in (403, 404)  # 403 where nobody may list the bucket, as on AWS
        assert page.locator("h1").text_content() == "Page not found"
        page.get_by_role("link", name="The leaderboard").click()
        expect(page.locator("#ranking")).to_be_visible()
