// Figures: each plot is drawn when it comes near the view, and offered as a file. Without a script there is the table.

import { offerFiles } from "./figure_files.js";
import { tableOf } from "./figure_table.js";
import { drawPlot } from "./plot.js";
import { setHeight } from "./plot_look.js";

const NEAR = "300px";

const titleOf = (figure) => figure.querySelector("figcaption > :first-child").textContent;

const drawings = new Map(); // by figure: a promise of the element that plotly draws in

function draw(figure) {
  if (!drawings.has(figure)) {
    const plot = JSON.parse(figure.querySelector('script[type="application/json"]').textContent);
    drawings.set(figure, drawPlot(figure.querySelector(".stage"), plot, titleOf(figure), `${figure.id}-about`));
  }
  return drawings.get(figure);
}

export function start() {
  const near = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        near.unobserve(target);
        const figure = target.closest("figure");
        draw(figure).catch((error) => console.warn(`${figure.id}: ${error.message}`));
      }
    },
    { rootMargin: NEAR },
  );
  for (const figure of document.querySelectorAll("figure[data-figure]")) {
    const stage = figure.querySelector(".stage");
    setHeight(stage); // at once: nothing below it moves when the plot is drawn
    offerFiles(figure, () => ({ title: titleOf(figure), ...tableOf(figure) }), () => draw(figure));
    near.observe(stage);
  }
}
