// Names on the way to a number of a score as one text, which a URL and a Map can have: "force_field/Molecules/force".

const escaped = (name) => name.replaceAll("%", "%25").replaceAll("/", "%2F");

/** The key of a path: the score's key, then names from below its top; or of task, metric and number. */
export function pathKey(names) {
  return names.map(escaped).join("/");
}

/** The names that a key was made of. */
export function namesOf(key) {
  return key.split("/").map((name) => name.replaceAll("%2F", "/").replaceAll("%25", "%"));
}
