// A plot by keyboard: arrow keys go from point to point; the hover text is shown, and a screen reader reads it.

const STEPS = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };

/** The visible traces with hover texts, each with the indices of its points and the plot that it is in. */
function pointsByTrace({ data }) {
  return data.flatMap((trace, curveNumber) => {
    if (trace.hoverinfo === "skip" || (trace.visible ?? true) !== true) return [];
    const values = trace.r ?? trace.y ?? [];
    const points = [...values.keys()].filter((index) => values[index] !== null);
    const subplot = trace.r ? "polar" : `${trace.xaxis ?? "x"}${trace.yaxis ?? "y"}`;
    return points.length ? [{ curveNumber, points, subplot }] : [];
  });
}

const within = (index, { length }) => Math.min(Math.max(index, 0), length - 1);

/** Makes `place` react to keys; the hover text of a point goes into `status`. */
export function answerToKeys(Plotly, place, status) {
  let [curve, point] = [0, -1];
  let byKey = false;
  // plotly shows the hover text a moment after the call, and has no event for it.
  const shown = new MutationObserver(() => {
    const texts = [...place.querySelectorAll(".hoverlayer text")].flatMap((text) => (text.children.length ? [...text.children] : text));
    const lines = texts.map((text) => text.textContent.trim()).filter(Boolean);
    if (byKey && lines.length) status.textContent = lines.join(", ");
  });

  function go([curves, points]) {
    const all = pointsByTrace(place);
    if (!all.length) return;
    curve = within(curve + curves, all);
    point = within(point + points, all[curve].points);
    byKey = true;
    shown.observe(place.querySelector(".hoverlayer"), { childList: true, subtree: true });
    const { curveNumber, points: ofTrace, subplot } = all[curve];
    Plotly.Fx.hover(place, [{ curveNumber, pointNumber: ofTrace[point] }], subplot);
  }

  function leave() {
    byKey = false;
    shown.disconnect();
    status.textContent = "";
    Plotly.Fx.unhover(place, undefined, place.layout.polar ? "polar" : "xy");
  }

  place.addEventListener("keydown", (event) => {
    const hasModifier = event.altKey || event.ctrlKey || event.metaKey || event.shiftKey; // shortcuts of the browser
    if (event.key === "Escape") leave();
    if (hasModifier || !(event.key in STEPS)) return;
    event.preventDefault(); // the page stays where it is
    go(STEPS[event.key]);
  });
  place.addEventListener("blur", leave);
  place.addEventListener("pointermove", () => (byKey = false));
}
