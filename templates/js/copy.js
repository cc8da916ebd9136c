// A button copies the text beside it; if the browser refuses, the text is selected, for the keys of the system.

import { setText } from "./element.js";

export function start() {
  for (const part of document.querySelectorAll("[data-copy]")) {
    const [button, status, code] = ["button", "[role=status]", "code"].map((name) => part.querySelector(name));
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(code.textContent);
        setText(status, "Copied.");
      } catch {
        getSelection().selectAllChildren(code);
        setText(status, "Selected. Copy it with your keyboard.");
      }
    });
    button.hidden = false;
  }
}
