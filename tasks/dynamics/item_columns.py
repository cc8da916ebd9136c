"""The items of simulated systems, and their columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tasks.datasets.pair_analyses import DrawnAnalysis
from tasks.datasets.simulated_systems import AnyAnalysis
from tasks.dynamics.analyses import Analysed
from tasks.dynamics.distributions import N_PARTS, RANGES
from tasks.dynamics.pair_curves import PairCurve
from tasks.dynamics.simulate import DynamicsSettings
from tasks.dynamics.stored_runs import N_TENTHS
from tasks.metrics.contributions import baseline_column
from tasks.metrics.measurement import Items
from tasks.metrics.profiles import ProfileCurve
from tasks.metrics.run_progress import RunProgress
from tasks.structures.frames import Float
from tasks.structures.predictions import Cause

STABILITY = "stability"
N_RDF = 60
# Columns of the items: g(r) in the middles of 60 equal parts of 0 to r_max, the density at each tenth of the run, and
# distributions of planarity and bond lengths.
RDF_COLUMNS = tuple(f"rdf_{k:03d}" for k in range(N_RDF))
RDF_REFERENCE_COLUMNS = tuple(f"rdf_reference_{k:03d}" for k in range(N_RDF))
RDF_ALSO = "rdf_also"
DENSITY_COLUMNS = tuple(f"density_{k:02d}" for k in range(N_TENTHS + 1))
SHARE_COLUMNS = tuple(f"share_{k:02d}" for k in range(N_PARTS))


class AnalysisRow(NamedTuple):
    """An item: an analysis of a system, None for its stability."""

    id: str
    group: str
    cluster: str
    structure: int
    analysis: AnyAnalysis | None

    @property
    def measure(self) -> str:
        return self.analysis.measure if self.analysis else STABILITY


class ItemColumns:
    """The columns of k items."""

    def __init__(self, rows: Sequence[AnalysisRow]) -> None:
        k = len(rows)
        self.cause = np.zeros(k, np.int8)
        names = ["predicted", "reference", "error", baseline_column("error"), "stored_error"]
        names += ["ended_ps", "progress"]
        measures = dict.fromkeys(row.measure for row in rows)
        names += (*RDF_COLUMNS, *RDF_REFERENCE_COLUMNS, "r_max") if measures.keys() & {"rdf", "rdf_rmse"} else ()
        drawn = [row.analysis for row in rows if isinstance(row.analysis, DrawnAnalysis)]
        names += [column for name in {name for each in drawn for name in each.also} for column in _also_columns(name)]
        names += DENSITY_COLUMNS if "density" in measures else ()
        names += SHARE_COLUMNS if measures.keys() & RANGES.keys() else ()
        self.arrays = {name: np.full(k, np.nan) for name in names}
        for name in measures:
            self.arrays[f"{name}_count"] = np.array([float(row.measure == name) for row in rows])

    def put(self, k: int, result: Analysed) -> None:
        """Fills in what was measured of item `k`."""
        values = (result.predicted, result.reference, result.error, result.trivial)
        for name, value in zip(("predicted", "reference", "error", baseline_column("error")), values, strict=True):
            self.arrays[name][k] = value
        if result.curve:
            self.put_curve(k, result.curve)
        if result.shares is not None:
            self._put_all(k, SHARE_COLUMNS, result.shares)

    def put_curve(self, k: int, curve: PairCurve) -> None:
        """Fills in g(r) in the middles of 60 equal parts of the range."""
        r_max = float(curve.r[-1] + curve.r[0])
        grid = (np.arange(N_RDF) + 0.5) * r_max / N_RDF
        self.arrays["r_max"][k] = r_max
        also = [(_also_columns(name), values) for name, values in curve.also]
        for names, values in ((RDF_COLUMNS, curve.g), (RDF_REFERENCE_COLUMNS, curve.reference), *also):
            self._put_all(k, names, np.interp(grid, curve.r, values))

    def put_densities(self, k: int, values: Float) -> None:
        self._put_all(k, DENSITY_COLUMNS, values)

    def _put_all(self, k: int, names: Sequence[str], values: Float) -> None:
        for name, value in zip(names, values, strict=True):
            self.arrays[name][k] = value


def _also_columns(name: str) -> tuple[str, ...]:
    """The columns of a further curve of that name."""
    return tuple(f"{RDF_ALSO}:{name}:{k:03d}" for k in range(N_RDF))


def rdf_curves(items: Items, parameters: object) -> list[ProfileCurve]:
    """g(r) of each item that has one, with the reference's and further ones."""
    if "r_max" not in items.columns:
        return []
    g, reference = (_together(items, names) for names in (RDF_COLUMNS, RDF_REFERENCE_COLUMNS))
    names = sorted({column.split(":")[1] for column in items.columns if column.startswith(f"{RDF_ALSO}:")})
    also = {name: _together(items, _also_columns(name)) for name in names}
    grid, r_max = (np.arange(N_RDF) + 0.5) / N_RDF, items.columns["r_max"]
    return [
        ProfileCurve(items.id[k], r_max[k] * grid, g[k], reference[k], tuple((n, also[n][k]) for n in names))
        for k in np.flatnonzero(r_max > 0).tolist()
    ]


def density_curves(items: Items, parameters: DynamicsSettings) -> list[ProfileCurve]:
    """The density [g/cm³] of each item that has one, over time [ps], with the reference's."""
    if DENSITY_COLUMNS[0] not in items.columns:
        return []
    densities = _together(items, DENSITY_COLUMNS)
    times = np.linspace(0.0, parameters.steps * parameters.timestep_fs / 1000, len(DENSITY_COLUMNS))
    reference = np.broadcast_to(items.columns["reference"][:, None], densities.shape)
    measured = np.flatnonzero(np.isfinite(densities).any(axis=1)).tolist()
    return [ProfileCurve(items.id[k], times, densities[k], reference[k]) for k in measured]


def distribution_curves(measure: str, items: Items, parameters: object) -> list[ProfileCurve]:
    """The distribution [%] of each item of a measure of `RANGES` that has one."""
    if SHARE_COLUMNS[0] not in items.columns or f"{measure}_count" not in items.columns:
        return []
    shares, middles = _together(items, SHARE_COLUMNS), RANGES[measure].middles
    measured = (items.columns[f"{measure}_count"] > 0) & np.isfinite(shares).all(axis=1)
    return [ProfileCurve(items.id[k], middles, shares[k]) for k in np.flatnonzero(measured).tolist()]


def run_progress(items: Items, parameters: object) -> list[RunProgress]:
    """How far each system got: its first run to end."""
    progress, ended = items.columns["progress"].tolist(), items.columns["ended_ps"].tolist()
    backbones = [items.id[k] for k in _with(items, "dihedral_outliers")]
    runs = []
    for k in _with(items, STABILITY):
        system = items.id[k].removesuffix(f"/{STABILITY}")
        has_backbone = any(item.startswith(f"{system}/") for item in backbones)
        runs.append(RunProgress(system, progress[k], ended[k], Cause(int(items.cause[k])), has_backbone))
    return runs


def _with(items: Items, measure: str) -> list[int]:
    """The items of a measure."""
    counts = items.columns.get(f"{measure}_count", np.zeros(len(items.id)))
    return [int(k) for k in np.flatnonzero(counts > 0)]


def _together(items: Items, names: Sequence[str]) -> Float:
    return np.array([items.columns[name] for name in names]).T
