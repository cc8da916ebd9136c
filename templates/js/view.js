// What a reader looks at: one object, and the address is its only store, so that every view can be linked.
// Equal views have equal addresses: names are sorted, and what is as by default is left out.

import { LAMBENCH } from "./scores.js";

const BY_DEFAULT = {
  scheme: LAMBENCH, // key of a scheme
  variant: "corrected", // or "as_published"
  values: "normalised", // or "raw", of tasks
  sort: null, // {key, descending}; null: by rank
  search: "",
  filters: {}, // those of FILTERS that are set
  columns: null, // keys of columns; null: those that the page comes with
  group: false, // columns under their domains
  weights: new Map(), // factor by path: "score/name/…", see paths.js
  thresholds: new Map(), // number by "task/metric/number"
  picks: [], // ids of the models that are ticked for comparing
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

/** Numbers by key, of the names that begin with `prefix`; those that `read` cannot read are passed over. */
function numbers(query, prefix, read) {
  const found = new Map();
  for (const [name, raw] of query) {
    const value = name.startsWith(prefix) ? read(raw) : undefined;
    if (value !== undefined) found.set(name.slice(prefix.length), value);
  }
  return found;
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

/** The view of an address; what cannot be read in it is as by default. */
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
    weights: numbers(query, "w.", notNegative),
    thresholds: numbers(query, "t.", finite),
    picks: [...new Set(query.getAll("pick"))],
  };
}

/** Pairs of name and text, of all that is not as by default. */
function pairs(of) {
  const said = [];
  for (const name of ["scheme", "variant", "values", "search"]) {
    if (of[name] !== BY_DEFAULT[name]) said.push([name, of[name]]);
  }
  if (of.sort) said.push(["sort", `${of.sort.descending ? "-" : ""}${of.sort.key}`]);
  if (of.group) said.push(["group", "1"]);
  for (const [name, value] of Object.entries(of.filters)) {
    if (name in FILTERS && value !== undefined) said.push([name, FILTERS[name].write(value)]);
  }
  for (const [key, factor] of of.weights) if (factor !== 1) said.push([`w.${key}`, String(factor)]);
  for (const [key, number] of of.thresholds) said.push([`t.${key}`, String(number)]);
  for (const id of of.picks) said.push(["pick", id]);
  said.sort(([one], [other]) => (one < other ? -1 : Number(one > other)));
  if (!of.columns) return said;
  return [...said, ...(of.columns.length ? of.columns : [""]).map((key) => ["column", key])];
}

/** The query of a view, with its question mark; empty for the view that the page comes with. */
export function queryOf(of) {
  const query = new URLSearchParams(pairs(of)).toString().replaceAll("%2F", "/");
  return query && `?${query}`;
}

export const view = readView();

const listeners = [];

/** `listener(view, names)` is called after each change, with the names of what was given to it. */
export function onChange(listener) {
  listeners.push(listener);
}

/** Takes what is given into the view, and tells all listeners; the address follows. */
export function change(part) {
  Object.assign(view, part);
  writeSoon();
  for (const listener of listeners) listener(view, Object.keys(part));
}

/** What is as by default, but for the names that are given. */
function byDefault(...kept) {
  const fresh = { ...BY_DEFAULT, filters: {}, weights: new Map(), thresholds: new Map() };
  for (const name of kept) delete fresh[name];
  return fresh;
}

/** What leads back to the published numbers: a reader's search and the like stay. */
export function publishedAgain() {
  const columns = view.scheme === BY_DEFAULT.scheme ? ["columns", "sort"] : []; // those of another scheme go with it
  return byDefault("search", "filters", "values", "group", "picks", ...columns);
}

// Browsers refuse an address that is written too often, as a slider would: Safari more than 100 times in 30 s.
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
  waiting ||= setTimeout(write, Math.max(written + PAUSE_MS - performance.now(), 0)); // what is shown comes first
}

addEventListener("pagehide", () => waiting && write());
