"""A board for the chooser: surfaces, molten salts, conformers and crystals, judged by the kinds themselves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from ase import Atoms
from ase.build import add_adsorbate, bulk, fcc111, molecule
from ase.calculators.calculator import Calculator, all_changes

from judge.publishing.site_sources import with_stored
from judge.ranking.leaderboard import Leaderboard
from judge.ranking.load import read_board
from judge.records.items_file import items_path, pack_items
from judge.view.sources import Sources
from submissions.store.local import LocalStore
from tasks.datasets.card import Card, Difference, LabelSet, Table
from tasks.datasets.dataset import Dataset, read_card, save_dataset
from tasks.datasets.simulated_systems import SimulatedSystem
from tasks.kind import Watch
from tasks.kinds.dynamics import averages
from tasks.kinds.registry import KINDS
from tasks.metrics.measurement import Items, Measurement
from tasks.model.calculator import InProcessCalculator
from tasks.structures.frames import Frames
from tasks.structures.predictions import Labels
from tasks.suites.suite import Suite, Task
from tests.world.board_records import result, save, submission, task, timed

METALS = ("Cu", "Ag", "Au", "Ni", "Pd", "Pt")
NOISE = {"Steady": 0.02, "Rough": 0.2, "Wild": 0.9}
US_PER_ATOM = {"Steady": 90.0, "Rough": 30.0, "Wild": 4.0}
DRUG = "drug"
SALTS = ("NaCl", "KCl", "LiF")


def titled(name: str, title: str, kind: str, domain: str, **parameters: object) -> Task:
    return replace(task(name, kind, domain, **parameters), title=title)


CRYSTALS = titled("alloys", "Alloys", "labelled_frames", "Inorganic Materials")
SURFACES = titled("steps", "Reactions on metals", "energy_differences", "Catalysis")
SHAPES = titled("shapes", "Conformers of drugs", "energy_differences", "Molecules")
MELTS = titled("melts", "Molten salts", "dynamics", "Inorganic Materials", steps=1000, temperature_k=800.0)
SPEED = titled("speed", "Speed", "efficiency", "Inorganic Materials")
DRIFT = titled("drift", "Energy drift of alloys", "nve", "Inorganic Materials", steps=20, sample_every=1)
SUITE = Suite("choices", "1", "Choices", (CRYSTALS, SURFACES, SHAPES, MELTS, SPEED, DRIFT))
PUBLIC = frozenset(each.dataset for each in SUITE.tasks) - {SURFACES.dataset}


class ChoiceSite(NamedTuple):
    store: LocalStore
    board: Leaderboard
    sources: Sources
    data: Path

    def with_all(self) -> Sources:
        return with_stored(self.sources, self.store, self.board)


class Noisy(Calculator):
    """Exact energies and forces with noise, which depends on the structure alone; it fails for some."""

    implemented_properties = ["energy", "forces"]  # noqa: RUF012

    def __init__(self, noise: float, fails_at: str = "") -> None:
        super().__init__()
        self.noise, self.fails_at = noise, fails_at

    def calculate(self, atoms=None, properties=("energy",), system_changes=all_changes):
        super().calculate(atoms, properties, system_changes)
        if self.fails_at and self.fails_at in atoms.symbols:
            raise ValueError("an element that the model does not know")
        rng = np.random.default_rng(int(abs(atoms.positions.sum()) * 1e6) + len(atoms))
        energy, forces = exact(atoms)
        self.results = {
            "energy": energy + self.noise * rng.normal(),
            "forces": forces + self.noise * rng.normal(size=forces.shape),
        }


def exact(atoms: Atoms) -> tuple[float, np.ndarray]:
    """Energy [eV] and forces [eV/Å] that follow from positions alone."""
    positions = atoms.positions
    return float(-3.0 * len(atoms) + np.sin(3 * positions).sum()), -np.cos(2 * positions)


def alloys(rng: np.random.Generator) -> list[Atoms]:
    """Crystals of one to three metals; some sets of elements occur once."""
    made = []
    for number in range(60):
        atoms = bulk(METALS[number % 4], cubic=True, a=4.0)
        for place in range(number % 3):
            atoms.symbols[place] = METALS[(number + 1 + place * (number % 5)) % 6]
        atoms.positions += rng.normal(0, 0.1, atoms.positions.shape)
        made.append(atoms)
    return made


def slabs(rng: np.random.Generator, n: int = 14) -> tuple[list[Atoms], tuple[Difference, ...]]:
    """Adsorbates before and after a step, each with its barrier."""
    frames, rows = [], []
    for metal in METALS[:4]:
        for adsorbate in ("O", "H"):
            for number in range(2 if metal == "Au" and adsorbate == "O" else n // 2):
                for _ in range(2):
                    atoms = fcc111(metal, (1, 1, 3), vacuum=6.0, a=4.0)
                    add_adsorbate(atoms, adsorbate, 1.5, "fcc")
                    atoms.positions += rng.normal(0, 0.1, atoms.positions.shape)
                    frames.append(atoms)
                energy, terms = last_difference(frames)
                for quantity in ("barrier", "reaction energy"):
                    reference = {"exact": energy if quantity == "barrier" else energy + 0.1}
                    id = f"{adsorbate} on {metal} {number} {quantity}"
                    rows.append(Difference(id=id, group=metal, quantity=quantity, terms=terms, reference=reference))
    return frames, tuple(rows)


def last_difference(frames: list[Atoms]) -> tuple[float, list[dict[str, float]]]:
    """The exact energy [eV] of the last structure less that of the one before, and its terms."""
    last = len(frames) - 1
    terms = [{"structure": last - 1, "coefficient": -1.0}, {"structure": last, "coefficient": 1.0}]
    return exact(frames[last])[0] - exact(frames[last - 1])[0], terms


def drug() -> Atoms:
    """A chain with amines and ethers, of the mass and the size of a drug."""
    backbone = "CCNCCOCCNCCOC"
    chain = [(1.0 * k, 0.6 * (k % 2), 0.0) for k in range(len(backbone))]
    hydrogens = [(x, y + (0.3 if y else -0.3), z) for x, y, _ in chain for z in (-0.6, 0.6)]
    return Atoms(f"{backbone}H{len(hydrogens)}", [*chain, *hydrogens])


def conformers(rng: np.random.Generator) -> tuple[list[Atoms], tuple[Difference, ...]]:
    frames, rows = [], []
    for name in (DRUG, "CH3CH2OH", "CH3CONH2", "C6H6", "CH3SH"):
        for number in range(12):
            for _ in range(2):
                atoms = drug() if name == DRUG else molecule(name)
                atoms.positions += rng.normal(0, 0.1, atoms.positions.shape)
                frames.append(atoms)
            energy, terms = last_difference(frames)
            rows.append(Difference(id=f"{name} {number}", group=name, terms=terms, reference={"exact": energy}))
    return frames, tuple(rows)


def salts() -> tuple[list[Atoms], tuple[SimulatedSystem, ...]]:
    frames = [bulk(name, "rocksalt", a=5.6, cubic=True) for name in SALTS for _ in range(4)]
    analysis = {"measure": "density", "reference": {"exact": 2.0}}
    ids = [f"{name} {k}" for name in SALTS for k in range(4)]
    return frames, tuple(SimulatedSystem(id=id, structure=k, analyses=(analysis,)) for k, id in enumerate(ids))


def dataset(of: Task, frames: list[Atoms], **table: object) -> Dataset:
    name = of.name
    card = Card(
        name=name,
        version="1",
        title=of.title,
        domain=of.model_domain,
        periodic=bool(all(atoms.pbc.all() for atoms in frames)),
        default_label_set="exact",
        label_sets={"exact": LabelSet(theory="exact", dispersion=False)},
        public_since="2014" if of.dataset in PUBLIC else "",
    )
    ids = tuple(f"{name} {k}" for k in range(len(frames)))
    groups = tuple(str(atoms.symbols[0]) for atoms in frames)
    labels = {}
    if of.name in (CRYSTALS.name, DRIFT.name):
        both = [exact(atoms) for atoms in frames]
        labels = {"exact": Labels(np.array([e for e, _ in both]), np.concatenate([f for _, f in both]))}
    return Dataset(card, Frames.from_atoms(frames), Table(id=ids, group=groups, cluster=ids, **table), labels)


def simulated(salt: Dataset, noise: float) -> Measurement:
    """The items that a run of the salts would leave: errors of densities, and stable runs."""
    rng = np.random.default_rng(int(1000 * noise))
    n = len(salt.table.systems)
    ids = [f"{system.id}/{name}" for system in salt.table.systems for name in ("stability", "density")]
    of_density = np.tile([0.0, 1.0], n)
    error = np.where(of_density > 0, 100 * noise * rng.normal(size=2 * n) / 5, 0.0)
    columns = {
        "error": error,
        "error_baseline": np.full(2 * n, 100.0),
        "stability_count": 1.0 - of_density,
        "density_count": of_density,
    }
    columns |= {name: np.zeros(2 * n) for name in ("predicted", "reference", "ended_ps", "progress", "stored_error")}
    clusters = [id.split("/")[0] for id in ids]
    items = Items(ids, ["salts"] * 2 * n, clusters, np.zeros(2 * n, np.int8), columns)
    metrics = {average.name: average.metric(100.0, cost) for average, cost in averages(columns)}
    return Measurement(metrics, items)


def choice_site(folder: Path) -> ChoiceSite:
    """Three models; only the data set of the surfaces is hidden."""
    rng, data, store = np.random.default_rng(3), folder / "data", LocalStore(folder / "store")
    slab_frames, steps = slabs(rng)
    shape_frames, shapes = conformers(rng)
    salt_frames, systems = salts()
    sets = {
        CRYSTALS: dataset(CRYSTALS, alloys(rng)),
        SURFACES: dataset(SURFACES, slab_frames, differences=steps),
        SHAPES: dataset(SHAPES, shape_frames, differences=shapes),
        MELTS: dataset(MELTS, salt_frames, systems=systems),
        DRIFT: dataset(DRIFT, alloys(rng)[20:32]),
    }
    for made in sets.values():
        save_dataset(made, data)
    for name, noise in NOISE.items():
        model = submission(name)
        measured = [(of, measurement(of, made, name, noise)) for of, made in sets.items()]
        results = [
            result(model, of, each.metrics, n_items=len(each.items), parts=tuple(each.parts)) for of, each in measured
        ]
        sizes = {
            f"atoms_{end}": timed(n, unit="atoms", charged=None)
            for end, n in (("min", 90.0), ("mean", 100.0), ("max", 128.0))
        }
        results.append(result(model, SPEED, {"time_mean": timed(US_PER_ATOM[name]), **sizes}))
        save(store, [model], results)
        for stored, (_, each) in zip(results, measured, strict=False):
            store.put(items_path(model.id, stored.task, stored.result_key), pack_items(each.items))
    problems: list[str] = []
    board = read_board(store, SUITE, problems.append)
    assert problems == []
    cards = {of.dataset: read_card(data / of.dataset) for of in sets}
    return ChoiceSite(store, board, Sources(public=PUBLIC, cards=cards, data=data), data)


def measurement(of: Task, data: Dataset, name: str, noise: float) -> Measurement:
    if of is MELTS:
        return simulated(data, noise)
    kind = KINDS[of.kind]
    model = InProcessCalculator(Noisy(noise, "Pd" if name == "Rough" else ""))
    observation = kind.observe(data.structures, of.parameters, model, Watch(lambda: 0.0))
    return kind.measure(observation, data, of.parameters, None)
