// Links to trajectories open a viewer below their table. Without a script they lead to the files.

import { element } from "./element.js";
import { viewer } from "./trajectory_viewer.js";

let last = 0; // number of the last link: a file that arrives later than the next one is not shown

async function look(place, link) {
  const number = ++last;
  place.replaceChildren(element("p", { class: "note", role: "status" }, "The trajectory is loading."));
  try {
    const answer = await fetch(link.href);
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    const trajectory = await answer.json();
    if (number !== last) return;
    const shown = viewer(link.dataset.title, trajectory);
    place.replaceChildren(shown);
    shown.querySelector("canvas").focus();
  } catch (error) {
    console.warn(`${link.href}: ${error.message}`);
    place.replaceChildren(element("p", { class: "note", role: "alert" }, "The trajectory could not be loaded."));
  }
}

export function start() {
  for (const part of document.querySelectorAll("[data-trajectories]")) {
    part.querySelector(".unscripted").remove();
    const place = element("div", { class: "viewer-place" });
    part.append(place);
    part.addEventListener("click", (event) => {
      const link = event.target.closest("a[data-title]");
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return; // in a new tab or window
      event.preventDefault();
      look(place, link);
    });
  }
}
