"""Atom feeds, checked against RFC 4287."""

from __future__ import annotations

import re
from xml.etree import ElementTree

ATOM = {"a": "http://www.w3.org/2005/Atom", "x": "http://www.w3.org/1999/xhtml"}


class Entry:
    """An entry of a feed. It must have the elements that RFC 4287 requires."""

    def __init__(self, element: ElementTree.Element) -> None:
        def text(name: str) -> str:
            (match,) = element.findall(f"a:{name}", ATOM)
            assert match.text
            return match.text

        self.urn, self.title, self.updated = text("id"), text("title"), text("updated")
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", self.updated)
        self.links = [link.get("href") for link in element.findall("a:link", ATOM)]
        (content,) = element.findall("a:content", ATOM)
        (whole,) = content.findall("x:div", ATOM)
        assert content.get("type") == "xhtml"
        self.text = " ".join("".join(whole.itertext()).split())


def entries(feed: bytes) -> list[Entry]:
    """The entries of a feed. The feed must have the elements that RFC 4287 requires."""
    root = ElementTree.fromstring(feed)
    assert root.tag == f"{{{ATOM['a']}}}feed"
    for name in ("id", "title", "updated", "author/a:name"):
        (match,) = root.findall(f"a:{name}", ATOM)
        assert match.text
    listed = [Entry(element) for element in root.findall("a:entry", ATOM)]
    urns = [root.findtext("a:id", "", ATOM), *(entry.urn for entry in listed)]
    assert len(set(urns)) == len(urns)
    assert all(re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", each) for each in urns)
    assert [entry.updated for entry in listed] == sorted((entry.updated for entry in listed), reverse=True)
    return listed
