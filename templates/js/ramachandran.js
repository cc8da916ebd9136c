// Ramachandran plots of a run: (φ, ψ) of the model, outliers in another colour and shape, reference points in cells.
// They are drawn in degrees, with ψ upwards; the stylesheet has the colours.

import { element } from "./element.js";

const TICKS = [-180, -90, 0, 90, 180];
const SHADES = 4;
const CROSS = 5; // degrees

function drawn(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const dots = (points) => drawn("path", { class: "near", d: points.map(([phi, psi]) => `M${phi} ${-psi}h0`).join("") });

const crosses = (points) => {
  const strokes = `l${2 * CROSS} ${2 * CROSS}m0 ${-2 * CROSS}l${-2 * CROSS} ${2 * CROSS}`;
  return drawn("path", { class: "far", d: points.map(([phi, psi]) => `M${phi - CROSS} ${-psi - CROSS}${strokes}`).join("") });
};

/** Cells with reference points, one path for each shade. */
function shades(cells, size) {
  const most = Math.log(Math.max(...cells.map(([, , n]) => n)));
  const paths = Array.from({ length: SHADES }, () => "");
  for (const [i, j, n] of cells) {
    const shade = most > 0 ? Math.round(((SHADES - 1) * Math.log(n)) / most) : 1;
    paths[shade] += `M${i * size - 180} ${180 - j * size}h${size}v${-size}h${-size}z`;
  }
  return paths.map((d, shade) => drawn("path", { class: `shade-${shade}`, d }));
}

function axes() {
  const text = (x, y, anchor, words) => drawn("text", { x, y, "text-anchor": anchor }, words);
  return [
    drawn("path", { class: "axis", d: "M-180-180h360v360h-360zM0-180v360M-180 0h360" }),
    ...TICKS.map((tick) => drawn("path", { class: "axis", d: `M${tick} 180v6M-180 ${tick}h-6` })),
    ...TICKS.map((tick) => text(tick, 205, "middle", `${tick}`.replace("-", "−"))),
    ...TICKS.map((tick) => text(-190, 6 - tick, "end", `${tick}`.replace("-", "−"))),
    text(0, 232, "middle", "φ / °"),
    drawn("g", { transform: "translate(-242 0) rotate(-90)" }, text(0, 0, "middle", "ψ / °")),
  ];
}

const percent = (plot) => ((100 * plot.outliers) / plot.angles).toFixed(1);

function map(plot, size) {
  const words = `${plot.outliers} of ${plot.angles} (${percent(plot)} %) are outliers`;
  const parts = [...shades(plot.cells, size), ...axes(), dots(plot.near), crosses(plot.far)];
  const picture = drawn("svg", { "viewBox": "-264 -192 466 436", "role": "img", "aria-label": `${plot.title}: ${words}` }, ...parts);
  return element("div", {}, element("h5", {}, plot.title), element("p", { class: "aside" }, `${words}.`), picture);
}

function legend({ cell, distance }) {
  const mark = (shape) => drawn("svg", { "viewBox": "-10 -10 20 20", "class": "mark", "aria-hidden": "true" }, shape);
  const square = drawn("path", { class: `shade-${SHADES - 2}`, d: "M-8-8h16v16h-16z" });
  return [
    element("span", {}, mark(dots([[0, 0]])), "the model, in each frame"),
    element("span", {}, mark(crosses([[0, 0]])), `outliers: more than ${distance}° from every reference point`),
    element("span", {}, mark(square), `reference points, in cells of ${cell}°; stronger where there are more`),
  ];
}

function table(plots) {
  const heading = (words) => element("th", { scope: "col" }, words);
  const row = (plot) => {
    const numbers = [plot.residues, plot.reference, plot.angles, plot.outliers, `${percent(plot)} %`];
    return element("tr", {}, element("th", { scope: "row" }, plot.title), ...numbers.map((n) => element("td", {}, `${n}`)));
  };
  const names = ["Residues", "Reference points", "(φ, ψ)", "Outliers", "Share"];
  const head = element("thead", {}, element("tr", {}, element("th", { scope: "col", class: "word" }, "Plot"), ...names.map(heading)));
  const whole = element("table", { class: "plain lean" }, head, element("tbody", {}, ...plots.map(row)));
  return element("div", { "class": "table-frame", "tabindex": 0, "role": "group", "aria-label": "Shares of outliers" }, whole);
}

/** A figure with the plots of a file of judge/pages/tasks/ramachandran.py. */
export function ramachandran(title, content) {
  const caption = element("figcaption", {}, element("h4", {}, title), element("p", { class: "legend" }, ...legend(content)));
  const maps = element("div", { class: "maps" }, ...content.plots.map((plot) => map(plot, content.cell)));
  return element("figure", { class: "ramachandran", tabindex: -1 }, caption, maps, table(content.plots));
}
