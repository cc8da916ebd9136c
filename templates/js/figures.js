// Figures: each as a file, and interactive once it comes near the view. Without this the drawings stay as they are.

import { offerFiles } from "./figure_files.js";
import { plotly } from "./plotly.js";
import { CONFIG, looked } from "./plot_look.js";

const NEAR = "300px";
const dark = matchMedia("(prefers-color-scheme: dark)");
const drawn = new Set();

/** Title, table and plot of a figure; read when they are needed, since some are long. */
function told(figure) {
  const own = JSON.parse(figure.querySelector('script[type="application/json"]').textContent);
  return { key: figure.id, title: figure.querySelector("figcaption > :first-child").textContent, ...own };
}

/** The place over the drawing, which keeps its room: nothing jumps. */
function madePlace(figure) {
  const place = document.createElement("div");
  place.className = "plot";
  place.hidden = true;
  place.setAttribute("role", "img");
  place.setAttribute("aria-labelledby", `${figure.id}-title ${figure.id}-desc`);
  figure.querySelector(".stage").append(place);
  return place;
}

async function draw(figure) {
  const { plot } = told(figure);
  if (!plot.data?.length) return;
  const Plotly = await plotly();
  const place = madePlace(figure);
  place.hidden = false; // plotly measures it
  try {
    const { data, layout } = looked(plot, place);
    await Plotly.newPlot(place, data, layout, CONFIG);
  } catch (error) {
    place.remove();
    throw error;
  }
  figure.querySelector(".still").removeAttribute("tabindex");
  drawn.add({ Plotly, place, plot });
}

function drawAnew() {
  for (const { Plotly, place, plot } of drawn) {
    const { data, layout } = looked(plot, place);
    Plotly.react(place, data, layout, CONFIG);
  }
}

export function start() {
  const near = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        near.unobserve(target);
        // Where plotly does not come, the drawing is there already.
        draw(target.closest("figure")).catch((error) => console.warn(`${target.closest("figure").id}: ${error.message}`));
      }
    },
    { rootMargin: NEAR },
  );
  for (const figure of document.querySelectorAll("figure[data-figure]")) {
    offerFiles(figure, () => told(figure));
    near.observe(figure.querySelector(".stage"));
  }
  dark.addEventListener("change", drawAnew);
}
