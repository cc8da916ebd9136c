// The bar of a cell, as the macro of that name in templates/parts.html.

const SVG = "http://www.w3.org/2000/svg";

/** An empty bar; its only child is the rectangle. */
export function newBar() {
  const [svg, rect] = ["svg", "rect"].map((name) => document.createElementNS(SVG, name));
  const look = { class: "bar", viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" };
  for (const [name, text] of Object.entries(look)) svg.setAttribute(name, text);
  rect.setAttribute("height", "4");
  svg.append(rect);
  return svg;
}

/** The width of the rectangle for a goodness; empty without a value. */
export const widthOf = (good) => (100 * (good ?? 0)).toFixed(2);
