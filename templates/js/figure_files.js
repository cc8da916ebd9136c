// A figure as a file: its table as CSV or JSON, its drawing as an SVG that needs no stylesheet.

const KINDS = { CSV: ["csv", "text/csv"], JSON: ["json", "application/json"], SVG: ["svg", "image/svg+xml"] };

// What the page's stylesheet gives a drawing, and what an SVG has where nothing is said.
const LOOKS = {
  "fill": "rgb(0, 0, 0)",
  "fill-opacity": "1",
  "stroke": "none",
  "stroke-width": "1px",
  "stroke-dasharray": "none",
  "stroke-linejoin": "miter",
  "opacity": "1",
  "paint-order": "normal",
  "font-family": "",
  "font-size": "",
  "font-weight": "400",
};
const OF_TEXT = new Set(["font-family", "font-size", "font-weight"]);
const DRAWN = "path, polygon, polyline, line, rect, circle, text, tspan";

/** A text as spreadsheets read it: quoted where it must be, and never as a formula. */
function field(cell) {
  if (cell === null) return "";
  if (typeof cell === "number") return String(cell);
  const safe = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function csv({ headings, rows }) {
  const names = headings.map(([name, unit]) => (unit ? `${name} [${unit}]` : name));
  return [names, ...rows].map((cells) => `${cells.map(field).join(",")}\r\n`).join("");
}

function json({ title, headings, rows }) {
  const columns = headings.map(([name, unit]) => ({ name, unit }));
  return `${JSON.stringify({ title, columns, rows }, null, 1)}\n`;
}

/** Sets as attributes what the stylesheet says of an element, so that its copy looks the same anywhere. */
function inline(element, copy) {
  const style = getComputedStyle(element);
  for (const [name, usual] of Object.entries(LOOKS)) {
    if (OF_TEXT.has(name) && element.nodeName !== "text") continue;
    if (name === "fill" && element.getAttribute("fill")?.startsWith("url(")) continue;
    const own = style.getPropertyValue(name);
    if (own !== usual) copy.setAttribute(name, own);
  }
}

/** The drawing by itself, on the page's ground. */
function svg(figure) {
  const drawing = figure.querySelector("svg.drawing");
  const alone = drawing.cloneNode(true);
  const copies = alone.querySelectorAll(DRAWN);
  drawing.querySelectorAll(DRAWN).forEach((element, index) => inline(element, copies[index]));
  for (const element of [alone, ...alone.querySelectorAll("[class]")]) element.removeAttribute("class");
  const { width, height } = drawing.viewBox.baseVal;
  alone.setAttribute("width", width);
  alone.setAttribute("height", height);
  const ground = document.createElementNS(alone.namespaceURI, "rect");
  const looks = { width, height, fill: getComputedStyle(document.documentElement).backgroundColor };
  for (const [name, value] of Object.entries(looks)) ground.setAttribute(name, value);
  alone.querySelector("desc").after(ground);
  return `${new XMLSerializer().serializeToString(alone)}\n`;
}

const MAKERS = { CSV: (_, told) => csv(told), JSON: (_, told) => json(told), SVG: (figure) => svg(figure) };

function save(name, type, content) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  // Not at once: the browser still reads it.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Buttons below a figure; `told` gives its title, headings and rows. */
export function offerFiles(figure, told) {
  const place = figure.querySelector(".downloads");
  place.append("Download");
  for (const [word, [ending, type]] of Object.entries(KINDS)) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = word;
    button.setAttribute("aria-label", `Download ${figure.id} as ${word}`);
    button.addEventListener("click", () => save(`${figure.id}.${ending}`, type, MAKERS[word](figure, told())));
    place.append(button);
  }
  place.hidden = false;
}
