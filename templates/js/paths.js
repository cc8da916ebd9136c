// The path to a number of a score as one text for URLs and Maps: "force_field/Molecules/force".

const escaped = (name) => name.replaceAll("%", "%25").replaceAll("/", "%2F");

/** The key of a path: the score's key and the names of nodes below it; or task, metric and number. */
export function pathKey(names) {
  return names.map(escaped).join("/");
}

/** The names in a key. */
export function namesOf(key) {
  return key.split("/").map((name) => name.replaceAll("%2F", "/").replaceAll("%25", "%"));
}
