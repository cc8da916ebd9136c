"""What a reader sees of a page: text that is cut, and thirds of a section in which nothing stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from playwright.sync_api import Page

_SHOWN = """
const isForEars = (element) => {
  for (let part = element; part; part = part.parentElement)
    if (getComputedStyle(part).clipPath === "inset(50%)") return true;
  return false;
};
const isShown = (element) => element.checkVisibility({ visibilityProperty: true }) && !isForEars(element);
const textsOf = (root) => {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT), found = [];
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.data.trim() && isShown(node.parentElement)) found.push(node);
  }
  return found;
};
const boxesOf = (node) => {
  const range = document.createRange();
  range.selectNodeContents(node);
  return [...range.getClientRects()].filter(({ width, height }) => width && height);
};
"""

_CUT = f"""() => {{ {_SHOWN}
  const leaves = (box, part) => {{
    const {{ overflowX, display }} = getComputedStyle(part);
    if (overflowX === "visible" || display === "inline") return false;
    const {{ left, top }} = part.getBoundingClientRect();
    const isTooLow = !/auto|scroll/.test(overflowX) && box.bottom > top + part.clientHeight + 1;
    return isTooLow || box.left < left - 1 || box.right > left + part.clientWidth + 1;
  }};
  const isCut = (node) => boxesOf(node).some((box) => {{
    if (box.left < -1 || box.right > innerWidth + 1) return true;
    for (let part = node.parentElement; part !== document.body; part = part.parentElement)
      if (leaves(box, part)) return true;
    return false;
  }});
  const cells = [...document.querySelectorAll("main :is(td, th)")];
  return cells.flatMap(textsOf).filter(isCut).map((node) => node.data.trim());
}}"""

_GAPS = f"""() => {{ {_SHOWN}
  const thirds = [0, 1, 2];
  const main = document.querySelector("main"), style = getComputedStyle(main), frame = main.getBoundingClientRect();
  const left = frame.left + parseFloat(style.paddingLeft), right = frame.right - parseFloat(style.paddingRight);
  return [...main.querySelectorAll(":scope > section")].filter(isShown).map((section) => {{
    const drawn = [...section.querySelectorAll("svg, canvas, img, input, select, button, .stage")].filter(isShown);
    const boxes = [...textsOf(section).flatMap(boxesOf), ...drawn.map((part) => part.getBoundingClientRect())];
    const top = Math.min(...boxes.map((box) => box.top)), bottom = Math.max(...boxes.map((box) => box.bottom));
    const gaps = thirds.map((third) => {{
      const from = left + (third * (right - left)) / 3, to = from + (right - left) / 3;
      const inside = boxes.filter((box) => box.right > from && box.left < to).sort((a, b) => a.top - b.top);
      let end = top, gap = 0;
      for (const box of inside) {{ gap = Math.max(gap, box.top - end); end = Math.max(end, box.bottom); }}
      return Math.max(gap, bottom - end);
    }});
    return [section.id || section.className, gaps];
  }});
}}"""


class EmptyPart(NamedTuple):
    """A third of a section in which nothing stands for `height` [CSS pixels]; thirds are 0, 1 and 2 from the left."""

    section: str
    third: int
    height: float


def lay_out_all(page: Page) -> None:
    """Lays out every part of the page, and waits for figures that are drawn when they come into the window."""
    page.evaluate(
        """() => {
          for (const part of document.querySelectorAll("main *"))
            if (getComputedStyle(part).contentVisibility === "auto") part.style.contentVisibility = "visible";
        }"""
    )
    for stage in page.locator(".stage").all():
        if stage.is_visible():
            stage.scroll_into_view_if_needed()
            stage.locator("svg").first.wait_for(state="attached")


def cut_texts(page: Page) -> list[str]:
    """The texts of cells that are not whole: beyond the window or their frame, or hidden by a box."""
    return page.evaluate(_CUT)  # type: ignore[no-any-return]


def empty_parts(page: Page, tallest: float) -> list[EmptyPart]:
    """The thirds of sections that have no text, control or drawing over more than `tallest` pixels of their height."""
    found = page.evaluate(_GAPS)
    return [
        EmptyPart(section, third, gap) for section, gaps in found for third, gap in enumerate(gaps) if gap > tallest
    ]
