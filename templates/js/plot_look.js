// A plot in the colours and fonts of the page, light or dark.

const N_RAMP = 9;
const NARROW = 560; // pixels
// By the number of a series. A series also differs by dash, symbol or pattern, not by colour alone.
const COLOURS = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"];
const DASHES = ["solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "6px 2px 2px 2px 2px 2px", "12px 3px"];
const SYMBOLS = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "pentagon", "x"];
const PATTERNS = ["", "/", "\\", "-", "|", "+", "x", "."];

export const CONFIG = { displayModeBar: false, showTips: false, doubleClick: "reset" };

// Only these texts come from the judge alone and may have tags; any other text may come from an author.
const TEMPLATES = new Set(["hovertemplate", "texttemplate"]);

const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", "%": "&#37;", "\n": "<br>" };

/** The value with all of its texts escaped: plotly interprets tags, and %{…} even in names. */
function asText(value, key = "") {
  if (typeof value === "string") return TEMPLATES.has(key) ? value : value.replace(/[&<>%\n]/g, (mark) => ESCAPES[mark]);
  if (Array.isArray(value)) return value.map((part) => asText(part));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, asText(part, name)]));
}

/** The stylesheet's colour of this name, as #rrggbb. */
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** The text size in pixels; it follows the reader's setting for all text. */
const textSize = () => 0.72 * parseFloat(getComputedStyle(document.documentElement).fontSize);

/** The colour with an opacity of 8 %. */
const thin = (hex) => `${hex}14`;

/** Text colours that contrast with the colour of each bar. */
function textColours(values, { cmin, cmax }) {
  return values.map((value) => colour(value - cmin < 0.55 * (cmax - cmin) ? "on-little" : "on-much"));
}

function trace(given, layout, isNarrow) {
  const series = given.meta?.colour;
  const made = { ...given, hoverlabel: { namelength: 40 } };
  if (isNarrow && given.textposition === "inside") made.text = given.text.map((text) => text.split("<br>")[0]); // a cell is small
  if (given.marker?.coloraxis && given.text) made.insidetextfont = { color: textColours(given.marker.color, layout.coloraxis) };
  if (series === undefined) return made;
  const ink = colour(COLOURS[series] ?? series);
  made.marker = { symbol: SYMBOLS[series], ...given.marker, color: ink, line: { color: ink } };
  if (given.type === "bar") {
    const pattern = { shape: PATTERNS[series], fgcolor: colour("paper"), bgcolor: ink, size: 6, solidity: 0.25 };
    if (pattern.shape) made.marker.pattern = pattern;
    return made;
  }
  made.line = { width: 1.8, dash: DASHES[series], ...given.line, color: ink };
  if (given.fill === "toself") made.fillcolor = thin(ink);
  if (given.error_y) made.error_y = { ...given.error_y, color: ink };
  return made;
}

function axis(given) {
  return {
    gridcolor: colour("grid"),
    linecolor: colour("firm"),
    zerolinecolor: colour("grid"),
    dividercolor: colour("firm"),
    automargin: true,
    ...given,
    title: { ...given?.title, font: { color: colour("soft") }, standoff: 12 },
    tickfont: { color: colour("soft"), size: textSize() * (given?.ticktext || given?.categoryarray ? 0.8 : 0.92) },
  };
}

/** Axes of a layout: `xaxis`, `yaxis`, `xaxis2` and so on. */
function axes(layout) {
  const names = new Set(["xaxis", "yaxis", ...Object.keys(layout).filter((name) => /^[xy]axis\d*$/.test(name))]);
  return Object.fromEntries([...names].map((name) => [name, axis(layout[name])]));
}

function polar(given) {
  const inner = { gridcolor: colour("grid"), linecolor: colour("grid"), tickfont: { color: colour("soft") } };
  return {
    bgcolor: "rgba(0,0,0,0)",
    radialaxis: { ...inner, ...given.radialaxis },
    angularaxis: { ...inner, ...given.angularaxis, tickfont: { color: colour("ink") } },
  };
}

/** The colour scale from small to large values, and its colour bar. */
function coloraxis(given) {
  const colorscale = Array.from({ length: N_RAMP }, (_, step) => [step / (N_RAMP - 1), colour(`h${step}`)]);
  return { ...given, colorscale, colorbar: { thickness: 10, outlinewidth: 0, ...given.colorbar } };
}

function legend(given, isNarrow) {
  const isBelow = isNarrow || given?.orientation === "h";
  const below = { orientation: "h", y: 0, yref: "container", yanchor: "bottom" };
  return { bgcolor: "rgba(0,0,0,0)", ...given, ...(isBelow && below) };
}

/** A grid of small plots, in one column if there is little room. */
function grid(layout, isNarrow) {
  if (!isNarrow || !layout.grid) return layout.grid;
  return { ...layout.grid, columns: 1, rows: Object.keys(layout).filter((name) => name.startsWith("xaxis")).length };
}

/** The room around a plot in pixels, for the texts of its axes. */
function margin({ polar: isPolar, xaxis }, isNarrow) {
  const side = isNarrow ? 112 : 60;
  if (isPolar) return { l: side, r: side, t: 36, b: 96 };
  return xaxis?.visible === false ? { l: 0, r: 0, t: 0, b: 0 } : { l: 48, r: 16, t: 16, b: 44 };
}

const note = (given) => ({ showarrow: false, font: { color: colour("soft") }, ...given });

const shape = (given) => ({ ...given, line: { color: colour("firm"), width: 1 } });

/** Gives the place of a plot its height; a stage that is not shown yet may become as wide as the page. */
export function setHeight(stage) {
  const { height, narrowHeight } = stage.dataset;
  const width = stage.clientWidth || document.documentElement.clientWidth;
  stage.style.height = `${(width < NARROW && narrowHeight) || height}px`;
}

/** Data and layout of a plot as plotly draws them in `place`. */
export function looked(plot, place) {
  const { data, layout } = asText(plot);
  const { clientWidth: width, clientHeight: height } = place; // integers; plotly itself would measure fractions
  const isNarrow = width < NARROW;
  const made = {
    uirevision: "kept", // a reader's zoom, and what is hidden in the legend
    ...layout,
    ...axes(layout),
    grid: grid(layout, isNarrow),
    ...(layout.polar && { polar: polar(layout.polar) }),
    ...(layout.coloraxis && { coloraxis: coloraxis(layout.coloraxis) }),
    annotations: layout.annotations?.map(note),
    shapes: layout.shapes?.map(shape),
    legend: legend(layout.legend, isNarrow),
    width,
    height,
    // On a touch screen, dragging scrolls the page.
    dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom",
    font: { family: getComputedStyle(document.body).fontFamily, size: textSize(), color: colour("ink") },
    hoverlabel: { bgcolor: colour("raised"), bordercolor: colour("firm"), font: { color: colour("ink") } },
    margin: margin(layout, isNarrow),
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
  };
  return { data: data.map((given) => trace(given, layout, isNarrow)), layout: made };
}
