// plotly, loaded once and only where a figure asks for it: it is larger than all else together.

// As plotly calls the element by which a page says that it brings these rules itself: css/figures.css has them.
const OWN_RULES = "plotly.js-style-global";

let loading = null;

/** A promise of plotly. */
export function plotly() {
  loading ??= load();
  return loading;
}

function sayThatRulesAreHere() {
  const mark = document.createElement("meta");
  mark.id = OWN_RULES;
  mark.className = "no-inline-styles";
  document.head.append(mark);
}

/** The page's policy allows no style element. The one that plotly brings for its maps, which nothing here draws, is
 * kept out of the page while plotly starts, so that there is nothing to refuse. Returns what ends that. */
function withoutStyles() {
  const head = document.head;
  head.appendChild = (node) => (node.nodeName === "STYLE" ? node : Node.prototype.appendChild.call(head, node));
  return () => delete head.appendChild;
}

/** plotly sets a few styles as attributes (of raised digits, and in the bar of a colour scale), which the policy
 * refuses; by the element's own style they may be set. It has no option against that, files have no nonce that would be
 * new at each visit, and `unsafe-inline` or a hash with `unsafe-hashes` would weaken the policy for the whole page. */
function withStylesSet() {
  SVGElement.prototype.setAttribute = function setAttribute(name, value) {
    if (name === "style") this.style.cssText = value;
    else Element.prototype.setAttribute.call(this, name, value);
  };
}

/** plotly warns of every bar whose colour is a number on a colour scale, though it draws the bar. */
function quiet(Plotly) {
  Plotly.setPlotConfig({ logging: 0 });
  return Plotly;
}

function load() {
  sayThatRulesAreHere();
  withStylesSet();
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = document.body.dataset.plotly;
    script.addEventListener("load", () => (globalThis.Plotly ? resolve(quiet(globalThis.Plotly)) : reject(new Error("no plotly"))));
    script.addEventListener("error", () => reject(new Error("plotly could not be loaded")));
    const end = withoutStyles();
    for (const event of ["load", "error"]) script.addEventListener(event, end);
    document.head.append(script);
  });
}
