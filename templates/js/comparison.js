// Models side by side as rows of text, of `leaderboard.json`: judge/pages/compare/comparison.py, in the browser. No DOM.

import { groupsOfTasks } from "./comparison_tasks.js";
import { cell, differences, inOneClass, line, numberCell, plainLine } from "./comparison_lines.js";
import { evaluateScheme } from "./evaluate.js";
import { NONE, scoreText, whole } from "./comparison_numbers.js";
import { pathKey } from "./paths.js";
import { LAMBENCH, SCORES } from "./scores.js";

export const BY_DOMAIN = "By domain";
const NOT_STATED = "not stated";

const yes = (value, ifSo, ifNot, otherwise) => (value === true ? ifSo : value === false ? ifNot : otherwise);

function okOf({ submitted, outcomes }) {
  if (!submitted) return NONE; // a reference that nobody submitted: nothing of it is judged
  return `${outcomes.filter((of) => of.verdict === "OK").length} of ${outcomes.length}`;
}

function ranking(models) {
  return [
    plainLine("Rank", models.map((model) => String(model.rank ?? (model.reference ? "reference" : "not ranked")))),
    plainLine("Tasks judged OK", models.map(okOf)),
  ];
}

function scoreCell(own, key) {
  if (!own) return cell(NONE);
  const said = own.interval ? [own.interval.map((end) => scoreText(key, end)).join("\u00a0–\u00a0")] : [];
  const [covered, total] = [own.covered ?? 0, own.total ?? 0];
  if (covered < total) said.push(`${covered} of ${total}`);
  return { ...cell(scoreText(key, own.score ?? null), said.join(", "), own.score ?? null), interval: own.interval ?? null };
}

function scoreLine(score, models) {
  const cells = models.map((model) => scoreCell(score.models[model.id], score.key));
  const comparable = !SCORES[score.key].from_times || inOneClass(models);
  const lower = comparable ? score.lower_is_better : null;
  return line(`${score.label} ${score.lower_is_better ? "↓" : "↑"}`, cells, lower);
}

function scoreLines(scores, models) {
  return scores.flatMap((score) => {
    const own = scoreLine(score, models);
    return [own, ...differences(own, (value) => scoreText(score.key, value))];
  });
}

/** The domains of a score, each with its value for each model; with domain and score, for the radar. */
function domainLines(score, evaluated, models) {
  const trees = models.map((model) => score.trees[score.models[model.id]?.tree]);
  const domains = new Set(trees.flatMap((tree) => (tree?.parts ?? []).map((part) => part.name)));
  return [...domains].map((domain) => {
    const key = pathKey([score.key, domain]);
    const cells = models.map((model) => numberCell(evaluated.node(model.id, score.key, key)));
    return { ...line(`${domain}, ${score.label.toLowerCase()} ↓`, cells, true), domain, score: score.key };
  });
}

const FACTS = {
  Team: (of) => of.team || "not known",
  "Submissions of the team": (of) => (of.team ? String(of.n_of_team ?? 1) : "not known"),
  Submitted: (of) => (of.submitted ?? NONE).slice(0, 10),
  "Parameters, stated": (of) => whole(of.parameters, NOT_STATED),
  "Parameters, counted": (of) => whole(of.parameters_counted, "not counted"),
  Weights: (of) => yes(of.open_weights, "open", "not open", NOT_STATED),
  "Forces, stated": (of) => yes(of.conservative, "gradient", "direct", NOT_STATED),
  "Forces, measured": (of) => yes(of.conservative_measured, "gradient", "no gradient", "not measured"),
  Precision: (of) => of.precision || NOT_STATED,
  Dispersion: (of) => yes(of.dispersion, "in the energies", "not in the energies", NOT_STATED),
  "Elements, stated": (of) => (of.elements?.length ? String(of.elements.length) : NOT_STATED),
  "Timed on": (of) => of.hardware || "not timed",
  Isolated: (of) => yes(of.isolated, "yes", "no", ""),
};

function cardLines(models) {
  const domains = new Set(models.flatMap((model) => Object.keys(model.label_sets ?? {})));
  return [
    ...Object.entries(FACTS).map(([name, of]) => plainLine(name, models.map(of))),
    ...[...domains].map((domain) =>
      plainLine(`Level of theory, ${domain}`, models.map((model) => model.label_sets?.[domain] ?? NOT_STATED)),
    ),
  ];
}

/** Groups of rows, {title, lines}; `labels` are names of metrics in words. */
export function comparison(file, models, labels) {
  const [corrected, published] = ["corrected", "as_published"].map((of) => file.schemes.filter(({ variant }) => variant === of));
  const own = corrected.find((scheme) => scheme.key === LAMBENCH);
  const evaluated = own && evaluateScheme(only(own, models));
  const errors = (own?.scores ?? []).filter((score) => SCORES[score.key].measures);
  const groups = [
    { title: "Ranking", lines: ranking(models) },
    { title: "Scores", lines: scoreLines(corrected.flatMap((scheme) => scheme.scores), models) },
    { title: BY_DOMAIN, lines: errors.flatMap((score) => domainLines(score, evaluated, models)) },
    { title: "Scores, as published", lines: scoreLines(published.flatMap((scheme) => scheme.scores), models) },
    { title: "The model", lines: cardLines(models) },
    ...groupsOfTasks(file, own?.scores ?? [], evaluated, models, labels),
  ];
  return groups.filter((group) => group.lines.length);
}

/** The scheme with none but these models: nobody else needs to be reckoned. */
function only(scheme, models) {
  const ids = new Set(models.map((model) => model.id));
  const own = (of) => Object.fromEntries(Object.entries(of).filter(([id]) => ids.has(id)));
  return { ...scheme, scores: scheme.scores.map((score) => ({ ...score, models: own(score.models) })) };
}
