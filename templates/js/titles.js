// The titles of tasks. Scores and settings name tasks and runs by their ids.

const titles = new Map();

/** Remembers the titles of the tasks in `leaderboard.json`. */
export function rememberTitles(file) {
  for (const { name, title } of file.tasks) titles.set(name, title || name);
}

/** The title of a task, or of a run `TASK: RUN`; another name stays as it is. */
export function titleOf(unit) {
  const [task, ...run] = unit.split(": ");
  return titles.has(task) ? [titles.get(task), ...run].join(": ") : unit;
}
