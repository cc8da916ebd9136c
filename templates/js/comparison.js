// Models side by side as rows of text, as judge/pages/compare/comparison.py makes them. No DOM.

import { groupsOfTasks, mostDifferent } from "./comparison_tasks.js";
import { cell, differences, inOneClass, line, numberCell, plainLine } from "./comparison_lines.js";
import { evaluateScheme } from "./evaluate.js";
import { decimals, NONE, scoreText, whole } from "./comparison_numbers.js";
import { scoreInterval, spanText } from "./intervals.js";
import { pathKey } from "./paths.js";
import { LAMBENCH, SCORES } from "./scores.js";

export const BY_DOMAIN = "By domain";
const MOST_DIFFERENT = "Where they differ most";
const RANKING = "Ranking";
/** The groups of rows that stand before the figure. */
export const FIRST = [MOST_DIFFERENT, RANKING];
const NOT_STATED = "not stated";

const yes = (value, ifSo, ifNot, otherwise) => (value === true ? ifSo : value === false ? ifNot : otherwise);

function okOf({ submitted, outcomes }) {
  if (!submitted) return NONE; // a reference that is not a submission was not judged
  return `${outcomes.filter(({ verdict }) => verdict === "OK").length} of ${outcomes.length}`;
}

function ranking(models) {
  return [
    plainLine("Rank", models.map((model) => String(model.rank ?? (model.reference ? "reference" : "not ranked")))),
    plainLine("Tasks judged OK", models.map(okOf)),
  ];
}

function scoreCell(model, key) {
  if (!model) return cell(NONE);
  const { score = null, covered = 0, total = 0 } = model;
  const interval = scoreInterval(model);
  const notes = interval ? [spanText(interval, (end) => scoreText(key, end))] : [];
  if (covered < total) notes.push(`${covered} of ${total}`);
  return { ...cell(scoreText(key, score), notes.join(", "), score), interval };
}

function scoreLine(score, models) {
  const cells = models.map((model) => scoreCell(score.models[model.id], score.key));
  const comparable = !SCORES[score.key].from_times || inOneClass(models);
  const lower = comparable ? score.lower_is_better : null;
  return line(`${score.label} ${score.lower_is_better ? "↓" : "↑"}`, cells, lower);
}

function scoreLines(scores, models) {
  return scores.flatMap((score) => {
    const values = scoreLine(score, models);
    return [values, ...differences(values, (value) => scoreText(score.key, value))];
  });
}

/** The domains of a score with the value of each model; with domain and score for the radar. */
function domainLines(score, evaluated, models, intervals) {
  const trees = models.map((model) => score.trees[score.models[model.id]?.tree]);
  const domains = new Set(trees.flatMap((tree) => (tree?.parts ?? []).map((part) => part.name)));
  return [...domains].flatMap((domain) => {
    const key = pathKey([score.key, domain]);
    const cells = models.map((model) => {
      const interval = intervals.ofDomain(model.id, score.key, domain);
      return { ...numberCell(evaluated.node(model.id, score.key, key), interval ? spanText(interval, decimals) : ""), interval };
    });
    const values = line(`${domain}, ${score.label.toLowerCase()} ↓`, cells, true);
    return [{ ...values, domain, score: score.key }, ...differences(values, decimals)];
  });
}

const FACTS = {
  Team: (model) => model.team || "not known",
  "Submissions of the team": (model) => (model.team ? String(model.n_of_team ?? 1) : "not known"),
  Submitted: (model) => (model.submitted ?? NONE).slice(0, 10),
  "Parameters, stated": (model) => whole(model.parameters, NOT_STATED),
  "Parameters, counted": (model) => whole(model.parameters_counted, "not counted"),
  Weights: (model) => yes(model.open_weights, "open", "not open", NOT_STATED),
  "Forces, stated": (model) => yes(model.conservative, "gradient", "direct", NOT_STATED),
  "Forces, measured": (model) => yes(model.conservative_measured, "gradient", "no gradient", "not measured"),
  Precision: (model) => model.precision || NOT_STATED,
  Dispersion: (model) => yes(model.dispersion, "in the energies", "not in the energies", NOT_STATED),
  "Elements, stated": (model) => (model.elements?.length ? String(model.elements.length) : NOT_STATED),
  "Timed on": (model) => model.hardware || "not timed",
  Isolated: (model) => yes(model.isolated, "yes", "no", ""),
};

function cardLines(models) {
  const domains = new Set(models.flatMap((model) => Object.keys(model.label_sets ?? {})));
  return [
    ...Object.entries(FACTS).map(([name, text]) => plainLine(name, models.map(text))),
    ...[...domains].map((domain) =>
      plainLine(`Level of theory, ${domain}`, models.map((model) => model.label_sets?.[domain] ?? NOT_STATED)),
    ),
  ];
}

/** Groups of rows, {title, lines}; `labels` are names of metrics in words, `intervals` those of compare_intervals.js. */
export function comparison(file, models, labels, intervals) {
  const [corrected, published] = ["corrected", "as_published"].map((name) => file.schemes.filter(({ variant }) => variant === name));
  const lambench = corrected.find((scheme) => scheme.key === LAMBENCH);
  const evaluated = lambench && evaluateScheme(only(lambench, models));
  const errors = (lambench?.scores ?? []).filter((score) => SCORES[score.key].measures);
  const groups = [
    { title: MOST_DIFFERENT, lines: mostDifferent(file, lambench?.scores ?? [], evaluated, models, labels, intervals) },
    { title: RANKING, lines: ranking(models) },
    { title: "Scores", lines: scoreLines(corrected.flatMap((scheme) => scheme.scores), models) },
    { title: BY_DOMAIN, lines: errors.flatMap((score) => domainLines(score, evaluated, models, intervals)) },
    { title: "Scores, as published", lines: scoreLines(published.flatMap((scheme) => scheme.scores), models) },
    { title: "The model", lines: cardLines(models) },
    ...groupsOfTasks(file, lambench?.scores ?? [], evaluated, models, labels),
  ];
  return groups.filter((group) => group.lines.length);
}

/** The scheme with these models only. */
function only(scheme, models) {
  const ids = new Set(models.map((model) => model.id));
  const selected = (byId) => Object.fromEntries(Object.entries(byId).filter(([id]) => ids.has(id)));
  return { ...scheme, scores: scheme.scores.map((score) => ({ ...score, models: selected(score.models) })) };
}
