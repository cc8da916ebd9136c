"""What moved from one publication to the next: every kind of change, why, and a feed that keeps its identifiers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from html import unescape
from xml.etree import ElementTree

import pytest

from judge.disclosure.public_leaderboard import public_board
from judge.disclosure.published_scores import published_scores, shown_results
from judge.pages import changes_pages
from judge.pages.changes import Changes, Move, MoveKind, changes
from judge.pages.changes_pages import N_FIRST, allowed_in_xml
from judge.pages.site import render
from judge.publishing.served_file import site_object
from judge.ranking.build import build_leaderboard
from judge.ranking.leaderboard import Leaderboard
from judge.records.decisions import DecisionEvent, EventKind, decisions_from
from judge.records.items_file import result_path
from judge.records.manifest import Manifest, manifest_path
from judge.records.records import Result
from judge.records.signing import SigningKey
from judge.view.page_context import frame
from judge.view.sources import Sources
from sandbox.verdict import Verdict
from submissions.records import Submission, utc_now
from tasks.suites.suite import Suite
from tests.world.board_records import NOON, SUITE, good_results, items_of, result, submission, task
from tests.world.world import World

ATOM = {"a": "http://www.w3.org/2005/Atom", "x": "http://www.w3.org/1999/xhtml"}
A, B, C = submission("alpha"), submission("beta", version="2"), submission("gamma")
TASKS = {each.name: each for each in SUITE.tasks}
KEY = SigningKey(b"k" * 32)


def board(results: Sequence[Result], *submissions: Submission, suite: Suite = SUITE, **more: object) -> Leaderboard:
    return build_leaderboard(suite, submissions, results, items_of, **more)  # type: ignore[arg-type]


def manifest(of: Leaderboard, n: int, **more: object) -> Manifest:
    results = {
        result_path(r.submission, r.task, r.result_key): sha256(r.model_dump_json().encode()).hexdigest()
        for r in shown_results(of)
    }
    fields: dict[str, object] = {
        "n": n,
        "suite": of.suite.name,
        "release": of.release.name,
        "published": NOON + timedelta(days=n),
        "judge_version": "1.0",
        "judge_commit": "",
        "files": {},
        "results": results,
        "submissions": {},
        "events": {},
        "scores": published_scores(of),
        "selftests": (),
        "previous": "",
    }
    return Manifest.model_validate({**fields, **more})


def anew(results: list[Result], of: Submission, name: str, relative: float) -> list[Result]:
    """The results, that of one task measured again, with another error."""
    (metrics,) = [r.metrics for r in good_results(of, relative) if r.task == name]
    new = result(of, TASKS[name], metrics, result_key=sha256(b"again").hexdigest())
    return [new if (old.submission, old.task) == (of.id, name) else old for old in results]


def moved(before: Leaderboard, after: Leaderboard, judge: str = "1.0") -> Changes:
    """What moved between two publications, of which the second is being made."""
    newest, first = changes(after, [manifest(before, 1)], NOON + timedelta(days=2), judge)
    assert (first.first, newest.first) == (True, False)
    return newest


def drawn(of: Leaderboard, sources: Sources) -> dict[str, bytes]:
    """The page and the feed."""
    return changes_pages.pages(frame(public_board(of, sources.public), sources))


def said(move: Move) -> list[str]:
    return [" ".join((reason.words, ", ".join(reason.names))).strip() for reason in move.why]


def by_name(of: Changes) -> Mapping[str, Move]:
    return {move.name: move for move in of.moves}


def test_new_models_push_others_down() -> None:
    of_a, of_b, of_c = good_results(A, 0.3), good_results(B, 0.2), good_results(C, 0.1)
    found = moved(board(of_a, A), board(of_a + of_b + of_c, A, B, C))
    assert [(move.name, move.kind, move.after and move.after.rank) for move in found.moves] == [
        ("gamma", MoveKind.NEW, 1),
        ("beta 2", MoveKind.NEW, 2),
        ("alpha", MoveKind.DOWN, 3),
    ]
    alpha = by_name(found)["alpha"]
    assert alpha.before is not None
    assert alpha.before.rank == 1
    assert said(alpha) == ["two new models above"]
    assert found.why == ()


def test_what_was_measured_anew_is_named_with_its_task() -> None:
    before = good_results(A, 0.3) + good_results(B, 0.2)
    found = moved(board(before, A, B), board(anew(before, A, "crystals", 0.01), A, B))
    alpha, beta = by_name(found)["alpha"], by_name(found)["beta 2"]
    assert (alpha.kind, said(alpha)) == (MoveKind.UP, ["measured again: crystals"])
    assert (beta.kind, said(beta)) == (MoveKind.DOWN, ["overtaken by alpha"])
    assert alpha.before is not None
    assert alpha.after is not None
    assert alpha.before.force_field == 0.3
    assert alpha.after.force_field == pytest.approx((0.01 + 0.3) / 2, rel=1e-5)


def test_scores_that_move_without_the_rank() -> None:
    before = good_results(A, 0.3)
    found = moved(board(before, A), board(anew(before, A, "speed", 0.1), A))
    assert [(move.kind, said(move)) for move in found.moves] == [(MoveKind.RESCORED, ["measured again: speed"])]


def event(of: Submission) -> DecisionEvent:
    time = NOON + timedelta(days=1)
    return DecisionEvent(kind=EventKind.DISQUALIFIED, submission=of.id, time=time, who=KEY.public, reason="it cheated")


def test_gone_with_the_public_reason_and_back() -> None:
    both = good_results(A, 0.3) + good_results(B, 0.2)
    with_both = board(both, A, B)
    without = board(both, A, B, decisions_by_id={B.id: decisions_from({"e": event(B)})})
    found = moved(with_both, without)
    gone = by_name(found)["beta 2"]
    assert (gone.kind, said(gone), gone.after) == (MoveKind.REMOVED, ["disqualified: it cheated"], None)
    assert said(by_name(found)["alpha"]) == ["one model above removed"]
    again = changes(with_both, [manifest(with_both, 1), manifest(without, 2)], NOON + timedelta(days=3), "1.0")
    assert [one.first for one in again] == [False, False, True]
    assert said(by_name(again[0])["beta 2"]) == ["the model is back"]
    assert said(by_name(again[1])["beta 2"]) == ["its records are no longer shown"]


def test_a_rank_is_lost_and_won_again() -> None:
    whole = good_results(A, 0.3)
    failed = [result(A, TASKS["crystals"], {}, Verdict.TIME_LIMIT) if r.task == "crystals" else r for r in whole]
    failed = [r.model_copy(update={"result_key": "0" * 64}) if r.task == "crystals" else r for r in failed]
    lost, won = moved(board(whole, A), board(failed, A)), moved(board(failed, A), board(whole, A))
    assert [(move.kind, said(move)) for move in lost.moves] == [(MoveKind.UNRANKED, ["measured again: crystals"])]
    assert [(move.kind, said(move)) for move in won.moves] == [(MoveKind.RANKED, ["measured again: crystals"])]


def test_a_new_task_and_another_release_are_said_once_for_all() -> None:
    more = replace(SUITE, version="2", tasks=(*SUITE.tasks, task("liquids", "labelled_frames", "Molecules")))
    of_a = good_results(A, 0.3)
    liquid = result(A, more.tasks[-1], good_results(A, 0.9)[1].metrics)
    before, after = board(of_a, A), board([*of_a, liquid], A, suite=more)
    (newest, _) = changes(after, [manifest(before, 1, release="older")], NOON + timedelta(days=2), "1.0")
    assert [(reason.words, reason.names) for reason in newest.why] == [
        ("The scoring release changed from older to corrected", ()),
        ("Judged for the first time:", ("liquids",)),
    ]
    assert said(newest.moves[0]) == ["judged for the first time: liquids"]


def test_scores_that_move_though_no_result_did() -> None:
    shown = board(good_results(A, 0.3), A)
    scores = {A.id: published_scores(shown)[A.id].model_copy(update={"force_field": 0.4})}
    for more, judge, why in (
        ({"release": "older"}, "1.0", "new release of the scoring"),
        ({}, "2.0", "new version of the judge: 2.0, before 1.0"),
        ({}, "1.0", "the manifests do not show the reason"),
    ):
        newest = changes(shown, [manifest(shown, 1, scores=scores, **more)], NOON + timedelta(days=2), judge)[0]
        assert [said(move) for move in newest.moves] == [[why]]


def test_results_of_others_are_named_only_where_they_differ() -> None:
    of_a, of_b = good_results(A, 0.3), good_results(B, 0.2)
    shown = board(of_a + of_b, A, B)
    scores = dict(published_scores(shown))
    scores[A.id] = scores[A.id].model_copy(update={"force_field": 0.4})
    other = manifest(board(of_a + anew(of_b, B, "speed", 0.2), A, B), 1, scores=scores)
    newest = changes(shown, [other], NOON + timedelta(days=2), "1.0")[0]
    why = "its tasks are also scored from the results of other models, which changed"
    assert said(by_name(newest)["alpha"]) == [why]
    unknown = other.model_copy(update={"results": dict.fromkeys(manifest(shown, 1).results, "")})
    newest = changes(shown, [unknown], NOON + timedelta(days=2), "1.0")[0]
    assert said(by_name(newest)["alpha"]) == ["the manifests do not show the reason"]


def test_references_take_no_part() -> None:
    of_a, of_b = good_results(A, 0.3), good_results(B, 0.2)
    alone, beside = board(of_a, A), board(of_a + of_b, A, B, references=["beta"])
    assert [one.first for one in changes(beside, [manifest(alone, 1)], NOON + timedelta(days=2), "1.0")] == [True]
    was_ranked = moved(board(of_a + of_b, A, B), beside)
    assert said(by_name(was_ranked)["beta 2"]) == ["now only for comparison, without a rank"]
    assert said(by_name(was_ranked)["alpha"]) == ["one model above removed"]


def test_a_publication_without_a_change_is_left_out() -> None:
    shown = board(good_results(A, 0.3), A)
    published = [manifest(shown, n) for n in (1, 2, 3)]
    assert len(changes(shown, published, NOON + timedelta(days=4), "1.0")) == 1
    assert len(changes(shown, published, None, "1.0")) == 1


def test_what_is_not_yet_published_is_listed_apart_and_not_in_the_feed() -> None:
    of_a, of_b = good_results(A, 0.3), good_results(B, 0.2)
    before, after = board(of_a, A), board(of_a + of_b, A, B)
    assert changes(before, [], None, "1.0") == []
    pending, first = changes(after, [manifest(before, 1)], None, "1.0")
    assert (pending.when, first.when) == (None, NOON + timedelta(days=1))
    files = drawn(after, Sources(manifests=(manifest(before, 1),)))
    assert "Not yet published" in files["changes.html"].decode()
    assert [entry.urn for entry in entries(files["changes.atom"])] == [first.urn]


class Entry:
    """An entry of a feed, which must have what RFC 4287 asks of one."""

    def __init__(self, element: ElementTree.Element) -> None:
        def text(name: str) -> str:
            (found,) = element.findall(f"a:{name}", ATOM)
            assert found.text
            return found.text

        self.urn, self.title, self.updated = text("id"), text("title"), text("updated")
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", self.updated)
        self.links = [link.get("href") for link in element.findall("a:link", ATOM)]
        (content,) = element.findall("a:content", ATOM)
        (whole,) = content.findall("x:div", ATOM)
        assert content.get("type") == "xhtml"
        self.text = " ".join("".join(whole.itertext()).split())


def entries(feed: bytes) -> list[Entry]:
    """The entries of a feed that has all it must have."""
    root = ElementTree.fromstring(feed)
    assert root.tag == f"{{{ATOM['a']}}}feed"
    for name in ("id", "title", "updated", "author/a:name"):
        (found,) = root.findall(f"a:{name}", ATOM)
        assert found.text
    listed = [Entry(element) for element in root.findall("a:entry", ATOM)]
    urns = [root.findtext("a:id", "", ATOM), *(entry.urn for entry in listed)]
    assert len(set(urns)) == len(urns)
    assert all(re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", each) for each in urns)
    assert [entry.updated for entry in listed] == sorted((entry.updated for entry in listed), reverse=True)
    return listed


HOSTILE = '<script>alert("1")</script>]]>&amp;'
UNWRITABLE = "odd \ufffe\x0b\x1b[31m\u202ename"


def test_names_are_text_in_page_and_feed() -> None:
    bad, odd = submission(HOSTILE), submission(UNWRITABLE)
    shown = board(good_results(bad, 0.2) + good_results(odd, 0.3), bad, odd)
    files = drawn(shown, Sources(now=NOON))
    (entry,) = entries(files["changes.atom"])
    assert HOSTILE in entry.text
    assert "odd [31mname" in entry.text
    page = files["changes.html"].decode()
    assert "<script>alert" not in page
    assert HOSTILE in unescape(re.sub(r"<[^>]+>", "", page))
    assert allowed_in_xml("a\x00b\ufffec\td\U0001f9ea\ud800") == "abc\td\U0001f9ea"


def test_links_are_there_only_where_the_site_has_an_address() -> None:
    shown = board(good_results(A, 0.2), A)
    bare, full = (drawn(shown, Sources(now=NOON, site_url=url)) for url in ("", "https://example.org/x/"))
    assert b"<link" not in bare["changes.atom"]
    root = ElementTree.fromstring(full["changes.atom"])
    links = {link.get("rel"): link.get("href") for link in root.findall("a:link", ATOM)}
    page = "https://example.org/x/changes.html"
    assert links == {"self": "https://example.org/x/changes.atom", "alternate": page}
    ((entry,), (before,)) = entries(full["changes.atom"]), entries(bare["changes.atom"])
    assert entry.urn == before.urn  # an address that the site gets later changes no identifier
    (address,) = entry.links
    anchor = str(address).removeprefix(f"{page}#")
    assert f'id="{anchor}"' in full["changes.html"].decode()


def test_the_feed_is_named_in_every_page_and_served_as_what_it_is() -> None:
    files = render(board(good_results(A, 0.2), A), Sources())
    assert entries(files["changes.atom"]) == []
    for name, content in files.items():
        if name.endswith(".html"):
            root = "../" * name.count("/")
            named = f'type="application/atom+xml" title="Changes in the ranking" href="{root}changes.atom"'
            assert named in content.decode(), name
    assert site_object("changes.atom", b"x").served.content_type == "application/atom+xml; charset=utf-8"


def test_a_long_first_publication_names_the_best_alone() -> None:
    many = [submission(f"model {n}") for n in range(N_FIRST + 3)]
    results = [r for n, of in enumerate(many) for r in good_results(of, 0.1 + n / 100)]
    (entry,) = entries(drawn(board(results, *many), Sources(now=NOON))["changes.atom"])
    assert entry.title == f"First publication: {len(many)} models, {len(many)} ranked"
    assert "model 0: new, rank 1" in entry.text
    assert entry.text.endswith("And 3 models more.")


ROUGH = """
from ase.calculators.emt import EMT

class Rough(EMT):
    def calculate(self, *args, **kwargs):
        super().calculate(*args, **kwargs)
        self.results["forces"] = 0.5 * self.results["forces"]

def make_calculator():
    return Rough()
"""


def published(world: World) -> tuple[list[Entry], str]:
    status, _, err = world.run_here("site", "publish")
    assert (status, err) == (0, "")
    site = world.root / "public"
    return entries((site / "changes.atom").read_bytes()), (site / "changes.html").read_text()


def test_publishing_again_lists_what_moved_and_nothing_else(judged_world: World) -> None:
    world = judged_world
    (first,), _ = published(world)
    assert first.title == "First publication: 1 model, 1 ranked"
    assert first.updated == instant(world, 1)
    (same,), page = published(world)
    assert (same.urn, same.updated, same.text) == (first.urn, first.updated, first.text)
    assert page.count('class="publication"') == 1
    rough = world.submit("rough", ROUGH)
    world.evaluate()
    (new, old), _ = published(world)
    assert (old.urn, old.updated) == (first.urn, first.updated)
    assert (new.title, new.updated) == ("1 new", instant(world, 3))
    assert re.match(r"rough: new, rank 2\.", new.text)
    assert world.run_here("withdraw", rough.id, "--reason", "corrected")[0] == 0
    (gone, before, oldest), page = published(world)
    assert [before.urn, oldest.urn] == [new.urn, first.urn]
    assert gone.title == "1 removed"
    assert "rough: removed, rank 2. Withdrawn: corrected." in gone.text
    assert world.run_here("site", "build")[0] == 0
    assert "Not yet published" not in (world.root / "site" / "changes.html").read_text()
    assert [each.urn for each in entries((world.root / "site" / "changes.atom").read_bytes())] == [
        gone.urn,
        new.urn,
        first.urn,
    ]
    status, out, _ = world.run_here("verify", "--all")
    assert (status, "changes" in out) == (0, False)


def instant(world: World, n: int) -> str:
    when = Manifest.read(world.store.get(manifest_path(n))).published
    assert when < utc_now()
    return when.isoformat().replace("+00:00", "Z")
