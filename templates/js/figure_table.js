// The numbers of a figure, read from its table: they stand in the page once. See judge/figures/table.py.

/** A number as the page shows it, with a true minus and thin spaces between thousands; a dash is none. */
function numberOf(text) {
  const number = Number(text.replace("−", "-").replaceAll("\u202f", ""));
  return Number.isNaN(number) ? null : number;
}

/** What a cell has: as it says, where what is shown has fewer digits or another unit; else as it is shown. */
function valueOf(cell) {
  if (cell.dataset.is !== undefined) return JSON.parse(cell.dataset.is);
  const isText = cell.nodeName === "TH" || cell.className === "word";
  return isText ? cell.textContent : numberOf(cell.textContent);
}

/** Headings, as pairs of name and unit, and rows. Leading cells that a row lacks are those of the row above. */
export function tableOf(figure) {
  const { tHead, tBodies } = figure.querySelector("table.numbers");
  const headings = [...tHead.rows[0].cells].map((cell) => [cell.firstChild.textContent, cell.dataset.unit ?? ""]);
  const rows = [];
  for (const { cells } of tBodies[0].rows) {
    const above = rows.at(-1)?.slice(0, headings.length - cells.length) ?? [];
    rows.push([...above, ...[...cells].map(valueOf)]);
  }
  return { headings, rows };
}
