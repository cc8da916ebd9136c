// The view: a reader's settings in one object. The address is their only store, so that every view can be linked.
// Equal views have equal addresses: names are sorted, and defaults are left out.

import { LAMBENCH } from "./scores.js";

const BY_DEFAULT = {
  scheme: LAMBENCH, // key of a scheme
  variant: "corrected", // or "as_published"
  values: "normalised", // or "raw", of tasks
  sort: null, // {key, descending}; null: by rank
  search: "",
  filters: {}, // by name in FILTERS
  columns: null, // keys of columns; null: the published columns
  group: false, // columns under their domains
  weights: new Map(), // factor by path: "score/name/…", see paths.js
  thresholds: new Map(), // number by "task/metric/number"
  picks: [], // ids of the models that are selected for a comparison
  chosen: new Map(), // answers of the chooser, by name after "for."
};

const text = { read: (raw) => raw || undefined, write: String };
const yes = { read: (raw) => (raw === "1" ? true : undefined), write: () => "1" };
const count = { read: (raw) => notNegative(raw), write: String };
const FILTERS = {
  level: text, // level of theory
  hardware: text,
  elements: text, // symbols, all of which the model must cover
  open: yes,
  conservative: yes,
  isolated: yes,
  min: count, // parameters
  max: count,
};

function finite(raw) {
  const value = raw.trim() === "" ? NaN : Number(raw);
  return Number.isFinite(value) ? value : undefined;
}

function notNegative(raw) {
  const value = finite(raw);
  return value >= 0 ? value : undefined;
}

/** Values by key, for names that begin with `prefix`; values that `read` refuses are left out. */
function valuesOf(query, prefix, read) {
  const byKey = new Map();
  for (const [name, raw] of query) {
    const value = name.startsWith(prefix) ? read(raw) : undefined;
    if (value !== undefined) byKey.set(name.slice(prefix.length), value);
  }
  return byKey;
}

function readFilters(query) {
  const filters = {};
  for (const [name, { read }] of Object.entries(FILTERS)) {
    const value = query.has(name) ? read(query.get(name)) : undefined;
    if (value !== undefined) filters[name] = value;
  }
  return filters;
}

function readSort(raw) {
  if (!raw || raw === "-") return null;
  return { key: raw.replace(/^-/, ""), descending: raw.startsWith("-") };
}

/** The view of an address; a part that cannot be read has its default. */
export function readView(search = location.search) {
  const query = new URLSearchParams(search);
  return {
    scheme: query.get("scheme") || BY_DEFAULT.scheme,
    variant: query.get("variant") === "as_published" ? "as_published" : "corrected",
    values: query.get("values") === "raw" ? "raw" : "normalised",
    sort: readSort(query.get("sort")),
    search: query.get("search") ?? "",
    filters: readFilters(query),
    columns: query.has("column") ? query.getAll("column").filter((key) => key) : null,
    group: query.get("group") === "1",
    weights: valuesOf(query, "w.", notNegative),
    thresholds: valuesOf(query, "t.", finite),
    picks: [...new Set(query.getAll("pick"))],
    chosen: valuesOf(query, "for.", (raw) => raw.trim() || undefined),
  };
}

/** Pairs of name and text for all parts of a view that differ from their defaults. */
function pairs(parts) {
  const named = [];
  for (const name of ["scheme", "variant", "values", "search"]) {
    if (parts[name] !== BY_DEFAULT[name]) named.push([name, parts[name]]);
  }
  if (parts.sort) named.push(["sort", `${parts.sort.descending ? "-" : ""}${parts.sort.key}`]);
  if (parts.group) named.push(["group", "1"]);
  for (const [name, value] of Object.entries(parts.filters)) {
    if (name in FILTERS && value !== undefined) named.push([name, FILTERS[name].write(value)]);
  }
  for (const [key, factor] of parts.weights) if (factor !== 1) named.push([`w.${key}`, String(factor)]);
  for (const [key, number] of parts.thresholds) named.push([`t.${key}`, String(number)]);
  for (const id of parts.picks) named.push(["pick", id]);
  for (const [name, words] of parts.chosen) named.push([`for.${name}`, words]);
  named.sort(([one], [other]) => (one < other ? -1 : Number(one > other)));
  if (!parts.columns) return named;
  return [...named, ...(parts.columns.length ? parts.columns : [""]).map((key) => ["column", key])];
}

/** The query of a view, with its question mark; empty for the default view. */
export function queryOf(parts) {
  const query = new URLSearchParams(pairs(parts)).toString().replaceAll("%2F", "/");
  return query && `?${query}`;
}

export const view = readView();

const listeners = [];

/** `listener(view, names)` is called after each change, with the names of the changed parts. */
export function onChange(listener) {
  listeners.push(listener);
}

/** Changes parts of the view and calls all listeners; the address follows. */
export function change(part) {
  Object.assign(view, part);
  writeSoon();
  for (const listener of listeners) listener(view, Object.keys(part));
}

/** The defaults, without the names in `kept`. */
function byDefault(...kept) {
  const fresh = { ...BY_DEFAULT, filters: {}, weights: new Map(), thresholds: new Map(), chosen: new Map() };
  for (const name of kept) delete fresh[name];
  return fresh;
}

/** The change that leads back to the published numbers; search and filters stay. */
export function publishedAgain() {
  const columns = view.scheme === BY_DEFAULT.scheme ? ["columns", "sort"] : []; // columns of another scheme are dropped
  return byDefault("search", "filters", "values", "group", "picks", "chosen", ...columns);
}

// Browsers limit how often an address is written, and a slider writes often. Safari allows 100 times in 30 s.
const PAUSE_MS = 350;
let written = -PAUSE_MS;
let waiting = 0;

function write() {
  clearTimeout(waiting);
  waiting = 0;
  written = performance.now();
  history.replaceState(null, "", `${location.pathname}${queryOf(view)}${location.hash}`);
}

function writeSoon() {
  waiting ||= setTimeout(write, Math.max(written + PAUSE_MS - performance.now(), 0)); // after the page is updated
}

addEventListener("pagehide", () => waiting && write());
addEventListener("popstate", write); // back over a link within the page: the view stays, and the address describes it
