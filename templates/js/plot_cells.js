// A heat map as filled outlines. plotly would make an image of it, which the page's policy does not allow.

const MANY = 10; // columns: more have their names upright
const LINE = 12; // pixels from one name of a row to the next

/** Of the steps of the ramp, that which the value is in. */
function step(value, { zmin, zmax }, n) {
  return Math.min(n - 1, Math.max(0, Math.floor((n * (value - zmin)) / (zmax - zmin))));
}

/** All cells of a step as one outline with gaps, in columns and rows. */
function outlines(heat, ramp) {
  const found = ramp.map(([, colour]) => ({ colour, x: [], y: [] }));
  heat.z.forEach((values, row) => {
    values.forEach((value, column) => {
      if (value === null) return;
      const { x, y } = found[step(value, heat, ramp.length)];
      const [left, right, top, low] = [column - 0.47, column + 0.47, row - 0.46, row + 0.46];
      x.push(left, right, right, left, left, null);
      y.push(top, top, low, low, top, null);
    });
  });
  return found
    .filter(({ x }) => x.length)
    .map(({ colour, x, y }) => ({ x, y, type: "scatter", mode: "none", fill: "toself", fillcolor: colour, hoverinfo: "skip", showlegend: false }));
}

/** What answers to the pointer: a point without a mark in the middle of each cell. */
function answers(heat) {
  const points = heat.z.flatMap((values, row) => values.map((value, column) => ({ row, column, value })));
  const there = points.filter(({ value }) => value !== null);
  return {
    type: "scatter",
    mode: "none",
    x: there.map(({ column }) => column),
    y: there.map(({ row }) => row),
    text: there.map(({ row, column, value }) => `${heat.y[row]}<br>${heat.x[column]}: ${value.toFixed(3)}`),
    hovertemplate: "%{text}<extra></extra>",
    showlegend: false,
  };
}

/** The bar that says which value a colour stands for: plotly draws it for marks, and none is there. */
function bar({ zmin, zmax, colorbar }, ramp) {
  const own = { thickness: 10, outlinewidth: 0, tickvals: [zmin, (zmin + zmax) / 2, zmax], ...colorbar };
  const marker = { color: [zmin], cmin: zmin, cmax: zmax, colorscale: ramp, showscale: true, colorbar: own };
  return { type: "scatter", mode: "markers", x: [null], y: [null], marker, hoverinfo: "skip", showlegend: false };
}

function marks(given, columns, rows) {
  return {
    ...given,
    x: given.x.map((name) => columns.get(name)),
    y: given.y.map((name) => rows.get(name)),
    text: given.text.map((words, index) => `${given.y[index]}<br>${given.x[index]}: ${words}`),
    hovertemplate: "%{text}<extra></extra>",
  };
}

function named(axis, names, every) {
  const shown = names.map((_, index) => index).filter((index) => index % every === 0);
  const ticks = { tickvals: shown, ticktext: shown.map((index) => names[index]) };
  return { ...axis, type: "linear", autorange: false, ...ticks, showgrid: false, showline: false, zeroline: false };
}

/** The plot with outlines in place of its heat map; any other plot as it is. `ramp` has pairs of a share and a colour. */
export function asOutlines(plot, ramp, height) {
  const heat = plot.data.find((trace) => trace.meta?.ramp);
  if (!heat) return plot;
  const [columns, rows] = [heat.x, heat.y].map((names) => new Map(names.map((name, index) => [name, index])));
  const others = plot.data.filter((trace) => trace !== heat).map((trace) => marks(trace, columns, rows));
  const every = Math.ceil((LINE * rows.size) / Math.max(1, height - 160));
  const layout = {
    ...plot.layout,
    hovermode: "closest",
    hoverdistance: -1,
    xaxis: { ...named(plot.layout.xaxis, heat.x, 1), tickangle: columns.size > MANY ? -90 : "auto", range: [-0.5, columns.size - 0.5] },
    yaxis: { ...named(plot.layout.yaxis, heat.y, every), range: [rows.size - 0.5, -0.5] },
  };
  return { data: [...outlines(heat, ramp), answers(heat), ...others, bar(heat, ramp)], layout };
}
