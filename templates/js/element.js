// Elements, made with text alone: whatever an author wrote stays text.

/** A new element with these attributes; children are elements or text. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/**
 * Puts words into a text node, or into an element in place of all that it has. Those that are there already cost
 * nothing, and a status that has them is not read out again.
 */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
