"""`python -m benchmarks.x23 IMAGE`: lattice energies of X23 by single points and by relaxation with one model.

The structures are the published ones of `x23/` in `LAMBENCH_TEST_DATA`, imported as `relaxed-structures`. A table, and
`var/x23.json`. It takes from minutes to hours, has no bounds, and is not among the benchmarks.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.__main__ import docker_driver
from sandbox.driver import Question
from sandbox.limits import Limits
from sandbox.wire.remote import RemoteCalculator
from sandbox.wire.session import run_session
from tasks.datasets.card import Card, LabelSet
from tasks.datasets.dataset import Dataset
from tasks.datasets.geometries import Geometries
from tasks.importing.relaxed_structures import import_relaxed_structures
from tasks.kind import Observation, Watch
from tasks.kinds.energy_differences import EnergyDifferences, EnergyDifferencesParameters
from tasks.kinds.relaxed_geometries import ReferenceGeometries, read_ends
from tasks.kinds.relaxed_structures import RelaxedStructures, RelaxedStructuresParameters
from tasks.metrics.measurement import Measurement
from tasks.model.dispersion import DispersionCorrected
from tasks.structures.predictions import Cause

UNIT = "kJ/mol"
CARD = Card(
    name="x23",
    version="1",
    title="X23b: lattice energies of molecular crystals",
    domain="Molecules",
    periodic=False,
    citation="G. A. Dolgonos, J. Hoja, A. D. Boese, Phys. Chem. Chem. Phys. 21, 24333 (2019), doi:10.1039/C9CP04488D",
    label_sets={"X23b": LabelSet(theory="sublimation enthalpies less thermal contributions", dispersion=True)},
    default_label_set="X23b",
)


class Observations(NamedTuple):
    """The answers of one container: to the published structures, and along their relaxations."""

    single: Observation
    relaxed: Observation


def observe(image: str, d3: str, dataset: Dataset, parameters: RelaxedStructuresParameters) -> Observations:
    """Both observations of `dataset`.

    Args:
        d3: functional and damping of the dispersion that is added to the model, as `pbe-bj`; empty: none.
    """
    driver, begin = docker_driver(), time.monotonic()

    def progress(done: int, total: int, unit: str) -> None:
        print(f"\r{done} of {total} {unit}, {time.monotonic() - begin:.0f} s", end="", file=sys.stderr, flush=True)

    def body(remote: RemoteCalculator) -> Observations:
        functional, _, damping = d3.rpartition("-")
        model: Any = DispersionCorrected(remote, functional, damping) if d3 else remote  # type: ignore[arg-type]
        watch = Watch(clock=time.monotonic, progress=progress)
        single = EnergyDifferences().observe(dataset.structures, EnergyDifferencesParameters(unit=UNIT), model, watch)
        return Observations(single, RelaxedStructures().observe(dataset.structures, parameters, model, watch))

    outcome = run_session(driver, driver.resolve(image), Limits(), Question(CARD.domain), body)
    if outcome.value is None:
        raise SystemExit(f"{image} failed: {outcome.sentence}\n{outcome.private}")
    return outcome.value


def rows_of(dataset: Dataset, seen: Observations, parameters: RelaxedStructuresParameters) -> list[dict[str, Any]]:
    """One row a crystal: its lattice energies [kJ/mol], and how far its relaxation led from the published structure."""
    single = EnergyDifferences().measure(seen.single, dataset, EnergyDifferencesParameters(unit=UNIT), None)
    relaxed = RelaxedStructures().measure(seen.relaxed, dataset, parameters, None)
    ends, frames = read_ends(seen.relaxed, dataset.frames), dataset.frames
    published = ReferenceGeometries(dataset.structures, Geometries(frames.positions, frames.cell), "periodicity")
    ended = (ends.cause == 0) | (ends.cause == Cause.NOT_CONVERGED)
    distance, volume = published.distances(ends.positions, ends.cell, ended), published.volume_errors(ends.cell, ended)
    rows = []
    for k, difference in enumerate(dataset.table.differences):
        crystal = next(term.structure for term in difference.terms if frames.periodic[term.structure])
        rows.append(
            {
                "crystal": difference.id,
                "reference": float(single.items.columns["reference"][k]),
                "single_points": float(single.items.columns["predicted"][k]),
                "relaxed": float(relaxed.items.columns["predicted"][len(frames) + k]),
                "volume_percent": float(volume[crystal]),
                "rmsd_angstrom": float(distance[crystal]),
                "steps": float(ends.steps[crystal]),
                "end": Cause(int(ends.cause[crystal])).word,
            }
        )
    for name, measured in (("single points", single), ("relaxed", relaxed)):
        print(summary(name, measured))
    return rows


def summary(name: str, measured: Measurement) -> str:
    """The errors in one line."""
    mae, rmse = measured.metrics["mae"], measured.metrics["rmse"]
    failed = f"{mae.n_failed} of {mae.n_items} failed"
    return (
        f"{name}: MAE {mae.value:.1f} {UNIT}, RMSE {rmse.value:.1f} {UNIT}, {failed}, charged {mae.charged:.1f} {UNIT}"
    )


def main() -> int:
    """Measures, and prints the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.x23", description="X23 by single points and relaxed.")
    parser.add_argument("image")
    parser.add_argument("--d3", default="", help="DFT-D3 that is added to the model, as pbe-bj")
    parser.add_argument("--fmax", type=float, default=0.005, help="eV/Å")
    parser.add_argument("--max-steps", type=int, default=500)
    arguments = parser.parse_args()
    folder = Path(os.environ.get("LAMBENCH_TEST_DATA", "../shared/data")) / "x23"
    dataset = import_relaxed_structures(folder, CARD)
    relaxation = {"optimizer": "BFGS", "fmax": arguments.fmax, "max_steps": arguments.max_steps}
    parameters = RelaxedStructuresParameters.model_validate({"relaxation": relaxation, "unit": UNIT})
    rows = rows_of(dataset, observe(arguments.image, arguments.d3, dataset, parameters), parameters)
    print("| crystal | reference | single points | relaxed | ΔV % | RMSD Å | steps | |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for row in rows:
        energies = " | ".join(f"{row[name]:.1f}" for name in ("reference", "single_points", "relaxed"))
        moved = f"{row['volume_percent']:+.1f} | {row['rmsd_angstrom']:.2f} | {row['steps']:.0f}"
        print(f"| {row['crystal']} | {energies} | {moved} | {row['end'] if row['end'] != 'none' else ''} |")
    Path("var").mkdir(exist_ok=True)
    Path("var/x23.json").write_text(json.dumps(rows, indent=1) + "\n")
    return 0 if np.isfinite([row["relaxed"] for row in rows]).all() else 1


if __name__ == "__main__":
    sys.exit(main())
