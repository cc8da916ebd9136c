// The intervals of single metrics, from a file of judge/pages/compare/comparison_intervals.py.

/** A promise of a function: the interval of a model's metric in a task, in the unit of the metric, or null. */
export async function metricIntervals() {
  const answer = await fetch(document.body.dataset.intervals);
  if (!answer.ok) throw new Error(`intervals: ${answer.status}`);
  const { columns, models } = await answer.json();
  const index = new Map(columns.map(([task, metric], column) => [`${task}/${metric}`, column]));
  return (id, task, metric) => models[id]?.[index.get(`${task}/${metric}`)] ?? null;
}
