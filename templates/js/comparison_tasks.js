// The tasks of models side by side: verdicts, and each number as scored and raw.

import { cell, differences, inOneClass, line, numberCell } from "./comparison_lines.js";
import { decimals, NONE, number, shownUnit, shownValue } from "./comparison_numbers.js";
import { spanText } from "./intervals.js";
import { metricLabel } from "./metric_labels.js";
import { pathKey } from "./paths.js";
import { SCORES } from "./scores.js";

const MOST_DIFFERENT = 5;
const RUNS = "instability, mean over runs";

function* leaves(node, names) {
  if (node.leaf) yield { names, leaf: node.leaf };
  for (const part of node.parts ?? []) yield* leaves(part, [...names, part.name]);
}

/** The label of a metric, as within a sentence. */
function label(metric, labels) {
  const words = metricLabel(metric, labels);
  const first = /^.\p{Lu}/u.test(words) ? words[0] : words[0].toLowerCase(); // an abbreviation keeps its capitals
  return first + words.slice(1);
}

const read = (raw) => (raw === "Infinity" ? Infinity : raw);

/** For each task a Map of the numbers of a model, {score, name, value, raw, unit}; for dynamics the mean over runs. */
function valuesOf(model, scores, evaluated, tasks, labels) {
  const byTask = new Map(tasks.map((task) => [task, new Map()]));
  const runs = new Map();
  for (const score of scores) {
    const scored = score.models[model.id];
    if (!scored) continue;
    let k = 0;
    for (const { names, leaf } of leaves(score.trees[scored.tree], [score.key])) {
      const raw = read(scored.leaves[k++]);
      const value = evaluated.node(model.id, score.key, pathKey(names));
      if (SCORES[score.key].counts === "run") {
        const task = byTask.has(leaf.task) ? leaf.task : leaf.task.split(": ")[0];
        if (!runs.has(task)) runs.set(task, { score: score.key, values: [] });
        if (value !== null) runs.get(task).values.push(value);
      } else {
        const name = SCORES[score.key].by_label_type ? names.at(-2) : label(leaf.metric, labels);
        byTask.get(leaf.task)?.set(`${score.key}/${name}`, { score: score.key, name, value, raw, unit: leaf.unit, metric: leaf.metric });
      }
    }
  }
  for (const [task, { score, values }] of runs) {
    const value = values.length ? values.reduce((sum, each) => sum + each, 0) / values.length : null;
    byTask.get(task)?.set(`${score}/${RUNS}`, { score, name: RUNS, value, raw: null, unit: "" });
  }
  return byTask;
}

function rawWords({ score, raw, unit }) {
  if (raw === null) return SCORES[score].from_times ? NONE : "";
  return `${number(shownValue(raw, unit))} ${shownUnit(unit)}`.trim();
}

function taskLine(values, models) {
  const { score, name } = values.find(Boolean);
  if (SCORES[score].from_times) {
    const cells = values.map((value) => (value ? cell(rawWords(value), "", value.raw) : cell(NONE)));
    return line(`${name} ↓`, cells, inOneClass(models) ? true : null, true);
  }
  return line(`${name} ↓`, values.map((value) => (value ? numberCell(value.value, rawWords(value)) : cell(NONE))), true, true);
}

function outcome({ submitted, outcomes }, index) {
  const { verdict = "", n_items: items = 0, n_failed: failed = 0 } = outcomes[index];
  if (!verdict) return cell(submitted ? "not judged" : NONE);
  const note = items ? `${failed || "none"} of ${items} failed` : "";
  if (verdict === "OK") return cell("OK", note);
  return { ...cell("", note), fault: verdict.replaceAll("_", " ").toLowerCase() };
}

/** A group of rows for each domain. */
export function groupsOfTasks(file, scores, evaluated, models, labels) {
  const names = file.tasks.map((task) => task.name);
  const byModel = models.map((model) => valuesOf(model, scores, evaluated, names, labels));
  const byDomain = new Map();
  file.tasks.forEach((task, index) => {
    if (!byDomain.has(task.domain)) byDomain.set(task.domain, []);
    const values = byModel.map((byTask) => byTask.get(task.name));
    const keys = new Set(values.flatMap((byKey) => [...byKey.keys()]));
    byDomain.get(task.domain).push(
      { ...line(task.title, models.map((model) => outcome(model, index))), page: task.page },
      ...[...keys].map((key) => taskLine(values.map((byKey) => byKey.get(key)), models)),
    );
  });
  return [...byDomain].map(([domain, lines]) => ({ title: `Tasks: ${domain}`, lines }));
}

const isKnown = (each) => each && each.value !== null && each.raw !== null;

function apart(values) {
  const known = values.filter(isKnown).map((each) => each.value);
  return known.length ? Math.round((Math.max(...known) - Math.min(...known)) * 1e9) / 1e9 : 0; // as in Python
}

/** Raw errors with their unit and interval, and below them the differences. */
function differenceLines({ task, values }, models, intervals) {
  const unit = values.find((each) => each?.unit)?.unit ?? "";
  const numberOf = (value) => number(shownValue(value, unit));
  const shown = (value) => `${numberOf(value)} ${shownUnit(unit)}`.trim();
  const cells = values.map((each, column) => {
    if (!isKnown(each)) return cell(NONE);
    const interval = intervals.ofMetric(models[column].id, task.name, each.metric);
    const span = interval ? `${spanText(interval, numberOf)}; ` : "";
    return { ...cell(shown(each.raw), `${span}normalised ${decimals(each.value)}`, each.raw), interval };
  });
  const first = { ...line(`${task.title}: ${values.find(Boolean).name} ↓`, cells, true), page: task.page };
  return [first, ...differences(first, shown, numberOf)];
}

/** Rows of the tasks in which the normalised errors of the models differ most, each by its number that differs most. */
export function mostDifferent(file, scores, evaluated, models, labels, intervals) {
  const byModel = models.map((model) => valuesOf(model, scores, evaluated, file.tasks.map((task) => task.name), labels));
  const found = file.tasks.flatMap((task) => {
    const ofTask = byModel.map((byTask) => byTask.get(task.name));
    const keys = [...new Set(ofTask.flatMap((byKey) => [...byKey].filter(([, { score }]) => SCORES[score].measures).map(([key]) => key)))];
    const numbers = keys.map((key) => ofTask.map((byKey) => byKey.get(key)));
    return numbers.map((values) => ({ task, values, apart: apart(values) })).sort((a, b) => b.apart - a.apart).slice(0, 1);
  });
  const first = found.filter((each) => each.apart > 0).sort((a, b) => b.apart - a.apart).slice(0, MOST_DIFFERENT);
  return first.flatMap((each) => differenceLines(each, models, intervals));
}
