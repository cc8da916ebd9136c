// The labels of metrics, as other pages have them.

/** The label of a metric; a group follows a colon. `labels`: by name. */
export function metricLabel(metric, labels) {
  const [name, ...group] = metric.split(":");
  return [labels[name] ?? name.replaceAll("_", " "), ...(group.length ? [group.join(":")] : [])].join(": ");
}
