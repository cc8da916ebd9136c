// A viewer of structures on a canvas: turn, zoom, play. docs/leaderboard.md says which libraries were looked at.

import { element, setText } from "./element.js";
import { plain } from "./plain.js";
import { bondsOf, cornersOf, extent, partsOf, pointsOf, turned } from "./trajectory_scene.js";

const TURN = 0.12; // rad a key
const DRAG = 0.01; // rad a pixel
const ZOOM = 1.15;
const FRAME_MS = 80;
const ATOM = 0.45; // of the covalent radius
const STRUCTURE_MS = 700;
const KEYS = "Drag or use the arrow keys to turn; + and − zoom; Escape closes.";
const PLAY_KEYS = "Space plays and pauses; the keys , and . step back and forth.";
const dark = matchMedia("(prefers-color-scheme: dark)");

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** How many atoms of each element, in the Hill order: 4 C, 10 H, 2 N. */
function composition(symbols) {
  const counts = new Map();
  for (const symbol of symbols) counts.set(symbol, (counts.get(symbol) ?? 0) + 1);
  const place = (symbol) => (counts.has("C") && { C: "1", H: "2" }[symbol]) || symbol;
  const ordered = [...counts].sort(([one], [other]) => (place(one) < place(other) ? -1 : 1));
  return ordered.map(([symbol, n]) => `${n} ${symbol}`).join(", ");
}

/** Draws the parts; `scale` is in pixels per Å, `reach` the depth [Å] of the nearest and farthest part. */
function paint(canvas, parts, { scale, reach, colours, sizes }) {
  const ratio = devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, width / 2, height / 2);
  const [ink, edge, paper] = ["soft", "firm", "raised"].map(colour);
  const place = ([x, y]) => [x * scale, -y * scale];
  for (const part of parts) {
    pen.beginPath();
    if (part.kind === "atom") {
      pen.arc(...place(part.at), Math.max(sizes[part.atom] * scale, 1.5), 0, 2 * Math.PI);
    } else {
      pen.moveTo(...place(part.from));
      pen.lineTo(...place(part.to));
    }
    pen.lineWidth = part.kind === "bond" ? Math.max(0.14 * scale, 1) : 1;
    const pale = Math.min(Math.max(0.7 + (0.3 * part.depth) / reach, 0.35), 1); // what is far is pale, not transparent
    for (const [alpha, fill, stroke] of [[1, paper, paper], [pale, colours[part.atom], part.kind === "edge" ? edge : ink]]) {
      pen.globalAlpha = alpha;
      [pen.fillStyle, pen.strokeStyle] = [fill, stroke];
      if (part.kind === "atom") pen.fill();
      pen.stroke();
    }
  }
}

function legendOf(elements) {
  return Object.entries(elements).map(([symbol, look]) => {
    const mark = element("span", { "class": "atom", "aria-hidden": "true" });
    mark.style.backgroundColor = look.colour;
    return element("span", {}, mark, symbol);
  });
}

/** A figure with the trajectory of a file of judge/pages/tasks/trajectories.py. */
export function trajectoryViewer(title, { per_angstrom: perAngstrom, elements, symbols, times_ps: times, cells, positions }) {
  const frames = times.map((_, frame) => ({
    symbols,
    get points() { return pointsOf(positions[frame], perAngstrom); },
    get corners() { return cornersOf(pointsOf(cells[frame], perAngstrom)); },
  }));
  const first = extent([...frames[0].points, ...frames[0].corners]); // the view stays where it is
  return viewer(title, "trajectory", elements, frames, {
    heading: "h4",
    frameMs: FRAME_MS,
    extentAt: () => first,
    place: (frame) => `${times[frame]} ps`,
    progress: (frame) => `${times[frame]} of ${times.at(-1)} ps`,
    sentence: (frame) => `frame ${frame + 1} of ${times.length}, at ${times[frame]} ps`,
  });
}

/** A figure with the structures of a file of judge/pages/tasks/worst_structures.py. */
export function structureViewer(title, { per_angstrom: perAngstrom, elements, structures }) {
  const frames = structures.map(({ symbols, positions, cell }) => ({
    symbols,
    points: pointsOf(positions, perAngstrom),
    corners: cornersOf(pointsOf(cell, perAngstrom)),
  }));
  const extents = frames.map(({ points, corners }) => extent([...points, ...corners]));
  const radius = Math.max(...extents.map((each) => each.radius)); // one scale for all of them
  const name = (frame) => plain(structures[frame].name);
  return viewer(title, "structure", elements, frames, {
    heading: "h3",
    frameMs: STRUCTURE_MS,
    extentAt: (frame) => ({ ...extents[frame], radius }),
    place: name,
    progress: (frame) => `${frame + 1} of ${frames.length}: ${name(frame)}`,
    sentence: (frame) => (frames.length > 1 ? `structure ${frame + 1} of ${frames.length}, ${name(frame)}` : name(frame)),
  });
}

/** A figure with frames, {symbols, points, corners} each; `texts` has their extents and words about them. */
function viewer(title, kind, elements, frames, texts) {
  const view = { across: 0.5, down: 0.35, zoom: 1, frame: 0 };
  const last = frames.length - 1;
  let timer = null;
  let scene = null; // of the frame

  const status = element("p", { class: "aside", role: "status" });
  const keys = element("p", { class: "aside", id: "viewer-keys" }, last ? `${KEYS} ${PLAY_KEYS}` : KEYS);
  const canvas = element("canvas", { "tabindex": 0, "role": "application", "aria-roledescription": kind, "aria-label": title, "aria-describedby": keys.id });
  const play = element("button", { type: "button" }, "Play");
  const slider = element("input", { type: "range", min: 0, max: last, step: 1, value: 0, "aria-label": "Frame" });
  const place = element("output");

  function bonded({ bonds, corners }) {
    const words = `${bonds.length} ${bonds.length === 1 ? "bond" : "bonds"} by distance`;
    return corners.length ? `${words} inside the cell` : words; // those to images of atoms are not looked for
  }

  function draw() {
    const { centre, radius } = texts.extentAt(view.frame);
    const atoms = turned(scene.points, centre, view);
    const parts = partsOf(atoms, scene.bonds, turned(scene.corners, centre, view), scene.sizes);
    const scale = (view.zoom * Math.min(canvas.clientWidth, canvas.clientHeight)) / (2 * radius);
    paint(canvas, parts, { scale, reach: radius, colours: scene.colours, sizes: scene.sizes });
  }

  function show(frame) {
    view.frame = Math.min(Math.max(frame, 0), last);
    const { symbols, points, corners } = frames[view.frame];
    const radii = symbols.map((symbol) => elements[symbol].radius);
    const sizes = radii.map((length) => ATOM * length);
    const colours = symbols.map((symbol) => elements[symbol].colour);
    scene = { points, corners, bonds: bondsOf(points, radii), sizes, colours };
    slider.value = view.frame;
    slider.setAttribute("aria-valuetext", texts.place(view.frame));
    setText(place, texts.progress(view.frame));
    if (timer === null) setText(status, `${composition(symbols)}; ${texts.sentence(view.frame)}; ${bonded(scene)}.`);
    draw();
  }

  function pause() {
    clearInterval(timer);
    timer = null;
    setText(play, "Play");
    show(view.frame);
  }

  function playOrPause() {
    if (timer !== null) return pause();
    if (!last) return;
    if (view.frame === last) view.frame = -1;
    setText(play, "Pause");
    timer = setInterval(() => {
      if (!canvas.isConnected) return clearInterval(timer); // another view is shown
      if (view.frame >= last) return pause();
      show(view.frame + 1);
    }, texts.frameMs);
  }

  function turn(across, down) {
    view.across += across;
    view.down += down;
    draw();
  }

  function zoom(factor) {
    view.zoom = Math.min(Math.max(view.zoom * factor, 0.1), 20);
    draw();
  }

  const answers = {
    "ArrowLeft": () => turn(-TURN, 0),
    "ArrowRight": () => turn(TURN, 0),
    "ArrowUp": () => turn(0, -TURN),
    "ArrowDown": () => turn(0, TURN),
    "+": () => zoom(ZOOM),
    "-": () => zoom(1 / ZOOM),
    ",": () => show(view.frame - 1),
    ".": () => show(view.frame + 1),
    " ": playOrPause,
  };
  canvas.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || !(event.key in answers)) return;
    event.preventDefault(); // the page stays where it is
    answers[event.key]();
  });
  canvas.addEventListener("pointerdown", (event) => canvas.setPointerCapture(event.pointerId));
  canvas.addEventListener("pointermove", (event) => {
    if (canvas.hasPointerCapture(event.pointerId)) turn(DRAG * event.movementX, DRAG * event.movementY);
  });
  play.addEventListener("click", playOrPause);
  slider.addEventListener("input", () => show(Number(slider.value)));
  dark.addEventListener("change", draw);
  new ResizeObserver(() => show(view.frame)).observe(canvas); // also draws it first

  const caption = element("figcaption", {}, element(texts.heading, {}, title));
  const controls = last ? [element("div", { class: "controls" }, play, slider, place)] : [];
  return element("figure", { class: "viewer" }, caption, canvas, ...controls, element("p", { class: "legend" }, ...legendOf(elements)), status, keys);
}
