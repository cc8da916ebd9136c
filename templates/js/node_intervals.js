// The intervals of domains and tasks within scores, from a file of judge/pages/node_intervals.py.

let file = null;
let reading = null;

/** Whether the file has been read. */
export const hasIntervals = () => file !== null;

async function read(path) {
  const answer = await fetch(path);
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  file = await answer.json();
}

/** Reads the file once; a promise that is fulfilled when the intervals are known. A file that could not be read is asked for again next time. */
export function readIntervals(path) {
  reading ??= read(path).catch((error) => {
    console.warn(`${path}: ${error.message}`);
    reading = null;
  });
  return reading;
}

/** The interval of a part of a score; null if it is unknown. */
export const partInterval = (key, id, name) => file?.[key]?.[id]?.parts[name] ?? null;

/** The interval of the mean of leaves, from the mean of the lower ends to that of the upper ends; null if one is unknown. The parts that were not resampled are added up. */
export function leavesInterval(key, id, indices) {
  const intervals = indices.map((index) => file?.[key]?.[id]?.leaves[index] ?? null);
  if (!intervals.length || intervals.includes(null)) return null;
  const [low, high, held] = [0, 1, 2].map((at) => intervals.reduce((sum, interval) => sum + interval[at], 0));
  return [low / intervals.length, high / intervals.length, held];
}
