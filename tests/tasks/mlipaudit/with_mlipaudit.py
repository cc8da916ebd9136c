"""What MLIPAudit itself says of the made trajectories: numbers.json.

Run in an environment of its own, with the folder of its small inputs, and the same laid out as 0.1.8 reads them
(chignolin's files flat in `folding_stability`, `*_molecule_indices.npy` beside the boxes). The reference points of
dihedrals there are replaced.

    pip install mlipaudit==0.1.8
    PYTHONPATH=. python -m tests.tasks.mlipaudit.with_mlipaudit INPUTS LAID_OUT > tests/tasks/mlipaudit/numbers.json
"""
# mypy: ignore-errors

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np

from tests.tasks.mlipaudit import made_trajectories as made


def main() -> None:
    """Prints the numbers of each benchmark."""
    from ase.calculators.lj import LennardJones
    from mlip.simulation import SimulationState

    from mlipaudit.benchmarks import BENCHMARKS

    inputs, laid_out = Path(sys.argv[1]), Path(sys.argv[2])
    known = {benchmark.name: benchmark for benchmark in BENCHMARKS}
    model = LennardJones()
    model.allowed_atomic_numbers = set(range(1, 119))

    def state(run: made.Made) -> SimulationState:
        return SimulationState(
            atomic_numbers=run.atoms.numbers,
            positions=run.positions,
            cell=run.cells if run.atoms.pbc.any() else None,
            temperature=run.temperatures,
            step=len(run.positions),
        )

    def analysed(name: str, mode: str = "standard", **output):
        benchmark = known[name](model, laid_out, mode)
        benchmark.model_output = benchmark.model_output_class(**output)
        return benchmark.analyze().model_dump()

    def of_molecule(name: str, molecule: str, seed: int):
        from importlib import import_module

        module = import_module(f"mlipaudit.benchmarks.{name}.{name}")
        run = state(made.molecule(inputs, name, molecule, seed))
        one = module.MoleculeModelOutput(molecule_name=molecule, simulation_state=run)
        return analysed(name, molecules=[one])["molecules"][0]["avg_deviation"]

    numbers = {
        "ring_planarity": {
            name: of_molecule("ring_planarity", name, seed) for seed, name in enumerate(("benzene", "furan"), 10)
        },
        "bond_length_distribution": {
            name: of_molecule("bond_length_distribution", name, seed)
            for seed, name in enumerate(
                json.loads(next((inputs / "bond_length_distribution").glob("*.json")).read_text()), 20
            )
        },
    }
    water, solvent = state(made.water(inputs)), state(made.carbon_tetrachloride(inputs))
    rdf = analysed("water_radial_distribution", simulation_state=water)
    numbers["water_radial_distribution"] = {name: rdf[name] for name in ("rmse", "first_solvent_peak", "score")}
    density = analysed("water_density", simulation_state=water)
    numbers["water_density"] = {k: v for k, v in density.items() if isinstance(v, float)}
    for name in ("solvent_radial_distribution", "solvent_density"):
        result = analysed(name, "fast", structure_names=["CCl4"], simulation_states=[solvent])
        numbers[name] = {k: v for k, v in result["structures"][0].items() if isinstance(v, float)}
    times, potential, kinetic = made.energies()
    nve = analysed(
        "nve_energy_conservation",
        structure_names=["Small_molecule_HCNO"],
        num_atoms=[46],
        times_ps=[times.tolist()],
        potential_energies_ev=[potential.tolist()],
        kinetic_energies_ev=[kinetic.tolist()],
        skipped_structures=[],
    )
    numbers["nve_energy_conservation"] = {k: v for k, v in nve["structure_results"][0].items() if isinstance(v, float)}
    for name, points in zip(("backbone", "sidechain"), made.dihedral_points(), strict=True):
        (laid_out / "folding_stability" / f"{name}_reference_data.json").write_text(json.dumps(points))
    protein = state(made.chignolin(inputs))
    far = state(made.chignolin(inputs, width=0.3))
    folding = analysed("folding_stability", "dev", structure_names=["chignolin_1uao_xray"], simulation_states=[far])
    numbers["folding_stability"] = {k: v for k, v in folding["molecules"][0].items() if isinstance(v, float)}
    sampling = analysed("sampling", "dev", structure_names=["chignolin_1uao_xray"], simulation_states=[protein])
    numbers["sampling"] = {k: v for k, v in sampling.items() if "outliers" in k}
    stability = analysed(
        "stability",
        "fast",
        structure_names=["Small_molecule_HCNO"],
        simulation_states=[state(made.small_molecule(inputs))],
    )
    numbers["stability"] = stability["structure_results"][0]
    versions = {name: version(name) for name in ("mlipaudit", "mlip", "ase", "mdtraj", "numpy")}
    json.dump({"versions": versions, **numbers}, sys.stdout, indent=1, default=np.ndarray.tolist)
    print()


if __name__ == "__main__":
    main()
