// A figure's plot in the page's colours and type, light or dark.

import { asOutlines } from "./plot_cells.js";

const N_COLOURS = 8;
const N_RAMP = 9;
const NARROW = 560;

export const CONFIG = { displayModeBar: false, showTips: false, doubleClick: "reset" };

// Only these are written by us alone and may have tags; any other text can be an author's.
const TEMPLATES = new Set(["hovertemplate", "texttemplate"]);

const MEANT = { "&": "&amp;", "<": "&lt;", ">": "&gt;", "%": "&#37;", "\n": "<br>" };

function escaped(text) {
  return text.replace(/[&<>%\n]/g, (mark) => MEANT[mark]);
}

/** The value with every text in it as plotly has to be given it: it reads tags, and %{…} in names too. */
function asText(value, key = "") {
  if (typeof value === "string") return TEMPLATES.has(key) ? value : escaped(value);
  if (Array.isArray(value)) return value.map((part) => asText(part));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, asText(part, name)]));
}

/** What of the page's variables a plot needs. */
function palette() {
  const style = getComputedStyle(document.documentElement);
  const own = (name) => style.getPropertyValue(`--${name}`).trim();
  const named = Object.fromEntries(["ink", "soft", "grid", "firm", "rest", "paper", "raised"].map((name) => [name, own(name)]));
  const series = Array.from({ length: N_COLOURS }, (_, index) => own(`c${index}`));
  const ramp = Array.from({ length: N_RAMP }, (_, index) => [index / (N_RAMP - 1), own(`h${index}`)]);
  return { ...named, series, ramp, type: getComputedStyle(document.body).fontFamily, size: 0.72 * parseFloat(style.fontSize) };
}

function colourOf(meta, colours) {
  return colours[meta.colour] ?? colours.series[meta.colour % N_COLOURS];
}

/** The colour with so much of it, as plotly wants it. */
function thin(colour, share) {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return `rgba(${red}, ${green}, ${blue}, ${share})`;
}

function trace(given, colours) {
  const meta = given.meta ?? {};
  const made = { ...given, hoverlabel: { namelength: 40 } };
  if (meta.colour === undefined) return made;
  const colour = colourOf(meta, colours);
  const pattern = given.marker?.pattern && { ...given.marker.pattern, fgcolor: colours.paper, bgcolor: colour, size: 6, solidity: 0.25 };
  made.marker = { ...given.marker, color: colour, ...(pattern && { pattern }), ...(meta.faint && { opacity: 0.55 }) };
  made.marker.line = { ...given.marker?.line, color: colour };
  if (given.type !== "bar") made.line = { width: 1.8, ...given.line, color: colour };
  if (given.fill && given.fill !== "none") made.fillcolor = thin(colour, 0.08);
  if (given.error_y) made.error_y = { ...given.error_y, color: colour };
  return made;
}

function axis(given, colours) {
  return {
    gridcolor: colours.grid,
    linecolor: colours.firm,
    zerolinecolor: colours.grid,
    automargin: true,
    ...given,
    title: { ...given?.title, font: { color: colours.soft }, standoff: 12 },
    tickfont: { color: colours.soft, size: colours.size * (given?.ticktext ? 0.8 : 0.92), ...given?.tickfont },
  };
}

/** Axes of a layout: `xaxis`, `yaxis`, `xaxis2` and so on. */
function axes(layout, colours) {
  const names = new Set(["xaxis", "yaxis", ...Object.keys(layout).filter((name) => /^[xy]axis\d*$/.test(name))]);
  return Object.fromEntries([...names].map((name) => [name, axis(layout[name], colours)]));
}

function polar(given, colours) {
  const inner = { gridcolor: colours.grid, linecolor: colours.grid, tickfont: { color: colours.soft } };
  return {
    ...given,
    bgcolor: "rgba(0,0,0,0)",
    radialaxis: { ...inner, ...given.radialaxis },
    angularaxis: { ...inner, ...given.angularaxis, tickfont: { color: colours.ink } },
  };
}

function legend(given, isNarrow) {
  if (given === undefined && !isNarrow) return { bgcolor: "rgba(0,0,0,0)" };
  const below = isNarrow || given?.orientation === "h";
  return { bgcolor: "rgba(0,0,0,0)", ...given, ...(below && { orientation: "h", y: -0.18, yref: "paper", yanchor: "top" }) };
}

/** Data and layout of a plot as they are drawn at `place`. */
export function looked(plot, place) {
  const colours = palette();
  const { data, layout } = asOutlines(asText({ layout: {}, ...plot }), colours.ramp, place.clientHeight);
  const isNarrow = place.clientWidth < NARROW;
  const made = {
    ...layout,
    ...axes(layout, colours),
    ...(layout.polar && { polar: polar(layout.polar, colours) }),
    width: place.clientWidth, // whole, unlike what plotly would find
    height: place.clientHeight,
    uirevision: "kept", // a reader's zoom, and what is hidden in the legend
    // On a screen that is touched, dragging is for the page.
    dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom",
    font: { family: colours.type, size: colours.size, color: colours.ink },
    hoverlabel: { bgcolor: colours.raised, bordercolor: colours.firm, font: { color: colours.ink } },
    legend: legend(layout.legend, isNarrow),
    margin: layout.polar ? { l: isNarrow ? 112 : 60, r: isNarrow ? 112 : 60, t: 36, b: 36 } : { l: 48, r: 16, t: 16, b: 44 },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
  };
  return { data: data.map((given) => trace(given, colours)), layout: made };
}
