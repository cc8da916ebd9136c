"""`judge data import`: the card from its options, and the data set by one reader for each format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from pydantic import ValidationError

from judge.data.import_options import LAYOUTS, ImportOptions, is_folder
from tasks.datasets.card import D3, Card, LabelSet, dataset_faults, one_line
from tasks.datasets.dataset import Dataset, DatasetError, new_folder
from tasks.importing.acwf import import_acwf
from tasks.importing.conductivities import import_conductivities
from tasks.importing.crystal_tables import import_crystals, import_structures
from tasks.importing.deepmd import Column, read_deepmd
from tasks.importing.diatomics import import_diatomics
from tasks.importing.din import import_din
from tasks.importing.dynamics import import_dynamics
from tasks.importing.equation_of_state_curves import CurveFile, import_equations_of_state
from tasks.importing.importers import read_structures
from tasks.importing.label_units import EXAMPLE, LabelUnits, parse_units
from tasks.importing.labelled_import import Imported, LabelSource, cluster_field, labelled_dataset
from tasks.importing.matcalc import import_matcalc
from tasks.importing.phonopy_files import import_phonopy
from tasks.importing.reaction_paths import import_reaction_paths
from tasks.importing.reactions import import_reactions
from tasks.importing.reading.frame_fields import FrameFields, parse_keys
from tasks.importing.reading.progress_report import Report
from tasks.importing.relaxed_structures import import_relaxed_structures
from tasks.importing.rmd17 import import_rmd17
from tasks.importing.scans import import_scans
from tasks.importing.vacancies import import_migration, import_vacancies
from tasks.importing.volume_scans import import_volume_scans
from tasks.kind import ImportFormat
from tasks.kinds.registry import KINDS, KindError
from tasks.simulation.vibrations import VibrationSettings
from tasks.structures.predictions import ALL_PROPERTIES, Properties
from tasks.suites.names import did_you_mean

COLUMNS: Mapping[str, Column] = {"charge": "charge", "multiplicity": "multiplicity", "other": "other"}


RMD17, EOS = "rmd17", "eos"
# Options that only some formats take.
_TAKEN_BY_SOME = (
    "units",
    "fparam",
    "multiplicity",
    "without",
    "keys",
    "cluster",
    "temperature",
    "mesh",
    "also",
    "also_units",
    "also_keys",
    "only",
    "frames",
)


class ImportedDataset(NamedTuple):
    """A data set, and what its file has beside it.

    Args:
        unused: by numeric field that was not read, the number of frames with it.
        doubts: a line each about fields that should repeat a label, and do not.
    """

    dataset: Dataset
    unused: Mapping[str, int] = MappingProxyType({})
    doubts: tuple[str, ...] = ()


Reader = Callable[[Path, Card, ImportOptions, Report], ImportedDataset]


class FormatReader(NamedTuple):
    """The reader of a format.

    Args:
        takes: the options that this format takes and others do not.
        labelled: whether the data set has labels or references.
        installed: the format of an installed kind; None: a format of the judge.
    """

    read: Reader
    takes: frozenset[str] = frozenset()
    labelled: bool = True
    installed: ImportFormat | None = None


def readers() -> dict[str, FormatReader]:
    """The formats of the judge and of installed kinds, by name.

    Raises:
        KindError: the name of an installed kind's format is taken.
    """
    by_name = dict(FORMATS)
    for kind in KINDS.values():
        form = kind.traits.import_format
        if isinstance(form, ImportFormat):
            if form.name in by_name and by_name[form.name].installed != form:
                raise KindError(f"kind {kind.name}: import format {form.name}: there is another format of this name")
            read = partial(_import_installed, form)
            by_name[form.name] = FormatReader(read, labelled=kind.traits.labelled, installed=form)
    return by_name


def _import_installed(form: ImportFormat, path: Path, card: Card, *_: object) -> ImportedDataset:
    return ImportedDataset(form.read(path, card))


def prepare_import(
    format: str, path: Path, options: ImportOptions, data_root: Path
) -> Callable[[Report], ImportedDataset]:
    """A function that reads the data set in `path`. Options and names are checked before, and nothing is read.

    Args:
        data_root: the folder of all data sets, which must not have this one.

    Raises:
        DatasetError: one line that names the option; the function's lines name file and field, too.
        KindError: an installed kind is broken.
    """
    known = readers()
    if format not in known:
        names = (*known, *LAYOUTS)
        raise DatasetError(f"FORMAT: {format!r} is unknown; one of {', '.join(names)}{did_you_mean(format, names)}")
    reader = known[format]
    if options.also and format in TABLES:
        raise DatasetError(
            f"--also: is not for {format}: state both levels as `references` in {TABLES[format]}, and name the other "
            'with --also-theory "LABELSET=WORDS"'
        )
    for name in _TAKEN_BY_SOME:
        if name not in reader.takes and getattr(options, name) not in ("", None, (), {}):
            why = "which states its units" if name.endswith("units") else "which has no use for it"
            raise DatasetError(f"--{name.replace('_', '-')}: is not for {format}, {why}; leave it out")
    if reader.labelled != bool(options.label_set):
        why = "structures alone have none; leave it out" if options.label_set else "is missing: name the labels' level"
        raise DatasetError(f"--label-set: {why}")
    if is_folder(reader.installed or format) and not path.is_dir():
        raise DatasetError(f"{path}: is {f'a file: {format} is a folder' if path.exists() else 'not there'}")
    card = card_of(options)
    new_folder(card, data_root)
    return partial(_guarded, reader.read, path, card, options)


def _guarded(read: Reader, path: Path, card: Card, options: ImportOptions, report: Report) -> ImportedDataset:
    """What `read` reads; any of its errors is one of the file, whatever library raised it."""
    with dataset_faults(path):
        return read(path, card, options, report)


def card_of(options: ImportOptions) -> Card:
    """The card, without the fields that follow from the structures.

    Raises:
        DatasetError: an option is missing or wrong; one line that names it.
    """
    if not options.name or not options.version or options.domain is None:
        missing = next(each for each in ("name", "version", "domain") if not getattr(options, each))
        raise DatasetError(f"--{missing}: is missing: judge data import --help says what it is")
    sets: dict[str, LabelSet] = {}
    if options.label_set:
        sets = _label_sets(options)
    try:
        return Card(
            name=options.name,
            version=options.version,
            title=options.title or options.name,
            domain=options.domain,
            citation=options.citation,
            licence=options.licence,
            public_since=options.public_since,
            periodic=False,  # the importer sets it from the structures
            default_label_set=options.label_set or None,
            label_sets=sets,
        )
    except ValidationError as error:
        raise DatasetError(f"--{one_line(error)}") from None


def _label_sets(options: ImportOptions) -> dict[str, LabelSet]:
    given = [
        *options.also,
        *options.also_theory,
        *options.also_dispersion,
        *options.also_d3,
        *options.also_units,
        *options.also_keys,
    ]
    if options.label_set in given:
        raise DatasetError(f"--also…: {options.label_set} is --label-set itself; name another label set")
    sets = {options.label_set: _label_set(options.theory or options.label_set, options.dispersion, options.d3, "--d3")}
    for name in dict.fromkeys(given):
        d3 = options.also_d3.get(name, "")
        sets[name] = _label_set(
            options.also_theory.get(name, name), name in options.also_dispersion, d3, f"--also-d3 {name}"
        )
    return sets


def _label_set(theory: str, dispersion: bool, d3: str, option: str) -> LabelSet:
    if not d3:
        return LabelSet(theory=theory, dispersion=dispersion)
    if not dispersion:
        raise DatasetError(f"{option}: the labels then contain dispersion: say --dispersion too")
    functional, _, damping = d3.rpartition("-")
    if damping not in ("bj", "zero") or not functional:
        raise DatasetError(f"{option}: {d3!r} must be a functional and bj or zero, as in pbe-bj")
    return LabelSet(theory=theory, dispersion=True, d3=D3(functional=functional, damping=damping))


def _units(format: str, options: ImportOptions) -> Mapping[str, LabelUnits]:
    """By label set, the units of its file.

    Raises:
        DatasetError: they are not stated, or not known.
    """
    if not options.units:
        raise DatasetError(f"--units: is missing: {format} does not state its units; say {EXAMPLE}")
    return {
        label_set: parse_units(options.also_units.get(label_set, options.units))
        for label_set in (options.label_set, *options.also)
    }


def _fields(options: ImportOptions) -> Mapping[str, FrameFields]:
    """By label set, the fields that are read of its file.

    Raises:
        DatasetError: an option names no label or field.
    """
    left_out = frozenset(_left_out(options))
    return {
        label_set: FrameFields(parse_keys(options.also_keys.get(label_set, options.keys)), left_out, may_leave_out=True)
        for label_set in (options.label_set, *options.also)
    }


def _import_ase(format: str, path: Path, card: Card, options: ImportOptions, report: Report) -> ImportedDataset:
    """Labelled frames from a file that ASE reads."""
    units, field = _units(format, options), cluster_field(options.cluster or "none")
    fields = _fields(options)

    def read(source: Path, label_set: str) -> Imported:
        # Clusters belong to the structures, so only the main label set's file is read for them.
        clusters = field if label_set == options.label_set else ""
        return read_structures(
            source, units[label_set], format, cluster_field=clusters, report=report, fields=fields[label_set]
        )

    return _labelled(path, card, options, read)


def _import_equations_of_state(path: Path, card: Card, options: ImportOptions, report: Report) -> ImportedDataset:
    """Equations of state from scans of the volume with energies."""
    _check_sources(card, options)
    units = _units(EOS, options)
    if any(each.energy_per_atom for each in units.values()):
        raise DatasetError("--units: energy: eos takes energies of whole cells: multiply those per atom by their atoms")
    also = {name: CurveFile(Path(source), units[name]) for name, source in options.also.items()}
    file = CurveFile(path, units[options.label_set])
    return ImportedDataset(import_equations_of_state(file, card, report, also))


def _import_deepmd(path: Path, card: Card, options: ImportOptions, *_: object) -> ImportedDataset:
    """Labelled frames from DeePMD systems, whose format has fixed units."""
    if cluster_field(options.cluster or "none"):
        raise DatasetError(f"--cluster: {options.cluster} is not for deepmd, which has no info: say group, its systems")
    columns = _words(options.fparam)
    for column in columns:
        if column not in COLUMNS or (columns.count(column) > 1 and column != "other"):
            raise DatasetError(
                f"--fparam: {column!r}: each column is charge, multiplicity or other, the first two once"
            )
    names, left_out = [COLUMNS[column] for column in columns], _left_out(options)
    return _labelled(path, card, options, lambda source, _: read_deepmd(source, names, left_out))


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _check_sources(card: Card, options: ImportOptions) -> None:
    """Each label set has a file.

    Raises:
        DatasetError: one has none.
    """
    for name in card.label_sets:
        if name != options.label_set and name not in options.also:
            raise DatasetError(f'--also: is missing for {name}; say --also "{name}=PATH" with its labels')


def _left_out(options: ImportOptions) -> Properties:
    """The labels of `--without`.

    Raises:
        DatasetError: one of its words is no label.
    """
    words = _words(options.without)
    if unknown := [word for word in words if word not in ALL_PROPERTIES]:
        raise DatasetError(f"--without: {unknown[0]!r} is no label: say {', '.join(ALL_PROPERTIES)}")
    return tuple(name for name in ALL_PROPERTIES if name in words)


def _labelled(path: Path, card: Card, options: ImportOptions, read: Callable[[Path, str], Imported]) -> ImportedDataset:
    _check_sources(card, options)
    without = _left_out(options)
    also = {name: LabelSource(Path(source), read(Path(source), name)) for name, source in options.also.items()}
    imported = read(path, options.label_set)
    dataset = labelled_dataset(
        card,
        path,
        imported,
        also=also,
        without=without,
        multiplicity=options.multiplicity,
        cluster=options.cluster or "none",
    )
    return ImportedDataset(dataset, imported.unused, imported.doubts)


def _of_molecules(read: Callable[[Path, Card, int | None], Dataset], *, labelled: bool = True) -> FormatReader:
    """A format whose only option is the multiplicity of molecules."""

    def imported(path: Path, card: Card, options: ImportOptions, *_: object) -> ImportedDataset:
        return ImportedDataset(read(path, card, options.multiplicity))

    return FormatReader(imported, frozenset({"multiplicity"}), labelled)


def _import_phonopy(path: Path, card: Card, options: ImportOptions, *_: object) -> ImportedDataset:
    """Phonons: one phonopy file for each crystal."""
    stated = {"temperature_k": options.temperature, "mesh": options.mesh}
    settings = VibrationSettings.model_validate({name: value for name, value in stated.items() if value is not None})
    return ImportedDataset(import_phonopy(path, card, settings))


def _import_rmd17(path: Path, card: Card, options: ImportOptions, *_: object) -> ImportedDataset:
    """Trajectories of molecules, whose format has fixed units, charges and 2S+1."""
    if card.label_sets.keys() != {card.default_label_set}:
        raise DatasetError("--also-…: is not for rmd17, whose files have one level of theory; leave it out")
    return ImportedDataset(import_rmd17(path, card, options.only, options.frames))


# By format, the file with the references of all levels of theory.
TABLES: Mapping[str, str] = {
    "reactions": "reactions.json",
    "relaxed-structures": "reactions.json",
    "scans": "scans.json",
    "crystals": "crystals.json",
    "dynamics": "systems.json",
    "reaction-paths": "paths.json",
}
_FRAME_OPTIONS = frozenset({"multiplicity", "without", "cluster", "also"})
_ASE_OPTIONS = _FRAME_OPTIONS | {"units", "also_units", "keys", "also_keys"}
FORMATS: Mapping[str, FormatReader] = {
    **{format: FormatReader(partial(_import_ase, format), _ASE_OPTIONS) for format in ("extxyz", "traj", "db")},
    RMD17: FormatReader(_import_rmd17, frozenset({"only", "frames"})),
    "deepmd": FormatReader(_import_deepmd, _FRAME_OPTIONS | {"fparam"}),
    "reactions": _of_molecules(import_reactions),
    "scans": _of_molecules(import_scans),
    "relaxed-structures": _of_molecules(import_relaxed_structures),
    "dynamics": _of_molecules(import_dynamics),
    "reaction-paths": _of_molecules(import_reaction_paths),
    "crystals": FormatReader(lambda path, card, *_: ImportedDataset(import_crystals(path, card))),
    "diatomics": FormatReader(lambda path, card, *_: ImportedDataset(import_diatomics(path, card))),
    "thermal-conductivity": FormatReader(lambda path, card, *_: ImportedDataset(import_conductivities(path, card))),
    EOS: FormatReader(_import_equations_of_state, frozenset({"units", "also", "also_units"})),
    "acwf": FormatReader(lambda path, card, *_: ImportedDataset(import_acwf(path, card))),
    "din": FormatReader(lambda path, card, *_: ImportedDataset(import_din(path, card))),
    "matcalc": FormatReader(lambda path, card, *_: ImportedDataset(import_matcalc(path, card))),
    "vacancy-migration": FormatReader(lambda path, card, *_: ImportedDataset(import_migration(path, card))),
    "vacancies": FormatReader(lambda path, card, *_: ImportedDataset(import_vacancies(path, card))),
    "structures": _of_molecules(import_structures, labelled=False),
    "volume-scans": FormatReader(
        lambda path, card, *_: ImportedDataset(import_volume_scans(path, card)), labelled=False
    ),
    "phonopy": FormatReader(_import_phonopy, frozenset({"temperature", "mesh"})),
}
