// A viewer of a trajectory on a canvas: turn, zoom, play. A library for molecules would be larger than the rest of the
// site, and makes code from text, which the Content-Security-Policy refuses.

import { element, setText } from "./element.js";
import { bondsOf, cornersOf, extent, partsOf, pointsOf, turned } from "./trajectory_scene.js";

const TURN = 0.12; // rad a key
const DRAG = 0.01; // rad a pixel
const ZOOM = 1.15;
const FRAME_MS = 80;
const ATOM = 0.45; // of the covalent radius
const KEYS = "Drag or use the arrow keys to turn; + and − zoom; Space plays; , and . go back and forth.";
const dark = matchMedia("(prefers-color-scheme: dark)");

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** How many atoms of each element: 4 C, 10 H. */
function composition(symbols) {
  const counts = new Map();
  for (const symbol of symbols) counts.set(symbol, (counts.get(symbol) ?? 0) + 1);
  return [...counts].map(([symbol, n]) => `${n} ${symbol}`).join(", ");
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
export function viewer(title, { per_angstrom: perAngstrom, elements, symbols, times_ps: times, cells, positions }) {
  const radii = symbols.map((symbol) => elements[symbol].radius);
  const sizes = radii.map((length) => ATOM * length);
  const colours = symbols.map((symbol) => elements[symbol].colour);
  const cornersAt = (frame) => cornersOf(pointsOf(cells[frame], perAngstrom));
  const { centre, radius } = extent([...pointsOf(positions[0], perAngstrom), ...cornersAt(0)]);
  const view = { across: 0.5, down: 0.35, zoom: 1, frame: 0 };
  let timer = null;
  let scene = null; // of the frame

  const status = element("p", { class: "aside", role: "status" });
  const keys = element("p", { class: "aside", id: "viewer-keys" }, KEYS);
  const canvas = element("canvas", { "tabindex": 0, "role": "application", "aria-roledescription": "trajectory", "aria-label": title, "aria-describedby": keys.id });
  const play = element("button", { type: "button" }, "Play");
  const slider = element("input", { type: "range", min: 0, max: times.length - 1, step: 1, value: 0, "aria-label": "Frame" });
  const time = element("output");

  const bonded = ({ bonds }) => `${bonds.length} ${bonds.length === 1 ? "bond" : "bonds"}`;

  function draw() {
    const atoms = turned(scene.points, centre, view);
    const parts = partsOf(atoms, scene.bonds, turned(scene.corners, centre, view), sizes);
    const scale = (view.zoom * Math.min(canvas.clientWidth, canvas.clientHeight)) / (2 * radius);
    paint(canvas, parts, { scale, reach: radius, colours, sizes });
  }

  function show(frame) {
    view.frame = Math.min(Math.max(frame, 0), times.length - 1);
    const points = pointsOf(positions[view.frame], perAngstrom);
    scene = { points, bonds: bondsOf(points, radii), corners: cornersAt(view.frame) };
    slider.value = view.frame;
    slider.setAttribute("aria-valuetext", `${times[view.frame]} ps`);
    setText(time, `${times[view.frame]} of ${times.at(-1)} ps`);
    if (timer === null) {
      const frames = `frame ${view.frame + 1} of ${times.length}, at ${times[view.frame]} ps`;
      setText(status, `${composition(symbols)}; ${frames}; ${bonded(scene)} by distance.`);
    }
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
    if (view.frame === times.length - 1) view.frame = -1;
    setText(play, "Pause");
    timer = setInterval(() => {
      if (!canvas.isConnected) return clearInterval(timer); // another trajectory is shown
      if (view.frame >= times.length - 1) return pause();
      show(view.frame + 1);
    }, FRAME_MS);
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

  const caption = element("figcaption", {}, element("h4", {}, title));
  const controls = element("div", { class: "controls" }, play, slider, time);
  return element("figure", { class: "viewer" }, caption, canvas, controls, element("p", { class: "legend" }, ...legendOf(elements)), status, keys);
}
