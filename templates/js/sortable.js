// Tables that are sorted by column: headings become buttons.

/** The value of a cell; null if it is empty, or a dash among numbers. */
function valueOf(row, index, asText) {
  const raw = row.cells[index].dataset.value ?? row.cells[index].textContent.trim();
  if (raw === "") return null;
  if (asText) return raw;
  const value = Number(raw);
  return Number.isNaN(value) ? null : value;
}

/** -1, 0 or 1; a null comes last in either direction. */
function compare(a, b, descending) {
  if (a === null || b === null) return (a === null) - (b === null);
  const order = typeof a === "string" ? a.localeCompare(b) : a - b;
  return descending ? -order : order;
}

/** Sorts the rows within each group: rows without a rank stay below. */
function sortBy(table, heading, descending) {
  const index = heading.cellIndex;
  const asText = heading.dataset.sort === "text";
  for (const body of table.tBodies) {
    if (body.classList.contains("divider")) continue;
    const rows = [...body.rows].map((row) => ({ row, value: valueOf(row, index, asText) }));
    rows.sort((a, b) => compare(a.value, b.value, descending));
    body.append(...rows.map(({ row }) => row));
  }
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
}

/** Sorts new rows by the current column. */
export function sortAgain(table) {
  const heading = table.tHead.querySelector("[aria-sort]");
  if (heading) sortBy(table, heading, heading.getAttribute("aria-sort") === "descending");
}

function announce(table, words) {
  const status = table.closest("section").querySelector(".sort-state");
  if (status) status.textContent = words;
}

function makeSortable(table) {
  for (const heading of table.tHead.rows[0].cells) {
    const label = heading.querySelector(".head");
    const button = document.createElement("button");
    button.type = "button";
    label.replaceWith(button);
    button.append(...label.childNodes);
    button.addEventListener("click", () => {
      const now = heading.getAttribute("aria-sort");
      const descending = now ? now === "ascending" : heading.dataset.sort === "descending";
      sortBy(table, heading, descending);
      announce(table, `Sorted by ${button.textContent.trim()}, ${descending ? "descending" : "ascending"}.`);
    });
  }
}

export function start() {
  for (const table of document.querySelectorAll("table.sortable")) makeSortable(table);
}
