"""What MLIPAudit itself says of GFN2-xTB on its small inputs: numbers_xtb.json.

Run in an environment of its own, with the folder of its small inputs, and the same laid out as 0.1.8 reads them:

    pip install mlipaudit==0.1.8 tblite
    PYTHONPATH=. python -m tests.tasks.mlipaudit.with_mlipaudit_and_xtb INPUTS LAID_OUT \\
        > tests/tasks/mlipaudit/numbers_xtb.json

Relaxations store each step, so that slip 1 of its geometry benchmark (docs/scoring.md) does not show. Runs are those of
its mode `dev`, and begin with the velocities that the judge draws, too. Relaxations and runs are stored in double
precision, where MLIPAudit stores them in single precision. Rings, bonds and stability run without a heat bath: the
judge's noise is another. Bands run a second time without the centring of their ends: MLIPAudit's engine moves the
reactant and the product to the origin and leaves the transition state where it is, so that each band has a translation.
"""
# mypy: ignore-errors

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
from ase import Atoms

from tests.tasks.mlipaudit import made_trajectories as made


def heavy_rmsd(state) -> float:
    """Of the last stored structure from the first one, over heavy atoms [Å]: mdtraj computes it in single precision."""
    heavy = state.atomic_numbers > 1
    first, last = (state.positions[k][heavy].astype(float) for k in (0, -1))
    first, last = first - first.mean(axis=0), last - last.mean(axis=0)
    left, sizes, right = np.linalg.svd(first.T @ last)
    sizes[-1] *= np.sign(np.linalg.det(left @ right))
    return float(np.sqrt(max((first**2).sum() + (last**2).sum() - 2 * sizes.sum(), 0.0) / heavy.sum()))


def store_exactly(engine, name: str, new) -> None:
    """Stores a number of a frame in double precision."""
    if getattr(engine.temporary_state, name) is None:
        setattr(engine.temporary_state, name, [])
    getattr(engine.temporary_state, name).append(np.asarray(new, np.float64))


def bands(benchmark, result) -> dict[str, dict[str, object]]:
    """By reaction, whether its band converged, and its largest force on an atom [eV/Å]."""
    states = benchmark.model_output.simulation_states
    return {
        each["reaction_id"]: {"failed": True}
        if state is None
        else {
            "converged": each["converged"],
            "final_force": float(np.sqrt((state.forces**2).sum(axis=1).max())),
        }
        for each, state in zip(result["reaction_results"], states, strict=True)
    }


def main() -> None:
    """Prints the numbers of each benchmark."""
    from mlip.simulation.ase.ase_simulation_engine import ASESimulationEngine
    from mlip.simulation.enums import MDIntegrator

    from mlipaudit.benchmarks import BENCHMARKS
    from mlipaudit.benchmarks.bond_length_distribution import bond_length_distribution as bonds
    from mlipaudit.benchmarks.reference_geometry_stability import reference_geometry_stability as geometry
    from mlipaudit.benchmarks.ring_planarity import ring_planarity as rings
    from mlipaudit.benchmarks.stability import stability
    from submissions.examples.xtb.calculator import XTB  # which reads charges, as tblite's own calculator does not

    inputs, laid_out = Path(sys.argv[1]), Path(sys.argv[2])
    (laid_out / "conformer_selection" / "folmsbee_dataset.json").write_text(json.dumps(made.conformers(inputs)))
    geometry.SIMULATION_CONFIG |= {"log_interval": 1, "snapshot_interval": 1}
    known = {benchmark.name: benchmark for benchmark in BENCHMARKS}

    def run(name: str, mode: str = "standard"):
        model = XTB()
        model.allowed_atomic_numbers = set(range(1, 87))
        benchmark = known[name](model, laid_out, mode)
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
    _, result = run("nve_energy_conservation", "dev")
    single = {each["structure_name"]: each["energy_drift_ratio"] for each in result["structure_results"]}
    ASESimulationEngine._update_temporary_list = store_exactly
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
    numbers["nudged_elastic_band"] = bands(*run("nudged_elastic_band"))
    centre, Atoms.center = Atoms.center, lambda *_, **__: None
    numbers["nudged_elastic_band, not centred"] = {
        mode: bands(*run("nudged_elastic_band", mode)) for mode in ("dev", "standard")
    }
    Atoms.center = centre
    _, result = run("nve_energy_conservation", "dev")
    numbers["nve_energy_conservation"] = {
        each["structure_name"]: {
            "drift_ratio": each["energy_drift_ratio"],
            "drift_ratio in single precision": single[each["structure_name"]],
            "energy_drift_ev": each["energy_drift_ev"],
        }
        for each in result["structure_results"]
    }
    for module, name in ((rings, "ring_planarity"), (bonds, "bond_length_distribution"), (stability, "stability")):
        module.SIMULATION_CONFIG_DEV |= {"md_integrator": MDIntegrator.NVE_VELOCITY_VERLET}
        _, numbers[name] = run(name, "dev")
    for name in ("ring_planarity", "bond_length_distribution"):
        numbers[name] = {each["molecule_name"]: each["deviation_trajectory"] for each in numbers[name]["molecules"]}
    numbers["stability"] = {each["structure_name"]: each["score"] for each in numbers["stability"]["structure_results"]}
    json.dump(numbers, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
