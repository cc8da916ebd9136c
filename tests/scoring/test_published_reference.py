"""LAMBench's published formula in plain loops over both files, on random releases and tables.

It follows from the published layout alone, without code of `scoring`.
Source: LAMBench, arXiv:2504.19578, and the leaderboard's formula in its releases.
"""

from __future__ import annotations

import math
from random import Random
from statistics import fmean

import pytest

from tests.scoring.published_tables import FF, KEYS, PC, USE, Json, Std, columns, labels, model, release, scored

SEVENTH_DECIMAL = 1.01e-7  # logarithmic means are rounded to it, and two computations may round differently


def reference_ff(config: Json, table: Json) -> tuple[float | None, dict[str, float | None]]:
    """The force-field error, and that of each domain; None if an error with a weight is missing."""
    facts, rows = config["ff"], table[FF]
    domains: dict[str, float | None] = {}
    for domain in {task["domain"] for task in facts["tasks"].values()}:
        tasks = {name: task for name, task in facts["tasks"].items() if task["domain"] == domain}
        any_virial = any(task["virial"]["weight"] is not None for task in tasks.values())
        weights = facts[f"type_weights_domain_{'with_any' if any_virial else 'without'}_virial"]
        total = 0.0
        for label, weight in weights.items():
            product, n = 1.0, 0
            for name, task in tasks.items():
                if task[label]["weight"] is None:
                    continue
                raw, std = rows.get(name, {}).get(facts["metric_keys"][label]), task[label]["std_eV"]
                if isinstance(std, dict):
                    std = std["wB97"] if table["model"]["supports_omol"] else std["PBE"]
                error = math.nan if raw is None else raw * facts["raw_to_std_factor"] / std
                product *= min(error, 1.0) if facts["cap_at_1"] and not math.isnan(error) else error
                n += 1
            total += weight * round(product ** (1 / n), 7) if not math.isnan(product) else math.nan
        domains[domain] = None if math.isnan(total) else total
    values = [value for value in domains.values() if value is not None]
    return (fmean(values) if len(values) == len(domains) else None), domains


def reference_pc_domains(config: Json, table: Json) -> dict[str, float | None]:
    """The property error of each domain: the mean over the columns that have a number."""
    facts = config["pc"]
    errors: dict[str, list[float]] = {task["domain"]: [] for task in facts["tasks"].values()}
    for name, task in facts["tasks"].items():
        row = table[PC].get(name, {})
        rate = row.get(task["penalty"]) if task["penalty"] else 1.0
        for metric in task["metrics"]:
            if row.get(metric) is None or rate is None:
                continue
            error = row[metric] / (task["dummy"][metric] or 1.0)
            divisor = rate
            if facts["cap_at_1_before_penalty"]:  # the whole table, including success rates
                error, divisor = min(error, 1.0), min(rate, 1.0)
            errors[task["domain"]].append(error / divisor)
    return {domain: fmean(values) if values else None for domain, values in errors.items()}


def reference_pc(config: Json, raw: Json) -> dict[str, float | None]:
    """The property error of each model, by the release's rule for missing domains."""
    by_model = {name: reference_pc_domains(config, table) for name, table in raw.items()}
    if config["pc"]["missing_domain_rule"] == "drop_domain_for_all_models":
        partakers = [row for row in by_model.values() if any(value is not None for value in row.values())]
        kept = [domain for domain in by_model[next(iter(raw))] if all(row[domain] is not None for row in partakers)]
        by_model = {name: {domain: row[domain] for domain in kept} for name, row in by_model.items()}
    means = {name: [value for value in row.values() if value is not None] for name, row in by_model.items()}
    return {name: fmean(values) if values else None for name, values in means.items()}


def reference_instability(config: Json, runs: Json) -> float:
    facts = config["stability"]
    scores = []
    for run in runs.values():
        if run["slope"] is None or run["steps"] != facts["num_steps"]:
            scores.append(facts["failure_value"])
            continue
        decades = math.log10(run["slope"] / facts["tolerance"]) if run["slope"] > 0 else -math.inf
        scores.append(min(max(decades, 0.0), 5.0 if facts["cap_slope_at_5_decades"] else math.inf))
    return fmean(scores)


def random_release(random: Random) -> Json:
    def std() -> float:
        return float(10 ** random.uniform(-2, 0.5))

    domains = ["Inorganic Materials", "Catalysis", "Small Molecules", "Biomolecules", "Reactions"][
        : random.choice([1, 3, 5])
    ]
    ff = {}
    for i in range(random.randint(1, 7)):
        baselines: dict[str, Std] = {"energy": std(), "force": std()}
        if random.random() < 0.3:
            baselines["virial"] = std()
        if random.random() < 0.3:
            baselines = {label: {"wB97": std(), "PBE": std()} for label in baselines}
        ff[f"set {i}"] = labels(random.choice(domains), **baselines)
    pc = {}
    for i in range(random.randint(1, 5)):
        dummy = {f"metric {j}": random.choice([std(), std(), std(), None]) for j in range(random.randint(1, 4))}
        pc[f"property {i}"] = columns(random.choice(domains), random.choice([None, "success_rate", "rate"]), **dummy)
    config = release(ff, pc)
    config["ff"]["cap_at_1"] = random.random() < 0.5
    if random.random() < 0.3:
        config["ff"]["type_weights_domain_with_any_virial"] = {"energy": 0.3, "force": 0.5, "virial": 0.2}
    config["pc"]["cap_at_1_before_penalty"] = random.random() < 0.5
    config["pc"]["missing_domain_rule"] = random.choice(["skip_for_that_model", "drop_domain_for_all_models"])
    config["stability"]["cap_slope_at_5_decades"] = random.random() < 0.5
    config["stability"]["tolerance"] = random.choice([5e-4, 1e-3])
    return config


def random_model(config: Json, random: Random, full: bool) -> Json:
    """A model's table; `full`: with every column, possibly null, so that no column is unknown to all models."""
    holes = random.choice([0.0, 0.0, 0.15])
    ff: Json = {}
    for name in config["ff"]["tasks"]:
        if not full and random.random() < holes:
            continue
        ff[name] = {key: round(10 ** random.uniform(0, 3.5), 1) for key in KEYS.values()}
        if random.random() < holes:
            ff[name][random.choice(list(KEYS.values()))] = None
    pc: Json = {}
    for name, task in config["pc"]["tasks"].items():
        if not full and random.random() < 0.3:
            continue
        pc[name] = {metric: 10 ** random.uniform(-3, 1) for metric in task["metrics"]}
        pc[name] |= dict.fromkeys(["success_rate", "rate"], random.choice([1.0, 0.99, 0.4, 1e-3, 100.0]))
        for metric in list(pc[name]):
            if random.random() < holes:
                pc[name][metric] = None
    if not full and random.random() < 0.1:
        pc = {}
    runs = {
        f"run {i}": {
            "slope": random.choice([None, 0.0, *(10 ** random.uniform(-7, 3) for _ in range(6))]),
            "steps": random.choice([10000.0, 10000.0, 10000.0, 812.0]),
        }
        for i in range(9)
    }
    return model(ff, pc, time={"average_time": random.uniform(1, 900)}, nve=runs, omol=random.random() < 0.4)


def same(a: float | None, b: float | None, tolerance: float) -> bool:
    if a is None or b is None:
        return a is b
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=tolerance)


def test_agrees_with_the_formula_in_plain_loops() -> None:
    random = Random(0)
    unscored = dropped = 0
    for _ in range(90):
        config = random_release(random)
        raw = {f"model {i}": random_model(config, random, full=i == 0) for i in range(random.randint(1, 3))}
        pc = reference_pc(config, raw)
        for name, model_scores in scored(config, raw).items():
            ff, domains = reference_ff(config, raw[name])
            assert same(model_scores.scores["force_field"].value, ff, SEVENTH_DECIMAL)
            parts = {part.name: part.value for part in model_scores.scores["force_field"].parts}
            assert parts.keys() == domains.keys()
            assert all(same(parts[domain], domains[domain], SEVENTH_DECIMAL) for domain in domains)
            assert same(model_scores.scores["property_error"].value, pc[name], 1e-12)
            used = raw[name][USE]
            assert model_scores.scores["efficiency"].value == pytest.approx(
                100 / used["inference_efficiency"]["average_time"]
            )
            assert model_scores.scores["instability"].value == pytest.approx(
                reference_instability(config, used["nve_md"]), rel=1e-12
            )
            unscored += ff is None
            dropped += len(model_scores.scores["property_error"].parts) < len(
                {t["domain"] for t in config["pc"]["tasks"].values()}
            )
    # The random tables contain both cases.
    assert unscored > 10
    assert dropped > 10
