// Figures: each as a file, and interactive once it comes near the view. Without this the drawings stay as they are.

import { offerFiles } from "./figure_files.js";
import { tableOf } from "./figure_table.js";
import { plotly } from "./plotly.js";
import { answerToKeys } from "./plot_keys.js";
import { CONFIG, looked } from "./plot_look.js";

const NEAR = "300px";
const PAUSE = 100; // milliseconds without another size
const dark = matchMedia("(prefers-color-scheme: dark)");
const KEYS = "Arrow keys go from point to point; the numbers are in the table below.";
const drawn = new Map(); // by place
const resized = new Set(); // places
let pause;

const titleOf = (figure) => figure.querySelector("figcaption > :first-child").textContent;

/** What is downloaded of a figure; read when it is needed, since some are long. */
function told(figure) {
  return { title: titleOf(figure), ...tableOf(figure) };
}

/** What plotly draws of a figure; of some there is nothing, and their drawing stays. */
function plotOf(figure) {
  const script = figure.querySelector('script[type="application/json"]');
  return script ? JSON.parse(script.textContent) : {};
}

/** Where it fails, the drawing is there already, or the plot as it was; and other figures are drawn. */
const sayWhy = (figure) => (error) => console.warn(`${figure.id}: ${error.message}`);

/** The place over the drawing, which keeps its room: nothing jumps. With it, where its points are said. An application,
 * since readers of the screen keep the arrow keys for themselves anywhere else. */
function madePlace(figure) {
  const place = document.createElement("div");
  place.className = "plot";
  place.tabIndex = 0;
  place.setAttribute("role", "application");
  place.setAttribute("aria-roledescription", "plot");
  place.setAttribute("aria-label", titleOf(figure));
  place.setAttribute("aria-describedby", `${figure.id}-about ${figure.id}-keys`);
  figure.querySelector(".about").id = `${figure.id}-about`;
  const keys = document.createElement("p");
  keys.className = "keys";
  keys.id = `${figure.id}-keys`;
  keys.textContent = KEYS;
  const words = document.createElement("p");
  words.className = "unseen";
  words.setAttribute("role", "status");
  figure.querySelector(".stage").append(place, keys, words);
  return { place, keys, words };
}

async function draw(figure) {
  const plot = plotOf(figure);
  if (!plot.data?.length) return;
  const Plotly = await plotly();
  const { place, keys, words } = madePlace(figure);
  try {
    const { data, layout } = looked(plot, place);
    await Plotly.newPlot(place, data, layout, CONFIG);
  } catch (error) {
    for (const made of [place, keys, words]) made.remove();
    throw error;
  }
  for (const made of place.children) made.setAttribute("aria-hidden", "true"); // its points are said one by one
  figure.querySelector(".still").removeAttribute("tabindex");
  answerToKeys(Plotly, place, words);
  drawn.set(place, { Plotly, plot });
  sizes.observe(place);
}

/** Its colours and its room may be others than before. */
async function drawAnew(place) {
  const { Plotly, plot } = drawn.get(place);
  const { data, layout } = looked(plot, place);
  await Plotly.react(place, data, layout, CONFIG);
}

function drawAllAnew(places) {
  for (const place of places) drawAnew(place).catch(sayWhy(place.closest("figure")));
}

function hasOtherSize(place) {
  const { width, height } = place._fullLayout;
  return place.clientWidth > 0 && (place.clientWidth !== width || place.clientHeight !== height);
}

// Not by plotly's own `responsive`: where names and legend stand depends on the room too. On paper there is none.
const sizes = new ResizeObserver((entries) => {
  for (const { target } of entries) resized.add(target);
  clearTimeout(pause);
  pause = setTimeout(() => {
    drawAllAnew([...resized].filter(hasOtherSize));
    resized.clear();
  }, PAUSE);
});

export function start() {
  const near = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        near.unobserve(target);
        const figure = target.closest("figure");
        draw(figure).catch(sayWhy(figure));
      }
    },
    { rootMargin: NEAR },
  );
  for (const figure of document.querySelectorAll("figure[data-figure]")) {
    offerFiles(figure, () => told(figure));
    near.observe(figure.querySelector(".stage"));
  }
  dark.addEventListener("change", () => drawAllAnew(drawn.keys()));
}
