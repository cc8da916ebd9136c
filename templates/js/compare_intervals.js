// The intervals of metrics and domains, from a file of judge/pages/compare/comparison_intervals.py.

/** A promise of two functions: the interval of a model's metric in a task, in its unit, and that of a domain in a score; or null. */
export async function modelIntervals() {
  const answer = await fetch(document.body.dataset.intervals);
  if (!answer.ok) throw new Error(`intervals: ${answer.status}`);
  const { columns, models, parts } = await answer.json();
  const index = new Map(columns.map(([task, metric], column) => [`${task}/${metric}`, column]));
  return {
    ofMetric: (id, task, metric) => models[id]?.[index.get(`${task}/${metric}`)] ?? null,
    ofDomain: (id, key, domain) => parts[id]?.[key]?.[domain] ?? null,
  };
}
