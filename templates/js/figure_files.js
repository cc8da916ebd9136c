// A figure as a file: its table as CSV or JSON, its plot as SVG.

import { plotly } from "./plotly.js";

const KINDS = { CSV: ["csv", "text/csv"], JSON: ["json", "application/json"], SVG: ["svg", "image/svg+xml"] };

/** A CSV field: quoted if necessary, and never a formula in a spreadsheet. */
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

/** The plot as shown, on the background of the page. */
async function svg(place) {
  const setBackground = getComputedStyle(document.documentElement).backgroundColor;
  const { width, height } = place._fullLayout;
  const address = await (await plotly()).toImage(place, { format: "svg", width, height, setBackground });
  return decodeURIComponent(address.slice(address.indexOf(",") + 1));
}

/** The content of a file. `table` gives title, headings and rows; `draw` gives a promise of the plot's element. */
const MAKERS = { CSV: (table) => csv(table()), JSON: (table) => json(table()), SVG: async (_, draw) => svg(await draw()) };

function save(name, type, content) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  // Later, since the browser still reads it.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Adds the download buttons below a figure. */
export function offerFiles(figure, table, draw) {
  const place = figure.querySelector(".downloads");
  place.append("Download");
  for (const [word, [ending, type]] of Object.entries(KINDS)) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = word;
    button.setAttribute("aria-label", `Download ${figure.id} as ${word}`);
    button.addEventListener("click", async () => save(`${figure.id}.${ending}`, type, await MAKERS[word](table, draw)));
    place.append(button);
  }
  place.hidden = false;
}
