// Elements with text content only: text of authors is never HTML.

/** A new element with these attributes; children are elements or text. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** Sets the text of a node if it differs: an equal text costs no layout, and a screen reader does not repeat it. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
