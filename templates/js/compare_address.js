// The address of the comparison: the models, and whether only differences are shown.

/** The largest number of models in a comparison. */
export const MOST = 5;

/** The query for these models, with its question mark; `ids` is null for the default models. */
export function queryFor(ids, differencesOnly = false) {
  const parts = [...(ids ? [`ids=${ids.map(encodeURIComponent).join(",")}`] : []), ...(differencesOnly ? ["diff=1"] : [])];
  return parts.length ? `?${parts.join("&")}` : "";
}

/** The models in the address; `ids` is null if it names none, and empty if a reader removed all. */
export function read() {
  const query = new URLSearchParams(location.search);
  const ids = query.get("ids");
  return {
    ids: ids === null ? null : [...new Set(ids.split(",").filter(Boolean))],
    differencesOnly: query.get("diff") === "1",
  };
}

export function write(ids, differencesOnly) {
  history.replaceState(null, "", `${location.pathname}${queryFor(ids, differencesOnly)}${location.hash}`);
}
