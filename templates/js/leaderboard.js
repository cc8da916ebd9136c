// `leaderboard.json`, read once for all modules of a page. docs/leaderboard-json.md describes it.

let reading = null;

/** A promise of the leaderboard's data. */
export function leaderboard() {
  reading ??= read();
  return reading;
}

async function read() {
  const answer = await fetch(document.body.dataset.leaderboard);
  if (!answer.ok) throw new Error(`leaderboard.json: ${answer.status}`);
  return answer.json();
}
