"""The tasks and data sets of a large leaderboard: small sets of every kind, with random structures and references."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from itertools import cycle, islice, zip_longest
from pathlib import Path
from typing import NamedTuple

import numpy as np
from ase.data import atomic_numbers

from benchmarks.board_runs import RUN, systems
from tasks.datasets.card import (
    Card,
    Conductivity,
    ConductivityReference,
    Crystal,
    Curve,
    CurveReference,
    Difference,
    Domain,
    LabelSet,
    MinimumEnergyPath,
    PathReference,
    Scan,
    Summand,
    Table,
)
from tasks.datasets.dataset import Dataset, load_dataset, save_dataset
from tasks.datasets.diatomic_pairs import Diatomic, DiatomicReference
from tasks.kind import Parameters
from tasks.kinds.compression import PROPERTIES as COMPRESSED
from tasks.kinds.elasticity import PROPERTIES as ELASTIC
from tasks.kinds.nve import NveParameters
from tasks.kinds.phonons import PROPERTIES as VIBRATIONAL
from tasks.simulation.birch_murnaghan import EquationOfState, energy
from tasks.simulation.diatomics import pair_frames, pair_window
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import Labels
from tasks.timing.timing_plan import EfficiencyParameters

CRYSTALS: Domain = "Inorganic Materials"
MOLECULES: Domain = "Molecules"
SURFACES: Domain = "Catalysis"
ELEMENTS = {
    CRYSTALS: ("Li", "O", "Mg", "Al", "Si", "Ti", "Fe", "Ni", "Cu", "Zn"),
    MOLECULES: ("H", "C", "N", "O", "F", "S", "Cl"),
    SURFACES: ("H", "C", "O", "Ni", "Cu", "Pt"),
}
LABEL_SETS = {CRYSTALS: ("PBE", "r2SCAN"), MOLECULES: ("wB97M-V", "PBE"), SURFACES: ("RPBE", "PBE")}
PERIODIC = {CRYSTALS: True, MOLECULES: False, SURFACES: True}
UNLABELLED = ("nve", "efficiency", "physicality")
N_POINTS = 7  # of a curve or a scan
N_DISTANCES = 30  # of a pair
N_FRAMES = 40  # that are timed


class Template(NamedTuple):
    """A task without its number.

    Args:
        more: further lines of the suite's TOML.
    """

    name: str
    kind: str
    domain: Domain
    more: str = ""


def _of_kind(kind: str, **names: tuple[str, ...]) -> list[Template]:
    domains = {"crystals": CRYSTALS, "molecules": MOLECULES, "surfaces": SURFACES}
    return [Template(name, kind, domains[domain]) for domain, task_names in names.items() for name in task_names]


def _audited(name: str, benchmark: str, kind: str = "energy_differences", domain: Domain = MOLECULES) -> Template:
    unit = "" if kind == "energy_profiles" else 'parameters.unit = "kcal/mol"\n'
    return Template(name, kind, domain, f'{unit}mlipaudit = "{benchmark}"\n')


TEMPLATES: tuple[tuple[Template, ...], ...] = (
    tuple(
        _of_kind(
            "labelled_frames",
            crystals=("alloys", "oxides", "sulfides", "defects", "liquids", "perovskites"),
            molecules=("drugs", "peptides", "clusters", "electrolytes", "organics"),
            surfaces=("adsorbates", "slabs", "stepped-slabs"),
        )
    ),
    (
        _audited("barriers", "reactivity"),
        _audited("binding", "noncovalent_interactions"),
        Template("vacancies", "energy_differences", CRYSTALS),
        Template("adsorption", "energy_differences", SURFACES, "parameters.tolerance = 0.1\n"),
        _audited("tautomers", "tautomers"),
        Template("conformers", "energy_differences", MOLECULES, 'parameters.unit = "kcal/mol"\n'),
        Template("cleavage", "energy_differences", CRYSTALS, 'parameters.unit = "meV"\n'),
        Template("paths", "energy_differences", SURFACES),
    ),
    (
        *_of_kind("nve", crystals=("drift-solids",), molecules=("drift-molecules",), surfaces=("drift-surfaces",)),
        Template("drift-liquids", "nve", CRYSTALS),
    ),
    tuple(
        _of_kind("efficiency", crystals=("speed-crystals",), molecules=("speed-molecules",), surfaces=("speed-slabs",))
    ),
    (
        *_of_kind("equation_of_state", crystals=("volumes",)),
        _audited("torsions", "dihedral_scan", "energy_profiles"),
        *_of_kind("equation_of_state", crystals=("metals-volumes",)),
    ),
    (
        *_of_kind("elasticity", crystals=("moduli",)),
        *_of_kind("physicality", crystals=("laws",)),
        *_of_kind("elasticity", crystals=("hard-moduli",)),
    ),
    (*_of_kind("phonons", crystals=("vibrations", "soft-vibrations")), *_of_kind("physicality", molecules=("pairs",))),
    (
        *_of_kind("compression", crystals=("pressure",)),
        Template("melts", "dynamics", CRYSTALS, RUN),
        *_of_kind("compression", crystals=("high-pressure",)),
    ),
    (
        *_of_kind("relaxed_structures", crystals=("formation",)),
        *_of_kind("reaction_paths", molecules=("saddles",)),
    ),
    (*_of_kind("diatomics", crystals=("pair-curves",)), *_of_kind("thermal_conductivity", crystals=("heat",))),
)


def chosen_templates(n_tasks: int) -> list[Template]:
    """`n_tasks` tasks: of each kind in turn. Repeated ones have a number in their name."""
    in_turn = [each for row in zip_longest(*TEMPLATES) for each in row if each is not None]
    repeated = islice(cycle(in_turn), n_tasks)
    return [
        each if i < len(in_turn) else each._replace(name=f"{each.name}-{i // len(in_turn) + 1}")
        for i, each in enumerate(repeated)
    ]


def suite_toml(templates: list[Template]) -> str:
    """A suite of these tasks."""
    tasks = [
        f'[[tasks]]\nname = "{t.name}"\nkind = "{t.kind}"\ndataset = "{t.name}@1"\ndomain = "{t.domain}"\n'
        f"time_limit_s = {3600 + i}\n{_parameters(t)}{t.more}"
        for i, t in enumerate(templates)
    ]
    head = 'name = "large"\nversion = "1"\ntitle = "A large leaderboard, made up: no number of it is of a real model"\n'
    return "\n".join([head, *tasks])


def _parameters(template: Template) -> str:
    return f"parameters.n_frames = {N_FRAMES}\n" if template.kind == "efficiency" else ""


def generator(*words: object) -> np.random.Generator:
    """A generator whose seed is a hash of these words."""
    digest = sha256("\0".join(map(str, words)).encode()).digest()
    return np.random.default_rng(np.frombuffer(digest, "<u4"))


def make_dataset(template: Template, public: bool) -> Dataset:
    """The data set of a task, with random content that depends on its name only."""
    rng = generator("data", template.name)
    n = int(rng.integers(50, 200)) if template.kind not in UNLABELLED else int(rng.integers(3, 9))
    make = {
        "energy_differences": _differences,
        "energy_profiles": _scans,
        "equation_of_state": _curves,
        "elasticity": _crystals,
        "phonons": _crystals,
        "compression": _crystals,
        "dynamics": _systems,
        "relaxed_structures": _differences,
        "reaction_paths": _paths,
        "diatomics": _pairs,
        "thermal_conductivity": _conductivities,
    }.get(template.kind, _plain)
    sets = () if template.kind in UNLABELLED else LABEL_SETS[template.domain]
    sets = sets[: 1 + int(rng.integers(0, 2))]
    frames, table = make(template, n, sets, rng)
    labels = _labels(frames, sets, rng) if template.kind == "labelled_frames" else {}
    card = Card(
        name=template.name,
        version="1",
        title=f"{template.name.replace('-', ' ').capitalize()} (random structures)",
        domain=template.domain,
        periodic=PERIODIC[template.domain],
        default_label_set=sets[0] if sets else None,
        citation="Made up for measuring the judge.",
        licence="CC0-1.0",
        public_since=f"20{14 + int(rng.integers(0, 11))}" if public else "",
        cluster_column="cluster",
        label_sets={name: LabelSet(theory=f"{name}, made up", dispersion=name == "wB97M-V") for name in sets},
    )
    conditions = _roles(len(frames)) if table.paths else {}
    if template.kind == "compression":
        conditions = {"pressure_gpa": np.full(len(frames), PRESSURE_GPA)}
    return Dataset(card, frames, table, labels, conditions)


def save_datasets(data: Path, templates: list[Template]) -> None:
    """Writes the data sets: every other one is public."""
    for number, template in enumerate(templates):
        save_dataset(make_dataset(template, public=number % 2 == 0), data)


@cache
def dataset_at(data: Path, name: str) -> Dataset:
    """The data set of that name in the data root, read once."""
    return load_dataset(data / name)


def _structures(domain: Domain, sizes: list[int], rng: np.random.Generator) -> Frames:
    total, n = sum(sizes), len(sizes)
    known = np.array([atomic_numbers[symbol] for symbol in ELEMENTS[domain]])
    edge = np.cbrt(15.0 * np.array(sizes))
    periodic = PERIODIC[domain]
    cell = np.eye(3) * edge[:, None, None] if periodic else np.zeros((n, 3, 3))
    return Frames(
        n_atoms=np.array(sizes, np.int64),
        numbers=rng.choice(known, total).astype(np.int64),
        positions=rng.uniform(0, 1, (total, 3)) * np.repeat(edge, sizes)[:, None],
        cell=cell,
        pbc=np.full((n, 3), periodic),
        charge=np.zeros(n, np.int64),
        multiplicity=np.zeros(n, np.int64),
    )


def _names(n: int, stem: str, rng: np.random.Generator) -> tuple[list[str], list[str], list[str]]:
    """Ids, groups and clusters of n items."""
    groups = [f"{stem} group {i}" for i in range(1, 2 + int(rng.integers(2, 6)))]
    group = [groups[i] for i in rng.integers(0, len(groups), n)]
    cluster = [f"{stem} parent {i}" for i in rng.integers(0, max(2, n // 3), n)]
    return [f"{stem} {i}" for i in range(n)], group, cluster


def _plain(template: Template, n: int, sets: tuple[str, ...], rng: np.random.Generator) -> tuple[Frames, Table]:
    ids, group, cluster = _names(n, template.name, rng)
    low, high = (80, 120) if template.kind == "efficiency" else (4, 17)
    frames = _structures(template.domain, rng.integers(low, high, n).tolist(), rng)
    return frames, Table(id=tuple(ids), group=tuple(group), cluster=tuple(cluster))


def _table(template: Template, n_structures: int, **items: object) -> Table:
    ids = tuple(f"{template.name} structure {i}" for i in range(n_structures))
    empty = ("",) * n_structures
    return Table.model_validate({"id": ids, "group": empty, "cluster": empty, **items})


def _each(sets: tuple[str, ...], rng: np.random.Generator, size: float) -> dict[str, float]:
    """A reference by label set; those of different label sets differ little."""
    value = size * float(rng.normal(0.2, 1.0))
    return {name: value * (1 + 0.05 * i) for i, name in enumerate(sets)}


def _differences(template: Template, n: int, sets: tuple[str, ...], rng: np.random.Generator) -> tuple[Frames, Table]:
    frames = _structures(template.domain, [2] * (2 * n), rng)
    rows = [
        Difference(
            id=id,
            group=group,
            cluster=cluster,
            quantity=("barrier", "reaction energy")[i % 2] if template.name.startswith("paths") else "",
            terms=(
                Summand(structure=2 * i, coefficient=1.0),
                Summand(structure=2 * i + 1, coefficient=-1.0),
            ),
            reference=_each(sets, rng, 1.0),
        )
        for i, (id, group, cluster) in enumerate(zip(*_names(n, template.name, rng), strict=True))
    ]
    return frames, _table(template, 2 * n, differences=rows)


def _scans(template: Template, n: int, sets: tuple[str, ...], rng: np.random.Generator) -> tuple[Frames, Table]:
    frames = _structures(template.domain, [2] * (N_POINTS * n), rng)
    rows = []
    for i, (id, group, cluster) in enumerate(zip(*_names(n, template.name, rng), strict=True)):
        profile = 0.1 * rng.uniform(0.2, 2.0) * np.sin(np.linspace(0, np.pi, N_POINTS)) ** 2
        structures = tuple(range(N_POINTS * i, N_POINTS * (i + 1)))
        x = tuple(np.linspace(0, 180, N_POINTS).tolist())
        reference = {name: tuple(profile.tolist()) for name in sets}
        rows.append(Scan(id=id, group=group, cluster=cluster, structures=structures, x=x, reference=reference))
    return frames, _table(template, N_POINTS * n, scans=rows)


def _curves(template: Template, n: int, sets: tuple[str, ...], rng: np.random.Generator) -> tuple[Frames, Table]:
    n //= 2
    frames = _structures(template.domain, [1] * (N_POINTS * n), rng)
    rows, volumes = [], []
    for i, (id, group, cluster) in enumerate(zip(*_names(n, template.name, rng), strict=True)):
        v0, b0 = float(rng.uniform(10, 40)), float(rng.uniform(20, 300))
        volumes.append(v0 * np.linspace(0.94, 1.06, N_POINTS))
        structures = tuple(range(N_POINTS * i, N_POINTS * (i + 1)))
        reference = {name: CurveReference(v0_per_atom=v0, b0_gpa=b0, b0_prime=4.5) for name in sets}
        rows.append(Curve(id=id, group=group, cluster=cluster, structures=structures, reference=reference))
    cell = np.cbrt(np.concatenate(volumes))[:, None, None] * np.eye(3)
    arrays = {**frames.arrays(), "cell": cell, "positions": np.zeros((len(cell), 3))}
    return Frames(**arrays), _table(template, N_POINTS * n, curves=rows)


def _crystals(template: Template, n: int, sets: tuple[str, ...], rng: np.random.Generator) -> tuple[Frames, Table]:
    frames = _structures(template.domain, [4] * n, rng)
    sizes = {"elasticity": 100.0, "phonons": 200.0, "compression": 0.0}
    start = frames.volumes / frames.n_atoms
    rows = []
    for i, (id, group, cluster) in enumerate(zip(*_names(n, template.name, rng), strict=True)):
        share = rng.uniform(0.7, 0.95)
        values = {p.name: float(sizes[template.kind] * rng.uniform(0.3, 2.0)) for p in PROPERTIES[template.kind]}
        if template.kind == "compression":
            values = {name: float(share * start[i]) for name in values}
        reference = {name: {p: v * (1 + 0.03 * k) for p, v in values.items()} for k, name in enumerate(sets)}
        rows.append(Crystal(id=id, group=group, cluster=cluster, structure=i, reference=reference))
    return frames, _table(template, n, crystals=rows)


def _conductivities(
    template: Template, n: int, sets: tuple[str, ...], rng: np.random.Generator
) -> tuple[Frames, Table]:
    """Without modes."""
    rows = []
    for i, (id, group, cluster) in enumerate(zip(*_names(n, template.name, rng), strict=True)):
        kappa = float(np.exp(rng.normal(2.0, 1.5)))
        reference = {name: ConductivityReference(kappa=kappa * (1 + 0.05 * k)) for k, name in enumerate(sets)}
        rows.append(Conductivity(id=id, group=group, cluster=cluster, structure=i, reference=reference))
    return _structures(template.domain, [4] * n, rng), _table(template, n, conductivities=rows)


def _systems(template: Template, n: int, sets: tuple[str, ...], rng: np.random.Generator) -> tuple[Frames, Table]:
    frames = _structures(template.domain, [8] * (n // 10), rng)
    return frames, systems(frames, [f"{template.name} {i}" for i in range(len(frames))], sets, rng)


def _pairs(template: Template, n: int, sets: tuple[str, ...], rng: np.random.Generator) -> tuple[Frames, Table]:
    """Morse curves, the same at all levels of theory but for their depth."""
    n //= 5
    elements = rng.choice([atomic_numbers[symbol] for symbol in ELEMENTS[template.domain]], n)
    numbers = [(int(z), int(z)) for z in elements]
    r = np.array([np.geomspace(*pair_window(pair, 0.8), N_DISTANCES) for pair in numbers])
    rows = []
    for i, (id, group, cluster) in enumerate(zip(*_names(n, template.name, rng), strict=True)):
        decay = np.exp(-2.0 * (r[i] - rng.uniform(1.2, 2.5)))
        shape, slope = (1.0 - decay) ** 2 - 1.0, 4.0 * (1.0 - decay) * decay
        reference = {
            name: DiatomicReference(
                distances=tuple(r[i].tolist()),
                energies=tuple((depth * shape).tolist()),
                forces=tuple((-depth * slope).tolist()),
            )
            for name, depth in zip(sets, rng.uniform(0.5, 5.0) * np.array([1.0, 1.05]), strict=False)
        }
        structures = tuple(range(N_DISTANCES * i, N_DISTANCES * (i + 1)))
        rows.append(Diatomic(id=id, group=group, cluster=cluster, structures=structures, reference=reference))
    return pair_frames(numbers, r, 50.0), _table(template, r.size, pairs=rows)


def _paths(template: Template, n: int, sets: tuple[str, ...], rng: np.random.Generator) -> tuple[Frames, Table]:
    frames = _structures(template.domain, [4] * n, rng).take(np.repeat(np.arange(n), 2))
    rows = [
        MinimumEnergyPath(
            id=id,
            group=group,
            cluster=cluster,
            path=i,
            reference={
                name: PathReference(barrier=abs(barrier), reaction_energy=0.3 * barrier)
                for name, barrier in _each(sets, rng, 1.0).items()
            },
        )
        for i, (id, group, cluster) in enumerate(zip(*_names(n, template.name, rng), strict=True))
    ]
    return frames, _table(template, 2 * n, paths=rows)


def _roles(n: int) -> dict[str, np.ndarray]:
    """The conditions of n structures that are reactant and product in turn."""
    return {"path": np.arange(n) // 2, "role": np.arange(n) % 2}


def _labels(frames: Frames, sets: tuple[str, ...], rng: np.random.Generator) -> dict[str, Labels]:
    n, total = len(frames), len(frames.numbers)
    constants = rng.normal(-5, 3, 119)
    by_atoms = np.add.reduceat(constants[frames.numbers], frames.offsets[:-1])
    labels = {}
    for name in sets:
        noise: Float = rng.normal(0, 0.3, n) * frames.n_atoms
        stress = rng.normal(0, 0.03, (n, 6)) if frames.periodic.any() else None
        labels[name] = Labels(by_atoms + noise, rng.normal(0, 1, (total, 3)), stress)
    return labels


PRESSURE_GPA = 20.0
PROPERTIES = {"elasticity": ELASTIC, "phonons": VIBRATIONAL, "compression": COMPRESSED}


def curve_energies(volume_per_atom: Float, v0: float, b0_gpa: float) -> Float:
    """(k,) [eV] of one atom along a curve."""
    return energy(volume_per_atom, EquationOfState(v0, b0_gpa, 4.5, -3.0))


def toml_lines(values: dict[str, str]) -> Iterator[str]:
    """Lines of TOML for text values."""
    return (f"{name} = {json.dumps(value)}\n" for name, value in values.items())


def nve_parameters(parameters: Parameters) -> NveParameters:
    assert isinstance(parameters, NveParameters)
    return parameters


def timing_parameters(parameters: Parameters) -> EfficiencyParameters:
    assert isinstance(parameters, EfficiencyParameters)
    return parameters
