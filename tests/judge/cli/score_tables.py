"""Small tables of ML-PEG and MLIPAudit for `judge score`; numbers worked by hand."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from math import exp
from typing import Any, NamedTuple

import pytest

ML_PEG = """
name = "small"
title = "Small [facts]"
source = "worked by hand"
[presets.only-A]
others = 0.0
categories = { A = 1.0 }
[benchmarks.a]
category = "A"
metrics.e = { good = 1.0, bad = 5.0, unit = "eV", level_of_theory = "PBE" }
metrics.r = { good = 1.0, bad = -1.0, unit = "-", weight = 3.0 }
[benchmarks.b]
category = "B"
metrics.f = { good = 0.0, bad = 10.0, unit = "GPa", level_of_theory = "CCSD(T)" }
"""
MLIPAUDIT = """
name = "small"
title = "Small"
source = "worked by hand"
alpha = 3.0
[benchmarks.one]
title = "One"
category = "A"
metrics.x = { unit = "eV", threshold = 2.0, source = "here" }
[benchmarks.two]
title = "Two"
category = "B"
elements_per_item = true
metrics.y = { unit = "1", threshold = 1.0, source = "here" }
[benchmarks.three]
title = "Three"
category = "B"
metrics.z = { unit = "1", threshold = 0.5, larger_is_better = true, over_frames = "maximum", source = "here" }
[benchmarks.four]
title = "Four"
category = "B"
metrics.g = { unit = "1", threshold = 1.0, by_group = "scores averaged", source = "here" }
[[slips]]
name = "means"
benchmark = "three"
metrics = ["z"]
text = "the mean over the frames"
corrected = "the maximum"
source = "here"
as_published = { over_frames = "mean" }
"""


class Answer(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        assert self.status == 0, self.err
        return json.loads(self.out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))

    def row(self, name: str) -> list[str]:
        """The cells of the first line of that name, of any table."""
        assert self.status == 0, self.err
        lines = [re.split(r" {2,}", line.strip()) for line in self.out.splitlines()]
        return next(cells for cells in lines if name in cells)


JudgeScore = Callable[..., Answer]


def metric(value: float | None, unit: str, **more: object) -> dict[str, object]:
    return {"value": value, "unit": unit, **more}


WHOLE = {
    # a: (0.5 + 3 × 0.75)/4 = 0.6875; b: 0.25
    "metrics": {
        "a": {"e": metric(3.0, "eV", n_items=10, n_failed=2, uncharged=2.5), "r": metric(0.5, "-")},
        "b": {"f": metric(7.5, "GPa")},
    },
    "levels": {"A": "PBE", "b": "PBE"},
}
# a: 0.5/4, or with r perfect (0.5 + 3)/4; b: 0 or 1
PART = {"metrics": {"a": {"e": metric(3.0, "eV"), "r": metric(None, "-")}}, "levels": {}}
NEITHER: dict[str, object] = {"metrics": {}}


def models(**tables: object) -> dict[str, object]:
    return {"models": tables}


def number(value: object, covered: int, total: int, **more: float) -> dict[str, object]:
    return {"value": value, "covered": covered, "total": total, **more}


def items(values: list[Any], unit: str = "1", **more: object) -> dict[str, object]:
    return {"values": values, "unit": unit, **more}


FULL = {
    "results": {
        "one": {"x": items([2.0, 3.0, None], "eV", n_failed=1)},  # (1 + exp(−1.5))/4
        "two": {"y": items([0.5], n_unsupported=1)},  # 1/2; compatible 1
        "three": {"z": items([[0.5, 0.25], [0.25, None]])},  # (1 + 0)/2; the mean of 0.375 gives exp(−0.75)
        "four": {"g": items([0.5, 2.0, 1.0], groups=["ALA", "ALA", "GLY"])},  # ((1 + exp(−3))/2 + 1)/2
    }
}
FOUR = ((1 + exp(-3.0)) / 2 + 1) / 2
FULL_SCORES = [(1 + exp(-1.5)) / 4, 0.5, 0.5, FOUR]
FEW = {"results": {"one": {"x": items([1.0], "eV")}}, "incompatible": ["four"]}
