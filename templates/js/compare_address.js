// What the address of the comparison says: which models, and whether differences alone are shown.

/** As many as can be compared. */
export const MOST = 5;

/** The query that asks for these models, with its question mark; `ids` null: for none in particular. */
export function queryFor(ids, differencesOnly = false) {
  const said = [...(ids ? [`ids=${ids.map(encodeURIComponent).join(",")}`] : []), ...(differencesOnly ? ["diff=1"] : [])];
  return said.length ? `?${said.join("&")}` : "";
}

/** What the address asks for; `ids` is null where it names no models, and empty where a reader has taken out all. */
export function asked() {
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
