// The table of models side by side, as templates/compare.html makes it, with a button to remove each model.

import { plain } from "./plain.js";

// The roles stay if a narrow screen shows the table as blocks.
const ROLES = { table: "table", thead: "rowgroup", tbody: "rowgroup", tr: "row", td: "cell" };

function element(name, css, text) {
  const made = document.createElement(name);
  if (ROLES[name]) made.setAttribute("role", ROLES[name]);
  if (css) made.className = css;
  if (text !== undefined) made.textContent = text;
  return made;
}

function named(name, page) {
  const words = element("bdi", "", plain(name));
  if (!page) return words;
  const link = element("a");
  link.href = page;
  link.append(words);
  return link;
}

function heading(model, remove) {
  const th = element("th");
  th.setAttribute("role", "columnheader");
  th.scope = "col";
  th.append(named(model.name, remove && model.page));
  if (model.version) {
    const version = element("span", "of");
    version.append(element("bdi", "", plain(model.version)));
    th.append(" ", version);
  }
  if (!remove) return th;
  if (!model.isolated) th.append(" ", element("span", "badge", "not isolated"));
  const button = element("button", "", "Remove");
  button.type = "button";
  button.append(element("span", "unseen", ` ${plain(model.name)}`));
  button.addEventListener("click", () => remove(model));
  th.append(button);
  return th;
}

function cellOf({ text, note, fault, mark }, model) {
  const td = element("td", mark);
  td.dataset.label = plain(`${model.name} ${model.version}`.trim());
  if (fault) {
    const chip = element("span", "chip fault");
    const sign = element("span", "", "✕");
    sign.setAttribute("aria-hidden", "true");
    chip.append(sign, ` ${fault}`);
    td.append(chip);
  }
  if (text) td.append(element("bdi", "", plain(text)));
  if (mark) td.append(" ", element("span", "mark", mark === "best" ? "●" : "○"));
  if (note) td.append(element("span", "range", note));
  return td;
}

function rowOf({ name, page, cells, below, same }, models) {
  const tr = element("tr", `${below ? "below" : ""}${same ? " same" : ""}`);
  const th = element("th");
  th.setAttribute("role", "rowheader");
  th.scope = "row";
  th.append(named(name, page));
  tr.append(th, ...cells.map((cell, i) => cellOf(cell, models[i])));
  return tr;
}

function bodyOf({ title, lines }, models) {
  const body = element("tbody", lines.every((line) => line.same) ? "same" : "");
  const tr = element("tr", "group");
  const th = element("th", "", plain(title));
  th.setAttribute("role", "rowheader");
  th.scope = "rowgroup";
  th.colSpan = models.length + 1;
  tr.append(th);
  body.append(tr, ...lines.map((line) => rowOf(line, models)));
  return body;
}

/** The table; `remove(model)` is called when a reader removes a model. Without it, the names are names only. */
export function table(models, groups, remove) {
  const made = element("table", models.length > 2 ? "plain compare stack" : "plain compare");
  made.setAttribute("aria-labelledby", "compared-title");
  made.style.setProperty("--n", String(models.length));
  const head = element("tr");
  head.append(element("td"), ...models.map((model) => heading(model, remove)));
  const top = element("thead");
  top.append(head);
  made.append(top, ...groups.map((group) => bodyOf(group, models)));
  return made;
}
