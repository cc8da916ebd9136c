"""The tree of a score as HTML. Drawn here and not by a template: a page has hundreds of its numbers, a site of 200
models 200 such pages, and a template would take most of the time that building the site takes."""

from __future__ import annotations

from markupsafe import Markup

from judge import present
from judge.web.score_tree import PLACES, Branch, Published
from judge.web.words import percent, sentence, words


def tree_markup(branch: Branch, about: str = "") -> Markup:
    """A score as nested disclosures, closed: what is below a number shows when it is opened.

    Args:
        about: what the score is, said below its name.
    """
    drawn: list[str] = []
    _draw(branch, 0, about, drawn)
    return Markup("".join(drawn))


def _draw(of: Branch, depth: int, about: str, drawn: list[str]) -> None:
    if not of.parts:
        drawn.append(f'<p class="leaf">{_head(of)}</p>{_rule(of)}')
        return
    # Opened once, a score shows its first level; and nobody wants to open one part after another.
    opened = " open" if depth == 1 or (depth and len(of.parts) == 1) else ""
    said = f'<p class="rule">{words(about)}</p>' if about else ""
    drawn.append(f"<details{opened}><summary>{_head(of)}</summary>{said}{_rule(of)}<ul>")
    for part in of.parts:
        drawn.append("<li>")
        _draw(part, depth + 1, "", drawn)
        drawn.append("</li>")
    drawn.append("</ul></details>")


def _head(of: Branch) -> str:
    worth = f"counts {of.worth}" if of.counted else of.worth
    told = [f'<span class="what"><bdi>{words(of.name)}</bdi></span> <span class="worth">{worth}</span>']
    if of.interval is not None:
        told.append(f'<span class="range">{present.span(of.interval.low, of.interval.high)}</span>')
    if of.up_to is not None:
        told.append(f'<span class="range">up to {present.decimals(of.up_to, PLACES)}</span>')
    if of.share is not None:
        told.append(f'<span class="share">share {percent(of.share)}</span>')
    if of.published is not None:
        told.append(f'<span class="otherwise">as published {_published(of.published)}</span>')
    return " ".join(told)


def _published(of: Published) -> str:
    share = "" if of.share is None else f", share {percent(of.share)}"
    return f"{of.words}{share}"


def _rule(of: Branch) -> str:
    said = [sentence(of.rule), sentence(of.evidence)]
    if of.published is not None and of.published.rule:
        said.append(sentence(f"as published: {of.published.rule}"))
    if of.source:
        said.append(sentence(f"source: {of.source}"))
    return f'\n<p class="rule">{" ".join(text for text in said if text)}</p>\n'
