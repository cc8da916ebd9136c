"""The tree of a score as HTML.

Python writes it, not a template: a page has hundreds of its numbers, and a site of 200 models has 200 such pages. A
template would take most of the time of a build.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from markupsafe import Markup

from judge.pages.models.score_tree import PLACES, Branch, Published
from judge.view import formatting
from judge.view.escaping import percent, sentence, words


def tree_markup(branch: Branch, about: str = "") -> Markup:
    """A score as nested `<details>`: a reader opens a number to see its parts.

    Args:
        about: an explanation of the score, below its name.
    """
    drawn: list[str] = []
    _draw(branch, 0, about, drawn)
    return Markup("".join(drawn))


def _draw(branch: Branch, depth: int, about: str, drawn: list[str], has_rule: bool = True) -> None:
    """Appends a number and its parts. `<p>` and `<li>` need no end tags in HTML.

    Args:
        has_rule: whether the rule of the number is written here, and not once for it and its neighbours.
    """
    common = _common_rule(branch.parts)
    rule = _rule(branch, has_rule, common)
    if not branch.parts:
        drawn.append(f'<p class="leaf">{_head(branch)}{rule}')
        return
    # A click on a score shows its first level, and a number with a single part is open.
    opened = " open" if depth == 1 or (depth and len(branch.parts) == 1) else ""
    explanation = f"<p>{words(about)}" if about else ""
    drawn.append(f"<details{opened}><summary>{_head(branch)}</summary>{explanation}{rule}<ul>")
    for part in branch.parts:
        drawn.append("\n<li>")
        _draw(part, depth + 1, "", drawn, part.rule != common)
    drawn.append("</ul></details>")


def _common_rule(parts: Sequence[Branch]) -> str:
    """The rule of most parts, if every part has a rule; else empty."""
    if len(parts) < 2:
        return ""
    rule, n = Counter(part.rule for part in parts).most_common(1)[0]
    return rule if 2 * n > len(parts) and all(part.rule for part in parts) else ""


def _head(branch: Branch) -> str:
    number = f"counts {branch.number}" if branch.counted else branch.number
    pieces = [f"<bdi>{words(branch.name)}</bdi> <b>{number}</b>"]
    if branch.interval is not None:
        held = " *" if branch.interval.n_held else ""
        pieces.append(f"<small>{formatting.span(branch.interval.low, branch.interval.high)}{held}</small>")
    if branch.up_to is not None:
        pieces.append(f"<small>up to {formatting.decimals(branch.up_to, PLACES)}</small>")
    if branch.share is not None:
        pieces.append(f"<small>share {percent(branch.share)}</small>")
    if branch.published is not None:
        pieces.append(f'<span class="as-published">as published {_published(branch.published)}</span>')
    return " ".join(pieces)


def _published(number: Published) -> str:
    share = "" if number.share is None else f", share {percent(number.share)}"
    return f"{number.words}{share}"


def _rule(branch: Branch, has_rule: bool, common: str) -> str:
    """The rule of the number, its facts and its source, and the common rule of its parts."""
    sentences = [sentence(branch.rule) if has_rule else "", sentence(branch.raw)]
    if branch.published is not None and branch.published.rule:
        sentences.append(sentence(f"as published: {branch.published.rule}"))
    if branch.source:
        sentences.append(sentence(f"source: {branch.source}"))
    if common:
        alike = all(part.rule == common for part in branch.parts)
        sentences.append(sentence(f"each{'' if alike else ' without another rule'}: {common}"))
    text = " ".join(text for text in sentences if text)
    return f"<p>{text}" if text else ""
