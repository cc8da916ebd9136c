// The radar of the models that are compared: 1 − error by domain, as judge/figures/radar.py has it.

import { SCORES } from "./scores.js";

const closed = (values) => [...values, values[0]];

/** The plot of these models. `axes`: rows of the comparison, one for each domain of an error score. */
export function radarPlot(axes, names, layout) {
  const labels = axes.map(({ domain, score }) => `${domain}\n${SCORES[score].measures}`);
  const traces = names.map((name, series) => ({
    type: "scatterpolar",
    mode: "lines+markers",
    name,
    r: closed(axes.map(({ cells }) => Math.max(0, 1 - (cells[series].value ?? 1)))),
    theta: closed(labels),
    hovertemplate: "%{theta}: %{r:.3f}",
    meta: { colour: series },
  }));
  // The first model is drawn last: it lies on top. What a reader hid in the legend belongs to these models.
  return { data: traces.reverse(), layout: { ...layout, uirevision: names.join() } };
}
