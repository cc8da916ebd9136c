// A plot in its place on the page, drawn again when its width or the page's colours change.

import { element } from "./element.js";
import { answerToKeys } from "./plot_keys.js";
import { CONFIG, looked, setHeight } from "./plot_look.js";
import { plotly } from "./plotly.js";

const PAUSE = 100; // milliseconds without a further change of size
const KEYS = "Arrow keys go from point to point; the numbers are in the table below.";
const dark = matchMedia("(prefers-color-scheme: dark)");
const plots = new Map(); // by stage: the plot, and a promise of its element
const resized = new Set(); // stages
let pause;

/** An element for plotly, and a status line for the point that the keyboard selects. The element has the role
 * application, since screen readers use the arrow keys themselves in any other role. */
function addPlace(stage, title, aboutId) {
  const keys = element("p", { class: "keys", id: `${aboutId}-keys` }, KEYS);
  const status = element("p", { class: "unseen", role: "status" });
  const place = element("div", {
    "class": "plot",
    "tabindex": 0,
    "role": "application",
    "aria-roledescription": "plot",
    "aria-label": title,
    "aria-describedby": `${aboutId} ${keys.id}`,
  });
  stage.replaceChildren(place, keys, status);
  return { place, status };
}

async function drawNew(stage, plot, title, aboutId) {
  const Plotly = await plotly();
  const { place, status } = addPlace(stage, title, aboutId);
  setHeight(stage);
  const { data, layout } = looked(plot, place);
  await Plotly.newPlot(place, data, layout, CONFIG);
  for (const child of place.children) child.setAttribute("aria-hidden", "true"); // the status line names its points
  answerToKeys(Plotly, place, status);
  sizes.observe(stage);
  return place;
}

async function drawAgain(stage) {
  const { drawn, plot } = plots.get(stage);
  const [Plotly, place] = await Promise.all([plotly(), drawn]);
  setHeight(stage);
  const { data, layout } = looked(plot, place);
  return Plotly.react(place, data, layout, CONFIG);
}

function hasOtherWidth(stage) {
  const place = stage.querySelector(".plot");
  return place.clientWidth > 0 && place.clientWidth !== place._fullLayout.width;
}

/** Draws plots again; the failure of one does not stop the others. */
function drawAllAgain(stages) {
  for (const stage of stages) drawAgain(stage).catch((error) => console.warn(`${stage.closest("figure").id}: ${error.message}`));
}

// Not plotly's own `responsive`: margins and the place of the legend depend on the width too.
const sizes = new ResizeObserver((entries) => {
  for (const { target } of entries) resized.add(target);
  clearTimeout(pause);
  pause = setTimeout(() => {
    drawAllAgain([...resized].filter(hasOtherWidth));
    resized.clear();
  }, PAUSE);
});

dark.addEventListener("change", () => drawAllAgain(plots.keys()));

/** Draws the plot in its stage, or in place of the plot that is there. A promise of the element that plotly draws in.
 * `aboutId`: the id of the caption. */
export async function drawPlot(stage, plot, title, aboutId) {
  const before = plots.get(stage);
  const drawn = before?.drawn ?? drawNew(stage, plot, title, aboutId);
  plots.set(stage, { drawn, plot });
  try {
    if (before) await drawAgain(stage);
    return await drawn;
  } catch (error) {
    plots.delete(stage);
    stage.style.height = "auto";
    stage.textContent = "The plot could not be drawn.";
    throw error;
  }
}
