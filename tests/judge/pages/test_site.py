"""The pages of a site: hostile names are text, nothing foreign is loaded, links resolve, faults are named."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

from judge.records.items_file import items_path, result_path
from judge.view.formatting import plain
from sandbox.verdict import Verdict
from submissions.store.local import LocalStore
from tasks.suites.suite import Suite
from tests.judge.pages.built_site import Page, build, fill
from tests.world.board_records import SUITE, good_results, result, save, submission

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


def test_hostile_names_are_text(store: LocalStore, tmp_path: Path) -> None:
    fill(store, *HOSTILE)
    pages, problems = build(store, tmp_path / "site")
    assert problems == []
    assert len([path for path in pages if path.parent.name == "submissions"]) == len(HOSTILE)
    for path, page in pages.items():
        assert not {"img", "iframe", "style", "object", "embed", "form", "base"} & {tag for tag, _ in page.tags}, path
        run = [a for tag, a in page.tags if tag == "script" and a.get("type") != "application/json"]
        assert [a["src"] for a in run] == [s for s in _sources(page) if s.endswith(".js")]
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
        # The policy must come before all elements that it governs.
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


def test_verdicts_sentences_and_missing_tasks_are_shown(store: LocalStore, tmp_path: Path) -> None:
    model = submission("alpha")
    failed = result(model, SUITE.tasks[1], {}, Verdict.TIME_LIMIT, sentence="Answer within ten minutes.")
    save(store, [model], [good_results(model, 0.1)[0], failed])
    pages, _ = build(store, tmp_path / "site")
    index, page = pages[tmp_path / "site" / "index.html"], pages[tmp_path / "site" / "submissions" / f"{model.id}.html"]
    assert "time limit" in index.text
    assert "not judged" in index.text
    assert "Not ranked" in index.text
    assert "hidden" not in next(a for _, a in index.tags if a.get("data-above") == "unranked")
    assert "Answer within ten minutes." in page.text


def test_runs_without_a_container_are_marked(store: LocalStore, tmp_path: Path) -> None:
    model = submission("alpha", driver="process")
    save(store, [model], good_results(model, 0.1, driver="process"))
    pages, _ = build(store, tmp_path / "site")
    for name in ("index.html", f"submissions/{model.id}.html"):
        assert "not isolated" in pages[tmp_path / "site" / name].text


def test_a_score_without_tasks_has_no_column(store: LocalStore, tmp_path: Path) -> None:
    fill(store, "alpha")
    suite = Suite(name="one", version="1", title="One task", tasks=SUITE.tasks[2:3])
    pages, _ = build(store, tmp_path / "site", suite)
    index = pages[tmp_path / "site" / "index.html"]
    assert index.rows("ranking-title")[0] == [
        *("Rank", "Model", "Property error ↓, lower is better"),
        *("Parameters", "Training data", "Licence", "Level of theory", "Submitted", "Tasks OK"),
    ]


def test_an_empty_store_has_a_page(store: LocalStore, tmp_path: Path) -> None:
    pages, problems = build(store, tmp_path / "site")
    assert "There is no submission yet" in pages[tmp_path / "site" / "index.html"].text
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
    first, second = ({p.relative_to(r): p.read_bytes() for p in r.rglob("*") if p.is_file()} for r in _roots(tmp_path))
    assert first == second


def _roots(tmp_path: Path) -> tuple[Path, Path]:
    return tmp_path / "one", tmp_path / "two"
