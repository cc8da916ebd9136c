"""Tables that a narrow screen shows as a list for each row: each cell knows the heading of its column."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

_HEAD = re.compile(r"<thead.*?</thead>", re.DOTALL)
_HEADING = re.compile(r"<th\b[^>]*>(.*?)(?=<th\b|</tr>|</thead>)", re.DOTALL)
_UNSEEN = re.compile(r'<span class="unseen">.*?</span>', re.DOTALL)
_PART = re.compile(r"<(table|thead|tbody|tr|th|td)\b([^>]*)>")
_SPAN = re.compile(r'colspan="(\d+)"')
_ROLES = {"table": "table", "thead": "rowgroup", "tbody": "rowgroup", "tr": "row", "td": "cell"}


def stacked(table: str) -> Markup:
    """The table with the heading of its column as `data-label` of each cell, and with roles.

    The style of a narrow screen, which makes blocks of rows and cells, would remove the roles. A cell over several
    columns has no label.

    Args:
        table: one table in HTML, whose texts are escaped. Its head has one row.
    """
    head = _HEAD.search(table)
    labels = [Markup(_UNSEEN.sub("", each)).striptags() for each in _HEADING.findall(head[0])] if head else []
    column = 0

    def filled(part: re.Match[str]) -> str:
        nonlocal column
        name, attributes = part.groups()
        added = "" if "role=" in attributes else f' role="{_ROLES.get(name) or _role_of_heading(attributes)}"'
        if name == "tr":
            column = 0
        elif name in ("td", "th"):
            span = _SPAN.search(attributes)
            if name == "td" and span is None and column < len(labels) and labels[column]:
                added += f' data-label="{escape(labels[column])}"'
            column += int(span[1]) if span else 1
        return f"<{name}{added}{attributes}>"

    return Markup(_PART.sub(filled, table))


def _role_of_heading(attributes: str) -> str:
    return "rowheader" if 'scope="row' in attributes else "columnheader"
