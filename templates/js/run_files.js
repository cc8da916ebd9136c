// Links to files of runs and structures open a view below their table. Without a script they lead to the files.

import { element } from "./element.js";
import { ramachandran } from "./ramachandran.js";
import { structureViewer, trajectoryViewer } from "./trajectory_viewer.js";

const views = { trajectory: trajectoryViewer, structure: structureViewer, ramachandran };

/** Adds a button that closes the view, as Escape does; the focus goes back to the link that opened it. */
function closeable(shown, link) {
  const close = () => {
    shown.remove();
    link.focus();
  };
  const button = element("button", { type: "button" }, "Close");
  button.addEventListener("click", close);
  shown.addEventListener("keydown", ({ key }) => key === "Escape" && close());
  shown.append(button);
  return shown;
}

async function look(place, link, kind) {
  const loading = element("p", { class: "note", role: "status" }, "The file is loading.");
  place.replaceChildren(loading); // gone after the next link of this place, whose file is shown instead
  try {
    const answer = await fetch(link.href);
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    const content = await answer.json();
    if (!loading.isConnected) return;
    const shown = closeable(views[kind](link.dataset.title, content), link);
    loading.replaceWith(shown);
    (shown.querySelector("canvas") ?? shown).focus();
  } catch (error) {
    console.warn(`${link.href}: ${error.message}`);
    loading.replaceWith(element("p", { class: "note", role: "alert" }, "The file could not be loaded."));
  }
}

export function start() {
  for (const part of document.querySelectorAll("[data-run-files]")) {
    part.querySelector(".unscripted").remove();
    const place = element("div", { class: "view-place" });
    part.append(place);
    part.addEventListener("click", (event) => {
      const link = event.target.closest("a[data-title]");
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return; // in a new tab or window
      event.preventDefault();
      look(place, link, part.dataset.runFiles);
    });
  }
}
