// plotly, loaded once and only when a figure needs it: it is larger than the rest of the site.

// plotly adds its style rules unless the page has an element with this id. The rules are in css/figures.css.
const RULES_ID = "plotly.js-style-global";

let loading = null;

/** A promise of plotly. */
export function plotly() {
  loading ??= load();
  return loading;
}

function announceRules() {
  const mark = document.createElement("meta");
  mark.id = RULES_ID;
  mark.className = "no-inline-styles";
  document.head.append(mark);
}

/** Keeps style elements out of the page while plotly starts, and returns a function that ends this. plotly adds one for
 * maps, which no figure uses, and the Content-Security-Policy allows none. */
function withoutStyles() {
  const head = document.head;
  head.appendChild = (node) => (node.nodeName === "STYLE" ? node : Node.prototype.appendChild.call(head, node));
  return () => delete head.appendChild;
}

/** Makes plotly set styles by the element's `style`. It sets some as attributes, which the Content-Security-Policy
 * refuses. plotly has no option for this, a static file has no nonce, and `unsafe-inline` or `unsafe-hashes` would
 * weaken the policy for the whole page. */
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
  announceRules();
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
