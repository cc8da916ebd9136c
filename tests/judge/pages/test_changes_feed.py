"""The feed of changes: its identifiers stay, names are text, and publishing again lists only what moved."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape
from xml.etree import ElementTree

from judge.pages.changes import changes
from judge.pages.changes_pages import N_FIRST, allowed_in_xml
from judge.pages.site import render
from judge.publishing.served_file import site_object
from judge.records.manifest import Manifest, manifest_path
from judge.view.formatting import number
from judge.view.sources import Sources
from submissions.records import utc_now
from tests.judge.pages.atom_feed import ATOM, Entry, entries
from tests.judge.pages.publications import A, B, board, drawn, manifest
from tests.world.board_records import NOON, good_results, submission
from tests.world.world import World


def test_unpublished_changes_are_listed_apart_and_not_in_the_feed() -> None:
    of_a, of_b = good_results(A, 0.3), good_results(B, 0.2)
    before, after = board(of_a, A), board(of_a + of_b, A, B)
    assert changes(before, [], None, "1.0") == []
    pending, first = changes(after, [manifest(before, 1)], None, "1.0")
    assert (pending.when, first.when) == (None, NOON + timedelta(days=1))
    files = drawn(after, Sources(manifests=(manifest(before, 1),)))
    assert "Not yet published" in files["changes.html"].decode()
    assert [entry.urn for entry in entries(files["changes.atom"])] == [first.urn]


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
    assert entry.urn == before.urn  # identifiers do not depend on the address of the site
    (address,) = entry.links
    anchor = str(address).removeprefix(f"{page}#")
    assert f'id="{anchor}"' in full["changes.html"].decode()


def test_every_page_names_the_feed_and_it_is_served_as_atom() -> None:
    files = render(board(good_results(A, 0.2), A), Sources())
    assert entries(files["changes.atom"]) == []
    for name, content in files.items():
        if name.endswith(".html"):
            root = "../" * name.count("/")
            named = f'type="application/atom+xml" title="Changes in the ranking" href="{root}changes.atom"'
            assert named in content.decode(), name
    assert site_object("changes.atom", b"x").served.content_type == "application/atom+xml; charset=utf-8"


def test_scores_have_the_digits_of_the_page() -> None:
    shown = board(good_results(A, 0.2), A)
    efficiency = shown.rows[0].scores["efficiency"].value
    before = manifest(shown, 1)
    slow = before.scores[A.id].model_copy(update={"efficiency": 0.00031})
    earlier = before.model_copy(update={"scores": {A.id: slow}})
    files = drawn(shown, Sources(now=NOON + timedelta(days=2), manifests=(earlier,)))
    assert f"Efficiency {number(0.00031, 2)} → {number(efficiency, 2)}." in entries(files["changes.atom"])[0].text


def test_a_long_first_publication_names_the_best_alone() -> None:
    many = [submission(f"model {n}") for n in range(N_FIRST + 3)]
    results = [r for n, model in enumerate(many) for r in good_results(model, 0.1 + n / 100)]
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


def test_publishing_again_lists_the_changes_only(judged_world: World) -> None:
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
