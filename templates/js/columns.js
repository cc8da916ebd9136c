// The columns that the ranking can have: scores of a scheme, their parts by domain and by task, and fields of the card.
// `value(model, computed)` is the value that a column is sorted by, or null. `good(values)` is a function from a value to
// its goodness, for the bar and the tint; a column without it has neither. `interval(model, computed)` is text;
// `readsIntervals`: whether it needs the file of node_intervals.js.

import { conservativeOf, parametersOf } from "./card.js";
import { coverageText } from "./coverage.js";
import { beside, goodness } from "./goodness.js";
import { decimals, number, NONE, parameters, scoreText, shownUnit, shownValue } from "./numbers.js";
import { metricLabel } from "./metric_labels.js";
import { scoreInterval, spanText } from "./intervals.js";
import { leavesInterval, partInterval } from "./node_intervals.js";
import { namesOf, pathKey } from "./paths.js";
import { plain } from "./plain.js";
import { SCORES } from "./scores.js";
import { titleOf } from "./titles.js";
import { leavesOf } from "./tree_nodes.js";

export const SCORE_GROUP = "Scores";
export const CARD = "Model";

const labels = JSON.parse(document.querySelector("[data-metrics]")?.textContent ?? "{}");
const read = (value) => (value === "Infinity" ? Infinity : (value ?? null));

function scoreColumn(score, full) {
  const text = (value) => scoreText(score.key, value);
  return {
    key: score.key,
    group: SCORE_GROUP,
    label: score.label,
    lower: score.lower_is_better,
    withinClass: SCORES[score.key].from_times,
    marksBest: true,
    good: () => (value) => goodness(value, full, score.lower_is_better),
    interval: (model, computed) => intervalText(scoreInterval(score.models[model.id]), computed, text),
    value: (model, computed) => computed.score(model.id, score.key),
    order: (model, computed) => computed.worst(model.id, score.key) ?? computed.score(model.id, score.key),
    text,
    upTo: (model, computed) => upTo(computed.worst(model.id, score.key), text),
    covered: (model) => coverageText(score.models[model.id], SCORES[score.key].counts),
  };
}

/** A published interval; empty for a reader's own weights, and for rules that have no intervals. */
function intervalText(interval, { isRecomputed, scheme }, text) {
  if (!interval || isRecomputed || scheme.variant !== "corrected") return "";
  return spanText(interval, text);
}

/** The score if the items that were left out counted as the worst; rows are sorted by it. */
const upTo = (worst, text) => (worst === null ? "" : `up to ${text(worst)}`);

/** The parts of a score that have parts themselves: domains or categories. */
function partColumns(score) {
  const names = new Set(
    score.trees.flatMap((tree) => (tree.parts ?? []).filter((part) => part.parts?.length).map((part) => part.name)),
  );
  return [...names].map((name) => {
    const path = pathKey([score.key, name]);
    return {
      key: path,
      group: name,
      label: score.label,
      aside: name,
      lower: score.lower_is_better,
      good: () => (value) => goodness(value, 1, score.lower_is_better),
      readsIntervals: true,
      interval: (model, computed) => intervalText(partInterval(score.key, model.id, name), computed, decimals),
      value: (model, computed) => computed.node(model.id, score.key, path),
      text: decimals,
    };
  });
}

/** The places of each metric of a task in the trees of a score: by column, then by index of the tree. */
function places(score) {
  const byColumn = new Map();
  for (const [tree, top] of score.trees.entries()) {
    for (const [index, { node, key: path }] of [...leavesOf(top, pathKey([score.key]))].entries()) {
      const { leaf, unit = "" } = node;
      // A run of a task of dynamics is called TASK: RUN. A column has the mean of all runs.
      const task = unit.includes(": ") ? unit.split(": ")[0] : leaf.task;
      const key = `task:${pathKey([task, leaf.metric])}`;
      if (!byColumn.has(key)) byColumn.set(key, { task, leaf, category: namesOf(path)[1], byTree: new Map() });
      const { byTree } = byColumn.get(key);
      byTree.set(tree, [...(byTree.get(tree) ?? []), { index, path }]);
    }
  }
  return byColumn;
}

function mean(values) {
  const known = values.filter((value) => value !== null);
  return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
}

/** The geometric mean of the sizes of drifts; infinite if a run diverged, even beside a drift of 0. */
function geometricMean(values) {
  if (values.includes(Infinity)) return Infinity;
  const logs = values.filter((value) => value !== null).map((value) => Math.log(Math.abs(value)));
  return logs.length ? Math.exp(mean(logs)) : null;
}

/** What a column of a task shows: raw values if they can be combined into one, else normalised values. */
function shownMetric(leaf, drift, several, values) {
  const raw = values === "raw" && leaf.unit && leaf.unit !== "score" && (!several || drift);
  if (raw) return { raw, aside: `${drift ? "drift" : metricLabel(leaf.metric, labels)}, ${shownUnit(leaf.unit)}` };
  if (drift) return { raw, aside: "log₁₀ of the drift" };
  return { raw, aside: leaf.scale === "speed" ? "speed" : `${metricLabel(leaf.metric, labels)}, normalised` };
}

/** Whether lower raw values are better. */
function rawLower(leaf, lower) {
  if (leaf.scale === "share") return false;
  if (leaf.scale === "between thresholds") return leaf.numbers.good < leaf.numbers.bad;
  return leaf.scale === "as it is" ? lower : true;
}

function taskColumns(score, tasks, values) {
  const domains = new Map(tasks.map((task) => [task.name, task.domain]));
  return [...places(score)].map(([key, { task, leaf, category, byTree }]) => {
    const several = [...byTree.values()].some((places) => places.length > 1);
    const { raw, aside } = shownMetric(leaf, SCORES[score.key].counts === "run", several, values);
    const lower = raw ? rawLower(leaf, score.lower_is_better) : score.lower_is_better;
    const isBetween = !raw && !["decades", "speed"].includes(leaf.scale); // 0 and 1
    const combined = leaf.scale === "decades" ? geometricMean : mean;
    const placesOf = (model) => byTree.get(score.models[model.id]?.tree) ?? [];
    return {
      key,
      group: domains.get(task) ?? category ?? SCORE_GROUP,
      label: titleOf(task),
      aside,
      lower,
      readsIntervals: !raw,
      interval: raw ? null : (model, computed) => {
        const indices = placesOf(model).map(({ index }) => index);
        return intervalText(leavesInterval(score.key, model.id, indices), computed, (end) => scoreText(score.key, end));
      },
      good: isBetween ? () => (value) => goodness(value, 1, lower) : (shown) => beside(shown, lower),
      withinClass: SCORES[score.key].from_times,
      value: raw
        ? (model) => shownValue(combined(placesOf(model).map(({ index }) => read(score.models[model.id].leaves[index]))), leaf.unit)
        : (model, computed) => mean(placesOf(model).map(({ path }) => computed.node(model.id, score.key, path))),
      text: raw && !SCORES[score.key].from_times ? number : (value) => scoreText(score.key, value),
    };
  });
}

const labelSets = (model) => known([...new Set(Object.values(model.label_sets ?? {}))].join(", "));
const known = (text) => plain(text ?? "") || null;
const yesNo = (value) => (value === null ? NONE : value ? "yes" : "no");

const CARD_COLUMNS = [
  { key: "parameters", label: "Parameters", lower: true, value: parametersOf, text: parameters },
  { key: "training", label: "Training data", words: true, value: (model) => known((model.training ?? []).join(", ")) },
  { key: "license", label: "Licence", words: true, value: (model) => known(model.license) },
  { key: "level", label: "Level of theory", words: true, value: labelSets },
  { key: "precision", label: "Precision", words: true, value: (model) => known(model.precision) },
  { key: "conservative", label: "Conservative", value: conservativeOf, text: yesNo },
  { key: "weights", label: "Open weights", value: (model) => model.open_weights ?? null, text: yesNo },
  { key: "elements", label: "Elements", value: (model) => model.elements?.length || null, text: (n) => n ?? NONE },
  { key: "hardware", label: "Timed on", words: true, value: (model) => known(model.hardware) },
  { key: "team", label: "Team", words: true, value: (model) => known(model.team) },
  { key: "submitted", label: "Submitted", words: true, value: (model) => model.submitted?.slice(0, 10) ?? null },
].map((column) => ({ group: CARD, text: (value) => value ?? NONE, ...column }));

/** The columns of facts of the models, by key. */
export const cardColumns = new Map(CARD_COLUMNS.map((column) => [column.key, column]));

/** The scores of a scheme as columns, by key. `full` has the value of a full bar, by key. */
export function scoreColumns(scheme, full) {
  return new Map(scheme.scores.map((score) => [score.key, scoreColumn(score, full[score.key] ?? 1)]));
}

/** All columns that a scheme can have, by key, its scores first. `values` of tasks is "normalised" or "raw". */
export function allColumns(file, scheme, scores, values) {
  const columns = new Map(scores);
  const more = [
    ...scheme.scores.flatMap(partColumns),
    ...scheme.scores.flatMap((score) => taskColumns(score, file.tasks, values)),
    ...cardColumns.values(),
  ];
  for (const column of more) if (!columns.has(column.key)) columns.set(column.key, column);
  return columns;
}

/** The groups of columns in their order: scores, domains, other groups, the card. */
export function groupsOf(file, columns) {
  const domains = file.tasks.map((task) => task.domain);
  const groups = new Set([...columns].map((column) => column.group));
  const order = new Set([SCORE_GROUP, ...domains, ...[...groups].filter((group) => group !== CARD), CARD]);
  return [...order].filter((group) => groups.has(group));
}
