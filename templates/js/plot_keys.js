// A plot by keyboard: arrows go from point to point, and what the pointer would be shown is shown, and said.

const STEPS = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };

/** The curves that answer, each with the numbers of its points; those that a reader hid in the legend do not. */
function answering({ data }) {
  return data.flatMap((trace, curveNumber) => {
    if (trace.hoverinfo === "skip" || (trace.visible ?? true) !== true) return [];
    const values = trace.r ?? trace.y ?? [];
    const points = [...values.keys()].filter((index) => values[index] !== null);
    return points.length ? [{ curveNumber, points }] : [];
  });
}

const within = (index, { length }) => Math.min(Math.max(index, 0), length - 1);

/** Lets `place`, which can have the focus, answer to keys; each point is said in `words`. */
export function answerToKeys(Plotly, place, words) {
  let [curve, point] = [0, -1];
  let byKey = false;
  // plotly tells no one of a point that it is asked to show, and shows it a moment later.
  const shown = new MutationObserver(() => {
    const texts = [...place.querySelectorAll(".hoverlayer text")].flatMap((of) => (of.children.length ? [...of.children] : of));
    const lines = texts.map((of) => of.textContent.trim()).filter(Boolean);
    if (byKey && lines.length) words.textContent = lines.join(", ");
  });

  function go([curves, points]) {
    const all = answering(place);
    if (!all.length) return;
    curve = within(curve + curves, all);
    point = within(point + points, all[curve].points);
    byKey = true;
    shown.observe(place.querySelector(".hoverlayer"), { childList: true, subtree: true });
    const { curveNumber } = all[curve];
    Plotly.Fx.hover(place, [{ curveNumber, pointNumber: all[curve].points[point] }], place.layout.polar ? "polar" : "xy");
  }

  function leave() {
    byKey = false;
    shown.disconnect();
    words.textContent = "";
    Plotly.Fx.unhover(place, undefined, place.layout.polar ? "polar" : "xy");
  }

  place.addEventListener("keydown", (event) => {
    const hasModifier = event.altKey || event.ctrlKey || event.metaKey || event.shiftKey; // those are the browser's
    if (event.key === "Escape") leave();
    if (hasModifier || !(event.key in STEPS)) return;
    event.preventDefault(); // the page stays where it is
    go(STEPS[event.key]);
  });
  place.addEventListener("blur", leave);
  place.addEventListener("pointermove", () => (byKey = false));
}
