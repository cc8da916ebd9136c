"""Which fields of a frame are read as what: the labels that are wanted, and fields under other names (`--keys`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ase import Atoms
from ase.calculators.calculator import all_properties

from tasks.datasets.card import DatasetError
from tasks.structures.frames import MOMENTS
from tasks.structures.predictions import ALL_PROPERTIES
from tasks.suites.names import did_you_mean

# What `--keys` may name.
NAMED = (*ALL_PROPERTIES, "charge", "multiplicity", "name", "group", MOMENTS)
KEYS_EXAMPLE = "--keys energy=REF_energy,forces=REF_forces"
# Fields that tables and clusters refer to: they are texts, taken as they are written.
IDENTIFIERS = frozenset({"name", "group", "cluster", "mp_id", "sys_formula"})
# Fields that are read, and those in which calculators may repeat a label.
REPEATING = frozenset({"free_energy", "energies", "stresses"})
READ = frozenset({*NAMED, "spin", "x", "numbers", "positions"}) | REPEATING | IDENTIFIERS
# Before the name of a field that is not read: ASE gives no meaning to it, so that it cannot be at fault.
UNREAD = "unread_"
# Fields that ASE checks, and that are not read.
CHECKED_BY_ASE = frozenset({*all_properties, "virial"}) - READ


class FrameFields(NamedTuple):
    """The fields that are read.

    Args:
        keys: by name of the judge, the file's own name of it, where that is another.
        left_out: labels that are not read, and so cannot be at fault.
        may_leave_out: whether the command has the option `--without`, which a message about a label names.
    """

    keys: Mapping[str, str] = {}
    left_out: frozenset[str] = frozenset()
    may_leave_out: bool = False

    def name_for(self, field: str) -> str:
        """The name under which a field of the file is read; one that begins with `unread_` if it is not."""
        names = [name for name, key in self.keys.items() if key == field]
        name = names[0] if names else field
        replaced = field in self.keys and field not in names
        return UNREAD + field if replaced or name in self.left_out else name

    @property
    def changes_names(self) -> bool:
        """Whether any field is read under another name than its own."""
        return bool(self.keys or self.left_out)

    def unread_name(self, field: str) -> str:
        """The file's own name of a field that was not read; empty if it was read, or left out on purpose."""
        own = field.removeprefix(UNREAD)
        if own == field:
            return "" if field in READ else field
        return "" if own in self.left_out and own not in self.keys else own

    def rename(self, atoms: Atoms) -> frozenset[str]:
        """Gives the fields of `atoms` the names under which they are read. The names of `keys` that it has."""
        found = set()
        results = {} if atoms.calc is None else atoms.calc.results
        places = (results, atoms.arrays, atoms.info)
        for name in self.left_out:
            for place in places:
                place.pop(name, None)
        for name, key in self.keys.items():
            values = [place.pop(key) for place in places if key in place]
            for place in places:
                if name in place:
                    atoms.info[UNREAD + name] = place.pop(name)
            if values:
                found.add(name)
                if name not in self.left_out:
                    atoms.info[name] = values[0]
        return frozenset(found)


EVERY_FIELD = FrameFields()


def parse_keys(text: str) -> dict[str, str]:
    """The names of `--keys`, by name of the judge: `energy=REF_energy,forces=REF_forces`.

    Raises:
        DatasetError: one line that names the part at fault.
    """
    keys: dict[str, str] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        name, _, key = (word.strip() for word in part.partition("="))
        if not key:
            raise DatasetError(f"--keys: {part!r} must be NAME=FIELD, as in {KEYS_EXAMPLE}")
        if name not in NAMED:
            meant = did_you_mean(name, NAMED)
            raise DatasetError(f"--keys: {name!r} is nothing that is read: say {', '.join(NAMED)}{meant}")
        if name in keys or key in keys.values():
            raise DatasetError(f"--keys: {part!r}: {name if name in keys else key} is there twice: say it once")
        keys[name] = key
    return keys


def keys_remedy(unused: Mapping[str, int]) -> str:
    """How to name what is meant among numeric fields that were not read."""
    meant = [(label, next((f for f in unused if label.rstrip("s") in f.lower()), "")) for label in ALL_PROPERTIES]
    stated = ",".join(f"{label}={field}" for label, field in meant if field)
    return f"rename what is meant, or say {f'--keys {stated}' if stated else KEYS_EXAMPLE}"
