"""The pages: hostile names are text, nothing foreign is loaded, links lead somewhere, and publishing is careful."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from judge.items_file import items_path, result_path
from judge.present import is_web_address, number, plain
from judge.site import MANIFEST, build_site, publish
from sandbox.verdict import Verdict
from submissions.store import LocalStore
from tasks.suite import Suite
from tests.judge.board_records import SUITE, good_results, result, save, submission

HOSTILE = (
    '<script>alert(1)</script>"><img src=x onerror=alert(2)>',
    "{{ 7 * 7 }}{% raw %}",
    "\u202ereversed \u05e9\u05dc\u05d5\u05dd \u2066unclosed",
    "🧪" * 200,
    "W" * 200,
    "javascript:alert(1)",
    "nul\x00 and \x1b[31m",
)
LOADING = {"src", "srcset", "poster", "data", "action", "formaction", "background"}


class Page(HTMLParser):
    """What a page is made of: tags with their attributes, ids, and all text."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    handle_startendtag = handle_starttag

    def handle_data(self, data: str) -> None:
        self.text += data

    @property
    def ids(self) -> list[str]:
        return [value for _, attributes in self.tags if (value := attributes.get("id"))]


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "store")


def build(store: LocalStore, out: Path, suite: Suite = SUITE) -> tuple[dict[Path, Page], list[str]]:
    problems: list[str] = []
    written = build_site(store, suite, out, on_problem=problems.append)
    return {path: Page(path) for path in written if path.suffix == ".html"}, problems


def fill(store: LocalStore, *names: str) -> None:
    for index, name in enumerate(names, 1):
        of = submission(name, description=name, authors=(name,), license=name, version=name[:64])
        save(store, [of], good_results(of, index / (len(names) + 1)))


def test_hostile_names_are_text(store: LocalStore, tmp_path: Path) -> None:
    fill(store, *HOSTILE)
    pages, problems = build(store, tmp_path / "site")
    assert problems == []
    assert len(pages) == len(HOSTILE) + 1
    for path, page in pages.items():
        assert not {"img", "iframe", "style", "object", "embed", "form", "base"} & {tag for tag, _ in page.tags}, path
        assert [a["src"] for tag, a in page.tags if tag == "script"] == [s for s in _sources(page) if s.endswith(".js")]
        for tag, attributes in page.tags:
            assert not any(name.startswith("on") or name == "style" for name in attributes), (path, tag, attributes)
        assert not re.search("[\u0000-\u0008\u001b\u202a-\u202e\u2066-\u2069]", page.text), path
    index = pages[tmp_path / "site" / "index.html"]
    for name in HOSTILE:
        assert plain(name) in index.text


def _sources(page: Page) -> list[str]:
    return [a[name] or "" for _, a in page.tags for name in a if name in LOADING]


def test_policy_is_strict_and_nothing_foreign_is_loaded(store: LocalStore, tmp_path: Path) -> None:
    fill(store, "alpha", "beta")
    pages, _ = build(store, tmp_path / "site")
    for page in pages.values():
        policies = [a["content"] for _, a in page.tags if a.get("http-equiv") == "Content-Security-Policy"]
        assert len(policies) == 1
        assert "default-src 'none'" in str(policies[0])
        assert "unsafe" not in str(policies[0])
        loaded = _sources(page) + [a["href"] or "" for tag, a in page.tags if tag == "link"]
        assert loaded
        assert not any(urlsplit(address).scheme or urlsplit(address).netloc for address in loaded)
        # The policy must come before anything that it should govern.
        names = [tag for tag, a in page.tags if tag in ("link", "script") or a.get("http-equiv")]
        assert names[0] == "meta"
    style = next((tmp_path / "site" / "assets").glob("style-*.css")).read_text(encoding="utf-8")
    assert "url(" not in style
    assert "@import" not in style


def test_links_resolve(store: LocalStore, tmp_path: Path) -> None:
    fill(store, "alpha", "beta")
    pages, _ = build(store, tmp_path / "site")
    for path, page in pages.items():
        assert len(page.ids) == len(set(page.ids))
        for tag, attributes in page.tags:
            address = urlsplit(attributes.get("href") or attributes.get("src") or "")
            if address.scheme or not (address.path or address.fragment):
                continue
            target = (path.parent / address.path).resolve() if address.path else path
            assert target.is_file(), (path, tag, attributes)
            if address.fragment:
                assert address.fragment in pages[target].ids, (path, attributes)


def test_links_of_authors_are_web_addresses() -> None:
    assert is_web_address("https://example.org/paper?x=1")
    for bad in ("javascript:alert(1)", "https://", "data:text/html,x", "https://a b", "//example.org", "http://[", ""):
        assert not is_web_address(bad)


def test_verdicts_sentences_and_missing_tasks_are_shown(store: LocalStore, tmp_path: Path) -> None:
    of = submission("alpha")
    failed = result(of, SUITE.tasks[1], {}, Verdict.TIME_LIMIT, sentence="Answer within ten minutes.")
    save(store, [of], [good_results(of, 0.1)[0], failed])
    pages, _ = build(store, tmp_path / "site")
    index, page = pages[tmp_path / "site" / "index.html"], pages[tmp_path / "site" / "submissions" / f"{of.id}.html"]
    assert "time limit" in index.text
    assert "not judged" in index.text
    assert "Not ranked" in index.text
    assert "Answer within ten minutes." in page.text


def test_runs_without_a_container_are_marked(store: LocalStore, tmp_path: Path) -> None:
    of = submission("alpha", driver="process")
    save(store, [of], good_results(of, 0.1, driver="process"))
    pages, _ = build(store, tmp_path / "site")
    assert all("not isolated" in page.text for page in pages.values())


def test_a_score_that_the_suite_does_not_feed_has_no_column(store: LocalStore, tmp_path: Path) -> None:
    fill(store, "alpha")
    suite = Suite(name="one", version="1", title="One task", tasks=SUITE.tasks[2:3])
    pages, _ = build(store, tmp_path / "site", suite)
    headings = [a.get("data-label") for _, a in pages[tmp_path / "site" / "index.html"].tags if a.get("data-label")]
    assert headings == ["Rank", "Property error ↓", "Tasks judged OK"]


def test_an_empty_store_has_a_page(store: LocalStore, tmp_path: Path) -> None:
    pages, problems = build(store, tmp_path / "site")
    assert "Nothing has been submitted yet" in pages[tmp_path / "site" / "index.html"].text
    assert problems == []


def test_a_broken_record_is_named_and_left_out(store: LocalStore, tmp_path: Path) -> None:
    fill(store, "alpha", "beta", "gamma")
    alpha, beta, gamma = submission("alpha"), submission("beta"), submission("gamma")
    store.put(f"submissions/{alpha.id}/submission.json", b"{}")
    broken = good_results(beta, 0.5)[0]
    place = result_path(beta.id, broken.task, broken.result_key)
    store.put(place, b'{"schema_version": 1')
    drift = good_results(gamma, 0.5)[3]
    store.put(items_path(gamma.id, drift.task, drift.result_key), b"garbage")
    pages, problems = build(store, tmp_path / "site")
    assert [path.stem for path in pages if path.parent.name == "submissions"] == [gamma.id]
    assert len(problems) == 3
    for at_fault in (f"submissions/{alpha.id}/submission.json", place, f"results/{gamma.id}/drift"):
        assert sum(at_fault in problem and "\n" not in problem for problem in problems) == 1


def test_the_same_records_give_the_same_bytes(store: LocalStore, tmp_path: Path) -> None:
    fill(store, "alpha", "beta")
    build(store, tmp_path / "one")
    build(store, tmp_path / "two")
    one, two = ({p.relative_to(r): p.read_bytes() for p in r.rglob("*") if p.is_file()} for r in _roots(tmp_path))
    assert one == two


def _roots(tmp_path: Path) -> tuple[Path, Path]:
    return tmp_path / "one", tmp_path / "two"


def test_pages_no_longer_made_are_removed_and_nothing_else(store: LocalStore, tmp_path: Path) -> None:
    site = tmp_path / "site"
    fill(store, "alpha", "beta")
    build(store, site)
    (site / "submissions" / "of-somebody-else.html").write_text("mine")
    store.delete(f"submissions/{submission('beta').id}/submission.json")
    build(store, site)
    left = sorted(path.name for path in (site / "submissions").iterdir())
    assert left == sorted([f"{submission('alpha').id}.html", "of-somebody-else.html"])
    assert not list(site.rglob(".*"))


def test_index_comes_last_and_an_old_asset_outlives_one_build(tmp_path: Path) -> None:
    written = publish({"index.html": b"1", "assets/style-1.css": b"1", "submissions/a.html": b"1"}, tmp_path)
    assert [path.name for path in written] == ["style-1.css", "a.html", "index.html"]
    publish({"index.html": b"2", "assets/style-2.css": b"2"}, tmp_path)
    assert (tmp_path / "assets" / "style-1.css").exists()
    assert not (tmp_path / "submissions" / "a.html").exists()
    publish({"index.html": b"3", "assets/style-2.css": b"2"}, tmp_path)
    assert not (tmp_path / "assets" / "style-1.css").exists()
    assert (tmp_path / "assets" / "style-2.css").exists()


def test_a_manifest_that_points_elsewhere_removes_nothing(tmp_path: Path) -> None:
    outside = tmp_path / "precious"
    outside.write_text("mine")
    site = tmp_path / "site"
    site.mkdir()
    (site / MANIFEST).write_text('{"files": {"../precious": "0"}}')
    publish({"index.html": b"1"}, site)
    assert outside.read_text() == "mine"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (float("nan"), "–"),
        (0.0, "0"),
        (0.0213, "0.0213"),
        (-1.5, "−1.50"),
        (4.9e-5, "4.90\u00a0×\u00a010⁻⁵"),
        (1234.5, "1\u202f230"),
        (999.96, "1\u202f000"),
        (float("inf"), "∞"),
    ],
)
def test_numbers(value: float | None, text: str) -> None:
    assert number(value) == text
