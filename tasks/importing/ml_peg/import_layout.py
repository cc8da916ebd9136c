"""`judge data import ml-peg`: the benchmarks of ML-PEG as its archives unpack, one folder and one data set each.

A benchmark's folder has its name, in any case and with - or _. The data set is called `ml-peg-NAME`. What ML-PEG has in
its program, not in an archive (references of three benchmarks), is read from a file `references.json`, which
`tasks.importing.ml_peg.files` shows.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib import resources
from pathlib import Path
from typing import Protocol

from pydantic import Field

from tasks.datasets.card import D3, Card, CardPart, DatasetError, Domain, LabelSet, Positive, dataset_faults
from tasks.datasets.dataset import Dataset
from tasks.importing.imported_benchmark import ImportedBenchmark
from tasks.importing.ml_peg import complexes, conformers, crystals, defects, liquids, reactions, relaxed
from tasks.importing.ml_peg.files import entered
from tasks.suites.names import did_you_mean, known_name

SOURCE = "ML-PEG, github.com/ddmms/ml-peg at commit 6a03c7a"


class StatedBenchmark(CardPart):
    """What the card of a benchmark's data set says.

    Args:
        public_since: the month since which structures and references are public at the latest.
        theory: of the references.
        dispersion: whether they contain it.
        d3: whether ML-PEG adds DFT-D3(BJ), here with the parameters of PBE, to models without dispersion.
        sets: of GSCDB138, those that the benchmark has.
        folder: of its files; empty: its own name.
        baselines: by metric, where the references are zero.
    """

    title: str
    domain: Domain
    public_since: str
    theory: str
    dispersion: bool
    d3: bool = False
    sets: tuple[str, ...] = ()
    folder: str = ""
    baselines: dict[str, Positive] = Field(default_factory=dict)


class Content(Protocol):
    """What a benchmark has."""

    def dataset(self, card: Card) -> Dataset: ...


READERS: Mapping[str, Callable[[Path], Content]] = {
    **relaxed.READERS,
    **liquids.READERS,
    **{name: partial(complexes.atlas, name=name) for name in complexes.ATLASES},
    "37CONF8": conformers.conf8,
    "ACONFL": conformers.aconfl,
    "DipCONFS": conformers.dipconfs,
    "Glucose205": conformers.glucose205,
    "MPCONF196": conformers.mpconf196,
    "Maltose222": conformers.maltose222,
    "OpenFF_Tors": conformers.openff_torsions,
    "UpU46": conformers.upu46,
    "solvMPCONF196": conformers.solv_mpconf196,
    "isomer_complexes": conformers.isomer_complexes,
    "Wiggle150": conformers.wiggle150,
    "GMTKN55": complexes.gmtkn55,
    "IONPI19": complexes.ionpi19,
    "LNCI16": complexes.lnci16,
    "PLA15": complexes.fragments,
    "PLF547": partial(complexes.fragments, classes=False),
    "QUID": complexes.quid,
    "S30L": complexes.s30l,
    "3dTMV": complexes.tmv,
    "BH2O_36": reactions.bh2o_36,
    "BH9": reactions.bh9,
    "CRBH20": reactions.crbh20,
    "CYCLO70": reactions.cyclo70,
    "Criegee22": reactions.criegee22,
    "RDB7": reactions.rdb7,
    "si_defects": reactions.si_defects,
    "CMRAds200": crystals.cmrads200,
    "CPOSS209": crystals.cposs209,
    "DMC_ICE13": crystals.dmc_ice13,
    "OC157": crystals.oc157,
    "Defectstab": defects.defectstab,
    "Relastab": defects.relastab,
    "S24": crystals.s24,
    "SBH17": crystals.sbh17,
    "X23": crystals.x23,
    "cleavage_energy": crystals.cleavage,
    "elemental_slab_oxygen_adsorption": crystals.oxygen_adsorption,
    "elemental_tm_vacancies": crystals.tm_vacancies,
    "extensivity": crystals.extensivity,
}


# Their references are written down beside what the archive unpacks to.
WITH_REFERENCES = ("LNCI16", "CRBH20", "3dTMV")


def benchmarks() -> tuple[str, ...]:
    """The names of the benchmarks that can be imported, as ML-PEG spells them."""
    return tuple(stated_benchmarks())


def import_ml_peg(folder: Path, only: Sequence[str] = ()) -> Iterator[ImportedBenchmark]:
    """The benchmarks that have a folder in `folder`, one after another.

    Args:
        only: names of benchmarks; empty for all.

    Raises:
        DatasetError: there is no such folder, or a benchmark is unknown; one line.
    """
    if not folder.is_dir():
        raise DatasetError(f"{folder}: is {'no folder' if folder.exists() else 'not there'}")
    chosen = []
    for name in only:
        if not (benchmark := known_name(name, benchmarks())):
            named = ", ".join(benchmarks()) + did_you_mean(name, benchmarks())
            raise DatasetError(f"--only: {name!r} cannot be imported; take one of {named}")
        chosen.append(benchmark)
    there = {_plain(path.name): path for path in sorted(folder.iterdir()) if path.is_dir()}
    for name in chosen or benchmarks():
        wanted = stated_benchmarks()[name].folder or name
        place = there.get(_plain(name), there.get(_plain(wanted)))
        if place is None and name in chosen:
            yield ImportedBenchmark(name, fault=f"{folder}: has no folder {wanted}")
        elif place is not None:
            yield _imported(name, place)


def _plain(name: str) -> str:
    """A name in lower case, with _ for hyphens: archives have both."""
    return name.casefold().replace("-", "_")


def _imported(name: str, place: Path) -> ImportedBenchmark:
    try:
        return ImportedBenchmark(name, import_benchmark(name, place))
    except DatasetError as error:
        return ImportedBenchmark(name, fault=str(error))


def import_benchmark(name: str, place: Path) -> Dataset:
    """The data set of a benchmark whose files are in the folder `place`.

    Raises:
        DatasetError: one line that names file and field.
    """
    sets = stated_benchmarks()[name].sets
    read: Callable[[Path], Content] = partial(reactions.gscdb, sets=sets) if sets else READERS[name]
    with dataset_faults(f"{place}: {name}"):
        return read(place if name in WITH_REFERENCES else entered(place)).dataset(card_of(name))


def card_of(name: str) -> Card:
    """The card of a benchmark's data set, version 1."""
    stated = stated_benchmarks()[name]
    d3 = D3(functional="pbe", damping="bj") if stated.d3 else None
    return Card(
        name=f"ml-peg-{name.casefold().replace('_', '-')}",
        version="1",
        title=stated.title,
        domain=stated.domain,
        public_since=stated.public_since,
        periodic=False,
        citation=SOURCE,
        label_sets={stated.theory: LabelSet(theory=stated.theory, dispersion=stated.dispersion, d3=d3)},
        default_label_set=stated.theory,
        baselines={stated.theory: stated.baselines} if stated.baselines else {},
    )


@cache
def stated_benchmarks() -> Mapping[str, StatedBenchmark]:
    """The benchmarks of `benchmarks.toml`, by name."""
    text = resources.files("tasks.importing.ml_peg").joinpath("benchmarks.toml").read_text(encoding="utf-8")
    return {name: StatedBenchmark.model_validate(fields) for name, fields in tomllib.loads(text).items()}
