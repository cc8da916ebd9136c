// The radar of the models that are compared: 1 − error by domain, drawn as judge/figures/radar.py draws it.

const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, RADIUS, CENTRE, LEGEND, ENTRY] = [480, 116, [240, 154], 330, 20];
const LEVELS = [0.25, 0.5, 0.75, 1];
const KINDS = { force_field: "forces and energies", property_error: "properties" };
const LONGEST = 26; // signs of a name

// Corners about the origin: each model has a shape of its own, so that none is told by its colour alone.
const SHAPES = [
  null, // a circle
  [[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]],
  [[0, -1.25], [1.15, 0.8], [-1.15, 0.8]],
  [[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]],
  [[0, 1.25], [1.15, -0.8], [-1.15, -0.8]],
];

function element(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  if (text !== undefined) made.textContent = text;
  return made;
}

/** The place of a value on an axis: the first points up, the next follow clockwise. */
function at(k, n, value) {
  const angle = (2 * Math.PI * k) / n;
  return [CENTRE[0] + RADIUS * value * Math.sin(angle), CENTRE[1] - RADIUS * value * Math.cos(angle)];
}

const points = (corners) => corners.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ");
const ring = (values) => points(values.map((value, k) => at(k, values.length, value)));
const shorter = (text) => ([...text].length > LONGEST ? `${[...text].slice(0, LONGEST - 1).join("")}…` : text);

function mark([x, y], series) {
  const own = { class: `mark c${series}` };
  if (!SHAPES[series]) return element("circle", { ...own, cx: x.toFixed(1), cy: y.toFixed(1), r: 3.2 });
  return element("polygon", { ...own, points: points(SHAPES[series].map(([dx, dy]) => [x + 3.2 * dx, y + 3.2 * dy])) });
}

function axis({ domain, score }, k, n) {
  const side = Number(Math.sin((2 * Math.PI * k) / n).toFixed(6));
  const [x, y] = at(k, n, 1.08);
  const top = y - 14 + 10 * (1 - Math.cos((2 * Math.PI * k) / n));
  const anchor = side === 0 ? "middle" : side > 0 ? "start" : "end";
  const [x1, y1, x2, y2] = [...CENTRE, ...at(k, n, 1)];
  return [
    element("line", { class: "grid", x1, y1, x2, y2 }),
    element("text", { class: "small strong", x, y: top, "text-anchor": anchor }, shorter(domain)),
    element("text", { class: "small soft", x, y: top + 13, "text-anchor": anchor }, KINDS[score]),
  ];
}

function shape(values, series) {
  const group = element("g", {});
  group.append(element("polygon", { class: `line c${series}${series ? ` dash${series}` : ""}`, points: ring(values) }));
  group.append(...values.map((value, k) => mark(at(k, values.length, value), series)));
  return group;
}

/** The drawing, of at most five models; null where there are less than three axes. `axes`: rows of the comparison. */
export function radar(axes, names) {
  const n = axes.length;
  if (n < 3) return null;
  const title = `1 − error by domain of ${names.join(", ")}`;
  const svg = element("svg", { class: "drawing", viewBox: `0 0 ${WIDTH} ${LEGEND + ENTRY * names.length}`, role: "img", "aria-label": title });
  svg.append(...LEVELS.map((level) => element("polygon", { class: "grid ring", points: ring(Array(n).fill(level)) })));
  svg.append(...axes.flatMap((of, k) => axis(of, k, n)));
  const values = names.map((_, i) => axes.map(({ cells }) => Math.max(0, 1 - (cells[i].value ?? 1))));
  svg.append(...values.map(shape).reverse());
  const [x, y] = CENTRE;
  svg.append(...LEVELS.map((of) => element("text", { class: "tick", x: x + 4, y: y - RADIUS * of + 11 }, String(of))));
  names.forEach((name, i) => {
    const [left, top] = [CENTRE[0] - 70, LEGEND + ENTRY * i];
    svg.append(mark([left + 9, top - 4], i), element("text", { class: "small", x: left + 26, y: top }, shorter(name)));
  });
  return svg;
}
