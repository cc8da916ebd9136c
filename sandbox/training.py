"""What a trainer left: files by name. They are untrusted: kept under their hash, and never opened by the judge."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from sandbox.limits import MIB
from sandbox.rundir import MODEL_NAME

OUT_BYTES = 512 * MIB
MAX_FILES = 1000
MAX_NAME = 255  # bytes of each part of a name
MAX_PATH = 1000  # bytes of a whole name


class TrainedModel(NamedTuple):
    """What a trainer left in its folder, by relative name.

    Args:
        ended: how the trainer ended: `returned`, `failed`, or `time`: its time was over.
    """

    files: Mapping[str, bytes]
    ended: str = "returned"

    def packed(self) -> bytes:
        """A tar archive: the same bytes for the same files."""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for name, content in sorted(self.files.items()):
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
        return buffer.getvalue()

    @classmethod
    def unpacked(cls, data: bytes) -> TrainedModel:
        """The model that `packed` made.

        Raises:
            ValueError: it is damaged.
        """
        files = {}
        try:
            with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
                for entry in archive:
                    file = archive.extractfile(entry) if entry.isfile() else None
                    if file is None:
                        raise ValueError(f"model: {entry.name}: is no file")
                    files[entry.name] = file.read()
        except tarfile.TarError as error:
            raise ValueError(f"model: {error}") from None
        if not _good_names(files):
            raise ValueError("model: it has names that no model can have")
        return cls(files)

    def place(self, session_dir: Path) -> None:
        """Writes the files into the folder of a session, where any user may read them."""
        top = session_dir / MODEL_NAME
        for name, content in self.files.items():
            path = top / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod(0o444)
        for folder in (top, *(path for path in top.rglob("*") if path.is_dir())):
            folder.chmod(0o755)  # whatever the judge's umask is


def problem_of(files: Iterable[tuple[str, int]], out_bytes: int) -> str:
    """What is wrong with files of these names and sizes: `nothing`, `too many`, `too large` or `names`; or empty."""
    stated = list(files)
    if not stated:
        return "nothing"
    if len(stated) > MAX_FILES:
        return "too many"
    if sum(size for _, size in stated) > out_bytes:
        return "too large"
    return "" if _good_names([name for name, _ in stated]) else "names"


def _good_names(names: Iterable[str]) -> bool:
    """Whether all are relative, plain, different, and none is a folder of another."""
    known = list(names)
    if len(set(known)) < len(known) or not all(map(_is_good, known)):
        return False
    folders = {str(parent) for name in known for parent in PurePosixPath(name).parents}
    return folders.isdisjoint(known)


def _is_good(name: str) -> bool:
    """Whether `name` can be kept. Its length comes first: the sender chose it, and it may have megabytes."""
    if len(name) > MAX_PATH or not name.isprintable() or len(name.encode()) > MAX_PATH:  # printable: no surrogates
        return False
    return all(part not in ("", ".", "..") and len(part.encode()) <= MAX_NAME for part in name.split("/"))
