// The numbers of a figure, read from its table. See judge/figures/table.py.

/** The number in a text with a minus sign and thin spaces between thousands; null for a dash. */
function numberOf(text) {
  const number = Number(text.replace("−", "-").replaceAll("\u202f", ""));
  return Number.isNaN(number) ? null : number;
}

/** The value of a cell: `data-is` if the shown text has fewer digits or another unit, else the text. */
function valueOf(cell) {
  if (cell.dataset.is !== undefined) return JSON.parse(cell.dataset.is);
  const isText = cell.nodeName === "TH" || cell.className === "word";
  return isText ? cell.textContent : numberOf(cell.textContent);
}

/** Headings as pairs of name and unit, and rows. Missing leading cells of a row are those of the row above. */
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
