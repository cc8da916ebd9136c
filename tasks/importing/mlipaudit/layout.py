"""Where the files of a benchmark are: in its folder as the archive unpacks, or in one that benchmarks share."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from pydantic import TypeAdapter

from tasks.datasets.card import dataset_faults
from tasks.importing.mlipaudit.content import RunMode
from tasks.structures.text_files import read_text

Model = TypeVar("Model")
# Up to release 0.1.4 the files of proteins are in folders of their own.
INSIDE = ("", "starting_structures", "pdb_reference_structures")
SIZED = re.compile(r"(\d+)_.+\.xyz")


class MissingFiles(Exception):
    """Files of a benchmark that are not there."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(", ".join(names))


class BenchmarkFiles(NamedTuple):
    """The folder with all benchmarks, and where one of them may be.

    Args:
        folders: names of the folders in `root` that may have its files; the first that has a file counts.
    """

    root: Path
    folders: Sequence[str]
    mode: RunMode

    def find(self, name: str) -> Path | None:
        """The file of that name; None if there is none."""
        places = [self.root / folder / inside / name for folder in self.folders for inside in INSIDE]
        return next((path for path in places if path.is_file()), None)

    def paths(self, *names: str) -> Mapping[str, Path]:
        """The files by name.

        Raises:
            MissingFiles: one of them is not there.
        """
        found = {name: self.find(name) for name in names}
        missing = [name for name, path in found.items() if path is None]
        if missing:
            raise MissingFiles(missing)
        return {name: path for name, path in found.items() if path is not None}

    def path(self, name: str) -> Path:
        """The file of that name.

        Raises:
            MissingFiles: it is not there.
        """
        return self.paths(name)[name]

    def sized(self) -> Mapping[Path, int]:
        """The files `{n_atoms}_{name}.xyz` with their n_atoms, by size.

        Raises:
            MissingFiles: there is none.
        """
        for folder in self.folders:
            matches = {path: SIZED.fullmatch(path.name) for path in sorted((self.root / folder).glob("*.xyz"))}
            sizes = {path: int(match[1]) for path, match in matches.items() if match}
            if sizes:
                return dict(sorted(sizes.items(), key=lambda entry: entry[1]))
        raise MissingFiles(["files with a number of atoms and a name, such as 100_NAME.xyz"])

    @property
    def is_dev(self) -> bool:
        """Whether the mode is `dev`."""
        return self.mode == "dev"


def read_json(path: Path, model: type[Model]) -> Model:
    """The content of a JSON file.

    Raises:
        DatasetError: it has another form; one line that names file, entry and field.
    """
    with dataset_faults(path):
        return TypeAdapter(model).validate_json(read_text(path))
