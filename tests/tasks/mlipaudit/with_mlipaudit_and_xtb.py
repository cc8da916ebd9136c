"""What MLIPAudit itself says of GFN2-xTB on its small inputs: numbers_xtb.json.

Run in an environment of its own, with the folder of its small inputs, and the same laid out as 0.1.8 reads them:

    pip install mlipaudit==0.1.8 tblite
    PYTHONPATH=. python -m tests.tasks.mlipaudit.with_mlipaudit_and_xtb INPUTS LAID_OUT \\
        > tests/tasks/mlipaudit/numbers_xtb.json

Relaxations store each step, so that slip 1 of its geometry benchmark (docs/scoring.md) does not show.
"""
# mypy: ignore-errors

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np

from tests.tasks.mlipaudit import made_trajectories as made


def heavy_rmsd(state) -> float:
    """Of the last stored structure from the first one, over heavy atoms [Å]: mdtraj computes it in single precision."""
    heavy = state.atomic_numbers > 1
    first, last = (state.positions[k][heavy].astype(float) for k in (0, -1))
    first, last = first - first.mean(axis=0), last - last.mean(axis=0)
    left, sizes, right = np.linalg.svd(first.T @ last)
    sizes[-1] *= np.sign(np.linalg.det(left @ right))
    return float(np.sqrt(max((first**2).sum() + (last**2).sum() - 2 * sizes.sum(), 0.0) / heavy.sum()))


def main() -> None:
    """Prints the numbers of each benchmark."""

    from mlipaudit.benchmarks import BENCHMARKS
    from mlipaudit.benchmarks.reference_geometry_stability import reference_geometry_stability as geometry
    from submissions.examples.xtb.calculator import XTB  # which reads charges, as tblite's own calculator does not

    inputs, laid_out = Path(sys.argv[1]), Path(sys.argv[2])
    (laid_out / "conformer_selection" / "folmsbee_dataset.json").write_text(json.dumps(made.conformers(inputs)))
    geometry.SIMULATION_CONFIG |= {"log_interval": 1, "snapshot_interval": 1}
    known = {benchmark.name: benchmark for benchmark in BENCHMARKS}

    def run(name: str):
        model = XTB()
        model.allowed_atomic_numbers = set(range(1, 87))
        benchmark = known[name](model, laid_out, "standard")
        benchmark.run_model()
        return benchmark, benchmark.analyze().model_dump()

    numbers = {"versions": {name: version(name) for name in ("mlipaudit", "mlip", "ase", "tblite")}}
    _, result = run("tautomers")
    numbers["tautomers"] = {each["structure_id"]: each["abs_deviation"] for each in result["molecules"]}
    _, result = run("reactivity")
    fields = ("activation_energy_abs_error", "enthalpy_of_reaction_abs_error")
    numbers["reactivity"] = {
        name: {field: each[field] for field in fields} for name, each in result["reaction_results"].items()
    }
    _, result = run("dihedral_scan")
    numbers["dihedral_scan"] = {each["fragment_name"]: each["barrier_height_error"] for each in result["fragments"]}
    _, result = run("noncovalent_interactions")
    numbers["noncovalent_interactions"] = {each["system_id"]: each["deviation"] for each in result["systems"]}
    _, result = run("conformer_selection")
    numbers["conformer_selection"] = {
        each["molecule_name"]: {"mae": each["mae"], "rmse": each["rmse"]} for each in result["molecules"]
    }
    benchmark, result = run("reference_geometry_stability")
    numbers["reference_geometry_stability"] = {
        name: {
            "single precision": result[f"openff_{name}"]["rmsd_values"],
            "double precision": [
                heavy_rmsd(each.simulation_state) for each in getattr(benchmark.model_output, f"openff_{name}")
            ],
        }
        for name in ("neutral", "charged")
    }
    benchmark, result = run("nudged_elastic_band")
    bands = zip(result["reaction_results"], benchmark.model_output.simulation_states, strict=True)
    numbers["nudged_elastic_band"] = {
        each["reaction_id"]: {"failed": True}
        if state is None
        else {
            "converged": each["converged"],
            "final_force": float(np.sqrt((state.forces**2).sum(axis=1).max())),
        }
        for each, state in bands
    }
    json.dump(numbers, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
