"""A store in a directory of a local file system.

`put_if_absent`: the bytes go to a synced temporary file in the same folder, `os.link` gives it its name (or finds the
name taken), and the folder is synced. A crash in the middle leaves a temporary file, which is never listed.

A disk that is unmounted in the middle of a run, or a folder that is renamed away, must not be followed by a second
store under the same name: the root is known by device and inode from its first use on, and only a store that has never
been used makes its root.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from submissions.store.interface import StoreError, check_key
from submissions.store.local_tree import Seen, Walk, files_below, stamped_below, unchanged, walk

_TEMPORARY = ".tmp-"


@contextmanager
def _disk_errors(what: object) -> Iterator[None]:
    """Turns what the file system raises into a `StoreError` that names `what` was at hand and what to do."""
    try:
        yield
    except OSError as error:
        raise _store_error(what, error) from error


def _store_error(what: object, error: OSError) -> StoreError:
    remedies = {
        errno.ENOSPC: "free some space",
        errno.EDQUOT: "free some space",
        errno.EROFS: "mount it writable",
        errno.EACCES: "let this user write there",
        errno.EPERM: "keep the store on a file system with hard links, writable by this user",
        errno.ENAMETOOLONG: "give it a shorter name",
    }
    remedy = remedies.get(error.errno or 0, "check the disk")
    return StoreError(f"store: {what}: {error.strerror or error}: {remedy}")


class LocalStore:
    """A store in a directory of a local file system."""

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        self._top = str(self.root)
        self._known: tuple[int, int] | None = None  # device and inode of the root, from its first use on

    def get(self, key: str) -> bytes:
        path = f"{self._top}/{check_key(key)}"  # a Path would take as long as the reading
        self._look_at_root()
        try:
            with open(path, "rb", buffering=0) as file:
                return file.readall()
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            raise KeyError(key) from None
        except OSError as error:
            raise _store_error(path, error) from error

    def put(self, key: str, data: bytes) -> None:
        path = self._path(key)
        with _disk_errors(path), self._temporary(path, data) as temporary:
            os.replace(temporary, path)

    def put_if_absent(self, key: str, data: bytes) -> bool:
        path = self._path(key)
        with _disk_errors(path), self._temporary(path, data) as temporary:
            try:
                os.link(temporary, path)
            except FileExistsError:
                return path.is_file() and path.read_bytes() == data
        return True

    def list(self, prefix: str) -> Iterator[str]:
        folder = self._folder_of(prefix)
        with _disk_errors(self.root / folder):
            names = files_below(self.root, folder)
        return iter(sorted(key for key in names if key.startswith(prefix)))

    def stamped(self, prefix: str) -> Iterator[tuple[str, str]]:
        folder = self._folder_of(prefix)
        with _disk_errors(self.root / folder):
            found = stamped_below(self.root, folder)
        return iter(sorted((key, str(stamp)) for key, stamp in found.items() if key.startswith(prefix)))

    def walk(self, *folders: str) -> Walk:
        """What lies below `folders`, each file and folder with its stamp."""
        self._look_at_root()
        with _disk_errors(self.root):
            return walk(self.root, *map(check_key, folders))

    def unchanged(self, parts: Sequence[Seen]) -> Sequence[bool]:
        """Of each of `parts` whether it is still as it was seen: faster by far than listing it."""
        with _disk_errors(self.root):
            return unchanged(self.root, parts) if self._look_at_root() else [False] * len(parts)

    def delete(self, key: str) -> None:
        path = self._path(key)
        self._look_at_root()
        with _disk_errors(path), suppress(FileNotFoundError):
            path.unlink()
            _sync_folder(path.parent)

    def exists(self, key: str) -> bool:
        path = self._path(key)
        self._look_at_root()
        with _disk_errors(path):
            return path.is_file()

    def _folder_of(self, prefix: str) -> str:
        """The folder in which all keys lie that begin with `prefix`; empty for the root."""
        folder = prefix.rpartition("/")[0]
        self._look_at_root()
        return check_key(folder) if folder else ""

    def _path(self, key: str) -> Path:
        return self.root / check_key(key)

    def _look_at_root(self) -> bool:
        """Whether the root is there; what is found first is remembered.

        Raises:
            StoreError: the root of the first use is gone, or something else has taken its place.
        """
        known = self._known  # before the look: another thread may be making the root
        try:
            status = os.stat(self._top)
        except (FileNotFoundError, NotADirectoryError):
            if known is None:
                return False
            raise StoreError(f"store: {self.root} is gone: bring it back (mount it?), and run it again") from None
        except OSError as error:
            raise _store_error(self.root, error) from error
        found = (status.st_dev, status.st_ino)
        if known is None:
            self._known = known = found
        if found != known:
            remedy = "bring back the one of before, and run it again"
            raise StoreError(f"store: {self.root} is another folder or disk than at first: {remedy}")
        return True

    @contextmanager
    def _temporary(self, path: Path, data: bytes) -> Iterator[Path]:
        """A synced file with `data` beside `path`, gone at the end; then the folder is synced, with what was made."""
        if not self._look_at_root():
            _make_folder(self.root, Path(self.root.anchor))
        _make_folder(path.parent, self.root)
        temporary = path.parent / f"{_TEMPORARY}{os.getpid()}-{secrets.token_hex(8)}"
        try:
            with temporary.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            # Again, now that the file is in it: a root that goes from here on takes the file along: naming it fails.
            self._look_at_root()
            yield temporary
        finally:
            temporary.unlink(missing_ok=True)
        _sync_folder(path.parent)


def _make_folder(folder: Path, top: Path) -> None:
    """Makes `folder` and its parents below `top`, never `top` itself, which may have vanished meanwhile.

    Each is synced: else a crash could lose the file with its folder.
    """
    if folder == top or folder.is_dir():
        return
    _make_folder(folder.parent, top)
    folder.mkdir(exist_ok=True)
    _sync_folder(folder.parent)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
