"""The tree of a score as HTML. Drawn here and not by a template: a page has hundreds of its numbers, a site of 200
models 200 such pages, and a template would take most of the time that building the site takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from markupsafe import Markup

from judge.pages.models.score_tree import PLACES, Branch, Published
from judge.view import formatting
from judge.view.escaping import percent, sentence, words


def tree_markup(branch: Branch, about: str = "") -> Markup:
    """A score as nested disclosures, closed: what is below a number shows when it is opened.

    Args:
        about: what the score is, said below its name.
    """
    drawn: list[str] = []
    _draw(branch, 0, about, drawn)
    return Markup("".join(drawn))


def _draw(of: Branch, depth: int, about: str, drawn: list[str], own_rule: bool = True) -> None:
    """Adds a number and what is below it. HTML ends paragraphs and items where the next begins.

    Args:
        own_rule: whether its rule is said here, and not once of it and its neighbours.
    """
    each = _common_rule(of.parts)
    rule = _rule(of, own_rule, each)
    if not of.parts:
        drawn.append(f'<p class="leaf">{_head(of)}{rule}')
        return
    # Opened once, a score shows its first level; and nobody wants to open one part after another.
    opened = " open" if depth == 1 or (depth and len(of.parts) == 1) else ""
    said = f"<p>{words(about)}" if about else ""
    drawn.append(f"<details{opened}><summary>{_head(of)}</summary>{said}{rule}<ul>")
    for part in of.parts:
        drawn.append("\n<li>")
        _draw(part, depth + 1, "", drawn, part.rule != each)
    drawn.append("</ul></details>")


def _common_rule(parts: Sequence[Branch]) -> str:
    """The rule of most parts, if it may be said of all: then the others have a rule that says otherwise."""
    if len(parts) < 2:
        return ""
    rule, n = Counter(part.rule for part in parts).most_common(1)[0]
    return rule if 2 * n > len(parts) and all(part.rule for part in parts) else ""


def _head(of: Branch) -> str:
    worth = f"counts {of.worth}" if of.counted else of.worth
    told = [f"<bdi>{words(of.name)}</bdi> <b>{worth}</b>"]
    if of.interval is not None:
        told.append(f"<small>{formatting.span(of.interval.low, of.interval.high)}</small>")
    if of.up_to is not None:
        told.append(f"<small>up to {formatting.decimals(of.up_to, PLACES)}</small>")
    if of.share is not None:
        told.append(f"<small>share {percent(of.share)}</small>")
    if of.published is not None:
        told.append(f'<span class="otherwise">as published {_published(of.published)}</span>')
    return " ".join(told)


def _published(of: Published) -> str:
    share = "" if of.share is None else f", share {percent(of.share)}"
    return f"{of.words}{share}"


def _rule(of: Branch, own_rule: bool, each: str) -> str:
    """How the number comes about, and, at once, how its parts do where most do alike."""
    said = [sentence(of.rule) if own_rule else "", sentence(of.raw)]
    if of.published is not None and of.published.rule:
        said.append(sentence(f"as published: {of.published.rule}"))
    if of.source:
        said.append(sentence(f"source: {of.source}"))
    if each:
        alike = all(part.rule == each for part in of.parts)
        said.append(sentence(f"each{'' if alike else ', where nothing else is said'}: {each}"))
    text = " ".join(text for text in said if text)
    return f"<p>{text}" if text else ""
