"""A small data set with parameters for every kind, and a model that fails at chosen frames."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from ase import Atoms
from ase.build import add_adsorbate, bulk, fcc100
from ase.calculators.emt import EMT

from tasks.datasets.card import (
    Card,
    Conductivity,
    ConductivityReference,
    Crystal,
    Curve,
    CurveReference,
    Difference,
    LabelSet,
    MinimumEnergyPath,
    PathReference,
    Scan,
    Summand,
    Table,
)
from tasks.datasets.dataset import Dataset
from tasks.datasets.diatomic_pairs import Diatomic, DiatomicReference
from tasks.datasets.geometries import Geometries
from tasks.datasets.path_roles import PathRole
from tasks.datasets.rounding import rounded
from tasks.datasets.simulated_systems import SimulatedSystem
from tasks.kind import Kind, Observation, Parameters, Watch
from tasks.kinds.registry import KINDS
from tasks.learning.training import Learning, joined, training_frames
from tasks.metrics.measurement import Measurement
from tasks.model.calculator import InProcessCalculator
from tasks.observing.frames_observation import observe_frames
from tasks.physicality.structures import build_physicality
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause, FrameError, Labels, Predictions, Properties

METALS = ("Al", "Cu", "Ag", "Ni")
PBE = "PBE"
FAST = {"optimizer": "BFGS", "fmax": 0.02, "max_steps": 60}


class KindExample(NamedTuple):
    """A kind with a dataset and parameters, small enough to be observed a dozen times."""

    kind: Kind
    dataset: Dataset
    parameters: Parameters


def rattled(count: int) -> list[Atoms]:
    made = []
    for k in range(count):
        atoms = bulk(METALS[k % 4], cubic=True)
        atoms.rattle(0.1, seed=k)
        made.append(atoms)
    return made


def example(kind: str, structures: list[Atoms], parameters: dict[str, Any], **items: Any) -> KindExample:
    names = tuple(f"s{i}" for i in range(len(structures)))
    table = Table(id=names, group=("",) * len(names), cluster=names, **items.pop("table", {}))
    labels, conditions, geometries = items.pop("labels", None), items.pop("conditions", {}), items.pop("geometries", {})
    labelled = bool(labels or geometries or table.n_items)
    card = Card(
        name="law",
        version="1",
        title="The law",
        domain="Inorganic Materials",
        periodic=bool(all(atoms.pbc.all() for atoms in structures)),
        label_sets={PBE: LabelSet(theory=PBE, dispersion=False)} if labelled else {},
        default_label_set=PBE if labelled else None,
    )
    dataset = Dataset(
        card, Frames.from_atoms(structures), table, {PBE: labels} if labels else {}, conditions, geometries
    )
    return KindExample(KINDS[kind], rounded(dataset), KINDS[kind].parameters.model_validate(parameters))


def labelled_frames() -> KindExample:
    rng, structures = np.random.default_rng(1), rattled(12)
    total = sum(len(a) for a in structures)
    labels = Labels(rng.normal(size=12), rng.normal(size=(total, 3)), 0.01 * rng.normal(size=(12, 6)))
    return example("labelled_frames", structures, {}, labels=labels)


def energy_differences() -> KindExample:
    rows = [
        Difference(
            id=f"d{i}",
            group=("one", "two")[i % 2],
            quantity=("barrier", "reaction energy")[i % 3 == 0],
            terms=(
                Summand(structure=i, coefficient=1.0),
                Summand(structure=i + 1, coefficient=-0.5),
            ),
            reference={PBE: 0.3 * i - 1.0},
        )
        for i in range(9)
    ]
    parameters = {"tolerance": 0.1, "tolerance_quantity": "barrier"}
    return example("energy_differences", rattled(10), parameters, table={"differences": rows})


def energy_profiles() -> KindExample:
    structures = [Atoms(f"{metal}2", [(0, 0, 0), (0, 0, z)]) for metal in METALS for z in np.linspace(2.2, 4.2, 6)]
    scans = [
        Scan(
            id=metal,
            structures=tuple(range(6 * i, 6 * i + 6)),
            x=tuple(range(6)),
            reference={PBE: tuple(0.1 * i * (x - 2.0) ** 2 + 0.1 * x for x in range(6))},
        )
        for i, metal in enumerate(METALS)
    ]
    return example("energy_profiles", structures, {}, table={"scans": scans})


def equation_of_state() -> KindExample:
    scales = np.linspace(0.96, 1.04, 5)
    structures = []
    for metal in METALS:
        for scale in scales:
            atoms = bulk(metal)
            atoms.set_cell(atoms.cell * scale, scale_atoms=True)
            structures.append(atoms)
    reference = CurveReference(v0_per_atom=14.0, b0_gpa=120.0, b0_prime=4.5)
    curves = [
        Curve(id=metal, structures=tuple(range(5 * i, 5 * i + 5)), reference={PBE: reference})
        for i, metal in enumerate(METALS)
    ]
    return example("equation_of_state", structures, {}, table={"curves": curves})


def crystals(kind: str, parameters: dict[str, Any], reference: dict[str, float], **conditions: Any) -> KindExample:
    rows = [Crystal(id=metal, structure=i, reference={PBE: reference}) for i, metal in enumerate(METALS)]
    structures = [bulk(metal) for metal in METALS]
    return example(kind, structures, parameters, table={"crystals": rows}, conditions=conditions)


def elasticity() -> KindExample:
    return crystals("elasticity", {"relaxation": FAST}, {"k_vrh_gpa": 120.0, "g_vrh_gpa": 40.0})


def compression() -> KindExample:
    return crystals("compression", {"relaxation": FAST}, {"volume_per_atom": 11.0}, pressure_gpa=np.full(4, 10.0))


def thermal_conductivity() -> KindExample:
    """Of so small supercells and so coarse a mesh that the conductivities have no meaning."""
    face_centred, double = [[0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]], 2 * np.eye(3, dtype=np.int64)
    structures = [bulk(metal, cubic=True) for metal in METALS[:2]]
    reference = ConductivityReference(kappa=12.0, weights=(1, 8, 6, 12), modes=((0.0,) * 3, *((36.0,) * 3,) * 3))
    rows = [Conductivity(id=metal, structure=i, reference={PBE: reference}) for i, metal in enumerate(METALS[:2])]
    conditions = {
        "supercell": np.array([double] * 2),
        "third_order_supercell": np.array([double // 2] * 2),
        "primitive": np.array([face_centred] * 2),
        "q_mesh": np.array([[3, 3, 3]] * 2),
    }
    parameters = {"relaxation": FAST, "stages": 1}
    return example(
        "thermal_conductivity", structures, parameters, table={"conductivities": rows}, conditions=conditions
    )


def phonons() -> KindExample:
    reference = {
        "max_frequency_k": 350.0,
        "entropy_j_per_mol_k": 33.0,
        "free_energy_kj_per_mol": -4.0,
        "heat_capacity_j_per_mol_k": 24.0,
    }
    supercell = np.array([2 * np.eye(3, dtype=np.int64)] * 4)
    return crystals("phonons", {"relaxation": FAST}, reference, supercell=supercell)


def relaxed_structures() -> KindExample:
    """Displaced and stretched crystals, with perfect ones as references, and sums of their relaxed energies."""
    structures, frames = rattled(5), Frames.from_atoms([bulk(METALS[k % 4], cubic=True) for k in range(5)])
    for atoms in structures:
        atoms.set_cell(1.03 * atoms.cell, scale_atoms=True)
    rows = [
        Difference(
            id=f"d{i}",
            group=("one", "two")[i % 2],
            quantity=("lattice energy", "barrier")[i % 2],
            terms=(Summand(structure=i, coefficient=1.0), Summand(structure=i + 1, coefficient=-0.5)),
            reference={PBE: 0.3 * i - 1.0},
        )
        for i in range(4)
    ]
    positions, cell = frames.positions.copy(), frames.cell.copy()
    positions[frames.atom_slice(4)], cell[4] = np.nan, np.nan  # it is in a difference alone
    geometries = {PBE: Geometries(positions, cell)}
    table = {"differences": rows}
    return example("relaxed_structures", structures, {"relaxation": FAST}, table=table, geometries=geometries)


def hops() -> list[Atoms]:
    """Reactant, product and transition state of two hops of an atom on Cu(100), with one layer and with two."""
    structures = []
    for layers in (1, 2):
        slab = fcc100("Cu", size=(3, 2, layers), vacuum=6.0, periodic=True)
        for x in (0.0, 1 / 3, 1 / 6):  # of the cell: two hollows, and the bridge between them
            hop = slab.copy()
            add_adsorbate(hop, "Cu", 1.9 if x == 1 / 6 else 1.7, position="hollow")
            hop.positions[-1] += x * hop.cell[0]
            hop.wrap()
            structures.append(hop)
    return structures


def reaction_paths() -> KindExample:
    roles = [PathRole.REACTANT, PathRole.PRODUCT, PathRole.TRANSITION_STATE]
    rows = [
        MinimumEnergyPath(
            id=f"{layers} layers",
            group=str(layers),
            path=layers - 1,
            reference={PBE: PathReference(barrier=0.3, reaction_energy=0.05 * layers)},
        )
        for layers in (1, 2)
    ]
    band = {"n_images": 5, "end_steps": 100, "end_fmax": 0.05, "fmax": 0.2, "climbing_fmax": 0.1, "climbing_steps": 200}
    conditions = {"path": np.repeat([0, 1], 3), "role": np.tile([int(role) for role in roles], 2)}
    return example("reaction_paths", hops(), {"band": band}, table={"paths": rows}, conditions=conditions)


def diatomics() -> KindExample:
    """Morse curves of metals, in boxes that are far longer than the reach of EMT."""
    r = np.geomspace(0.8, 6.0, 30)
    shape = (1.0 - np.exp(-1.5 * (r - 2.4))) ** 2
    rows = [
        Diatomic(
            id=metal,
            group=("one", "two")[i % 2],
            structures=tuple(range(30 * i, 30 * i + 30)),
            reference={
                PBE: DiatomicReference(
                    distances=tuple(r),
                    energies=tuple((1.0 + i) * shape),
                    forces=tuple(-np.gradient((1.0 + i) * shape, r)),
                )
            },
        )
        for i, metal in enumerate(METALS)
    ]
    box = 30.0 * np.eye(3)
    structures = [Atoms(f"{metal}2", [(0, 0, 0), (x, 0, 0)], cell=box, pbc=True) for metal in METALS for x in r]
    return example("diatomics", structures, {}, table={"pairs": rows})


TRAJECTORY = {"seeds": (1, 2), "wall_s": 5.0, "n_asked": 2}


def trajectories(kind: str, formulas: tuple[str, ...], parameters: dict[str, Any]) -> KindExample:
    """40 frames of each of some clusters, labelled with EMT's own energies and forces and some noise."""
    rng, structures = np.random.default_rng(4), []
    for formula in formulas:
        start = Atoms(formula, [(0, 0, 0), (2.6, 0, 0), (1.3, 2.3, 0), (1.3, 0.8, 2.1)])
        for _ in range(40):
            atoms = start.copy()
            atoms.positions += 0.1 * rng.normal(size=atoms.positions.shape)
            structures.append(atoms)
    answer = InProcessCalculator(EMT()).compute(Frames.from_atoms(structures), ("energy", "forces"))
    forces = answer.forces + 0.1 * rng.normal(size=(len(answer.energy) * 4, 3))
    labels = Labels(answer.energy + 0.01 * rng.normal(size=len(structures)), forces)
    made = example(kind, structures, {**TRAJECTORY, **parameters}, labels=labels)
    groups = tuple(formula for formula in formulas for _ in range(40))
    table = made.dataset.table.model_copy(update={"group": groups, "cluster": groups})
    return made._replace(dataset=replace(made.dataset, table=table))


def sample_efficiency() -> KindExample:
    return trajectories("sample_efficiency", ("Cu3Al",), {"sizes": (5, 10, 20)})


def time_extrapolation() -> KindExample:
    parameters = {"starts": (0, 30, 60), "lengths": (30, 90), "sizes": (5, 10)}
    return trajectories("time_extrapolation", ("Cu3Al",), parameters)


def cross_molecule() -> KindExample:
    formulas = ("Cu3Al", "Cu2Al2", "CuAl3")
    molecules = {name: {"group": f, "formula": f} for name, f in zip("abc", formulas, strict=True)}
    return trajectories("cross_molecule", formulas, {"molecules": molecules, "sets": ("a", "ab"), "n_frames": 10})


def nve() -> KindExample:
    return example("nve", rattled(4), {"steps": 20, "sample_every": 2, "timestep_fs": 2.0})


def dynamics() -> KindExample:
    rows = [
        SimulatedSystem.model_validate(
            {
                "id": f"{METALS[i]} {i}",
                "group": METALS[i],
                "structure": i,
                "analyses": [
                    {"measure": "density", "reference": {PBE: 5.0 + i}},
                    {"measure": "bond_length", "pairs": [(0, 1)], "reference": {PBE: 2.5}},
                    {"measure": "angle", "triples": [(0, 1, 2)], "reference": {PBE: 60.0}},
                    {"measure": "planarity", "ring": [0, 1, 2, 3], "reference": {PBE: 0.5}},
                    {"measure": "temperature"},
                    {
                        "measure": "angular_distribution",
                        "centres": [0],
                        "partners": [1, 2, 3],
                        "distance": 4.0,
                        "reference": {PBE: {"x": [0.0, 60.0, 180.0], "y": [0.0, 1.0, 0.0]}},
                    },
                    {
                        "measure": "rdf",
                        "first": [0, 1, 2, 3],
                        "r_max": 1.7,
                        "bin_width": 0.1,
                        "reference": {PBE: {"x": [0.0, 2.0], "y": [0.0, 1.0]}},
                    },
                ],
            }
        )
        for i in range(4)
    ]
    parameters = {"ensemble": "npt", "steps": 12, "store_every": 2, "barostat_every": 3, "replicas": 2}
    return example("dynamics", rattled(4), parameters, table={"systems": rows})


def efficiency() -> KindExample:
    parameters = {"n_frames": 8, "min_atoms": 4, "max_atoms": 8, "max_noise": 1e9, "n_batches": 1}
    return example("efficiency", rattled(4), parameters)


def physicality() -> KindExample:
    laws = {"largest": 4, "n_ghosts": 2, "n_distant": 2, "time_steps_fs": (1.0, 0.5), "duration_fs": 4.0}
    parameters = KINDS["physicality"].parameters.model_validate({"laws": laws})
    return KindExample(KINDS["physicality"], build_physicality(), parameters)


EXAMPLES: dict[str, Callable[[], KindExample]] = {
    make.__name__: make
    for make in (
        labelled_frames,
        energy_differences,
        energy_profiles,
        equation_of_state,
        elasticity,
        compression,
        phonons,
        thermal_conductivity,
        relaxed_structures,
        dynamics,
        reaction_paths,
        diatomics,
        sample_efficiency,
        time_extrapolation,
        cross_molecule,
        nve,
        efficiency,
        physicality,
    )
}


class Failing(InProcessCalculator):
    """EMT that fails at chosen frames, counted in the order in which they are sent, with times on its own clock.

    The first call takes a second, and a frame 0.1 ms times its atoms squared times its atomic number: what is left out
    or made smaller is not as fast as the rest.
    """

    def __init__(self, fails: Mapping[int, Cause]) -> None:
        super().__init__(EMT(), max_atoms_per_batch=100)
        self._fails, self.n_asked, self._now = fails, 0, 0.0

    def clock(self) -> float:
        self._now += 1e-3
        return self._now

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        self._now += float((1e-4 * frames.n_atoms**2 * frames.numbers[frames.offsets[:-1]]).sum())
        self._now += 0.0 if self.n_asked else 1.0
        answer = super().compute(frames, properties)
        errors = dict(answer.errors)
        for i in range(len(frames)):
            if self.n_asked + i in self._fails:
                errors[i] = FrameError(self._fails[self.n_asked + i], "Failing", "on purpose")
        self.n_asked += len(frames)
        return Predictions.checked(frames, answer.energy, answer.forces, answer.stress, errors)


def observed(example: KindExample, fails: Mapping[int, Cause]) -> tuple[Measurement, int]:
    """The measurement, and the number of frames that the model got; of a kind that trains models, of all of them.

    Args:
        fails: why, by the number of a frame in the order they are asked.
    """
    model = Failing(fails)
    watch = Watch(clock=model.clock)
    observation = answers(example, model, watch)
    label_set = PBE if example.dataset.card.label_sets else None
    return example.kind.measure(observation, example.dataset, example.parameters, label_set), model.n_asked


def answers(example: KindExample, model: InProcessCalculator, watch: Watch) -> Observation:
    """The observation of `model`, which stands for each of the trained models of a kind that trains them."""
    kind, dataset = example.kind, example.dataset
    if not isinstance(kind, Learning):
        return kind.observe(dataset.structures, example.parameters, model, watch)
    parts = {}
    for training in kind.trainings(example.parameters):
        asked = training_frames(dataset, training).asked
        parts[training.name] = observe_frames(dataset.frames.take(asked), ("energy", "forces"), model, watch)
    return joined(parts)
