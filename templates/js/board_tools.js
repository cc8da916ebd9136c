// The controls above the ranking: each changes the view, and shows its value in the view.

import { groupsOf } from "./columns.js";
import { plain } from "./plain.js";
import { change, publishedAgain, view } from "./view.js";

const MILLION = 1e6;
const all = (selector) => [...document.querySelectorAll(selector)];

function addOptions(select, pairs) {
  for (const [value, label] of pairs) select.add(new Option(label, value));
}

// Panels: one is open at a time, and Escape closes it. A narrow screen has one button for all panels.

function togglePanel(button, open) {
  button.setAttribute("aria-expanded", String(open));
  const panel = document.getElementById(button.dataset.panel);
  if (panel.classList.contains("panel")) panel.hidden = !open;
  else panel.classList.toggle("open", open);
}

const isOpen = (button) => button.getAttribute("aria-expanded") === "true";

function startPanels() {
  const buttons = all("[data-panel]");
  const panels = buttons.filter((button) => document.getElementById(button.dataset.panel).matches(".panel"));
  for (const button of buttons) {
    button.addEventListener("click", () => {
      const open = !isOpen(button);
      // Another panel is closed; the button for all panels closes all.
      if (open === panels.includes(button)) for (const other of panels) if (other !== button) togglePanel(other, false);
      togglePanel(button, open);
    });
  }
  document.querySelector(".tools").addEventListener("keydown", ({ key, target }) => {
    const open = [...panels, ...buttons].find(isOpen); // the button for all panels last
    if (key !== "Escape" || !open || (target.type === "search" && target.value)) return; // Escape clears the search
    open.click();
    open.focus();
  });
}

// Filters.

function readFilter(input) {
  if (input.type === "checkbox") return input.checked || undefined;
  if (input.type !== "number") return input.value.trim() || undefined;
  return input.value === "" || !input.checkValidity() ? undefined : Math.round(Number(input.value) * MILLION);
}

function showFilter(input, value) {
  if (input.type === "checkbox") input.checked = value === true;
  else if (input === document.activeElement) return; // the reader is typing
  else if (input.type === "number") input.value = value === undefined ? "" : String(value / MILLION);
  else input.value = value ?? "";
}

function startFilters(file) {
  const levels = new Set(file.models.flatMap((model) => Object.values(model.label_sets ?? {})));
  const machines = new Set(file.models.map((model) => model.hardware ?? "").filter(Boolean));
  const pairs = (names) => [...names].sort().map((name) => [name, plain(name)]);
  addOptions(document.querySelector("[data-filter=level]"), pairs(levels));
  addOptions(document.querySelector("[data-filter=hardware]"), pairs(machines));
  for (const input of all("[data-filter]")) {
    input.addEventListener("input", () => {
      const filters = { ...view.filters, [input.dataset.filter]: readFilter(input) };
      change({ filters: Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== undefined)) });
    });
  }
  for (const button of all("[data-clear]")) {
    button.addEventListener("click", () => {
      change({ search: "", filters: {} });
      document.querySelector("[data-view=search]").focus();
    });
  }
}

// Scheme, variant, values of tasks, search, grouping.

function startChoices(file) {
  const labels = new Map(file.schemes.map((scheme) => [scheme.key, scheme.label]));
  addOptions(document.querySelector("[data-view=scheme]"), labels);
  for (const input of all("[data-view]")) {
    const name = input.dataset.view;
    // Columns belong to a scheme: another scheme begins with its own columns.
    const more = name === "scheme" ? { columns: null, sort: null } : {};
    input.addEventListener("input", () => {
      change({ ...more, [name]: input.type === "checkbox" ? input.checked : input.value });
    });
  }
  document.querySelector("[data-reset]").addEventListener("click", () => {
    change(publishedAgain());
    document.querySelector("[data-view=search]").focus();
  });
}

function showChoices(scheme) {
  for (const input of all("[data-view]")) {
    const value = input.dataset.view === "scheme" ? scheme.key : view[input.dataset.view];
    if (input.type === "checkbox") input.checked = value;
    else if (input.value !== value) input.value = value;
  }
}

// Columns.

function columnTick(column, keys, setColumn) {
  const label = document.createElement("label");
  label.className = "tick";
  const box = document.createElement("input");
  box.type = "checkbox";
  box.value = column.key;
  box.checked = keys.includes(column.key);
  box.addEventListener("change", () => setColumn(box.value, box.checked));
  const words = document.createElement("span");
  words.textContent = column.aside ? `${column.label}, ${column.aside}` : column.label;
  label.append(box, " ", words);
  return label;
}

/** The check boxes of all columns, by group; made again if the columns change. */
function showColumnSets(file, columns, keys, setColumn) {
  const holder = document.querySelector("[data-column-sets]");
  const known = JSON.stringify([...columns.values()].map((column) => [column.key, column.aside]));
  if (holder.dataset.known !== known) {
    holder.dataset.known = known;
    const all = [...columns.values()];
    holder.replaceChildren(
      ...groupsOf(file, all).map((group) => {
        const set = document.createElement("fieldset");
        const legend = document.createElement("legend");
        legend.textContent = group;
        const ticks = all.filter((column) => column.group === group);
        set.append(legend, ...ticks.map((column) => columnTick(column, keys, setColumn)));
        return set;
      }),
    );
  }
  for (const box of holder.querySelectorAll("input")) box.checked = keys.includes(box.value);
}

const NO_TASK = "Only tasks have raw values. Select tasks below.";

/** A sentence if raw values are selected and no column has any. */
function showHint(keys) {
  const hint = document.querySelector("[data-values-hint]");
  const words = view.values === "raw" && !keys.some((key) => key.startsWith("task:")) ? NO_TASK : "";
  if (hint.textContent !== words) hint.textContent = words;
}

/** Shows the view in the controls; `now` is the state of board.js. */
export function showTools(file, now, setColumn) {
  showChoices(now.computed.scheme);
  for (const input of all("[data-filter]")) showFilter(input, view.filters[input.dataset.filter]);
  const n = Object.keys(view.filters).length;
  document.querySelector("[data-tally=filters]").textContent = n ? ` (${n})` : "";
  document.querySelector("[data-tally=columns]").textContent = view.columns ? ` (${now.keys.length})` : "";
  if (document.getElementById("board-columns").hidden) return;
  showColumnSets(file, now.all(), now.keys, setColumn);
  showHint(now.keys);
}

/** Makes the controls work; `opened` is called when the panel of columns opens. */
export function startTools(file, opened) {
  startPanels();
  startFilters(file);
  startChoices(file);
  document.querySelector("[data-panel=board-columns]").addEventListener("click", opened);
  document.querySelector("[data-default-columns]").addEventListener("click", () => change({ columns: null }));
  for (const part of all("[data-board-tools]")) part.hidden = false;
}
